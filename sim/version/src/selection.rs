//! Which defects and fixes of all components are on.

use std::fmt;

use crate::{Defect, Listed, Set};

/// The defects and fixes that are on in a process, of whichever component: what a composition comes to, and what each
/// component's [`Set`] is taken from.
#[derive(Clone, Default)]
pub struct Selection(Vec<&'static Defect>);

impl Selection {
    /// None.
    pub const NONE: Selection = Selection(Vec::new());

    /// Those that are on of one component.
    pub fn of<E: Listed>(&self) -> Set<E> {
        Set::of(|defect| self.contains(defect))
    }

    /// Is it on?
    pub fn contains(&self, defect: &Defect) -> bool {
        self.0.iter().any(|on| on.is(defect))
    }

    /// With this one on or off.
    pub fn with<E: Listed>(&self, defect: E, on: bool) -> Selection {
        let others = self.iter().filter(|other| !other.is(defect.defect()));
        others.chain(on.then_some(defect.defect())).collect()
    }

    /// Those that are on.
    pub fn iter(&self) -> impl Iterator<Item = &'static Defect> {
        self.0.iter().copied()
    }
}

/// By hand: as sets, in whichever order they were turned on.
impl PartialEq for Selection {
    fn eq(&self, other: &Selection) -> bool {
        self.0.len() == other.0.len() && self.iter().all(|on| other.contains(on))
    }
}

impl Eq for Selection {}

impl FromIterator<&'static Defect> for Selection {
    fn from_iter<I: IntoIterator<Item = &'static Defect>>(all: I) -> Selection {
        Selection(all.into_iter().collect())
    }
}

impl fmt::Debug for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|d| d.name)).finish()
    }
}
