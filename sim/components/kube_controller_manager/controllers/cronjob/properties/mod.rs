//! What is promised to users of CronJobs: `made` says which Jobs are made, `end` what is true once all has been well for a while.
//! Upstream promises that a Job is made about once for each time of a schedule: a time may be left out, and a Job that is gone
//! may be made again. Which run at once is decided by the status that the controller acts on, and by the Jobs that it sees.

mod end;
mod made;

use std::time::Duration;

use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_components::promises::reaches;

use super::notes::{DeletesJob, MadeJobFor};
use super::{NEEDED, USERS};

/// What failed in a storm is tried again a little later; then a time of a schedule that comes each minute or two has to come.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(5 * 60);

/// Somebody has to use CronJobs.
const USED: [Entry; 2] = [
    Entry::new("topology", USERS, "2"),
    Entry::new("workload", "use-cron-jobs", "{every: 3s}"),
];

/// Users of Jobs alone may make one of any name.
fn makes_jobs_alone(spec: &Spec) -> bool {
    ["job-users", "batch-users"]
        .iter()
        .all(|users| spec.count(users) == 0)
}

pub(super) fn all() -> Vec<PropertyInfo> {
    let mut all = of_made();
    all.extend(of_the_end());
    all.extend(reached());
    all
}

fn of_made() -> Vec<PropertyInfo> {
    let all = vec![
        PropertyInfo::new(
            "cron-times-run-once",
            "of a CronJob there are never two Jobs for one time of its schedule at once",
            NEEDED,
            |_| Box::new(made::cron_times_run_once()),
        ),
        PropertyInfo::new(
            "jobs-are-of-their-schedule",
            "a Job is made only for a time that the schedule of its CronJob has, and not before it",
            NEEDED,
            |_| Box::new(made::jobs_are_of_their_schedule()),
        ),
        PropertyInfo::new(
            "starting-deadlines-are-kept",
            "no Job is made after its starting deadline",
            NEEDED,
            |_| Box::new(made::starting_deadlines_are_kept()),
        ),
        PropertyInfo::new(
            "forbidden-jobs-wait",
            "where Jobs are forbidden to run at once none is made while the status that the controller acts on lists one",
            NEEDED,
            |_| Box::new(made::forbidden_jobs_wait()),
        ),
        PropertyInfo::new(
            "forbidden-jobs-run-alone",
            "where Jobs are forbidden to run at once none is made while the controller sees one of an earlier time that has not ended",
            NEEDED,
            |_| Box::new(made::forbidden_jobs_run_alone()),
        ),
    ];
    all.into_iter().map(|own| own.tested_by(&USED)).collect()
}

fn of_the_end() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "schedules-go-on",
            "some time after calm each CronJob that may run has run for the last time of its schedule",
            NEEDED,
            |settled| Box::new(end::SchedulesGoOn::after(settled)),
        )
        .fits(makes_jobs_alone),
        PropertyInfo::new(
            "active-jobs-run",
            "some time after calm each Job that a CronJob lists as active is there and has not ended",
            NEEDED,
            |settled| Box::new(end::active_jobs_run(settled)),
        ),
        PropertyInfo::new(
            "job-history-is-short",
            "some time after calm a CronJob that runs often has no more Jobs that have ended than it is to keep",
            NEEDED,
            |settled| Box::new(end::job_history_is_short(settled)),
        ),
    ]
}

fn reached() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(USERS) > 0;
    let all = [
        reaches(
            "cron-job-has-run",
            "the controller made a Job of a CronJob",
            NEEDED,
            |_, note| note.body.get::<MadeJobFor>().is_some(),
        ),
        reaches(
            "cron-job-was-replaced",
            "the controller replaced a Job that ran by another",
            NEEDED,
            |_, note| {
                note.body
                    .get()
                    .is_some_and(|own: &DeletesJob| own.is_replaced)
            },
        ),
        reaches(
            "job-history-was-cut",
            "the controller deleted a Job that has ended",
            NEEDED,
            |_, note| {
                note.body
                    .get()
                    .is_some_and(|own: &DeletesJob| !own.is_replaced)
            },
        ),
    ];
    all.map(|own| own.fits(users)).into()
}
