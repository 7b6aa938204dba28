//! What the controllers say, for properties and stories.

use std::sync::Arc;

use wavetank_client::workqueue::Item;

use super::kind::Kind;

/// The controller begins to sync an object.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Syncs {
    pub kind: Kind,
    /// `namespace/name`
    pub set: Item,
}

/// It finds that there are too few or too many pods, and is about to change that.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Manages {
    pub kind: Kind,
    pub set: Item,
    /// Its UID.
    pub uid: Arc<str>,
    /// The pods that it counts as those of the set.
    pub active: Arc<[Item]>,
    /// How many there should be.
    pub replicas: i64,
}

/// It made a pod.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Made {
    /// The UID of the set.
    pub set: Arc<str>,
    pub pod: Item,
}

/// A pod that it deleted is on its way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Deleted {
    /// The UID of the set.
    pub set: Arc<str>,
    pub pod: Item,
}
