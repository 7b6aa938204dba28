//! What the controller says, for properties and stories.

use wavetank_client::workqueue::Item;

/// It begins to sync a Deployment.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct SyncsDeployment {
    /// `namespace/name`
    pub deployment: Item,
}

/// It scales a set, or makes one of this size.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Scales {
    /// Of the Deployment.
    pub deployment: Item,
    /// The name of the set.
    pub set: String,
    pub to: i64,
}
