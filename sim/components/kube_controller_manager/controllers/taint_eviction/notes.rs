//! What the controller and users of pods say, for properties and stories.

use wavetank_client::workqueue::Item;

use super::timed_workers::Ticket;

/// It is about to ask for a pod that it means to evict, and with a fix for the node of that.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asks {
    /// `namespace/name`
    pub pod: Item,
    /// Whose work that is: two may be at work on one pod.
    pub worker: Ticket,
}

/// It is about to have a pod deleted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Evicts {
    /// `namespace/name`
    pub pod: Item,
    pub uid: Item,
    pub worker: Ticket,
}

/// This worker is done with its pod, whatever came of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct IsDone(pub Ticket);

/// A pod will be evicted, but not yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Schedules(pub Item);

/// A pod will not be evicted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Cancels(pub Item);

/// Somebody who has seen the pod with this UID asks for its deletion.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct AsksToDelete(pub Item);
