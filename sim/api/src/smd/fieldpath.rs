//! Paths to fields, and sets of them (`fieldpath`).

mod element;
mod managers;
mod serialize;
mod set;

pub(crate) use element::{Path, PathElement, path_string};
pub(crate) use managers::{ManagedFields, VersionedSet};
pub(crate) use set::Set;
