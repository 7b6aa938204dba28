//! What the controller tells.

use wavetank_client::workqueue::Item;

/// It has counted what is used, and writes that.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Counts {
    /// `namespace/name`
    pub quota: Item,
    /// What is used, in words.
    pub used: String,
}
