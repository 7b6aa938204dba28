//! What the controller says, for properties and stories.

use std::sync::Arc;

use wavetank_client::workqueue::Item;

/// A slice, and its generation.
pub(super) type Seen = (Arc<str>, i64);

/// It reconciles a Service with these slices, as its cache shows them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Reconciles {
    /// `namespace/name`
    pub service: Item,
    /// Of the Service.
    pub of: Arc<str>,
    pub slices: Vec<Seen>,
}

/// So many slices of an address type are to be made, updated and deleted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Finalizes {
    pub service: Item,
    pub create: usize,
    pub update: usize,
    pub delete: usize,
}

/// It has written a slice.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Wrote {
    pub service: Item,
    /// The UID of the Service.
    pub of: Arc<str>,
    /// `namespace/name` of the slice.
    pub slice: Item,
    pub uid: Arc<str>,
    pub generation: i64,
}

/// It has deleted a slice.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Deleted {
    /// The UID of the Service.
    pub of: Arc<str>,
    pub uid: Arc<str>,
}

/// It takes what its cache shows for stale.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct WaitsForSlices {
    pub service: Item,
    /// The slices that are not there, if that is why, by their UIDs.
    pub lacking: Vec<Arc<str>>,
}

/// Its informer has told it of a slice.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct WasTold {
    pub uid: Arc<str>,
    /// The Service that the slice is kept for; none if it is gone, or somebody else's.
    pub of: Option<Item>,
}
