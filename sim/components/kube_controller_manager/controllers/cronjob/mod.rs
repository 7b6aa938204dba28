//! The CronJob controller (`ControllerV2`), which makes a Job at each time of a schedule. `sync` is one sync of a CronJob, `times`
//! says which time is due and `jobs` what a Job of it is called and holds (both upstream's `utils.go`), `controller` is what it
//! is made of and what wakes it up. `users` are who uses CronJobs in a scenario, and stand in for the Job controller;
//! `properties` what is promised to them, `defects` what may be wrong, `describe` how that is told.

mod controller;
mod defects;
mod describe;
mod jobs;
mod notes;
mod properties;
mod sync;
mod times;
mod users;

use wavetank_api::kinds::{CRON_JOBS, JOBS};
use wavetank_component::{Load, Need, Replicas};
use wavetank_version::Listed;

use crate::declared::{Declared, Syncs, Users, add_user};
use crate::{gates, runs};
use controller::CONTROLLER;
use defects::CronJobDefect;
use users::UsesCronJobs;

/// The key of the number of those who use CronJobs.
const USERS: &str = "cron-users";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the CronJob controller, which does not run",
    add: "`controllers: [cronjob-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const SYNCS: Syncs = Syncs {
    key: "concurrent-cron-job-syncs",
    about: "The number of CronJobs that their controller syncs at once (`--concurrent-cron-job-syncs`); without it 5.",
    default: 5,
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "cu",
        "The number of clients that make CronJobs, change their schedules, suspend, resume, delete and make them anew, and \
         finish, fail and delete their Jobs, named cu1, cu2 and so on.",
    ),
    Load::command(
        "use-cron-jobs",
        "use",
        "Until the storm ends, users make, change, suspend, resume and delete CronJobs, and finish, fail or delete a Job.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use the CronJob controller",
            add: "`cron-users: 2` to `topology`",
        },
    ),
    add_user::<UsesCronJobs>,
);

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    users: Some(CLIENTS),
    resources: |_| vec![&CRON_JOBS, &JOBS],
    defects: &[CronJobDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    stored: describe::stored,
    ..Declared::new(
        (
            "cronjob",
            "the controller that makes a Job at each time of a schedule, and who uses CronJobs",
        ),
        (CONTROLLER, gates::CRON_JOB_CONTROLLER),
        Some(SYNCS),
        NEEDED,
        |_, cx, workers| controller::new(cx, workers),
    )
};
