//! Mistakes in the pod garbage collector, and the fix of one.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const ORPHANS_ARE_NOT_LOOKED_UP: Defect = Defect::known(
    "orphans-are-not-looked-up",
    "the live look-up of `discoverDeletedNodes`, left out",
    "a pod goes because the cache does not show its node, although that has come by now",
)
.ships(Gate::NEVER)
.fits_only(gates::POD_GARBAGE_COLLECTOR);

const OUT_OF_SERVICE_IS_NOT_HEEDED: Defect = Defect::known(
    "out-of-service-is-not-heeded",
    "`gcTerminating`, left out (before PR #108486, 1.24)",
    "a pod that is being deleted stays on a node that is out of service, whose kubelet will not end it",
)
.ships(Gate::NEVER)
.fits_only(gates::POD_GARBAGE_COLLECTOR);

const TRUSTS_CACHED_TAINTS: Defect = Defect::open(
    "trusts-cached-taints",
    "k/k#141887",
    "a pod goes although its node is back in service: the cache still shows the taint",
)
.fits_only(gates::POD_GARBAGE_COLLECTOR);

const HELD_PODS_ARE_DELETED_AGAIN: Defect = Defect::open(
    "held-pods-are-deleted-again",
    "k/k#141190",
    "a pod that only finalizers hold is deleted again every 20 s",
)
.fits_only(gates::POD_GARBAGE_COLLECTOR);

const COLLECTS_PODS_BY_NAME: Defect = Defect::open(
    "collects-pods-by-name",
    "as k/k#25169; the deletion of `markFailedAndDeletePod` has no precondition",
    "a pod goes because one of its name that was there before it had ended",
)
.fits_only(gates::POD_GARBAGE_COLLECTOR);

defects! {
    /// A mistake in the pod garbage collector.
    pub enum PodGcDefect in "pod garbage collectors" {
        OrphansAreNotLookedUp = ORPHANS_ARE_NOT_LOOKED_UP,
        OutOfServiceIsNotHeeded = OUT_OF_SERVICE_IS_NOT_HEEDED,
        TrustsCachedTaints = TRUSTS_CACHED_TAINTS,
        HeldPodsAreDeletedAgain = HELD_PODS_ARE_DELETED_AGAIN,
        CollectsPodsByName = COLLECTS_PODS_BY_NAME,
    }
}
