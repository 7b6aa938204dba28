//! Which manager owns which fields (`fieldpath/managers.go`).

use std::collections::BTreeMap;

use crate::smd::fieldpath::Set;

/// `VersionedSet`: fields, in a version of the object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct VersionedSet {
    pub(crate) set: Set,
    /// `APIVersion`
    pub(crate) api_version: String,
    /// Did its manager apply them?
    pub(crate) applied: bool,
}

/// `ManagedFields`, by the manager.
pub(crate) type ManagedFields = BTreeMap<String, VersionedSet>;
