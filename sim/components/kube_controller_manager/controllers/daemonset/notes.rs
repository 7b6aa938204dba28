//! What the controller says, for properties and stories.

use std::sync::Arc;

use wavetank_client::workqueue::Item;

/// It is about to make and delete pods of a set.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct SyncsNodes {
    /// `namespace/name`
    pub set: Item,
    /// Its UID.
    pub uid: Arc<str>,
    /// The UIDs of the pods that it counts as the set's and as staying.
    pub counted: Arc<[Arc<str>]>,
    /// The nodes that get a pod.
    pub nodes: Arc<[Arc<str>]>,
    /// The pods that are to go.
    pub deletes: Arc<[Item]>,
}

/// It made a pod.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct MadeDaemon {
    /// The UID of the set.
    pub set: Arc<str>,
    pub pod: Item,
    /// Its UID.
    pub uid: Arc<str>,
}

/// There was no such pod any more.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct DaemonWasGone {
    /// `namespace/name`
    pub set: Item,
}

/// It waits until its cache shows what it asked for: so many deletions are to be seen.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct AwaitsDaemons {
    pub set: Item,
    pub deletions: i64,
}

/// It is about to write the status of a set.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct WritesStatus {
    pub set: Item,
}
