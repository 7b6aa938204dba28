//! What the controller of ranges says, for properties and stories.

use std::sync::Arc;

use wavetank_client::workqueue::Item;

use super::cidr_set::Cidr;

/// It is about to give these ranges to a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Assigns {
    pub node: Item,
    pub cidrs: Arc<[Cidr]>,
}

/// What it has done with ranges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Did {
    Begins,
    Allocates,
    Occupies,
    Releases,
}

/// It has done this with ranges, for a node; these are taken since, and of a family there may be none left.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Books {
    pub node: Item,
    pub did: Did,
    pub cidrs: Arc<[Cidr]>,
    pub used: Arc<[Cidr]>,
    pub is_full: bool,
    /// Was there none left of a family when one was asked for?
    pub ran_out: bool,
}
