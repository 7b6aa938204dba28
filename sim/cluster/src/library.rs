//! All properties that a scenario can name, by what they are about. Each part of the world has a
//! table of its own; here they are one. What a property says does not belong here.

use std::time::Duration;

use wavetank_actors::monitors as writers;
use wavetank_api::Object;
use wavetank_client::monitors as informers;
use wavetank_controllers::Reconciler;
use wavetank_engine::{Class, Property};
use wavetank_etcd::monitors;
use wavetank_version::Version;

use crate::{leaders, properties};

/// A property that a scenario can name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named {
    /// Of the control plane.
    ControlPlane(properties::Name),
    /// Of etcd.
    Etcd(monitors::Name),
    /// Of informers.
    Informers(informers::Name),
    /// Of those who read and write.
    Writers(writers::Name),
    /// Of the election of a leader.
    Leaders(leaders::Name),
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
    /// The election of a leader: there must be controller managers.
    Leaders,
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
        let writers = writers::Name::TABLE.iter().map(|info| Entry {
            property: Named::Writers(info.monitor),
            name: info.name,
            about: info.about,
            sometimes: false,
        });
        let leaders = leaders::Name::TABLE.iter().map(|info| Entry {
            property: Named::Leaders(info.property),
            name: info.name,
            about: info.about,
            sometimes: info.property.property(Duration::ZERO).class() == Class::Sometimes,
        });
        let all = control_plane.chain(etcd).chain(informers);
        all.chain(writers).chain(leaders).collect()
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
            Named::Informers(_) | Named::Writers(_) => Concern::Informers,
            Named::Leaders(_) => Concern::Leaders,
        }
    }

    fn is_about_rollouts(self) -> bool {
        matches!(self, Named::ControlPlane(name) if name.is_about_rollouts())
    }

    fn is_about_identities(self) -> bool {
        matches!(self, Named::ControlPlane(name) if name.is_about_identities())
    }

    /// The properties that a scenario is held to if it names none: with apiservers of these
    /// releases (there may be none) and this reconciler, and with these parts of the world.
    pub fn fitting(releases: &[Version], reconciler: Reconciler, parts: Parts) -> Vec<Named> {
        let control_plane = properties::Name::fitting(reconciler, releases);
        let etcd = monitors::Name::TABLE.iter().map(|info| info.monitor);
        let control_plane = control_plane.into_iter().map(Named::from);
        let informers = informers::Name::TABLE.iter().map(|info| info.monitor);
        let informers = informers.filter(|monitor| monitor.fits(releases));
        let writers = writers::Name::TABLE.iter().map(|info| info.monitor);
        let leaders = leaders::Name::TABLE.iter().map(|info| info.property);
        let leaders = leaders.filter(|property| property.fits(parts.releases_locks));
        let all = control_plane.chain(etcd.map(Named::Etcd));
        let all = all.chain(informers.map(Named::Informers));
        let all = all.chain(writers.map(Named::Writers));
        let all = all.chain(leaders.map(Named::Leaders));
        let fits = |property: &Named| match property.concern() {
            _ if property.is_about_rollouts() => parts.rollout,
            _ if property.is_about_identities() => parts.identity,
            Concern::ControlPlane => !releases.is_empty(),
            Concern::Etcd => parts.etcd_clients,
            Concern::Informers => parts.informers,
            Concern::Services => parts.services,
            Concern::Leaders => parts.managers,
        };
        all.filter(fits).collect()
    }

    /// The property itself, in a world that settles so.
    pub fn property(self, settling: &Settling) -> Box<dyn Property> {
        match self {
            Named::ControlPlane(name) => name.property(settling.shutdown_delay),
            Named::Etcd(name) => name.property::<Object>(),
            Named::Informers(name) => name.property(settling.informers),
            Named::Writers(name) => name.property(),
            Named::Leaders(name) => name.property(settling.leaders),
        }
    }
}

/// Parts of the world beside the etcd.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Parts {
    /// Apiservers.
    pub apiservers: bool,
    /// Their watch caches.
    pub watch_cache: bool,
    /// Clients of etcd.
    pub etcd_clients: bool,
    /// Clients with informers.
    pub informers: bool,
    /// Something to give to Services.
    pub services: bool,
    /// Controller managers.
    pub managers: bool,
    /// Some that give up their lock when they stop.
    pub releases_locks: bool,
    /// A rollout.
    pub rollout: bool,
    /// Identities of apiservers, in a release that has them.
    pub identity: bool,
}

/// How long after calm all has settled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Settling {
    /// `--shutdown-delay-duration`, on which the rest of the control plane depends.
    pub shutdown_delay: Duration,
    /// Informers have caught up.
    pub informers: Duration,
    /// A controller manager leads.
    pub leaders: Duration,
}

impl From<properties::Name> for Named {
    fn from(name: properties::Name) -> Named {
        Named::ControlPlane(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavetank_releases::V1_36;

    #[test]
    fn names_are_unique_and_lead_back() {
        for entry in Named::all() {
            assert_eq!(Named::find(entry.name), Some(entry.property));
        }
    }

    #[test]
    fn a_cluster_without_apiservers_is_not_held_to_what_they_promise() {
        let parts = Parts {
            etcd_clients: true,
            informers: true,
            ..Parts::default()
        };
        let with = Named::fitting(&[V1_36], Reconciler::Lease, parts);
        let without = Named::fitting(&[], Reconciler::Lease, parts);
        let of_control_plane = |p: &&Named| p.concern() == Concern::ControlPlane;
        assert_eq!(with.iter().filter(of_control_plane).count(), 14);
        assert_eq!(without.iter().filter(of_control_plane).count(), 0);
    }
}
