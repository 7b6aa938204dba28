//! What the controller of ServiceAccounts says, for properties and stories.

use wavetank_client::workqueue::Item;

/// It is about to make the default ServiceAccount of a namespace.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct MakesAccount {
    pub namespace: Item,
}
