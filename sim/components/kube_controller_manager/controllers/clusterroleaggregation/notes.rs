//! What the controller that aggregates ClusterRoles says, for properties and stories.

use wavetank_client::workqueue::Item;

/// It is about to apply the rules of a role: so many.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Aggregates {
    pub role: Item,
    pub rules: usize,
}
