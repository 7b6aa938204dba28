//! The switches of a job: which have a place in it, and the same job with some the other way.

use wavetank_component::Component;
use wavetank_release::{Kind, Switch, SwitchInfo};

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

fn is_of_etcd(info: &SwitchInfo) -> bool {
    !info.etcd.is_empty()
}

impl Job {
    /// Is it on anywhere?
    fn has(&self, info: &SwitchInfo) -> bool {
        if !is_of_etcd(info) {
            return self.switches().iter().any(|on| on.contains(info.switch));
        }
        let etcd = self.etcd_release();
        etcd.is_some_and(|release| self.spec.composition.etcd(release).contains(info.switch))
    }

    /// Do the algorithms of a release have this place?
    fn is_of_release(&self, info: &SwitchInfo) -> bool {
        let releases = self.components.releases(&self.spec);
        is_of_etcd(info) || releases.iter().any(|release| info.fits.contains(release))
    }

    /// Is there somebody who has its place?
    fn fits(&self, component: &dyn Component, info: &SwitchInfo) -> bool {
        component.exists(&self.spec) && self.is_of_release(info)
    }

    /// Has every switch that is asked for a place?
    ///
    /// # Errors
    /// The first that has none.
    pub(super) fn check_defects(&self) -> Result<(), String> {
        for (component, info) in self.components.defects() {
            if !self.spec.composition.on.contains(&info.switch) {
                continue;
            }
            let place = component.defects().place;
            let why = if !component.exists(&self.spec) {
                format!("has a place only in {place}, and there are none")
            } else if !self.is_of_release(info) {
                "has no place in the algorithms of this release".to_owned()
            } else if let Err(why) = component.has_place(&self.spec, info) {
                why
            } else {
                continue;
            };
            return Err(format!("`{}` {why}", info.name));
        }
        Ok(())
    }

    /// Defects that are on and fixes that are off.
    pub(super) fn blamed(&self) -> Vec<Flip> {
        let all = self.components.defects().into_iter();
        let blamed = all.filter(|(component, info)| {
            self.fits(*component, info) && self.has(info) == (info.kind != Kind::Fix)
        });
        blamed.map(|(_, info)| flip(info)).collect()
    }

    /// Defects that are off, and that would show.
    pub(super) fn missing(&self) -> Vec<Flip> {
        let all = self.showing().into_iter();
        let missing = all.filter(|info| info.kind != Kind::Fix && !self.has(info));
        missing.map(flip).collect()
    }

    /// Switches that have a place, and would show: there are properties that are about them.
    pub(super) fn showing(&self) -> Vec<&'static SwitchInfo> {
        let judged = |component: &dyn Component| {
            let shown_by = component.shown_by();
            let mut all = self.properties.iter();
            all.any(|named| shown_by.contains(&named.of))
        };
        let all = self.components.defects().into_iter();
        let shows = all.filter(|(component, info)| {
            self.fits(*component, info) && component.shows(&self.spec, info) && judged(*component)
        });
        shows.map(|(_, info)| info).collect()
    }

    /// The same job with these the other way.
    pub(super) fn with_flipped(&self, flips: &[&str]) -> Option<Job> {
        let mut job = self.clone();
        for name in flips {
            let all = self.components.defects();
            let (_, info) = all.iter().find(|(_, info)| info.name == *name)?;
            let composition = &mut job.spec.composition;
            let (to, from) = match self.has(info) {
                false => (&mut composition.on, &mut composition.off),
                true => (&mut composition.off, &mut composition.on),
            };
            from.retain(|s| *s != info.switch);
            if !to.contains(&info.switch) {
                to.push(info.switch);
            }
        }
        Some(job)
    }
}
