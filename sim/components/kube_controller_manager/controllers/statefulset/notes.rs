//! What the controller says, for properties and stories.

use std::sync::Arc;

use wavetank_client::workqueue::Item;

/// The controller begins to sync a set.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct SyncsStatefulSet {
    /// `namespace/name`
    pub set: Item,
}

/// It is about to make, update and delete pods of a set.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct UpdatesSet {
    pub set: Item,
    /// Its UID.
    pub uid: Arc<str>,
    /// The pods that it counts as those of the set, by their UIDs.
    pub pods: Arc<[Arc<str>]>,
}

/// It looks which revisions of a set nobody needs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct TruncatesHistory {
    /// The UID of the set.
    pub set: Arc<str>,
    /// The names of all that it sees.
    pub revisions: Arc<[Item]>,
}

/// It is about to make a pod.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct MakesPod {
    pub set: Item,
    pub pod: Item,
    /// Of an ordered set: the UIDs of the pods before it, as the controller sees them; empty where it sees none.
    pub before: Option<Arc<[Arc<str>]>>,
    /// The claims of the pod.
    pub claims: Arc<[Item]>,
}

/// It made a pod.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct MadePod {
    /// The UID of the set.
    pub set: Arc<str>,
    pub pod: Item,
    /// Its UID.
    pub uid: Arc<str>,
}

/// Why a pod goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Why {
    /// It has ended.
    Ended,
    /// The set asks for fewer.
    ScaledDown,
    /// It is to be one of another revision.
    Update,
}

/// It asks for the deletion of a pod.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct DeletesPod {
    pub pod: Item,
    /// The UID of the pod that it sees.
    pub uid: Arc<str>,
    pub why: Why,
    /// The revision of the pod that it saw, and that of the set.
    pub revision: Arc<str>,
    pub update_revision: Arc<str>,
}

/// A user asks for the deletion of the pod with this UID.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct AsksToDeletePod(pub Arc<str>);

/// It gave a claim to a pod that is to go.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct GaveClaim {
    pub claim: Item,
    /// The UID of the pod; none if nobody is to own it, or the set.
    pub to: Option<Arc<str>>,
}

/// An apiserver found the status that it wrote invalid.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct StatusIsInvalid {
    pub set: Item,
    pub why: String,
}
