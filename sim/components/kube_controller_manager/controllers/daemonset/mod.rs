//! The DaemonSet controller, which keeps a pod on each node that a set is for. `controller` is one sync, `manage` which pods are
//! made and deleted, `nodes` on which nodes they should run, `update` how a new template is rolled out, `history` which
//! templates there were, `status` what is written back, `backoff` how long pods that failed are left, `events` what wakes
//! it up; `util` is pure. `users` are who uses sets in a scenario, `properties` what is promised to them, `defects` what
//! may be wrong, `describe` how that is told.

mod backoff;
mod controller;
mod defects;
mod describe;
mod events;
mod history;
mod manage;
mod nodes;
mod notes;
mod properties;
mod status;
mod update;
mod users;
mod util;

use wavetank_api::kinds::{CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS};
use wavetank_component::{Load, Need, Replicas};
use wavetank_version::Listed;

use crate::controller_utils::PodOwnerDefect;
use crate::declared::{Declared, Syncs, Users};
use crate::{gates, runs};
use controller::{ACCOUNT, CONTROLLER};
use defects::DaemonSetDefect;
use users::UsesDaemonSets;
use wavetank_components::nodes::{NAME as NODES_KEY, node_name};
use wavetank_components::users::User;

/// The key of the number of those who use sets.
const USERS: &str = "daemon-set-users";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the DaemonSet controller, which does not run",
    add: "`controllers: [daemonset-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const SYNCS: Syncs = Syncs {
    key: "concurrent-daemonset-syncs",
    about: "The number of DaemonSets that their controller syncs at once (`--concurrent-daemonset-syncs`); without it 2.",
    default: 2,
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "x",
        "The number of clients that make DaemonSets, change their templates and the nodes that they are for, delete them and \
         their pods, and label and taint nodes, named x1, x2 and so on.",
    ),
    Load::command(
        "use-daemon-sets",
        "use",
        "Until the storm ends, users make, roll out, change and delete DaemonSets, delete pods, and label and taint nodes.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use DaemonSets",
            add: "`daemon-set-users: 2` to `topology`",
        },
    ),
    |setup, wiring, name, rest| {
        let nodes = (1..=setup.count(NODES_KEY) as usize).map(node_name);
        let uses = UsesDaemonSets {
            nodes: nodes.collect(),
        };
        wiring.process(name, User::new(rest, uses));
    },
);

/// Its declaration. Who owns a pod is decided as in other controllers of pods.
pub(crate) const DECLARED: Declared = Declared {
    service_account: Some(ACCOUNT),
    users: Some(CLIENTS),
    resources: |_| vec![&DAEMON_SETS, &PODS, &CONTROLLER_REVISIONS, &NODES],
    defects: &[DaemonSetDefect::LIST],
    defects_of_parts: &[PodOwnerDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    stored: describe::stored,
    ..Declared::new(
        (
            "daemonset",
            "the controller that keeps a pod of each DaemonSet on each node that it is for, and who uses them",
        ),
        (CONTROLLER, gates::DAEMON_SET_CONTROLLER),
        Some(SYNCS),
        NEEDED,
        |_, cx, workers| controller::new(cx, workers),
    )
};
