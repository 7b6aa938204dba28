//! The switches of a job: which have a place in it, and the same job with some the other way.

use wavetank_cluster::{Concern, Named};
use wavetank_release::{Kind, Place, Reconciler, Switch, SwitchInfo};

use super::job::Job;
use crate::case::Flip;

/// The names of switches.
pub(super) fn names(switches: impl Iterator<Item = Switch>) -> Vec<String> {
    switches.map(|s| s.info().name.to_owned()).collect()
}

fn flip(info: &SwitchInfo) -> Flip {
    Flip {
        name: info.name.to_owned(),
        about: format!("{} ({})", info.about, info.source),
    }
}

impl Job {
    /// Is it on anywhere?
    fn has(&self, switch: Switch) -> bool {
        match switch.info().etcd.is_empty() {
            true => self.switches().iter().any(|on| on.contains(switch)),
            false => self.etcd().switches.contains(switch),
        }
    }

    /// The parts of the world that there are, beside the etcd.
    pub(super) fn places(&self) -> Vec<Place> {
        let topology = &self.scenario.topology;
        let all = [
            (Place::Server, topology.apiservers.count() > 0),
            (Place::WatchCache, topology.watch_cache),
            (Place::Informer, topology.informers > 0),
            (Place::Services, self.ranges().is_some()),
            (Place::Election, topology.controller_managers > 0),
            (Place::Identity, self.scenario.options.apiserver_identity),
        ];
        let there = all.into_iter().filter(|(_, is)| *is);
        there.map(|(place, _)| place).collect()
    }

    /// Do the algorithms have this place: those of an apiserver, or those of the etcd?
    fn fits(&self, info: &SwitchInfo) -> bool {
        let releases = self.all_releases();
        let somewhere = releases.iter().any(|release| info.fits.contains(release));
        info.place == Place::Etcd || somewhere && self.places().contains(&info.place)
    }

    /// Defects that are on and fixes that are off.
    pub(super) fn blamed(&self) -> Vec<Flip> {
        let blamed = |info: &&SwitchInfo| {
            self.fits(info) && self.has(info.switch) == (info.kind != Kind::Fix)
        };
        Switch::TABLE.iter().filter(blamed).map(flip).collect()
    }

    /// Defects that are off, and that would show.
    pub(super) fn missing(&self) -> Vec<Flip> {
        let missing = |info: &&SwitchInfo| info.kind != Kind::Fix && !self.has(info.switch);
        self.showing().filter(missing).map(flip).collect()
    }

    /// Switches that have a place, and would show: those of etcd to its own clients, those of
    /// watching to informers, those of stopping where a reconciler keeps Endpoints.
    pub(super) fn showing(&self) -> impl Iterator<Item = &'static SwitchInfo> {
        let reconcilers = self.reconcilers();
        let judged = move |concern| {
            self.properties
                .iter()
                .any(|p: &Named| p.concern() == concern)
        };
        let shows = move |info: &&SwitchInfo| match info.place {
            Place::Server => {
                // Those of any reconciler concern what is removed at a stop: with `none` that is nothing.
                let has_it = |own: &Reconciler| match info.reconciler {
                    Some(reconciler) => *own == reconciler,
                    None => *own != Reconciler::None,
                };
                reconcilers.iter().any(has_it) && judged(Concern::ControlPlane)
            }
            Place::WatchCache | Place::Informer => judged(Concern::Informers),
            Place::Etcd => judged(Concern::Etcd),
            Place::Services => judged(Concern::Services),
            Place::Election => judged(Concern::Leaders),
            Place::Identity => judged(Concern::ControlPlane),
        };
        let all = Switch::TABLE.iter().filter(|info| self.fits(info));
        all.filter(shows)
    }

    /// The same job with these the other way.
    pub(super) fn with_flipped(&self, flips: &[&str]) -> Option<Job> {
        let mut job = self.clone();
        for name in flips {
            let switch = Switch::named(name)?;
            let (to, from) = match self.has(switch) {
                false => (&mut job.composition.on, &mut job.composition.off),
                true => (&mut job.composition.off, &mut job.composition.on),
            };
            from.retain(|s| *s != switch);
            if !to.contains(&switch) {
                to.push(switch);
            }
        }
        Some(job)
    }
}
