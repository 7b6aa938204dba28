//! The defects of the CronJob controller that a seed of `cron-storm` shows. `existing-jobs-are-not-taken-up` is found by
//! `cron-job-made`, `fix-find-missed-times` by `cron-missed`, and `fix-forgotten-jobs-are-active` by `cron-forbidden`.

use crate::support::pins::pins;

pins! {
    hundred_missed_times_end_it: "hundred-missed-times-end-it",
    missed_times_are_even: "missed-times-are-even",
    missing_jobs_stay_active: "missing-jobs-stay-active",
    jobs_are_named_at_random: "jobs-are-named-at-random",
    forbid_asks_the_cache: "forbid-asks-the-cache",
    starting_deadlines_are_ignored: "starting-deadlines-are-ignored",
    resumed_schedules_wait: "resumed-schedules-wait",
    fix_go_on_after_foreign_jobs: "fix-go-on-after-foreign-jobs",
    fix_delay_from_last_time: "fix-delay-from-last-time",
    fix_active_by_uid: "fix-active-by-uid",
}
