//! All properties that a scenario can name, by what they are about. Each part of the world has a
//! table of its own; here they are one. What a property says does not belong here.

use std::time::Duration;

use wavetank_api::Object;
use wavetank_client::monitors as informers;
use wavetank_engine::{Class, Property};
use wavetank_etcd::monitors;
use wavetank_release::{Reconciler, Release};

use crate::properties;

/// A property that a scenario can name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named {
    /// Of the control plane.
    ControlPlane(properties::Name),
    /// Of etcd.
    Etcd(monitors::Name),
    /// Of informers.
    Informers(informers::Name),
}

/// What a property is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Concern {
    /// Apiservers and their clients: there must be apiservers.
    ControlPlane,
    /// What etcd answers to clients of its own: there must be some.
    Etcd,
    /// Watch caches and clients with informers: there must be some.
    Informers,
    /// Services: apiservers must have something to give to them.
    Services,
}

/// What there is to know of a property.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The property.
    pub property: Named,
    /// Its name in scenario files.
    pub name: &'static str,
    /// What it says, in one line.
    pub about: &'static str,
    /// `sometimes` properties are to be reached, not to be kept.
    pub sometimes: bool,
}

impl Named {
    /// All of them.
    pub fn all() -> Vec<Entry> {
        let control_plane = properties::Name::TABLE.iter().map(|info| Entry {
            property: Named::ControlPlane(info.property),
            name: info.name,
            about: info.about,
            sometimes: info.sometimes,
        });
        let etcd = monitors::Name::TABLE.iter().map(|info| Entry {
            property: Named::Etcd(info.monitor),
            name: info.name,
            about: info.about,
            sometimes: info.sometimes,
        });
        let informers = informers::Name::TABLE.iter().map(|info| Entry {
            property: Named::Informers(info.monitor),
            name: info.name,
            about: info.about,
            sometimes: info.monitor.property(Duration::ZERO).class() == Class::Sometimes,
        });
        control_plane.chain(etcd).chain(informers).collect()
    }

    /// The property with this name.
    pub fn find(name: &str) -> Option<Named> {
        let found = Named::all().into_iter().find(|entry| entry.name == name)?;
        Some(found.property)
    }

    /// What it is about.
    pub fn concern(self) -> Concern {
        match self {
            Named::ControlPlane(name) if name.is_about_caches() => Concern::Informers,
            Named::ControlPlane(name) if name.is_about_services() => Concern::Services,
            Named::ControlPlane(_) => Concern::ControlPlane,
            Named::Etcd(_) => Concern::Etcd,
            Named::Informers(_) => Concern::Informers,
        }
    }

    /// The properties that a scenario is held to if it names none: with apiservers of these
    /// releases (there may be none) and this reconciler, and with or without clients of etcd,
    /// informers, and something to give to Services.
    pub fn fitting(
        releases: &[Release],
        reconciler: Reconciler,
        etcd_clients: bool,
        with_informers: bool,
        with_services: bool,
    ) -> Vec<Named> {
        let control_plane = properties::Name::fitting(reconciler, releases);
        let etcd = monitors::Name::TABLE.iter().map(|info| info.monitor);
        let control_plane = control_plane.into_iter().map(Named::from);
        let informers = informers::Name::TABLE.iter().map(|info| info.monitor);
        let informers = informers.filter(|monitor| monitor.fits(releases));
        let all = control_plane.chain(etcd.map(Named::Etcd));
        let all = all.chain(informers.map(Named::Informers));
        let fits = |property: &Named| match property.concern() {
            Concern::ControlPlane => !releases.is_empty(),
            Concern::Etcd => etcd_clients,
            Concern::Informers => with_informers,
            Concern::Services => with_services,
        };
        all.filter(fits).collect()
    }

    /// The property itself; informers settle so long after calm.
    pub fn property(self, shutdown_delay: Duration, settled: Duration) -> Box<dyn Property> {
        match self {
            Named::ControlPlane(name) => name.property(shutdown_delay),
            Named::Etcd(name) => name.property::<Object>(),
            Named::Informers(name) => name.property(settled),
        }
    }
}

impl From<properties::Name> for Named {
    fn from(name: properties::Name) -> Named {
        Named::ControlPlane(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lead_back() {
        for entry in Named::all() {
            assert_eq!(Named::find(entry.name), Some(entry.property));
        }
    }

    #[test]
    fn a_cluster_without_apiservers_is_not_held_to_what_they_promise() {
        let with = Named::fitting(&[Release::V1_36], Reconciler::Lease, true, true, true);
        let without = Named::fitting(&[], Reconciler::Lease, true, true, true);
        let of_control_plane = |p: &&Named| p.concern() == Concern::ControlPlane;
        assert_eq!(with.iter().filter(of_control_plane).count(), 12);
        assert_eq!(without.iter().filter(of_control_plane).count(), 0);
    }
}
