//! The StatefulSet controller, which keeps pods that have a name and claims of their own. `controller` is one sync, `control`
//! which revisions a set has, `replicas` what becomes of its pods, `pod_control` how these and their claims are made and
//! deleted, `left_claims` what becomes of claims without a pod, `status` what is written back, `events` what wakes it up; `util` and `claims` are pure. `users` are who uses sets
//! in a scenario, `properties` what is promised to them, `defects` what may be wrong, `describe` how that is told.

mod claims;
mod control;
mod controller;
mod defects;
mod describe;
mod events;
mod left_claims;
mod notes;
mod pod_control;
mod properties;
mod replicas;
mod status;
mod users;
mod util;

use wavetank_api::kinds::{CONTROLLER_REVISIONS, PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS};
use wavetank_component::{Load, Need, Replicas};
use wavetank_version::Listed;

use crate::controller_utils::PodOwnerDefect;
use crate::declared::{Declared, Syncs, Users, add_user};
use crate::{gates, runs};
use controller::CONTROLLER;
use defects::StatefulSetDefect;
use users::UsesStatefulSets;

/// The key of the number of those who use sets.
const USERS: &str = "stateful-set-users";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the StatefulSet controller, which does not run",
    add: "`controllers: [statefulset-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const SYNCS: Syncs = Syncs {
    key: "concurrent-statefulset-syncs",
    about: "The number of StatefulSets that their controller syncs at once (`--concurrent-statefulset-syncs`); without it 5.",
    default: 5,
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "y",
        "The number of clients that make StatefulSets, scale them, change their templates and what becomes of their claims, \
         delete them and their pods, named y1, y2 and so on.",
    ),
    Load::command(
        "use-stateful-sets",
        "use",
        "Until the storm ends, users make, scale, roll out, change and delete StatefulSets, and delete pods.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use StatefulSets",
            add: "`stateful-set-users: 2` to `topology`",
        },
    ),
    add_user::<UsesStatefulSets>,
);

/// Its declaration. Who owns a pod is decided as in other controllers of pods.
pub(crate) const DECLARED: Declared = Declared {
    users: Some(CLIENTS),
    resources: |_| {
        vec![
            &STATEFUL_SETS,
            &PODS,
            &PERSISTENT_VOLUME_CLAIMS,
            &CONTROLLER_REVISIONS,
        ]
    },
    defects: &[StatefulSetDefect::LIST],
    defects_of_parts: &[PodOwnerDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    stored: describe::stored,
    ..Declared::new(
        (
            "statefulset",
            "the controller that keeps the pods of StatefulSets, each with a name and claims of its own, and who uses them",
        ),
        (CONTROLLER, gates::STATEFUL_SET_CONTROLLER),
        Some(SYNCS),
        NEEDED,
        |_, cx, workers| controller::new(cx, workers),
    )
};
