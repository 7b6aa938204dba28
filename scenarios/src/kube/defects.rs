//! The defects and fixes of a job: which have a place in it, and the same job with some the other way.

use std::collections::{BTreeMap, BTreeSet};

use wavetank_component::Component;
use wavetank_version::{Composition, Defect, Kind, List, Unfit, Version};

use super::job::Job;
use crate::case::{Flip, Hidden};

/// What a defect wants that shows between releases only.
pub(super) const SEVERAL_RELEASES: &str =
    "processes of several releases (`rollout: {from: previous}` in `topology`)";

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

/// Which defects have a place in a job. It is made once for all that are asked about: a list says it of hundreds, of
/// each scenario.
struct Places {
    /// The releases whose algorithms run.
    releases: Vec<Version>,
    /// Those that have none, by name, each with what of a cluster would have it.
    missing: BTreeMap<&'static str, &'static str>,
}

impl Places {
    fn of(job: &Job) -> Places {
        let Job {
            components, spec, ..
        } = job;
        let there = components.iter().filter(|own| own.exists(spec));
        let of_parts = there.flat_map(|own| own.defects_of_parts(spec));
        let of_parts: BTreeSet<_> = of_parts
            .flat_map(|list| list.defects.iter().map(|defect| defect.name))
            .collect();
        let missing = components
            .defects()
            .into_iter()
            .filter(|(own, _, defect)| !own.exists(spec) && !of_parts.contains(defect.name))
            .map(|(_, list, defect)| (defect.name, list.place));
        Places {
            releases: components.releases(spec),
            missing: missing.collect(),
        }
    }

    /// Where a defect has its place, if there is no such place.
    fn missing(&self, defect: &Defect) -> Option<&'static str> {
        self.missing.get(defect.name).copied()
    }

    /// Do the algorithms have this place: those of a process of Kubernetes, or those of the etcd?
    fn fit(&self, defect: &Defect) -> bool {
        fits_one_of(&self.releases, defect)
            && (defect.is_of_etcd() || self.missing(defect).is_none())
    }
}

/// Do the algorithms of one of these releases, or those of the etcd, have its place?
fn fits_one_of(releases: &[Version], defect: &Defect) -> bool {
    defect.is_of_etcd() || releases.iter().any(|release| defect.fits(*release))
}

impl Job {
    /// Is it on anywhere?
    pub(super) fn has(&self, defect: &Defect) -> bool {
        match defect.is_of_etcd() {
            true => self.etcd_selection().contains(defect),
            false => self.selections().iter().any(|on| on.contains(defect)),
        }
    }

    /// Has every defect that is asked for a place?
    ///
    /// # Errors
    /// The first that has none.
    pub(super) fn check_defects(&self) -> Result<(), String> {
        let checked = self.check_places(&self.spec.composition);
        checked.map_err(|unfit| unfit.to_string())
    }

    fn check_places(&self, composition: &Composition) -> Result<(), Unfit> {
        let places = Places::of(self);
        let may_be = |option| self.spec.may_be(option);
        composition.check(&places.releases, |defect| places.missing(defect), may_be)
    }

    /// Why it makes no difference here whether this one is on: it has no place, or the options hide it.
    pub(super) fn cannot_show(&self, defect: &'static Defect) -> Option<String> {
        let asked = Composition {
            on: vec![defect],
            ..Composition::default()
        };
        let unfit = self.check_places(&asked).err();
        let hiding = || {
            let wanted = self.hiding(defect).join(" and ");
            (!wanted.is_empty())
                .then(|| format!("has a place here but does not show: it shows only with {wanted}"))
        };
        unfit.map(|unfit| unfit.why).or_else(hiding)
    }

    /// Do the algorithms of a release that runs here have its place?
    pub(super) fn fits_a_release(&self, defect: &Defect) -> bool {
        fits_one_of(&self.components.releases(&self.spec), defect)
    }

    /// Defects that are on and fixes that are off.
    pub(super) fn blamed(&self) -> Vec<Flip> {
        let all = self.components.defects().into_iter();
        let all = all.map(|(_, _, defect)| defect);
        let places = Places::of(self);
        let blamed = all
            .filter(|defect| places.fit(defect) && self.has(defect) == (defect.kind != Kind::Fix));
        blamed.map(flip).collect()
    }

    /// Defects that are off, and that would show.
    pub(super) fn missing(&self) -> Vec<Flip> {
        let missing = |defect: &&Defect| defect.kind != Kind::Fix && !self.has(defect);
        self.showing().filter(missing).map(flip).collect()
    }

    /// Defects that are off and have a place, but that these options hide; each with the options that it shows with.
    pub(super) fn hidden(&self) -> Vec<Hidden> {
        let off = |defect: &&Defect| defect.kind != Kind::Fix && !self.has(defect);
        let hidden = self.judged().filter(off).filter_map(|defect| {
            let wanted = self.hiding(defect);
            let name = defect.name.to_owned();
            let shows_with = wanted.join(" and ");
            (!wanted.is_empty()).then_some(Hidden { name, shows_with })
        });
        hidden.collect()
    }

    /// What is missing for a defect to show that has a place.
    fn hiding(&self, defect: &Defect) -> Vec<String> {
        let wanted = defect.shows_with.into_iter().flatten();
        let options = wanted.filter(|wanted| !self.spec.may_be(*wanted));
        let releases = || {
            let releases = self.components.releases(&self.spec);
            releases.iter().collect::<BTreeSet<_>>().len()
        };
        let alike = defect.shows_between_releases && releases() < 2;
        let several = alike.then(|| SEVERAL_RELEASES.to_owned());
        options
            .map(|option| option.to_string())
            .chain(several)
            .collect()
    }

    /// Those that have a place, and would show: there are properties that judge their component, and the options are
    /// such.
    pub(super) fn showing(&self) -> impl Iterator<Item = &'static Defect> {
        let shows = |defect: &&'static Defect| self.hiding(defect).is_empty();
        self.judged().filter(shows)
    }

    /// Those that have a place, and whose component some property judges.
    fn judged(&self) -> impl Iterator<Item = &'static Defect> {
        let judged = |component: &dyn Component| {
            let shown_by = component.shown_by();
            let mut all = self.properties.iter();
            all.any(|named| shown_by.contains(&named.of))
        };
        let all = self.components.defects().into_iter();
        let places = Places::of(self);
        let has_place = move |(component, _, defect): &(&dyn Component, List, &'static Defect)| {
            places.fit(defect)
                && judged(*component)
                && defect.needs.is_none_or(|wanted| self.spec.may_be(wanted))
        };
        all.filter(has_place).map(|(_, _, defect)| defect)
    }

    /// The same job with these the other way.
    pub(super) fn with_flipped(&self, flips: &[&str]) -> Option<Job> {
        let mut job = self.clone();
        for name in flips {
            let defect = self.components.defect(name)?;
            let composition = &mut job.spec.composition;
            let (to, from) = match self.has(defect) {
                false => (&mut composition.on, &mut composition.off),
                true => (&mut composition.off, &mut composition.on),
            };
            from.retain(|other| *other != defect);
            if !to.contains(&defect) {
                to.push(defect);
            }
        }
        Some(job)
    }
}
