//! The Deployment controller, which rolls out templates over ReplicaSets. `controller` is one sync, `sets` says which sets
//! there are to be, `scale` how they are scaled, `rolling` how a rollout goes, `status` what is written back, `events` what
//! wakes it up; `util` is pure. `users` are who rolls out in a scenario, `properties` what is promised to them.

mod collisions;
mod controller;
mod defects;
mod describe;
mod events;
mod notes;
mod paused;
mod properties;
mod rolling;
mod scale;
mod sets;
mod status;
mod users;
mod util;

use std::time::Duration;

use wavetank_api::kinds::{DEPLOYMENTS, PODS, REPLICA_SETS};
use wavetank_component::{Load, Need, Replicas};
use wavetank_version::Listed;

use super::replicaset;
use crate::controller_utils::PodOwnerDefect;
use crate::declared::{Declared, Syncs, Users, add_user};
use crate::{gates, runs};
use controller::CONTROLLER;
use defects::DeploymentDefect;
use users::UsesDeployments;

/// The key of the number of those who roll out.
const USERS: &str = "deployment-users";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the Deployment controller, which does not run",
    add: "`controllers: [deployment-controller, replicaset-controller]` to `options`, and `controller-managers: 1` to \
          `topology`",
};

const SYNCS: Syncs = Syncs {
    key: "concurrent-deployment-syncs",
    about: "The number of Deployments that their controller syncs at once (`--concurrent-deployment-syncs`); without it 5.",
    default: 5,
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "v",
        "The number of clients that make Deployments, change their templates, scale, pause and resume them, and make them \
         anew, named v1, v2 and so on.",
    ),
    Load::command(
        "use-deployments",
        "use",
        "Until the storm ends, users make, roll out, scale, pause, resume and delete Deployments.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use Deployments",
            add: "`deployment-users: 2` to `topology`",
        },
    ),
    add_user::<UsesDeployments>,
);

/// Its declaration. Who owns a set is decided as who owns a pod is.
pub(crate) const DECLARED: Declared = Declared {
    users: Some(CLIENTS),
    resources: |_| vec![&DEPLOYMENTS, &REPLICA_SETS, &PODS],
    defects: &[DeploymentDefect::LIST],
    defects_of_parts: &[PodOwnerDefect::LIST],
    properties: properties::all,
    settles_within: SETTLES_WITHIN,
    note: describe::note,
    stored: describe::stored,
    ..Declared::new(
        (
            "deployment",
            "the controller that rolls out Deployments over ReplicaSets, and who rolls out",
        ),
        (CONTROLLER, gates::DEPLOYMENT_CONTROLLER),
        Some(SYNCS),
        NEEDED,
        |_, cx, workers| controller::new(cx, workers),
    )
};

/// Sets settle first.
const SETTLES_WITHIN: Duration =
    replicaset::SETTLES_WITHIN.saturating_add(properties::ROLLS_OUT_WITHIN);
