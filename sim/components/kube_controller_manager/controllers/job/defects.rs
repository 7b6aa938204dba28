//! Mistakes in the Job controller, and the fixes of findings.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const STALE_JOBS: Defect = Defect::known(
    "stale-jobs",
    "PR #137210 (before StaleControllerConsistencyJob, 1.36)",
    "a Job is synced from caches that have not seen what was written for it: what has succeeded is done again",
)
.ships(Gate::NEVER)
.fits_only(gates::JOB_CONTROLLER);

const JOB_PODS_COUNT_TWICE: Defect = Defect::known(
    "job-pods-count-twice",
    "k/k#105200 (1.23)",
    "a pod is counted again whose finalizer is gone as the cache does not show yet (neither `uidTrackingExpectations` nor \
     `StaleControllerConsistencyJob`)",
)
.ships(Gate::NEVER)
.fits_only(gates::JOB_CONTROLLER);

const FINISHED_JOBS_ARE_SYNCED: Defect = Defect::known(
    "finished-jobs-are-synced",
    "k/k#130103, PR #130333 (1.33)",
    "a Job that was written as finished is synced as the cache shows it, and gets another pod (neither \
     `finishedJobExpectations` nor `StaleControllerConsistencyJob`)",
)
.ships(Gate::NEVER)
.fits_only(gates::JOB_CONTROLLER);

const JOBS_ACT_WITHOUT_EXPECTATIONS: Defect = Defect::known(
    "jobs-act-without-expectations",
    "`SatisfiedExpectations` of `syncJob`, left out, before StaleControllerConsistencyJob (1.36)",
    "pods of a Job are counted before the cache has shown those that were just made: an index is made twice",
)
.ships(Gate::NEVER)
.fits_only(gates::JOB_CONTROLLER);

const ORPHANS_KEEP_THE_FINALIZER: Defect = Defect::known(
    "orphans-keep-the-finalizer",
    "k/k#108645, PR #108752 (1.24)",
    "pods whose Job is gone keep the tracking finalizer, unless they are seen to go after that",
)
.ships(Gate::NEVER)
.fits_only(gates::JOB_CONTROLLER);

const ORPHANS_ARE_TRIED_ONCE: Defect = Defect::known(
    "orphans-are-tried-once",
    "k/k#141346, PR #141329 (1.38)",
    "a request fails that takes the tracking finalizer off a pod whose Job is gone: nobody tries again",
)
.fits_only(gates::JOB_CONTROLLER)
.until(gates::ORPHANS_ARE_TRIED_AGAIN);

const FINISHES_BEFORE_PODS_ARE_SEEN: Defect = Defect::known(
    "finishes-before-pods-are-seen",
    "k/k#109485 (1.24)",
    "a Job fails while pods that were just made are not in the cache: these keep running, and their finalizer",
)
.ships(Gate::NEVER)
.fits_only(gates::JOB_CONTROLLER);

const BACKED_OFF_JOBS_HAVE_NO_PODS: Defect = Defect::known(
    "backed-off-jobs-have-no-pods",
    "k/k#139428, PR #139457 (1.37)",
    "while the replacement of a pod waits, the status says that none is active: apiservers refuse it, and nothing is counted",
)
.fits_only(gates::JOB_CONTROLLER)
.until(gates::BACKED_OFF_JOBS_HAVE_PODS);

const EXPECTATIONS_OUTLIVE_THE_JOB: Defect = Defect::open(
    "expectations-outlive-the-job",
    "k/k#131917, PR #142236",
    "a Job of the name of one that is gone waits for the pods of that one, up to 5 minutes",
)
.fits_only(gates::JOB_CONTROLLER);

const FAILED_PODS_ARE_NOT_WAITED_FOR: Defect = Defect::known(
    "failed-pods-are-not-waited-for",
    "k/k#114391, PR #114516 (1.25)",
    "pods that have failed are replaced at once",
)
.ships(Gate::NEVER)
.fits_only(gates::JOB_CONTROLLER);

const FINALIZERS_GO_FIRST: Defect = Defect::known(
    "finalizers-go-first",
    "the first update of `flushUncountedAndRemoveFinalizers`, left out",
    "the finalizer of a pod is removed before the status says that the pod is to be counted",
)
.ships(Gate::NEVER)
.fits_only(gates::JOB_CONTROLLER);

