//! The defects of the Job controller that a seed of `job-storm` shows.

use crate::support::pins::pins;

pins! {
    stale_jobs: "stale-jobs",
    job_pods_count_twice: "job-pods-count-twice",
    finished_jobs_are_synced: "finished-jobs-are-synced",
    jobs_act_without_expectations: "jobs-act-without-expectations",
    orphans_keep_the_finalizer: "orphans-keep-the-finalizer",
    finishes_before_pods_are_seen: "finishes-before-pods-are-seen",
    backed_off_jobs_have_no_pods: "backed-off-jobs-have-no-pods",
    expectations_outlive_the_job: "expectations-outlive-the-job",
    failed_pods_are_not_waited_for: "failed-pods-are-not-waited-for",
    finalizers_go_first: "finalizers-go-first",
    fix_jobs_made_anew: "fix-jobs-made-anew",
    fix_suspended_jobs_finish: "fix-suspended-jobs-finish",
    fix_try_orphans_again: "fix-try-orphans-again",
    deadline_counts_suspension: "deadline-counts-suspension",
    terminating_pods_are_replaced: "terminating-pods-are-replaced",
}
