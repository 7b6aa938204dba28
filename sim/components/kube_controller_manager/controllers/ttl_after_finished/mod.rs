//! The TTL-after-finished controller: it deletes Jobs that finished a while ago. `controller` is the algorithm with its
//! defects, `users` who makes Jobs in a scenario, `properties` what is promised to them, `describe`
//! how that is told.

mod controller;
mod describe;
mod properties;
mod users;

use wavetank_api::gates::TTL_AFTER_FINISHED;
use wavetank_api::kinds::JOBS;
use wavetank_component::{Load, Need, Replicas};
use wavetank_version::Listed;

use crate::declared::{Declared, Syncs, Users, add_user};
use crate::runs;
use controller::{CONTROLLER, TtlDefect};
use users::UsesJobs;

/// The key of the number of those who use Jobs.
const USERS: &str = "job-users";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the TTL-after-finished controller, which does not run",
    add: "`controllers: [ttl-after-finished-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const SYNCS: Syncs = Syncs {
    key: "concurrent-ttl-after-finished-syncs",
    about: "The number of Jobs that the TTL-after-finished controller syncs at once \
            (`--concurrent-ttl-after-finished-syncs`); without it 5.",
    default: 5,
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "j",
        "The number of clients that make Jobs, finish them, change their TTLs and make them again, named j1, j2 and so on; \
         the garbage collector of those that are being deleted, too.",
    ),
    Load::command(
        "use-jobs",
        "use",
        "Until the storm ends, job users make a Job, finish it, change its TTL, make it again or collect it.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use Jobs",
            add: "`job-users: 2` to `topology`",
        },
    ),
    add_user::<UsesJobs>,
);

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    users: Some(CLIENTS),
    resources: |_| vec![&JOBS],
    defects: &[TtlDefect::LIST],
    properties: properties::all,
    settles_within: properties::CLEANS_UP_WITHIN,
    note: describe::note,
    stored: describe::stored,
    ..Declared::new(
        (
            "ttl-after-finished",
            "the controller that deletes Jobs a while after they finished, and who makes Jobs for it",
        ),
        (CONTROLLER, TTL_AFTER_FINISHED),
        Some(SYNCS),
        NEEDED,
        |_, cx, workers| controller::new(cx, workers),
    )
};
