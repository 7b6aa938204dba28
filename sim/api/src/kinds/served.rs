//! The kinds that the servers of one world serve: those of the table, and those that components of the world declare.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::Resource;

/// Some resources of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ResourceSet(u128);

/// By hand: a set of the first 32 has the hash that it had when there were no more.
impl Hash for ResourceSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.0 as u32);
        let others = self.0 >> 32;
        if others != 0 {
            state.write_u128(others);
        }
    }
}

impl ResourceSet {
    /// Those that every apiserver has watch caches of, used or not: all that there were when others were first
    /// cached only for scenarios that use them.
    const CACHED: ResourceSet = ResourceSet((1 << 13) - 1);

    /// With the resource of this name, `jobs.batch`.
    ///
    /// # Panics
    /// If there is none.
    fn with(self, qualified: &str) -> ResourceSet {
        let mut all = Resource::ALL.iter();
        let at = all.position(|resource| resource.qualified() == qualified);
        let at = at.unwrap_or_else(|| panic!("there is no resource `{qualified}`"));
        ResourceSet(self.0 | 1 << at)
    }

    /// They, in the order of the table.
    fn iter(self) -> impl Iterator<Item = &'static Resource> {
        let all = Resource::ALL.into_iter().enumerate();
        let own = all.filter(move |(at, _)| self.0 & 1 << at != 0);
        own.map(|(_, resource)| resource)
    }
}

impl Default for ResourceSet {
    fn default() -> ResourceSet {
        ResourceSet::CACHED
    }
}

/// The kinds of a world.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Kinds {
    /// Those of the table that have watch caches.
    cached: ResourceSet,
    custom: Arc<[&'static Resource]>,
}

impl Kinds {
    /// Those of the table, and these.
    ///
    /// # Panics
    /// If one has a group that cannot be that of a custom kind, or two are called or stored alike.
    pub fn with(custom: Vec<&'static Resource>) -> Kinds {
        let mut before: Vec<&Resource> = Resource::ALL.to_vec();
        for &kind in &custom {
            assert!(
                kind.is_custom(),
                "the group of `{}` is none of a custom kind: a group is a domain, and not one of k8s.io",
                kind.qualified()
            );
            let same = |other: &&Resource| {
                **other == *kind
                    || other.registry == kind.registry
                    || other.number() == kind.number()
            };
            if let Some(other) = before.iter().find(|other| same(other)) {
                let (own, other) = (kind.qualified(), other.qualified());
                panic!("the kinds `{own}` and `{other}` are called or stored alike");
            }
            before.push(kind);
        }
        Kinds {
            custom: custom.into(),
            ..Kinds::default()
        }
    }

    /// The same, where somebody uses the resource of this name, `jobs.batch`.
    ///
    /// # Panics
    /// If the table has no such resource.
    #[must_use]
    pub fn used(self, qualified: &str) -> Kinds {
        let cached = self.cached.with(qualified);
        Kinds { cached, ..self }
    }

    /// Those that servers have watch caches of, if they have any.
    pub fn cached(&self) -> impl Iterator<Item = &'static Resource> {
        self.cached.iter().chain(self.custom.iter().copied())
    }

    /// Have servers a watch cache of it?
    pub fn caches(&self, resource: &'static Resource) -> bool {
        self.cached().any(|own| std::ptr::eq(own, resource))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &'static Resource> {
        Resource::ALL.into_iter().chain(self.custom.iter().copied())
    }

    /// The kind of this name.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&'static Resource> {
        self.iter()
            .find(|r| r.group == group && r.version == version && r.plural == plural)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::CustomResource;

    const CRONTABS: Resource = Resource {
        group: "stable.example.com",
        version: "v1",
        plural: "crontabs",
        kind: "CronTab",
        namespaced: true,
        registry: "/registry/stable.example.com/crontabs",
        strategy: &CustomResource::WITH_STATUS,
    };
    static OWN: Resource = CRONTABS;
    static ALIKE: Resource = Resource {
        plural: "others",
        ..CRONTABS
    };
    static MISNAMED: Resource = Resource {
        group: "apps",
        plural: "others",
        registry: "/registry/others",
        ..CRONTABS
    };

    #[test]
    fn a_world_knows_only_its_own() {
        let name = ("stable.example.com", "v1", "crontabs");
        let find = |kinds: &Kinds| kinds.find(name.0, name.1, name.2);
        assert_eq!(find(&Kinds::default()), None);
        assert_eq!(find(&Kinds::with(vec![&OWN])), Some(&OWN));
        let all = Kinds::with(vec![&OWN]).iter().count();
        assert_eq!(all, Resource::ALL.len() + 1);
    }

    #[test]
    #[should_panic(expected = "called or stored alike")]
    fn two_that_are_stored_alike_are_refused() {
        let _ = Kinds::with(vec![&OWN, &ALIKE]);
    }

    #[test]
    #[should_panic(expected = "none of a custom kind")]
    fn a_group_of_ours_is_refused() {
        let _ = Kinds::with(vec![&MISNAMED]);
    }
}
