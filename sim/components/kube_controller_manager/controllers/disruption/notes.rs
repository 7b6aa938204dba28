//! What the controller says, for properties and stories. What evictions say is in the apiserver.

use std::sync::Arc;

use wavetank_api::Stamp;
use wavetank_client::workqueue::Item;
use wavetank_etcd::Revision;

/// It is about to write the status of a budget.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct WritesBudget {
    /// `namespace/name`
    pub budget: Item,
    /// The UID of the budget.
    pub uid: Arc<str>,
    /// As of which revision it knows the budget, over which it writes.
    pub read: Revision,
    /// The UIDs of the pods that it counts as healthy; none if it says that the sync has failed.
    pub healthy: Arc<[Arc<str>]>,
    /// The names of the pods that stay noted as about to go.
    pub disrupted: Arc<[Arc<str>]>,
    /// How many disruptions it allows.
    pub allowed: i64,
    /// What its clock shows.
    pub now: Stamp,
}

/// It is about to say of a pod that it does not go, after all.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct TakesBackDisruption {
    /// `namespace/name`
    pub pod: Item,
    pub uid: Arc<str>,
}
