//! What the TTL controller says, for properties and stories.

use wavetank_client::workqueue::Item;

/// It has counted a node that is new or gone: so many there are now, for which it wants this TTL. The sizes of clusters that it goes by
/// are divided by this.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct CountsNodes {
    pub node: Item,
    pub count: u32,
    pub ttl: i64,
    pub divisor: u32,
}

/// It is about to set the TTL of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct SetsTtl {
    pub node: Item,
    pub ttl: i64,
}
