//! What evictions tell.

use std::sync::Arc;

use wavetank_api::Stamp;
use wavetank_etcd::Revision;

/// A pod is about to go by the eviction subresource.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Evicts {
    /// `namespace/name`
    pub pod: Arc<str>,
    /// The UID of it, as the eviction has read it.
    pub uid: Arc<str>,
    /// What lets it go.
    pub by: LetGoBy,
}

/// What lets a pod go.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LetGoBy {
    /// A budget, of which one disruption was spent.
    Budget {
        /// The UID of the budget.
        budget: Arc<str>,
        /// The revision that spent it.
        spent: Revision,
        /// When, by the server's clock, in whole seconds as the budget has it.
        at: Stamp,
    },
    /// That it is not ready, so that its budget is not touched.
    Unready,
    /// That no budget guards it.
    Nobody,
}

/// A budget, or that there are several, lets a pod not go.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RefusesEviction {
    /// `namespace/name`
    pub pod: Arc<str>,
    /// With which code.
    pub code: u16,
}
