//! Reads the type declarations of a Go file of k8s.io/api: structs with their tags and markers, named types, and the
//! constants that markers refer to. Anything else that stands inside a struct is refused with its line.

use std::collections::{BTreeMap, BTreeSet};

/// What a file declares.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct File {
    pub(crate) structs: BTreeMap<String, Struct>,
    /// Named types, with what they are.
    pub(crate) named: BTreeMap<String, String>,
    /// Named types of which a value is one of a few (`+enum`).
    enums: BTreeSet<String>,
    /// Constants that are texts, by name.
    texts: BTreeMap<String, String>,
    /// The values of constants that have a named type, by the type.
    values: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Struct {
    pub(crate) markers: Markers,
    pub(crate) fields: Vec<Field>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Field {
    /// Its name in JSON; `None` if it is embedded.
    pub(crate) name: Option<String>,
    pub(crate) ty: String,
    pub(crate) omit_empty: bool,
    pub(crate) omit_zero: bool,
    pub(crate) patch_strategy: String,
    pub(crate) patch_merge_key: String,
    /// Its number in protobuf.
    pub(crate) number: Option<u32>,
    pub(crate) markers: Markers,
}

/// The lines `+name=value` of the comment above a declaration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Markers(Vec<(String, String)>);

impl Markers {
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let of = move |(own, value): &'a (String, String)| (own == name).then_some(value.as_str());
        self.0.iter().filter_map(of)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }

    fn note(&mut self, comment: &str) {
        let Some(marker) = comment.trim_start().strip_prefix('+') else {
            return;
        };
        let (name, value) = marker.split_once('=').unwrap_or((marker, ""));
        self.0
            .push((name.trim().to_owned(), value.trim().to_owned()));
    }
}

/// Reads a file of the package `own`; types are named `package.Type`.
///
/// # Errors
/// The number of the line that is not understood, and why.
pub(crate) fn read(text: &str, own: &str) -> Result<File, (usize, String)> {
    let imports = imports(text);
    let mut file = File::default();
    let mut markers = Markers::default();
    let mut inside: Option<(String, Struct)> = None;
    let mut comment = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let wrong = |why: String| (number + 1, why);
        if comment || line.starts_with("/*") {
            comment = !line.ends_with("*/");
            continue;
        }
        if let Some(comment) = line.strip_prefix("//") {
            markers.note(comment);
            continue;
        }
        if line.is_empty() {
            markers = Markers::default();
            continue;
        }
        let markers = std::mem::take(&mut markers);
        if let Some((name, of)) = &mut inside {
            if line == "}" {
                file.structs
                    .insert(std::mem::take(name), std::mem::take(of));
                inside = None;
                continue;
            }
            let mut field = field(line, own, &imports).map_err(wrong)?;
            field.markers = markers;
            of.fields.push(field);
            continue;
        }
        if let Some(declared) = line.strip_prefix("type ") {
            let (name, is) = declared.split_once(' ').unwrap_or((declared, ""));
            let name = name.to_owned();
            match is {
                "struct {" => {
                    let fields = Vec::new();
                    inside = Some((name, Struct { markers, fields }));
                }
                "struct{}" | "struct {}" => {
                    let fields = Vec::new();
                    file.structs.insert(name, Struct { markers, fields });
                }
                is if is.starts_with("interface") || is.starts_with("func") || is == "(" => {}
                is => {
                    if markers.get("enum").is_some() {
                        file.enums.insert(name.clone());
                    }
                    let is = is.split("//").next().unwrap_or_default().trim();
                    let is =
                        qualified(is.trim_start_matches("= "), own, &imports).map_err(wrong)?;
                    file.named.insert(name, is);
                }
            }
            continue;
        }
        let constant = line.strip_prefix("const ").unwrap_or(line);
        if let Some((left, value)) = constant.split_once(" = \"")
            && let Some((value, _)) = value.split_once('"')
        {
            file.constant(left, value);
        }
    }
    match inside {
        None => Ok(file),
        Some((name, _)) => Err((text.lines().count(), format!("{name} has no end"))),
    }
}

impl File {
    /// A constant that is a text: its name, with its type perhaps, and its value.
    fn constant(&mut self, left: &str, value: &str) {
        let mut words = left.split_whitespace();
        if let Some(name) = words.next() {
            self.texts.insert(name.to_owned(), value.to_owned());
        }
        if let Some(ty) = words.next() {
            let values = self.values.entry(ty.to_owned()).or_default();
            values.insert(value.to_owned());
        }
    }

