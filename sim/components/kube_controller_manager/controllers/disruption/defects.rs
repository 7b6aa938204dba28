//! Known bugs and mistakes of the disruption controller, and fixes of findings. Those of evictions are apiservers'.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const BUDGETS_ARE_OVERWRITTEN: Defect = Defect::known(
    "budgets-are-overwritten",
    "k/k#82149, PR #82152 (1.17)",
    "a status that was worked out before an eviction is written over what that has left of the budget",
)
.ships(Gate::NEVER)
.fits_only(gates::DISRUPTION_CONTROLLER);

const GOING_PODS_COUNT: Defect = Defect::known(
    "going-pods-count",
    "the look at the deletion timestamp in `countHealthyPods`, left out",
    "pods that are being deleted count as healthy",
)
.ships(Gate::NEVER)
.fits_only(gates::DISRUPTION_CONTROLLER);

const EVICTED_PODS_COUNT: Defect = Defect::known(
    "evicted-pods-count",
    "before PR #36196 (1.5)",
    "pods that evictions are about to delete count as healthy until they are seen to go",
)
.ships(Gate::NEVER)
.fits_only(gates::DISRUPTION_CONTROLLER);

const BUDGETS_ARE_NOT_RECHECKED: Defect = Defect::known(
    "budgets-are-not-rechecked",
    "`enqueuePdbForRecheck`, left out",
    "a pod that was to be evicted and stays counts as disrupted for ever",
)
.ships(Gate::NEVER)
.fits_only(gates::DISRUPTION_CONTROLLER);

const STALE_DISRUPTIONS_STAY: Defect = Defect::known(
    "stale-disruptions-stay",
    "before PR #111475 (1.25)",
    "a pod that was to be evicted and stays says for ever that it is about to go",
)
.ships(Gate::NEVER)
.fits_only(gates::DISRUPTION_CONTROLLER);

const OBSERVED_GENERATION_STAYS: Defect = Defect::known(
    "observed-generation-stays",
    "the look at the generation in `updatePdbStatus`, left out",
    "a budget that was changed, and allows as much as before, refuses all evictions",
)
.ships(Gate::NEVER)
.fits_only(gates::DISRUPTION_CONTROLLER);

const LOST_PODS_ARE_NOT_TOLD: Defect = Defect::open(
    "lost-pods-are-not-told",
    "PR #117417",
    "a budget does not hear that a pod has got other labels, and counts it still",
)
.fits_only(gates::DISRUPTION_CONTROLLER);

const FIX_TELL_ALL_BUDGETS: Defect = Defect::fix(
    "fix-tell-all-budgets",
    "FINDINGS.md, 43",
    "a pod that several budgets select wakes all of them",
)
.fits_only(gates::DISRUPTION_CONTROLLER);

const FIX_TELL_BUDGETS_OF_SCALES: Defect = Defect::fix(
    "fix-tell-budgets-of-scales",
    "FINDINGS.md, 44",
    "a change of what a workload is scaled to wakes the budgets of its namespace",
)
.fits_only(gates::DISRUPTION_CONTROLLER);

const FIX_KEEP_UNSEEN_DISRUPTIONS: Defect = Defect::fix(
    "fix-keep-unseen-disruptions",
    "FINDINGS.md, 45",
    "a pod that is to be evicted stays noted until it is seen to go, or for 2 min",
)
.fits_only(gates::DISRUPTION_CONTROLLER);

const FIX_TRY_AGAIN_AFTER_FAIL_SAFE: Defect = Defect::fix(
    "fix-try-again-after-fail-safe",
    "FINDINGS.md, 46",
    "a budget whose sync failed is tried again after a while, and not at its next change only; it does not say so twice",
)
.fits_only(gates::DISRUPTION_CONTROLLER);

defects! {
    /// A mistake in the disruption controller.
    pub enum DisruptionDefect in "disruption controllers" {
        BudgetsAreOverwritten = BUDGETS_ARE_OVERWRITTEN,
        GoingPodsCount = GOING_PODS_COUNT,
        EvictedPodsCount = EVICTED_PODS_COUNT,
        BudgetsAreNotRechecked = BUDGETS_ARE_NOT_RECHECKED,
        StaleDisruptionsStay = STALE_DISRUPTIONS_STAY,
        ObservedGenerationStays = OBSERVED_GENERATION_STAYS,
        LostPodsAreNotTold = LOST_PODS_ARE_NOT_TOLD,
        FixTellAllBudgets = FIX_TELL_ALL_BUDGETS,
        FixTellBudgetsOfScales = FIX_TELL_BUDGETS_OF_SCALES,
        FixKeepUnseenDisruptions = FIX_KEEP_UNSEEN_DISRUPTIONS,
        FixTryAgainAfterFailSafe = FIX_TRY_AGAIN_AFTER_FAIL_SAFE,
    }
}
