//! Mistakes in the controller that gives ranges of addresses to nodes, and the fixes of findings.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const RELEASED_WHILE_DELETED: Defect = Defect::known(
    "range-is-free-before-its-node-is-gone",
    "k/k#127792 (1.31), mended by PR #128305",
    "the range of a node that is being deleted is free, while a finalizer holds the node and its pods run",
)
.ships(Gate::NEVER)
.fits_only(gates::NODE_IPAM_CONTROLLER);

const NOT_LISTED_FIRST: Defect = Defect::known(
    "ranges-are-not-listed-first",
    "k/k#29058 (1.3), mended by PR #29062",
    "a controller that begins gives out ranges before it knows which are taken",
)
.ships(Gate::NEVER)
.fits_only(gates::NODE_IPAM_CONTROLLER);

const RELEASED_IS_TRIED_AGAIN: Defect = Defect::known(
    "released-range-is-tried-again",
    "k/k#117487, mended by PR #115529; cloud-provider-azure#4556",
    "an assignment that failed is tried again with the range that was freed when it failed",
)
.ships(Gate::NEVER)
.fits_only(gates::NODE_IPAM_CONTROLLER);

const UNSEEN_DELETIONS_LEAK: Defect = Defect::known(
    "range-of-unseen-deletion-leaks",
    "the tombstone of `DeleteFunc`, ignored",
    "the range of a node that went while the watch was broken is never free again",
)
.ships(Gate::NEVER)
.fits_only(gates::NODE_IPAM_CONTROLLER);

const FAILED_LEAKS: Defect = Defect::known(
    "failed-assignment-leaks",
    "the release at the end of `updateCIDRsAllocation`, left out",
    "the range that a node could not be given is never free again",
)
.ships(Gate::NEVER)
.fits_only(gates::NODE_IPAM_CONTROLLER);

const NOT_TRIED_AGAIN: Defect = Defect::known(
    "node-without-range-is-not-tried-again",
    "k/k#115528, mended by PR #115529",
    "a node for which there was no range gets none when one is free",
)
.ships(Gate::NEVER)
.fits_only(gates::NODE_IPAM_CONTROLLER);

const FIX_KEEP_RESERVED: Defect = Defect::fix(
    "fix-keep-reserved-range",
    "FINDINGS.md, 64",
    "a range whose assignment failed stays that of its node until the node is seen with it, or gone",
)
.fits_only(gates::NODE_IPAM_CONTROLLER);

const FIX_RELEASE_FIRST_FAMILY: Defect = Defect::fix(
    "fix-release-first-family",
    "FINDINGS.md, 65",
    "where there is no range of the second family left, that of the first is free again",
)
.fits_only(gates::NODE_IPAM_CONTROLLER);

const FIX_WAIT_OUT_REQUESTS: Defect = Defect::fix(
    "fix-wait-out-requests",
    "FINDINGS.md, 66",
    "a controller that begins waits until no request of the one before it can be done any more, before it lists nodes",
)
.fits_only(gates::NODE_IPAM_CONTROLLER);

const FIX_RELEASE_UNSEEN: Defect = Defect::fix(
    "fix-release-unseen-range",
    "FINDINGS.md, 67",
    "the range of a node that went while the watch was broken is free again, if the node was not seen with it, or was made anew",
)
.fits_only(gates::NODE_IPAM_CONTROLLER);

defects! {
    /// A mistake in the controller of ranges, or the fix of one.
    pub enum NodeIpamDefect in "controllers of ranges of nodes" {
        ReleasedWhileDeleted = RELEASED_WHILE_DELETED,
        NotListedFirst = NOT_LISTED_FIRST,
        ReleasedIsTriedAgain = RELEASED_IS_TRIED_AGAIN,
        UnseenDeletionsLeak = UNSEEN_DELETIONS_LEAK,
        FailedLeaks = FAILED_LEAKS,
        NotTriedAgain = NOT_TRIED_AGAIN,
        FixKeepReserved = FIX_KEEP_RESERVED,
        FixReleaseFirstFamily = FIX_RELEASE_FIRST_FAMILY,
        FixWaitOutRequests = FIX_WAIT_OUT_REQUESTS,
        FixReleaseUnseen = FIX_RELEASE_UNSEEN,
    }
}
