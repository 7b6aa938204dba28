//! The defects and fixes of a job: which have a place in it, and the same job with some the other way.

use serde_json::Value;
use wavetank_cluster::components::{self, Component};
use wavetank_cluster::{Named, Parts};
use wavetank_version::{Defect, Kind, OptionIs};

use super::job::Job;
use crate::case::Flip;

/// The names of defects and fixes.
pub(super) fn names(defects: impl Iterator<Item = &'static Defect>) -> Vec<String> {
    defects.map(|defect| defect.name.to_owned()).collect()
}

fn flip(defect: &Defect) -> Flip {
    Flip {
        name: defect.name.to_owned(),
        about: format!("{} ({})", defect.about, defect.source),
    }
}

impl Job {
    /// Is it on anywhere?
    fn has(&self, defect: &Defect) -> bool {
        match defect.is_of_etcd() {
            true => self.etcd_selection().contains(defect),
            false => self.selections().iter().any(|on| on.contains(defect)),
        }
    }

    /// The parts of the world that there are, beside the etcd.
    pub(super) fn parts(&self) -> Parts {
        let (topology, options) = (&self.scenario.topology, &self.scenario.options);
        let releases_locks = options.leader_elect_release_on_cancel.as_ref();
        Parts {
            apiservers: topology.apiservers.count() > 0,
            watch_cache: topology.watch_cache,
            etcd_clients: topology.etcd_clients > 0,
            informers: topology.informers > 0,
            services: self.ranges().is_some(),
            managers: topology.controller_managers > 0,
            releases_locks: releases_locks.is_some_and(|may| may.values().contains(&true)),
            rollout: topology.rollout.is_some(),
            identity: options.apiserver_identity,
        }
    }

    /// Where a defect has its place, if there is no such place here.
    pub(super) fn missing_place(&self, defect: &Defect) -> Option<&'static str> {
        let component = Component::of(defect);
        let is_there = component.is_there(self.parts());
        (!is_there).then_some(component.list.place)
    }

    /// May the option have one of these values?
    pub(super) fn may_be(&self, wanted: OptionIs) -> bool {
        let options = serde_json::to_value(&self.scenario.options).expect("options are JSON");
        let is_wanted = |value: &Value| value.as_str().is_some_and(|v| wanted.one_of.contains(&v));
        match &options[wanted.option] {
            Value::Array(choices) => choices.iter().any(is_wanted),
            one => is_wanted(one),
        }
    }

    /// Do the algorithms have this place: those of an apiserver, or those of the etcd?
    fn fits(&self, defect: &Defect) -> bool {
        let releases = self.all_releases();
        let somewhere = releases.iter().any(|release| defect.fits(*release));
        defect.is_of_etcd() || somewhere && self.missing_place(defect).is_none()
    }

    /// Defects that are on and fixes that are off.
    pub(super) fn blamed(&self) -> Vec<Flip> {
        let blamed =
            |defect: &&Defect| self.fits(defect) && self.has(defect) == (defect.kind != Kind::Fix);
        components::defects().filter(blamed).map(flip).collect()
    }

    /// Defects that are off, and that would show.
    pub(super) fn missing(&self) -> Vec<Flip> {
        let missing = |defect: &&Defect| defect.kind != Kind::Fix && !self.has(defect);
        self.showing().filter(missing).map(flip).collect()
    }

    /// Those that have a place, and would show: there are properties that judge their component, and the options are
    /// such.
    pub(super) fn showing(&self) -> impl Iterator<Item = &'static Defect> {
        let shows = |defect: &&Defect| {
            let concern = Component::of(defect).concern;
            let judged = self
                .properties
                .iter()
                .any(|p: &Named| p.concern() == concern);
            let options = defect.needs.into_iter().chain(defect.shows_with);
            judged && options.into_iter().all(|wanted| self.may_be(wanted))
        };
        let all = components::defects().filter(|defect| self.fits(defect));
        all.filter(shows)
    }

    /// The same job with these the other way.
    pub(super) fn with_flipped(&self, flips: &[&str]) -> Option<Job> {
        let mut job = self.clone();
        for name in flips {
            let defect = components::defect(name)?;
            let (to, from) = match self.has(defect) {
                false => (&mut job.composition.on, &mut job.composition.off),
                true => (&mut job.composition.off, &mut job.composition.on),
            };
            from.retain(|other| *other != defect);
            if !to.contains(&defect) {
                to.push(defect);
            }
        }
        Some(job)
    }
}
