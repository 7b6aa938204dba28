//! What the controller says, for properties and stories.

use wavetank_client::workqueue::Item;

/// It is about to write the Endpoints of a Service.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Writes {
    /// `namespace/name`
    pub service: Item,
    /// How many addresses are ready, and how many are not.
    pub ready: usize,
    pub not_ready: usize,
}