    /// The values of a named type of which one is meant; none of another type. Upstream looks in all files of a package
    /// (`kube-openapi/pkg/generators/enum.go`); those of these packages declare them beside their types.
    pub(crate) fn values_of(&self, name: &str) -> impl Iterator<Item = &str> {
        let own = self.enums.contains(name).then(|| self.values.get(name));
        own.flatten().into_iter().flatten().map(String::as_str)
    }

    /// The value of a marker `default`, as JSON: itself, or the constant that it refers to.
    pub(crate) fn default_of(&self, marker: &str) -> Result<String, String> {
        let Some(name) = marker
            .strip_prefix("ref(")
            .and_then(|m| m.strip_suffix(')'))
        else {
            return Ok(marker.to_owned());
        };
        match self.texts.get(name) {
            Some(text) => Ok(format!("\"{text}\"")),
            None => Err(format!("the default {name} is no constant of this file")),
        }
    }
}

/// The packages that a file imports, by the name they have in it.
fn imports(text: &str) -> BTreeMap<String, String> {
    let import = |line: &str| {
        let (alias, path) = line.trim().split_once('"')?;
        let path = path.strip_suffix('"')?;
        let mut parts = path.rsplit('/');
        let last = parts.next()?;
        let short = match last {
            "v1" | "v1beta1" => parts.next()?,
            last => last,
        };
        let alias = match alias.trim() {
            "" => last,
            alias => alias,
        };
        Some((alias.to_owned(), short.to_owned()))
    };
    let block = text.lines().skip_while(|line| *line != "import (").skip(1);
    let mut all: BTreeMap<_, _> = block
        .take_while(|line| *line != ")")
        .filter_map(import)
        .collect();
    let single = text.lines().filter_map(|line| line.strip_prefix("import "));
    all.extend(single.filter_map(import));
    all
}

/// A line of a struct: a name, a type and a tag, or an embedded type.
fn field(line: &str, own: &str, imports: &BTreeMap<String, String>) -> Result<Field, String> {
    let (declared, tags) = line.split_once('`').unwrap_or((line, ""));
    let tags = tags.split('`').next().unwrap_or_default();
    let words: Vec<&str> = declared
        .split("//")
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let tag = |name: &str| {
        let start = tags.find(&format!("{name}:\""))? + name.len() + 2;
        tags[start..].split('"').next()
    };
    let own_name = words.first().copied().filter(|_| words.len() == 2);
    // Without a tag it has its name in Go.
    let json = tag("json").or(own_name).unwrap_or_default();
    let mut options = json.split(',');
    let name = options.next().unwrap_or_default();
    let options: Vec<&str> = options.collect();
    // What is embedded may be given a name in JSON: then it is a field like others.
    let ty = match words.as_slice() {
        [ty] => *ty,
        [_, ty] if !name.is_empty() => *ty,
        _ => {
            return Err(format!(
                "`{}` is no field: wants a name and a type",
                declared.trim()
            ));
        }
    };
    Ok(Field {
        name: Some(name.to_owned()).filter(|name| !name.is_empty()),
        ty: qualified(ty, own, imports)?,
        omit_empty: options.contains(&"omitempty"),
        omit_zero: options.contains(&"omitzero"),
        patch_strategy: tag("patchStrategy").unwrap_or_default().to_owned(),
        patch_merge_key: tag("patchMergeKey").unwrap_or_default().to_owned(),
        number: tag("protobuf")
            .and_then(|tag| tag.split(',').nth(1))
            .and_then(|number| number.parse().ok()),
        markers: Markers::default(),
    })
}

/// A type with the package of each name.
fn qualified(ty: &str, own: &str, imports: &BTreeMap<String, String>) -> Result<String, String> {
    for prefix in ["*", "[]"] {
        if let Some(of) = ty.strip_prefix(prefix) {
            return Ok(format!("{prefix}{}", qualified(of, own, imports)?));
        }
    }
    if let Some((key, value)) = ty.strip_prefix("map[").and_then(|ty| ty.split_once(']')) {
        let (key, value) = (
            qualified(key, own, imports)?,
            qualified(value, own, imports)?,
        );
        return Ok(format!("map[{key}]{value}"));
    }
    if let Some((package, name)) = ty.split_once('.') {
        let package = imports.get(package);
        let package = package.ok_or_else(|| format!("the package of {ty} is not imported"))?;
        return Ok(format!("{package}.{name}"));
    }
    if is_builtin(ty) {
        return Ok(ty.to_owned());
    }
    match ty.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !ty.is_empty() {
        true => Ok(format!("{own}.{ty}")),
        false => Err(format!("`{ty}` is no type that is understood")),
    }
}

