//! Mistakes in the taint eviction controller.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const EVICTIONS_ARE_NOT_RECONSIDERED: Defect = Defect::open(
    "evictions-are-not-reconsidered",
    "k/k#102993, k/k#108982",
    "a pod is evicted as it was decided once: its taint is gone or another one, it tolerates it longer, or it is another pod",
)
.fits_only(gates::TAINT_EVICTION_CONTROLLER);

const EVICTIONS_ARE_NOT_RETRIED: Defect = Defect::open(
    "evictions-are-not-retried",
    "k/k#140639",
    "a pod stays on a tainted node: its deletion failed five times within 50 ms",
)
.fits_only(gates::TAINT_EVICTION_CONTROLLER);

const EVICTS_PODS_BY_NAME: Defect = Defect::open(
    "evicts-pods-by-name",
    "as k/k#25169; the deletion of `addConditionAndDeletePod` has no precondition (PR #141568)",
    "a pod is evicted because one of its name that was there before it had to go",
)
.fits_only(gates::TAINT_EVICTION_CONTROLLER);

const NEW_PODS_ARE_NOT_EVICTED: Defect = Defect::known(
    "new-pods-are-not-evicted",
    "`PodUpdated`, left out",
    "a pod stays on a tainted node, since it came when that was tainted",
)
.ships(Gate::NEVER)
.fits_only(gates::TAINT_EVICTION_CONTROLLER);

const FIX_SHORTER_TOLERATIONS_COUNT: Defect = Defect::fix(
    "fix-shorter-tolerations-count",
    "FINDINGS.md, 93",
    "a pod that is to be evicted later goes earlier, if it does not tolerate a newer taint for so long, or tolerates it for less time by now",
)
.fits_only(gates::TAINT_EVICTION_CONTROLLER);

const FIX_SUCCESSORS_ARE_EVICTED: Defect = Defect::fix(
    "fix-successors-are-evicted",
    "FINDINGS.md, 101",
    "a pod that a list shows in the place of another of its name is looked at, as one that was made is",
)
.fits_only(gates::TAINT_EVICTION_CONTROLLER);

defects! {
    /// A mistake in the taint eviction controller.
    pub enum TaintEvictionDefect in "taint eviction controllers" {
        EvictionsAreNotReconsidered = EVICTIONS_ARE_NOT_RECONSIDERED,
        EvictionsAreNotRetried = EVICTIONS_ARE_NOT_RETRIED,
        EvictsPodsByName = EVICTS_PODS_BY_NAME,
        NewPodsAreNotEvicted = NEW_PODS_ARE_NOT_EVICTED,
        FixShorterTolerationsCount = FIX_SHORTER_TOLERATIONS_COUNT,
        FixSuccessorsAreEvicted = FIX_SUCCESSORS_ARE_EVICTED,
    }
}
