//! What stands beside state and is none: known fingerprints, spare memory, live futures, functions.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// A value that is no part of the state that it stands in: always equal, and hashed to nothing. With it
/// `Clone`, `Eq` and `Hash` are derived, so that no field of the state is forgotten in one of them.
#[derive(Clone, Copy, Default)]
pub struct NotState<T>(pub T);

impl<T> PartialEq for NotState<T> {
    fn eq(&self, _: &NotState<T>) -> bool {
        true
    }
}
impl<T> Eq for NotState<T> {}

impl<T> Hash for NotState<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<T> fmt::Debug for NotState<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

impl<T> Deref for NotState<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for NotState<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
