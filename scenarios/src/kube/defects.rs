//! The defects and fixes of a job: which have a place in it, and the same job with some the other way.

use wavetank_component::Component;
use wavetank_version::{Composition, Defect, Kind, List, OptionIs, Unfit};

use super::job::Job;
use crate::case::{Flip, Hidden};

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
    pub(super) fn has(&self, defect: &Defect) -> bool {
        match defect.is_of_etcd() {
            true => self.etcd_selection().contains(defect),
            false => self.selections().iter().any(|on| on.contains(defect)),
        }
    }

    /// Where a defect has its place, if there is no such place here.
    fn missing_place(&self, defect: &Defect) -> Option<&'static str> {
        let mut all = self.components.defects().into_iter();
        let (component, list, _) = all.find(|(_, _, declared)| *declared == defect)?;
        let has_it = |other: &dyn Component| {
            let parts = other.defects_of_parts(&self.spec).into_iter();
            let mut defects = parts.flat_map(|list| list.defects.iter());
            other.exists(&self.spec) && defects.any(|own| *own == defect)
        };
        let is_there = component.exists(&self.spec) || self.components.iter().any(has_it);
        (!is_there).then_some(list.place)
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
        let versions = self.components.releases(&self.spec);
        let place = |defect: &Defect| self.missing_place(defect);
        let may_be = |option| self.spec.may_be(option);
        composition.check(&versions, place, may_be)
    }

    /// Why it makes no difference here whether this one is on: it has no place, or the options hide it.
    pub(super) fn cannot_show(&self, defect: &'static Defect) -> Option<String> {
        let asked = Composition {
            on: vec![defect],
            ..Composition::default()
        };
        let unfit = self.check_places(&asked).err();
        let hiding = || {
            let wanted: Vec<String> = self.hiding(defect).map(|o| o.to_string()).collect();
            let wanted = wanted.join(" and ");
            (!wanted.is_empty())
                .then(|| format!("has a place here but does not show: it shows only with {wanted}"))
        };
        unfit.map(|unfit| unfit.why).or_else(hiding)
    }

    /// Do the algorithms of a release that runs here have its place?
    pub(super) fn fits_a_release(&self, defect: &Defect) -> bool {
        let mut releases = self.components.releases(&self.spec).into_iter();
        defect.is_of_etcd() || releases.any(|release| defect.fits(release))
    }

    /// Do the algorithms have this place: those of a process of Kubernetes, or those of the etcd?
    fn fits(&self, defect: &Defect) -> bool {
        defect.is_of_etcd() || self.fits_a_release(defect) && self.missing_place(defect).is_none()
    }

    /// Defects that are on and fixes that are off.
    pub(super) fn blamed(&self) -> Vec<Flip> {
        let all = self.components.defects().into_iter();
        let all = all.map(|(_, _, defect)| defect);
        let blamed = all
            .filter(|defect| self.fits(defect) && self.has(defect) == (defect.kind != Kind::Fix));
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
            let wanted: Vec<String> = self.hiding(defect).map(|o| o.to_string()).collect();
            let name = defect.name.to_owned();
            let shows_with = wanted.join(" and ");
            (!wanted.is_empty()).then_some(Hidden { name, shows_with })
        });
        hidden.collect()
    }

    /// The options that hide a defect which has a place.
    fn hiding(&self, defect: &Defect) -> impl Iterator<Item = OptionIs> {
        let wanted = defect.shows_with.into_iter().flatten();
        wanted.filter(|wanted| !self.spec.may_be(*wanted))
    }

    /// Those that have a place, and would show: there are properties that judge their component, and the options are
    /// such.
    pub(super) fn showing(&self) -> impl Iterator<Item = &'static Defect> {
        let shows = |defect: &&'static Defect| self.hiding(defect).next().is_none();
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
        let has_place = move |(component, _, defect): &(&dyn Component, List, &'static Defect)| {
            self.fits(defect)
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