/// Is this a type of the language?
pub(crate) fn is_builtin(ty: &str) -> bool {
    const ALL: [&str; 15] = [
        "interface{}",
        "bool",
        "byte",
        "error",
        "float32",
        "float64",
        "int",
        "int16",
        "int32",
        "int64",
        "string",
        "uint",
        "uint32",
        "uint64",
        "uint8",
    ];
    ALL.contains(&ty)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

/*
type Nothing struct {
*/

// +structType=atomic
type Ignored interface {}

// What it is.
// +structType=atomic
type Port struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	// +default=ref(TCP)
	// +optional
	Protocol Protocol `json:"protocol,omitempty" protobuf:"bytes,3,opt,name=protocol,casttype=Protocol"`

	// +listType=map

	// +listMapKey=a
	// +listMapKey=b
	Ports []*Port `json:"ports" patchStrategy:"merge,retainKeys" patchMergeKey:"a"` // a word
	Target map[string]intstr.IntOrString `json:"target,omitempty,omitzero"`
	Plain string
	// Old string `json:"old"`
}

// +enum
type Protocol string // a word

type Family string

const (
	// UDP is one.
	UDP Protocol = "udp"
	// TCP is one.
	TCP Protocol = "tcp"
	Any = "any"
	IPv4 Family = "4"
)
"#;

    #[test]
    fn types_are_read_with_tags_and_markers() {
        let file = read(SOURCE, "core").expect("it is understood");
        assert_eq!(
            file.named,
            BTreeMap::from([
                ("Family".to_owned(), "string".to_owned()),
                ("Protocol".to_owned(), "string".to_owned())
            ])
        );
        let values = |name| file.values_of(name).collect::<Vec<_>>();
        assert_eq!(values("Protocol"), ["tcp", "udp"]);
        // Nobody says that it has these values and no others.
        assert!(values("Family").is_empty());
        let names: Vec<_> = file.structs.keys().collect();
        assert_eq!(names, ["Port"]);
        let port = &file.structs["Port"];
        assert_eq!(port.markers.get("structType"), Some("atomic"));
        let shown: Vec<_> = port
            .fields
            .iter()
            .map(|f| (f.name.as_deref(), f.ty.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                (None, "meta.TypeMeta"),
                (Some("metadata"), "meta.ObjectMeta"),
                (Some("protocol"), "core.Protocol"),
                (Some("ports"), "[]*core.Port"),
                (Some("target"), "map[string]intstr.IntOrString"),
                (Some("Plain"), "string"),
            ]
        );
        let [_, _, protocol, ports, target, _] = port.fields.as_slice() else {
            panic!("there are six");
        };
        assert!(
            protocol.omit_empty && !protocol.omit_zero && target.omit_zero && !ports.omit_empty
        );
        assert_eq!((protocol.number, ports.number), (Some(3), None));
        let default = protocol.markers.get("default").expect("it has one");
        assert_eq!(file.default_of(default).as_deref(), Ok("\"tcp\""));
        assert_eq!(file.default_of("80").as_deref(), Ok("80"));
        // Of a comment, only the block next to the field counts.
        assert_eq!(ports.markers.get("listType"), None);
        assert_eq!(
            ports.markers.all("listMapKey").collect::<Vec<_>>(),
            ["a", "b"]
        );
        assert_eq!(
            (&*ports.patch_strategy, &*ports.patch_merge_key),
            ("merge,retainKeys", "a")
        );
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_line() {
        let in_struct = |field: &str| read(&format!("type A struct {{\n{field}\n}}\n"), "core");
        for (field, why) in [
            ("A B C", "no field"),
            ("A B C `json:\"a\"`", "no field"),
            ("A string `json:\"\"`", "no field"),
            ("A other.B `json:\"a\"`", "not imported"),
            ("A func() `json:\"a\"`", "no type that is understood"),
        ] {
            let (line, wrong) = in_struct(field).expect_err("nobody understands it");
            assert_eq!(line, 2, "{field}");
            assert!(wrong.contains(why), "{field}: {wrong}");
        }
        let (_, wrong) = read("type A struct {\n", "core").expect_err("it has no end");
        assert_eq!(wrong, "A has no end");
        let file = File::default();
        assert!(file.default_of("ref(Nobody)").is_err());
    }
}
