//! The Job controller, which runs pods until as many have succeeded as a Job asks for, or too many have failed. `sync` is one
//! sync of a Job, `act` what it does in the end, `manage` how pods are made and deleted, `track` how those that have ended are
//! counted, `orphans` what becomes of pods without a Job, `controller` what it is made of, `events` what wakes it up;
//! `indexed_job_utils`, `backoff_utils`, `tracking_utils` and `pod_failure_policy` are upstream's files of these names,
//! `conditions` and `util` are pure. `users` are who uses Jobs in a scenario, `properties` what is promised to them, `defects`
//! what may be wrong, `describe` how that is told.

mod act;
mod backoff_utils;
mod conditions;
mod controller;
mod defects;
mod describe;
mod events;
mod indexed_job_utils;
mod manage;
mod notes;
mod orphans;
mod pod_failure_policy;
mod properties;
mod shapes;
mod sync;
mod track;
mod tracking_utils;
mod users;
mod util;

use wavetank_api::kinds::{JOBS, PODS};
use wavetank_component::{Load, Need, Replicas};
use wavetank_version::Listed;

use crate::controller_utils::PodOwnerDefect;
use crate::declared::{Declared, Syncs, Users, add_user};
use crate::{gates, runs};
use controller::CONTROLLER;
use defects::JobDefect;
use users::UsesBatchJobs;

/// The key of the number of those who use Jobs.
const USERS: &str = "batch-users";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the Job controller, which does not run",
    add: "`controllers: [job-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const SYNCS: Syncs = Syncs {
    key: "concurrent-job-syncs",
    about: "The number of Jobs that their controller syncs at once (`--concurrent-job-syncs`); without it 5.",
    default: 5,
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "bu",
        "The number of clients that make Jobs of all kinds, suspend, resume, scale and delete them, and delete, evict and \
         relabel their pods, named bu1, bu2 and so on.",
    ),
    Load::command(
        "use-batch-jobs",
        "use",
        "Until the storm ends, users make, suspend, resume, scale and delete Jobs, and delete, evict or relabel a pod.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use the Job controller",
            add: "`batch-users: 2` to `topology`",
        },
    ),
    add_user::<UsesBatchJobs>,
);

/// Its declaration. Who owns a pod is decided as in other controllers of pods.
pub(crate) const DECLARED: Declared = Declared {
    users: Some(CLIENTS),
    resources: |_| vec![&JOBS, &PODS],
    defects: &[JobDefect::LIST],
    defects_of_parts: &[PodOwnerDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    ..Declared::new(
        (
            "job",
            "the controller that runs pods until as many have succeeded as a Job asks for, and who uses Jobs",
        ),
        (CONTROLLER, gates::JOB_CONTROLLER),
        Some(SYNCS),
        NEEDED,
        |_, cx, workers| controller::new(cx, workers),
    )
};
