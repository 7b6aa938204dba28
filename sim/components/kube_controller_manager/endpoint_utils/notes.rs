//! What controllers of slices say, for properties and stories.

use std::sync::Arc;

use wavetank_client::workqueue::Item;

/// A slice, and its generation.
pub type Seen = (Arc<str>, i64);

/// A controller reconciles a Service with these slices, as its cache shows them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reconciles {
    /// How the controller labels its slices.
    pub manager: &'static str,
    /// `namespace/name`
    pub service: Item,
    /// The UID of the Service, or of what its slices mirror.
    pub of: Arc<str>,
    /// As it sees them.
    pub slices: Vec<Seen>,
}

/// So many slices are to be made, updated and deleted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Finalizes {
    /// How the controller labels its slices.
    pub manager: &'static str,
    /// `namespace/name`
    pub service: Item,
    /// To be made.
    pub create: usize,
    /// To be updated.
    pub update: usize,
    /// To be deleted.
    pub delete: usize,
}

/// It has written a slice.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Wrote {
    /// How the controller labels its slices.
    pub manager: &'static str,
    /// `namespace/name`
    pub service: Item,
    /// The UID of the Service, or of what its slices mirror.
    pub of: Arc<str>,
    /// `namespace/name` of the slice.
    pub slice: Item,
    /// Of the slice.
    pub uid: Arc<str>,
    /// The slice's then.
    pub generation: i64,
}

/// It has deleted a slice.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Deleted {
    /// How the controller labels its slices.
    pub manager: &'static str,
    /// The UID of the Service, or of what its slices mirror.
    pub of: Arc<str>,
    /// Of the slice.
    pub uid: Arc<str>,
}

/// It deletes what slices a Service has, and forgets them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CleansUp {
    /// How the controller labels its slices.
    pub manager: &'static str,
    /// `namespace/name`
    pub service: Item,
    /// So many.
    pub delete: usize,
}

/// It takes what its cache shows for stale.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WaitsForSlices {
    /// How the controller labels its slices.
    pub manager: &'static str,
    /// `namespace/name`
    pub service: Item,
    /// The slices that are not there, if that is why, by their UIDs.
    pub lacking: Vec<Arc<str>>,
}

/// Its informer has told it of a slice.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WasTold {
    /// How the controller labels its slices.
    pub manager: &'static str,
    /// Of the slice.
    pub uid: Arc<str>,
    /// The Service that the slice is kept for; none if it is gone, or somebody else's.
    pub of: Option<Item>,
    /// The slice's by then; none if it is gone.
    pub generation: Option<i64>,
}
