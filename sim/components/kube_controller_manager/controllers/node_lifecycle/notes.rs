//! What the controller says, for properties and stories.

use std::time::Duration;

use wavetank_client::workqueue::Item;

/// It is about to ask an apiserver for the Lease of a node that it would mark.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct AsksForLease(pub Item);

/// It is about to say that nobody knows whether the node is ready.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct MarksUnknown {
    pub node: Item,
    /// It was to be silent for so long.
    pub grace: Duration,
}

/// It is about to say that the pods on a node are not ready any more.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct MarksPod {
    /// `namespace/name`
    pub pod: Item,
    pub uid: Item,
}

/// Why the taints of a node change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Why {
    /// `NoSchedule`, by its conditions.
    Conditions,
    /// `NoExecute`: it came up in the queue of its zone.
    Queue,
    /// `NoExecute`: one takes the place of another.
    Swap,
    /// It is ready again, or nothing is to be evicted.
    Reachable,
}

/// It is about to change the taints of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Taints {
    pub node: Item,
    pub why: Why,
}

/// A look at all nodes is over: was no node ready in any zone?
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct HasLooked {
    pub all_fully_disrupted: bool,
}
