//! The kinds that the servers of one world serve: those of the table, and those that components of the world declare.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::{EVENTS, Resource};
use crate::apiextensions::CUSTOM_RESOURCE_DEFINITIONS;
use crate::versions;

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
    /// None.
    const NONE: ResourceSet = ResourceSet(0);
    /// All.
    const ALL: ResourceSet = ResourceSet((1 << Resource::ALL.len()) - 1);

    /// With this one, if it is of the table, and with the version in which its objects are stored.
    fn with(self, resource: &Resource) -> ResourceSet {
        let place = |resource: &Resource| Resource::ALL.iter().position(|own| *own == resource);
        let Some(at) = place(resource) else {
            return self;
        };
        let hub = place(versions::hub_of(Resource::ALL[at])).unwrap_or(at);
        ResourceSet(self.0 | 1 << at | 1 << hub)
    }

    /// They, in the order of the table.
    fn iter(self) -> impl Iterator<Item = &'static Resource> {
        let all = Resource::ALL.into_iter().enumerate();
        let own = all.filter(move |(at, _)| self.0 & 1 << at != 0);
        own.map(|(_, resource)| resource)
    }
}

/// The kinds of a world.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kinds {
    /// Those of the table that somebody uses.
    used: ResourceSet,
    custom: Arc<[&'static Resource]>,
}

/// Those of the table, of which any may be used.
impl Default for Kinds {
    fn default() -> Kinds {
        Kinds {
            used: ResourceSet::ALL,
            custom: Arc::default(),
        }
    }
}

impl Kinds {
    /// Those of the table, of which nobody uses any yet, and these.
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
            used: ResourceSet::NONE,
            custom: custom.into(),
        }
    }

    /// The same, with the kind by which users make others.
    #[must_use]
    pub fn with_definitions(self) -> Kinds {
        if self.has_definitions() {
            return self;
        }
        let all = self.custom.iter().copied();
        let custom = all.chain([&CUSTOM_RESOURCE_DEFINITIONS]).collect();
        Kinds { custom, ..self }
    }

    /// Are there kinds that users make?
    pub fn has_definitions(&self) -> bool {
        self.custom.contains(&&CUSTOM_RESOURCE_DEFINITIONS)
    }

    /// The same, where somebody uses this resource.
    #[must_use]
    pub fn with_used(self, resource: &Resource) -> Kinds {
        let used = self.used.with(resource);
        Kinds { used, ..self }
    }

    /// Those that somebody uses. Custom ones are there because somebody does.
    pub fn used(&self) -> impl Iterator<Item = &'static Resource> {
        self.used.iter().chain(self.custom.iter().copied())
    }

    /// Does somebody use it?
    pub fn uses(&self, resource: &Resource) -> bool {
        self.used().any(|own| *own == *resource)
    }

    /// Those that servers have watch caches of, if they have any: those that are used, without Events
    /// (`DefaultWatchCacheSizes`, `pkg/kubeapiserver/default_storage_factory_builder.go`). The versions of a kind share the
    /// cache of the one that is stored.
    pub fn cached(&self) -> impl Iterator<Item = &'static Resource> {
        self.used()
            .filter(|own| **own != EVENTS && versions::hub_of(own) == *own)
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
            .find(|r| r.plural == plural && r.version == version && r.group == group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::{CustomResource, JOBS};

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
    fn there_are_caches_of_what_is_used_and_not_of_events() {
        let none = Kinds::with(vec![&OWN]);
        let kinds = none.clone().with_used(&JOBS).with_used(&EVENTS);
        assert_eq!(none.cached().collect::<Vec<_>>(), [&OWN]);
        assert_eq!(kinds.cached().collect::<Vec<_>>(), [&JOBS, &OWN]);
        assert!(kinds.uses(&EVENTS) && !kinds.caches(&EVENTS) && !kinds.uses(&super::super::PODS));
    }

    #[test]
    fn who_uses_a_version_uses_the_one_that_is_stored() {
        let of = |resource: &&'static Resource| versions::hub_of(resource) != *resource;
        let version = Resource::ALL
            .into_iter()
            .find(of)
            .expect("there are several");
        let kinds = Kinds::with(Vec::new()).with_used(version);
        assert!(kinds.uses(version) && kinds.uses(versions::hub_of(version)));
    }

    #[test]
    fn versions_of_a_kind_share_a_cache() {
        let all: Vec<_> = Kinds::default().cached().collect();
        let is_stored = |resource: &&'static Resource| versions::hub_of(resource) == *resource;
        let stored = Resource::ALL.into_iter().filter(is_stored).count();
        assert!(all.iter().all(is_stored) && stored < Resource::ALL.len());
        // But Events.
        assert_eq!(all.len(), stored - 1);
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
