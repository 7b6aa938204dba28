//! What the controller says beside what every controller of slices does.

use wavetank_client::workqueue::Item;

/// It is about to make a slice.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Makes {
    /// `namespace/name` of what is mirrored.
    pub endpoints: Item,
    /// The name that it gives the slice; none if an apiserver is to find one.
    pub name: Option<Item>,
}
