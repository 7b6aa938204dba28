//! Mistakes in the TTL controller.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const ONLY_NEW_NODES: Defect = Defect::known(
    "ttl-is-for-new-nodes",
    "the review of PR #40796",
    "a node keeps the TTL that it got when it was made, however large the cluster has become",
)
.ships(Gate::NEVER)
.fits_only(gates::TTL_CONTROLLER);

const NO_HYSTERESIS: Defect = Defect::known(
    "ttl-without-hysteresis",
    "`sizeMin` of `ttlBoundaries`, left out",
    "the TTL changes back at the size at which it has changed: all nodes are written each time",
)
.ships(Gate::NEVER)
.fits_only(gates::TTL_CONTROLLER);

const UNSEEN_DELETIONS_ARE_NOT_COUNTED: Defect = Defect::known(
    "unseen-node-deletions-are-not-counted",
    "the tombstone of `deleteNode`, ignored",
    "a node that went while the watch was broken counts for as long as its controller leads",
)
.ships(Gate::NEVER)
.fits_only(gates::TTL_CONTROLLER);

const GARBLED_STAYS: Defect = Defect::known(
    "garbled-ttl-stays",
    "an error of `getIntFromAnnotation`, ignored",
    "a TTL that is no number stays as it is",
)
.ships(Gate::NEVER)
.fits_only(gates::TTL_CONTROLLER);

defects! {
    /// A mistake in the TTL controller.
    pub enum TtlDefect in "TTL controllers" {
        OnlyNewNodes = ONLY_NEW_NODES,
        NoHysteresis = NO_HYSTERESIS,
        UnseenDeletionsAreNotCounted = UNSEEN_DELETIONS_ARE_NOT_COUNTED,
        GarbledStays = GARBLED_STAYS,
    }
}
