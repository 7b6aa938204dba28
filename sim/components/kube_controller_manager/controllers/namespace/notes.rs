//! What the controller of namespaces says, for properties and stories.

use std::sync::Arc;

use super::deleter::Totals;

/// What is left in a namespace: how many of each resource.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Remaining(pub Arc<[(String, usize)]>);

impl Remaining {
    /// Of what was counted.
    pub fn of(totals: &Totals) -> Remaining {
        let all = totals.gvr_to_num_remaining.iter();
        Remaining(
            all.map(|((resource, _), count)| (resource.clone(), *count))
                .collect(),
        )
    }
}

/// It has deleted what is in a namespace, and has seen what is left.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Empties {
    pub namespace: Arc<str>,
    pub remaining: Remaining,
}

/// Its pods are gone, or are to be: it goes on to all else in a namespace.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct DeletesOthers {
    pub namespace: Arc<str>,
}

/// It finds that nothing is left, and is about to let a namespace go.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Finalizes {
    pub namespace: Arc<str>,
}
