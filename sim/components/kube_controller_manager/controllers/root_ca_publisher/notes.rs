//! What the publisher says, for properties and stories.

use wavetank_client::workqueue::Item;

/// It is about to make the ConfigMap of a namespace, or to mend it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Publishes {
    pub namespace: Item,
    pub mends: bool,
}
