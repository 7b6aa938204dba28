//! The disruption controller, which says of each budget (PodDisruptionBudget) how many of its pods evictions may take, and the
//! users of budgets. Evictions are requests to apiservers, which take what a budget allows. `sync` is one sync of a budget, `status`
//! what is written, `finders` how many pods there should be, `events` what wakes it up, `stale` what becomes of pods that were to
//! be evicted and stay, `controller` what it is made of. `users` are who uses budgets in a scenario, `properties` what is
//! promised to them, `defects` what may be wrong, `describe` how that is told.

mod controller;
mod defects;
mod describe;
mod events;
mod finders;
mod notes;
mod properties;
mod stale;
mod status;
mod sync;
mod users;

use wavetank_api::kinds::{
    DEPLOYMENTS, POD_DISRUPTION_BUDGETS, PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS,
};
use wavetank_component::{Load, Need, Replicas};
use wavetank_components::kube_apiserver::DISRUPTION;
use wavetank_components::users::User;
use wavetank_version::Listed;

use crate::declared::{Declared, Users};
use crate::{gates, runs};
use controller::CONTROLLER;
use defects::DisruptionDefect;
use users::UsesBudgets;

/// The key of the number of those who use budgets.
const USERS: &str = "budget-users";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the disruption controller, which does not run",
    add: "`controllers: [disruption-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "pb",
        "The number of clients that make, change and delete PodDisruptionBudgets, and that evict pods or say that these are about to go, named pb1, pb2 and so on.",
    ),
    Load::command(
        "use-budgets",
        "use",
        "Until the storm ends, users make, change and delete budgets of pods, evict a pod, or all pods of a node, or say that a pod is about to go.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use budgets",
            add: "`budget-users: 2` to `topology`",
        },
    ),
    |setup, wiring, name, rest| {
        let apps = users::apps(setup);
        wiring.process(name, User::new(rest, UsesBudgets { apps }));
    },
);

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    users: Some(CLIENTS),
    resources: |_| {
        vec![
            &PODS,
            &POD_DISRUPTION_BUDGETS,
            &REPLICATION_CONTROLLERS,
            &REPLICA_SETS,
            &DEPLOYMENTS,
            &STATEFUL_SETS,
        ]
    },
    defects: &[DisruptionDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    stored: describe::stored,
    ..Declared::new(
        (
            DISRUPTION,
            "the controller that says how many pods of a budget evictions may take, and who uses budgets",
        ),
        (CONTROLLER, gates::DISRUPTION_CONTROLLER),
        None,
        NEEDED,
        |_, cx, _| controller::new(cx),
    )
};
