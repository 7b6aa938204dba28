//! Mistakes in the StatefulSet controller, and the fixes of findings.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const STALE_STATEFUL_SET: Defect = Defect::known(
    "stale-stateful-set",
    "before StaleControllerConsistencyStatefulSet (1.36), PR #137212",
    "a StatefulSet is synced from caches that have not seen what was written for it",
)
.ships(Gate::NEVER)
.fits_only(gates::STATEFUL_SET_CONTROLLER);

const PODS_DO_NOT_WAIT: Defect = Defect::known(
    "pods-do-not-wait",
    "the waits of `processReplica`, left out",
    "a pod of an ordered set is made before those before it are ready",
)
.ships(Gate::NEVER)
.fits_only(gates::STATEFUL_SET_CONTROLLER);

const EQUAL_REVISION_COLLIDES: Defect = Defect::known(
    "equal-revision-collides",
    "k/k#56355 (1.9)",
    "a revision that is there and not in the cache counts as a collision: another is made, and all pods are replaced",
)
.ships(Gate::NEVER)
.fits_only(gates::STATEFUL_SET_CONTROLLER);

const STALE_CLAIM_IS_USED: Defect = Defect::known(
    "stale-claim-is-used",
    "`PodClaimIsStale`, left out",
    "a pod is made over a claim that goes with the pod before it",
)
.ships(Gate::NEVER)
.fits_only(gates::STATEFUL_SET_CONTROLLER);

const HISTORY_IS_KEPT: Defect = Defect::known(
    "history-is-kept",
    "`truncateHistory`, left out",
    "revisions that nobody needs stay beyond the limit of the history",
)
.ships(Gate::NEVER)
.fits_only(gates::STATEFUL_SET_CONTROLLER);

const AVAILABILITY_IS_NOT_AWAITED: Defect = Defect::known(
    "availability-is-not-awaited",
    "k/k#39785 and `syncStatefulSet`: the later look, left out",
    "nobody looks at a set again when its pods have been ready for long enough",
)
.ships(Gate::NEVER)
.fits_only(gates::STATEFUL_SET_CONTROLLER);

const AVAILABLE_SETS_ARE_SYNCED: Defect = Defect::known(
    "available-sets-are-synced",
    "a condition of the later look of `syncStatefulSet`, left out",
    "a set with `minReadySeconds` is synced again and again, although all its pods are available",
)
.ships(Gate::NEVER)
.fits_only(gates::STATEFUL_SET_CONTROLLER);

const WAITS_FOR_BROKEN_POD: Defect = Defect::open(
    "waits-for-broken-pod",
    "k/k#74374",
    "an ordered set waits for ever for a pod of an old revision that never becomes ready",
)
.fits_only(gates::STATEFUL_SET_CONTROLLER);

const FIX_DELETE_THE_POD_IT_SAW: Defect = Defect::fix(
    "fix-delete-the-pod-it-saw",
    "FINDINGS.md, 31",
    "a pod is deleted only if it is the one that was looked at, and no newer one of its name",
)
.fits_only(gates::STATEFUL_SET_CONTROLLER);

const FIX_COUNT_CURRENT_PODS: Defect = Defect::fix(
    "fix-count-current-pods",
    "FINDINGS.md, 32",
    "a pod that is replaced is taken off the count of current pods only if it was one of them",
)
.fits_only(gates::STATEFUL_SET_CONTROLLER);

const FIX_CLAIMS_GO_FIRST: Defect = Defect::fix(
    "fix-claims-go-first",
    "FINDINGS.md, 33",
    "no pod is made over a claim that goes with a pod or a set before it, whatever becomes of claims by now",
)
.fits_only(gates::STATEFUL_SET_CONTROLLER);

const FIX_LOOK_AGAIN_FOR_CLAIMS: Defect = Defect::fix(
    "fix-look-again-for-claims",
    "FINDINGS.md, 34",
    "a set whose pod waits until a claim is gone is looked at again each second",
)
.fits_only(gates::STATEFUL_SET_CONTROLLER);

const FIX_LOOK_AGAIN_FOR_CACHES: Defect = Defect::fix(
    "fix-look-again-for-caches",
    "FINDINGS.md, 58",
    "a set for which something was written that a cache has not seen is looked at again each second, however often that was so",
)
.fits_only(gates::STATEFUL_SET_CONTROLLER);

const FIX_CLAIMS_FOLLOW_AT_ONCE: Defect = Defect::fix(
    "fix-claims-follow-at-once",
    "FINDINGS.md, 92",
    "claims are to stay or to go as their set says, also while its pods in order are not ready",
)
.fits_only(gates::STATEFUL_SET_CONTROLLER);

const FIX_CLAIMS_WITHOUT_PODS_GO: Defect = Defect::fix(
    "fix-claims-without-pods-go",
    "FINDINGS.md, 95",
    "a claim that is to go when its set is scaled down goes also if its pod was away by then",
)
.fits_only(gates::STATEFUL_SET_CONTROLLER);

const FIX_NAMES_THAT_ARE_FREE_ARE_TOLD: Defect = Defect::fix(
    "fix-names-that-are-free-are-told",
    "FINDINGS.md, 97",
    "a set that was made anew is looked at when a pod of the one before it is gone, whose name it needs",
)
.fits_only(gates::STATEFUL_SET_CONTROLLER);

const FIX_LOOK_FOR_THE_CURRENT_REVISION: Defect = Defect::fix(
    "fix-look-for-the-current-revision",
    "FINDINGS.md, 99",
    "a revision that the status of a set calls the current one, and the cache does not have, is asked for",
)
.fits_only(gates::STATEFUL_SET_CONTROLLER);

defects! {
    /// A mistake in the StatefulSet controller, or the fix of one.
    pub enum StatefulSetDefect in "StatefulSet controllers" {
        StaleStatefulSet = STALE_STATEFUL_SET,
        PodsDoNotWait = PODS_DO_NOT_WAIT,
        EqualRevisionCollides = EQUAL_REVISION_COLLIDES,
        StaleClaimIsUsed = STALE_CLAIM_IS_USED,
        HistoryIsKept = HISTORY_IS_KEPT,
        AvailabilityIsNotAwaited = AVAILABILITY_IS_NOT_AWAITED,
        AvailableSetsAreSynced = AVAILABLE_SETS_ARE_SYNCED,
        WaitsForBrokenPod = WAITS_FOR_BROKEN_POD,
        FixDeleteThePodItSaw = FIX_DELETE_THE_POD_IT_SAW,
        FixCountCurrentPods = FIX_COUNT_CURRENT_PODS,
        FixClaimsGoFirst = FIX_CLAIMS_GO_FIRST,
        FixLookAgainForClaims = FIX_LOOK_AGAIN_FOR_CLAIMS,
        FixLookAgainForCaches = FIX_LOOK_AGAIN_FOR_CACHES,
        FixClaimsFollowAtOnce = FIX_CLAIMS_FOLLOW_AT_ONCE,
        FixClaimsWithoutPodsGo = FIX_CLAIMS_WITHOUT_PODS_GO,
        FixNamesThatAreFreeAreTold = FIX_NAMES_THAT_ARE_FREE_ARE_TOLD,
        FixLookForTheCurrentRevision = FIX_LOOK_FOR_THE_CURRENT_REVISION,
    }
}
