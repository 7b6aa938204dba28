//! Persistent collections whose digest stands beside them.

use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

use imbl::{OrdMap, Vector};

/// A collection beside which its owner keeps the sum of its entries' digests. The hash leaves it to that sum, so it
/// does not grow with the content. Two that share their memory, as copies of a world do, are equal at a glance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summed<C>(pub(crate) C);

/// A collection whose copies share memory.
pub(crate) trait Persistent: PartialEq {
    /// Do both share all of it?
    fn is_shared(&self, other: &Self) -> bool;
}

impl<K: Ord, T: PartialEq> Persistent for OrdMap<K, T> {
    fn is_shared(&self, other: &Self) -> bool {
        self.ptr_eq(other)
    }
}

impl<T: PartialEq> Persistent for Vector<T> {
    fn is_shared(&self, other: &Self) -> bool {
        self.ptr_eq(other)
    }
}

/// By hand: this is what it is for.
impl<C: Persistent> PartialEq for Summed<C> {
    fn eq(&self, other: &Summed<C>) -> bool {
        self.0.is_shared(&other.0) || self.0 == other.0
    }
}

impl<C: Persistent + Eq> Eq for Summed<C> {}

/// By hand: this is what it is for.
impl<C> Hash for Summed<C> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<C> Deref for Summed<C> {
    type Target = C;
    fn deref(&self) -> &C {
        &self.0
    }
}

impl<C> DerefMut for Summed<C> {
    fn deref_mut(&mut self) -> &mut C {
        &mut self.0
    }
}
