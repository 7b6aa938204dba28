//! Fields that another manager owns (`merge/conflict.go`).

use std::collections::BTreeMap;
use std::fmt;

use crate::smd::fieldpath::{ManagedFields, Path, Set, path_string};

/// `Conflict`
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Conflict {
    /// Who owns the field.
    pub(crate) manager: String,
    pub(crate) path: Path,
}

/// `Conflicts`, by managers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Conflicts(pub(crate) Vec<Conflict>);

impl Conflicts {
    /// `ConflictsFromManagers`
    pub(crate) fn conflicts_from_managers(managers: &ManagedFields) -> Conflicts {
        let of = |(manager, of): (&String, &crate::smd::fieldpath::VersionedSet)| {
            let manager = manager.clone();
            let conflict = move |path| Conflict {
                manager: manager.clone(),
                path,
            };
            of.set.paths().into_iter().map(conflict)
        };
        Conflicts(managers.iter().flat_map(of).collect())
    }

    /// `ToSet`
    pub(crate) fn to_set(&self) -> Set {
        Set::of(self.0.iter().map(|conflict| conflict.path.clone()))
    }

    /// What conflicts with each manager.
    pub(crate) fn by_manager(&self) -> BTreeMap<&str, Vec<&Path>> {
        let mut all: BTreeMap<&str, Vec<&Path>> = BTreeMap::new();
        for conflict in &self.0 {
            all.entry(&conflict.manager)
                .or_default()
                .push(&conflict.path);
        }
        all
    }
}

/// `Error`
impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.0.as_slice() {
            return write!(
                f,
                "conflict with {:?}: {}",
                only.manager,
                path_string(&only.path)
            );
        }
        let mut lines = Vec::new();
        for (manager, paths) in self.by_manager() {
            lines.push(format!("conflicts with {manager:?}:"));
            lines.extend(
                paths
                    .into_iter()
                    .map(|path| format!("- {}", path_string(path))),
            );
        }
        f.write_str(&lines.join("\n"))
    }
}
