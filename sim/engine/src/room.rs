//! Lists that are about to grow when they are copied: whoever copies a world is about to step it.

use std::ops::{Deref, DerefMut};

/// A list whose copies have room for a few more.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(crate) struct Roomy<T>(Vec<T>);

impl<T> Default for Roomy<T> {
    fn default() -> Roomy<T> {
        Roomy(Vec::new())
    }
}

impl<T: Clone> Clone for Roomy<T> {
    fn clone(&self) -> Roomy<T> {
        let mut copy = Vec::with_capacity(self.0.len() + 4);
        copy.extend_from_slice(&self.0);
        Roomy(copy)
    }
}

impl<T> FromIterator<T> for Roomy<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Roomy<T> {
        Roomy(items.into_iter().collect())
    }
}

impl<T> Deref for Roomy<T> {
    type Target = Vec<T>;
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for Roomy<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}
