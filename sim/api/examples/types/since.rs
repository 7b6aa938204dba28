//! Which release brought a field: the sources of older releases are read as well.
//!
//! A field is *since* a release if an older one has its struct without it. Of what came with its whole struct nothing is
//! said: it is reached by a field or a kind that says it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::table::{Packages, Sources};

/// Structs that had other names, with the older name.
const RENAMED: [(&str, &str); 3] = [
    ("core.LifecycleHandler", "core.Handler"),
    ("core.ProbeHandler", "core.Handler"),
    (
        "core.VolumeResourceRequirements",
        "core.ResourceRequirements",
    ),
];

/// The sources of the releases in a folder, the oldest first, but of none that is as new as `newest`.
///
/// # Errors
/// If the folder cannot be listed, or holds something that is no release.
pub(crate) fn releases(folder: &Path, newest: &str) -> Result<Vec<Sources>, String> {
    let shown = folder.display();
    let listed = std::fs::read_dir(folder).map_err(|error| format!("{shown}: {error}"))?;
    let newest = minor(newest).ok_or_else(|| format!("{newest} is no release such as v1.36.2"))?;
    let mut all = BTreeMap::new();
    for entry in listed {
        let path = entry.map_err(|error| format!("{shown}: {error}"))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(minor) = minor(&name) else {
            let path = path.display();
            return Err(format!(
                "{path}: wants a folder for each release, such as v1.20"
            ));
        };
        let sources = Sources {
            release: format!("1.{minor}"),
            api: path.join("api"),
            apimachinery: path.join("apimachinery"),
            aggregator: path.join("aggregator"),
        };
        all.insert(minor, sources);
    }
    all.retain(|minor, _| *minor < newest);
    Ok(all.into_values().collect())
}

/// The minor version in the name of a release, `v1.20` or `v1.36.2`.
fn minor(release: &str) -> Option<u32> {
    let minor = release.strip_prefix("v1.")?;
    minor.split('.').next()?.parse().ok()
}

/// What older releases have.
pub(crate) struct Since<'a> {
    /// The release of the table.
    newest: String,
    /// The others, the oldest first.
    older: Vec<(&'a str, Packages<'a>)>,
}

impl<'a> Since<'a> {
    pub(crate) fn new(newest: &str, older: &'a [Sources]) -> Since<'a> {
        let newest = minor(newest).map(|minor| format!("1.{minor}"));
        let older = older.iter();
        Since {
            newest: newest.unwrap_or_default(),
            older: older
                .map(|of| (of.release.as_str(), Packages::new(of)))
                .collect(),
        }
    }

    /// The release that brought a field of a struct; `None` if each one that has the struct has the field.
    ///
    /// # Errors
    /// What cannot be read, with file and line.
    pub(crate) fn of(&mut self, name: &str, field: &str) -> Result<Option<&str>, String> {
        let mut is_lacked = false;
        for (release, packages) in &mut self.older {
            match fields_of(packages, name)? {
                Some(fields) if fields.contains(field) => return Ok(is_lacked.then_some(release)),
                Some(_) => is_lacked = true,
                None => {}
            }
        }
        Ok(is_lacked.then_some(&self.newest))
    }
}

/// The fields that a release has in a struct, those of embedded ones too; `None` if it does not have the struct.
fn fields_of(packages: &mut Packages<'_>, name: &str) -> Result<Option<BTreeSet<String>>, String> {
    let older = RENAMED.iter().find(|(own, _)| *own == name);
    let older = older.map(|(_, older)| *older);
    for name in [Some(name), older].into_iter().flatten() {
        let (package, short) = name.split_once('.').expect("a type has a package");
        let file = packages.file(package)?;
        let Some(of) = file.and_then(|file| file.structs.get(short)) else {
            continue;
        };
        let (mut fields, mut embedded) = (BTreeSet::new(), Vec::new());
        for field in &of.fields {
            match &field.name {
                Some(name) => drop(fields.insert(name.clone())),
                None => embedded.push(field.ty.clone()),
            }
        }
        for inner in embedded {
            fields.extend(fields_of(packages, &inner)?.unwrap_or_default());
        }
        return Ok(Some(fields));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn release(folder: &Path, name: &str, core: &str) {
        let files = [
            ("api/core/v1/types.go", core),
            ("api/apps/v1/types.go", ""),
            ("apimachinery/pkg/apis/meta/v1/types.go", ""),
        ];
        for (file, text) in files {
            let file = folder.join(name).join(file);
            fs::create_dir_all(file.parent().expect("a folder")).expect("it is ours");
            fs::write(file, text).expect("it is ours");
        }
    }

    #[test]
    fn a_field_is_since_the_first_release_that_has_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |fields: &str| {
            format!(
                "type A struct {{\n{fields}}}\ntype E struct {{\nInner string `json:\"inner\"`\n}}\n"
            )
        };
        let (old, middle) = ("Old string `json:\"old\"`\n", "E `json:\",inline\"`\n");
        release(folder.path(), "v1.16", &of(old));
        release(folder.path(), "v1.20", &of(&format!("{old}{middle}")));
        release(folder.path(), "v1.36", "");
        let older = releases(folder.path(), "v1.36.2").expect("releases");
        assert_eq!(older.len(), 2, "the newest is no older one");
        let mut since = Since::new("v1.36.2", &older);
        for (name, field, release) in [
            ("core.A", "old", None),
            ("core.A", "inner", Some("1.20")),
            ("core.A", "new", Some("1.36")),
            ("core.Unknown", "new", None),
        ] {
            assert_eq!(since.of(name, field), Ok(release), "{name}.{field}");
        }
    }

    #[test]
    fn a_folder_of_something_else_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("other")).expect("it is ours");
        let wrong = releases(folder.path(), "v1.36.2").expect_err("it is no release");
        assert!(wrong.contains("wants a folder for each release"), "{wrong}");
    }
}
