//! The set of one component's defects and fixes that are on.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use crate::{AnyVersion, Defect, Kind, Listed};

/// Which defects and fixes of one component are on in a process.
pub struct Set<E> {
    bits: u64,
    of: PhantomData<E>,
}

impl<E: Listed> Set<E> {
    /// None.
    pub const NONE: Set<E> = Set {
        bits: 0,
        of: PhantomData,
    };

    /// Those of this component that the filter lets pass.
    pub fn of(mut filter: impl FnMut(&'static Defect) -> bool) -> Set<E> {
        let defects = E::LIST.defects.iter().enumerate();
        let on = defects.filter(|(_, defect)| filter(defect));
        Set {
            bits: on.fold(0, |bits, (at, _)| bits | 1 << at),
            of: PhantomData,
        }
    }

    /// What a version shipped with.
    pub fn shipped_with(version: impl Into<AnyVersion>) -> Set<E> {
        let version = version.into();
        Set::of(|defect| defect.ships_with(version))
    }

    /// All defects off and all fixes on: the algorithms as if every known problem were fixed.
    pub fn fixed() -> Set<E> {
        Set::of(|defect| defect.kind == Kind::Fix)
    }

    /// Is it on? Asked where it makes a difference, after all other conditions: that its place was passed is noted.
    pub fn has(self, defect: E) -> bool {
        defect.passed(self.contains(defect))
    }

    /// Is it in the set?
    pub fn contains(self, defect: E) -> bool {
        self.bits >> defect.number() & 1 == 1
    }

    /// With this one on or off.
    pub fn with(self, defect: E, on: bool) -> Set<E> {
        let bit = 1 << defect.number();
        let bits = match on {
            true => self.bits | bit,
            false => self.bits & !bit,
        };
        Set { bits, ..self }
    }

    /// Those that are on.
    pub fn iter(self) -> impl Iterator<Item = &'static Defect> {
        let defects = E::LIST.defects.iter().enumerate();
        let on = defects.filter(move |(at, _)| self.bits >> at & 1 == 1);
        on.map(|(_, defect)| *defect)
    }
}

/// By hand, as its equality and hash are: what is derived would ask for the same of `E`, which only says whose it is.
impl<E> Clone for Set<E> {
    fn clone(&self) -> Set<E> {
        *self
    }
}

impl<E> Copy for Set<E> {}

/// By hand: see its copy.
impl<E> PartialEq for Set<E> {
    fn eq(&self, other: &Set<E>) -> bool {
        self.bits == other.bits
    }
}

impl<E> Eq for Set<E> {}

/// What is on in a process follows from its release and from the scenario, so that two states of a world never differ in that
/// alone: a rollout changes the release, which is hashed. Hashed to nothing, it leaves the digests of all states as they are when there is a switch more.
/// By hand: what is derived would hash the bits.
impl<E> Hash for Set<E> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<E: Listed> Default for Set<E> {
    fn default() -> Set<E> {
        Set::NONE
    }
}

impl<E: Listed> fmt::Debug for Set<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.iter().map(|defect| defect.name);
        f.debug_set().entries(names).finish()
    }
}
