//! The defects of the Job controller that a seed of `job-storm` shows. `finishes-before-pods-are-seen` is found by `job-stale`,
//! `deadline-counts-suspension` by `job-deadline`, `terminating-pods-are-replaced` by `job-replaces`, `orphans-are-tried-once` and
//! the lack of `fix-jobs-made-anew` by `job-orphans`, that of `fix-suspended-jobs-finish` by `job-suspended`, that of
//! `fix-fail-job-is-kept` by `job-policy`, and that of `fix-going-pods-were-made` by `job-unseen`.

use crate::support::pins::pins;

pins! {
    stale_jobs: "stale-jobs",
    job_pods_count_twice: "job-pods-count-twice",
    finished_jobs_are_synced: "finished-jobs-are-synced",
    jobs_act_without_expectations: "jobs-act-without-expectations",
    orphans_keep_the_finalizer: "orphans-keep-the-finalizer",
    backed_off_jobs_have_no_pods: "backed-off-jobs-have-no-pods",
    expectations_outlive_the_job: "expectations-outlive-the-job",
    failed_pods_are_not_waited_for: "failed-pods-are-not-waited-for",
    finalizers_go_first: "finalizers-go-first",
    fix_late_pods_go: "fix-late-pods-go",
}
