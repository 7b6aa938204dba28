//! What the collector and its users say, for properties and stories.

use std::sync::Arc;

use wavetank_client::workqueue::Item;

/// Why a pod goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Why {
    /// There are more that have ended than the threshold.
    Terminated,
    /// It is being deleted, and its node is out of service.
    OutOfService,
    /// Its node is gone.
    Orphaned,
    /// It is being deleted, and has no node.
    Unscheduled,
}

impl Why {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Why::Terminated => "which has ended",
            Why::OutOfService => "which is going on a node that is out of service",
            Why::Orphaned => "whose node is gone",
            Why::Unscheduled => "which is going and has no node",
        }
    }
}

/// It looks at all pods, of which so many may have ended and stay; 0 is any number.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct LooksAtPods {
    pub threshold: usize,
}

/// It is about to ask an apiserver for a node, to find out whether pods may go for this reason.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct AsksForNode {
    pub node: Arc<str>,
    pub why: Why,
}

/// It is about to mark a pod as failed, and to have it deleted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Collects {
    /// `namespace/name`
    pub pod: Item,
    pub uid: Arc<str>,
    pub node: Arc<str>,
    pub why: Why,
}

/// Somebody who has seen this pod asks for its deletion.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct AsksToDeletePod(pub Arc<str>);
