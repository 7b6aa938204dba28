//! Mistakes in the Deployment controller.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const TAKES_ANY_SET_OF_ITS_NAME: Defect = Defect::known(
    "takes-any-set-of-its-name",
    "the collision check of `getNewReplicaSet`, left out",
    "a set that has the name of the new one is taken for it, whoever it belongs to",
)
.ships(Gate::NEVER)
.fits_only(gates::DEPLOYMENT_CONTROLLER);

const CLEANS_UP_SETS_IN_USE: Defect = Defect::known(
    "cleans-up-sets-in-use",
    "the condition of `cleanupDeployment`, left out",
    "an old set beyond the limit of the history is deleted although it has pods",
)
.ships(Gate::NEVER)
.fits_only(gates::DEPLOYMENT_CONTROLLER);

const DEADLINE_IS_NOT_AWAITED: Defect = Defect::known(
    "deadline-is-not-awaited",
    "`requeueStuckDeployment`, left out",
    "nobody looks at a rollout that stands still when its deadline has passed",
)
.ships(Gate::NEVER)
.fits_only(gates::DEPLOYMENT_CONTROLLER);

const SAME_SIZE_KEEPS_ANNOTATIONS: Defect = Defect::known(
    "same-size-keeps-annotations",
    "k/k PR #138036, PR #138840 (open)",
    "the only set that has pods keeps the size that was wanted before if it has as many as are wanted now: each sync takes that \
     for a change of the size, and nothing is rolled out any more",
)
.fits_only(gates::DEPLOYMENT_CONTROLLER);

const FIX_COMPLETE_IS_NOT_STUCK: Defect = Defect::fix(
    "fix-complete-is-not-stuck",
    "FINDINGS.md, 26",
    "a Deployment whose rollout is complete is not looked at again and again while its pods are not available",
)
.fits_only(gates::DEPLOYMENT_CONTROLLER);

const FIX_SCALE_RECREATED_SETS: Defect = Defect::fix(
    "fix-scale-recreated-sets",
    "FINDINGS.md, 57",
    "a Deployment that is recreated and has several sets with pods is rolled out although its size has changed",
)
.fits_only(gates::DEPLOYMENT_CONTROLLER);

const FIX_KEEP_WHAT_IS_SCALED: Defect = Defect::fix(
    "fix-keep-what-is-scaled",
    "FINDINGS.md, 105",
    "a Deployment that is paused does not delete the set that it has just scaled up",
)
.fits_only(gates::DEPLOYMENT_CONTROLLER);

const FIX_FAILED_SCALE_DOWNS_ARE_TRIED_AGAIN: Defect = Defect::fix(
    "fix-failed-scale-downs-are-tried-again",
    "FINDINGS.md, 106; `reconcileOldReplicaSets` returns no error",
    "a rollout in which an old set could not be scaled down is tried again",
)
.fits_only(gates::DEPLOYMENT_CONTROLLER);

defects! {
    /// A mistake in the Deployment controller, or the fix of one.
    pub enum DeploymentDefect in "Deployment controllers" {
        TakesAnySetOfItsName = TAKES_ANY_SET_OF_ITS_NAME,
        CleansUpSetsInUse = CLEANS_UP_SETS_IN_USE,
        DeadlineIsNotAwaited = DEADLINE_IS_NOT_AWAITED,
        SameSizeKeepsAnnotations = SAME_SIZE_KEEPS_ANNOTATIONS,
        FixCompleteIsNotStuck = FIX_COMPLETE_IS_NOT_STUCK,
        FixScaleRecreatedSets = FIX_SCALE_RECREATED_SETS,
        FixKeepWhatIsScaled = FIX_KEEP_WHAT_IS_SCALED,
        FixFailedScaleDownsAreTriedAgain = FIX_FAILED_SCALE_DOWNS_ARE_TRIED_AGAIN,
    }
}
