//! The components that declare defects and fixes, a line each: what is to be known of all of them is gathered here, and
//! no other file names them all.

use crate::library::{Concern, Parts};
use wavetank_apiserver::{CacheDefect, ServerDefect, ServiceDefect};
use wavetank_client::{ElectionDefect, InformerDefect};
use wavetank_controllers::{BootstrapDefect, IdentityDefect, RepairDefect};
use wavetank_etcd::EtcdDefect;
use wavetank_version::{AnyVersion, Composition, Defect, List, Listed, Selection, Version};

/// A component with what it declares.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// Its defects and fixes.
    pub list: List,
    /// The properties that judge it.
    pub concern: Concern,
    is_there: fn(Parts) -> bool,
}

const fn component<E: Listed>(concern: Concern, is_there: fn(Parts) -> bool) -> Component {
    Component {
        list: E::LIST,
        concern,
        is_there,
    }
}

/// All of them.
pub const COMPONENTS: [Component; 9] = [
    component::<ServerDefect>(Concern::ControlPlane, |parts| parts.apiservers),
    component::<BootstrapDefect>(Concern::ControlPlane, |parts| parts.apiservers),
    component::<EtcdDefect>(Concern::Etcd, |_| true),
    component::<CacheDefect>(Concern::Informers, |parts| parts.watch_cache),
    component::<InformerDefect>(Concern::Informers, |parts| parts.informers),
    component::<ServiceDefect>(Concern::Services, |parts| parts.services),
    component::<RepairDefect>(Concern::Services, |parts| parts.services),
    component::<ElectionDefect>(Concern::Leaders, |parts| parts.managers),
    component::<IdentityDefect>(Concern::ControlPlane, |parts| parts.identity),
];

impl Component {
    /// The one that declares a defect.
    ///
    /// # Panics
    /// If none does.
    pub fn of(defect: &Defect) -> &'static Component {
        let declares = |component: &&Component| component.list.defects.contains(&defect);
        let found = COMPONENTS.iter().find(declares);
        found.expect("every component is in the list")
    }

    /// Has a cluster with these parts such a component?
    pub fn is_there(&self, parts: Parts) -> bool {
        (self.is_there)(parts)
    }
}

/// The defects and fixes of all components.
pub fn defects() -> impl Iterator<Item = &'static Defect> {
    COMPONENTS
        .iter()
        .flat_map(|component| component.list.defects.iter().copied())
}

/// The defect or fix with this name.
pub fn defect(name: &str) -> Option<&'static Defect> {
    defects().find(|defect| defect.name == name)
}

/// What is on in a process of this version under a composition.
pub fn selection(composition: &Composition, version: impl Into<AnyVersion>) -> Selection {
    composition.selection(version, defects())
}

/// What a version shipped with.
pub fn shipped_with(version: impl Into<AnyVersion>) -> Selection {
    selection(&Composition::default(), version)
}

/// All defects off and all fixes on: the algorithms as if every known problem were fixed.
pub fn fixed() -> Selection {
    let fixed = Composition {
        fixed: true,
        ..Composition::default()
    };
    selection(&fixed, Version::LATEST)
}

/// Those whose places this thread has passed since it was asked last.
pub fn take_passed() -> Vec<&'static Defect> {
    let passed = COMPONENTS
        .iter()
        .flat_map(|component| component.list.take_passed());
    passed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavetank_releases::{V1_20, V1_36, VERSIONS};
    use wavetank_version::Kind;

    #[test]
    fn each_defect_is_declared_once_and_found_by_its_name() {
        assert_eq!(defects().count(), 78);
        let mut names: Vec<&str> = defects().map(|defect| defect.name).collect();
        for name in &names {
            let found = defect(name).expect("it is declared");
            assert_eq!(found.name, *name);
            assert!(Component::of(found).list.defects.contains(&found));
        }
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(defect("no-such-defect"), None);
    }

    #[test]
    fn only_defects_ship_and_only_where_they_fit() {
        for defect in defects() {
            let is_fix = defect.kind == Kind::Fix;
            assert_eq!(is_fix, defect.name.starts_with("fix-"), "{}", defect.name);
            for version in VERSIONS {
                let ships = defect.ships_with(version);
                assert!(!ships || defect.fits(version), "{}", defect.name);
                assert!(!ships || !is_fix, "{}", defect.name);
            }
        }
    }

    /// The set of a component is that of the selection, and nothing of others.
    #[test]
    fn each_component_takes_its_own_of_a_selection() {
        let old = shipped_with(V1_20).of::<CacheDefect>();
        assert!(old.contains(CacheDefect::QuietCacheFallsBehind));
        let names: Vec<&str> = old.iter().map(|defect| defect.name).collect();
        assert!(
            !names.contains(&"last-apiserver-keeps-address"),
            "{names:?}"
        );
        assert!(
            shipped_with(V1_36)
                .of::<CacheDefect>()
                .iter()
                .next()
                .is_none()
        );
    }

    #[test]
    fn passed_places_are_gathered_of_all_components_once() {
        take_passed();
        let none = Selection::NONE;
        assert!(!none.of::<EtcdDefect>().has(EtcdDefect::StaleReadIndex));
        assert!(!none.of::<RepairDefect>().has(RepairDefect::FixCountRounds));
        let names = || {
            take_passed()
                .iter()
                .map(|defect| defect.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(), ["stale-read-index", "fix-count-rounds"]);
        assert_eq!(names(), [""; 0]);
    }
}