const DEADLINE_COUNTS_SUSPENSION: Defect = Defect::known(
    "deadline-counts-suspension",
    "PR #134980 (before MutableSchedulingDirectivesForSuspendedJobs, 1.36)",
    "a Job keeps its start when it is suspended: resumed, it fails at once if its deadline has passed since",
)
.ships(Gate::NEVER)
.fits_only(gates::JOB_CONTROLLER);

const TERMINATING_PODS_ARE_REPLACED: Defect = Defect::known(
    "terminating-pods-are-replaced",
    "k/k#115844 (before JobPodReplacementPolicy, 1.28)",
    "a pod is replaced as soon as it goes, although the Job wants that only once the pod has failed",
)
.ships(Gate::NEVER)
.fits_only(gates::JOB_CONTROLLER);

const FIX_JOBS_MADE_ANEW: Defect = Defect::fix(
    "fix-jobs-made-anew",
    "FINDINGS.md, 39",
    "a Job in whose place there is another one of its name is gone: its pods lose the tracking finalizer",
)
.fits_only(gates::JOB_CONTROLLER);

const FIX_SUSPENDED_JOBS_FINISH: Defect = Defect::fix(
    "fix-suspended-jobs-finish",
    "FINDINGS.md, 40",
    "a Job that ends while it is suspended, and has no start then, gets one: apiservers refuse its end without",
)
.fits_only(gates::JOB_CONTROLLER);

const FIX_FAIL_JOB_IS_KEPT: Defect = Defect::fix(
    "fix-fail-job-is-kept",
    "FINDINGS.md, 85",
    "that a Job is to fail is written although some of its pods could not be deleted: the pod that says why may be gone later",
)
.fits_only(gates::JOB_CONTROLLER);

const FIX_LATE_PODS_GO: Defect = Defect::fix(
    "fix-late-pods-go",
    "FINDINGS.md, 87",
    "a pod that is there after its Job has finished is deleted, and loses the tracking finalizer",
)
.fits_only(gates::JOB_CONTROLLER);

const FIX_GOING_PODS_WERE_MADE: Defect = Defect::fix(
    "fix-going-pods-were-made",
    "FINDINGS.md, 88",
    "a pod of a Job that is first seen when it is already to go counts as made: the Job does not wait for it any more",
)
.fits_only(gates::JOB_CONTROLLER);

defects! {
    /// A mistake in the Job controller, or the fix of one.
    pub enum JobDefect in "Job controllers" {
        StaleJobs = STALE_JOBS,
        PodsCountTwice = JOB_PODS_COUNT_TWICE,
        FinishedJobsAreSynced = FINISHED_JOBS_ARE_SYNCED,
        ActWithoutExpectations = JOBS_ACT_WITHOUT_EXPECTATIONS,
        OrphansKeepTheFinalizer = ORPHANS_KEEP_THE_FINALIZER,
        OrphansAreTriedOnce = ORPHANS_ARE_TRIED_ONCE,
        FinishesBeforePodsAreSeen = FINISHES_BEFORE_PODS_ARE_SEEN,
        BackedOffJobsHaveNoPods = BACKED_OFF_JOBS_HAVE_NO_PODS,
        ExpectationsOutliveTheJob = EXPECTATIONS_OUTLIVE_THE_JOB,
        FailedPodsAreNotWaitedFor = FAILED_PODS_ARE_NOT_WAITED_FOR,
        FinalizersGoFirst = FINALIZERS_GO_FIRST,
        DeadlineCountsSuspension = DEADLINE_COUNTS_SUSPENSION,
        TerminatingPodsAreReplaced = TERMINATING_PODS_ARE_REPLACED,
        FixJobsMadeAnew = FIX_JOBS_MADE_ANEW,
        FixSuspendedJobsFinish = FIX_SUSPENDED_JOBS_FINISH,
        FixFailJobIsKept = FIX_FAIL_JOB_IS_KEPT,
        FixLatePodsGo = FIX_LATE_PODS_GO,
        FixGoingPodsWereMade = FIX_GOING_PODS_WERE_MADE,
    }
}
