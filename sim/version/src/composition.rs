//! How flags compose which defects and fixes are on.

use std::fmt;

use crate::{AnyVersion, Defect, Kind, OptionIs, Selection, Version};

/// What flags ask for: a release, minus `without`, plus `defects`; or all that is fixed, plus `defects`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Composition {
    /// All defects off and all fixes on, to begin with.
    pub fixed: bool,
    /// Turned on.
    pub on: Vec<&'static Defect>,
    /// Turned off.
    pub off: Vec<&'static Defect>,
}

/// A defect or fix that has no place in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// Which.
    pub defect: &'static Defect,
    /// Why.
    pub why: String,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.defect.name, self.why)
    }
}
impl std::error::Error for Unfit {}

impl Composition {
    /// Which of `all` are on in a process of this version.
    pub fn selection(
        &self,
        version: impl Into<AnyVersion>,
        all: impl Iterator<Item = &'static Defect>,
    ) -> Selection {
        let version = version.into();
        let begins = |defect: &Defect| match self.fixed {
            true => defect.kind == Kind::Fix,
            false => defect.ships_with(version),
        };
        let is_on = |defect: &&'static Defect| {
            let added = self.on.contains(defect) && defect.fits(version);
            added || begins(defect) && !self.off.contains(defect)
        };
        all.filter(|defect| defect.concerns(version))
            .filter(is_on)
            .collect()
    }

    /// Has everything that is asked for a place somewhere in these versions, with these options? `place` says where
    /// a defect has its place if there is no such place.
    ///
    /// # Errors
    /// The first that has none.
    pub fn check(
        &self,
        versions: &[Version],
        place: impl Fn(&Defect) -> Option<&'static str>,
        may_be: impl Fn(OptionIs) -> bool,
    ) -> Result<(), Unfit> {
        for defect in self
            .on
            .iter()
            .copied()
            .filter(|defect| !defect.is_of_etcd())
        {
            let unfit = |why: String| Err(Unfit { defect, why });
            if let Some(place) = place(defect) {
                return unfit(format!("has a place only in {place}, and there are none"));
            }
            if !versions.iter().any(|version| defect.fits(*version)) {
                return unfit("has no place in the algorithms of this release".to_owned());
            }
            if let Some(needs) = defect.needs.filter(|needs| !may_be(*needs)) {
                return unfit(format!("has a place only with {needs}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gate;

    const OLD: Version = Version::new(20, 2);
    const NEW: Version = Version::new(36, 2);

    const BUG: Defect = Defect::known("bug", "here", "it was").until(Gate::since(1, 27));
    const OTHER: Defect = Defect::known("other", "here", "it was").until(Gate::since(1, 24));
    const FIX: Defect = Defect::fix("fix-it", "here", "it helps").needs("keeper", &["lease"]);
    const LATE: Defect = Defect::fix("fix-late", "here", "it helps").fits_only(Gate::since(1, 27));

    fn on(composition: &Composition, version: Version) -> Vec<&'static str> {
        let all = [&BUG, &OTHER, &FIX, &LATE].into_iter();
        let selection = composition.selection(version, all);
        selection.iter().map(|defect| defect.name).collect()
    }

    #[test]
    fn flags_compose() {
        let plain = Composition::default();
        assert_eq!(on(&plain, OLD), ["bug", "other"]);
        assert_eq!(on(&plain, NEW), [""; 0]);
        let without = Composition {
            off: vec![&BUG],
            ..Composition::default()
        };
        assert_eq!(on(&without, OLD), ["other"]);
        let fixed = Composition {
            fixed: true,
            on: vec![&BUG],
            off: vec![&LATE],
        };
        assert_eq!(on(&fixed, NEW), ["bug", "fix-it"]);
        let late = Composition {
            on: vec![&LATE],
            ..Composition::default()
        };
        assert_eq!(on(&late, OLD), ["bug", "other"]);
        assert_eq!(on(&late, NEW), ["fix-late"]);
    }

    #[test]
    fn what_has_no_place_is_refused() {
        let asked = |defect| Composition {
            on: vec![defect],
            ..Composition::default()
        };
        let check = |defect, place, may: bool| {
            let checked = asked(defect).check(&[OLD], |_| place, |_| may);
            checked.err().map(|unfit| unfit.to_string())
        };
        assert_eq!(check(&BUG, None, true), None);
        let nowhere = "`bug` has a place only in keepers, and there are none";
        assert_eq!(check(&BUG, Some("keepers"), true).as_deref(), Some(nowhere));
        let option = "`fix-it` has a place only with `keeper: lease`";
        assert_eq!(check(&FIX, None, false).as_deref(), Some(option));
        let release = "`fix-late` has no place in the algorithms of this release";
        assert_eq!(check(&LATE, None, true).as_deref(), Some(release));
    }
}
