//! What the controller says, for properties and stories.

use std::sync::Arc;

use wavetank_client::workqueue::Item;
use wavetank_etcd::Revision;

/// It is about to write the Endpoints of a Service.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Writes {
    /// `namespace/name`
    pub service: Item,
    /// How many addresses are ready, and how many are not.
    pub ready: usize,
    pub not_ready: usize,
}

/// It has written them, and this is their revision.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Wrote {
    pub service: Item,
    /// Of the Endpoints.
    pub uid: Arc<str>,
    pub revision: Revision,
}

/// It leaves them as its cache shows them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Leaves {
    pub service: Item,
    /// Of the Endpoints.
    pub uid: Arc<str>,
    pub seen: Revision,
}

/// It takes what its cache shows for stale, and waits for newer ones.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Refuses {
    pub service: Item,
    pub seen: Revision,
}
