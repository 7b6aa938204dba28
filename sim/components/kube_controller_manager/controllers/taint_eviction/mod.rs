//! The taint eviction controller: pods go from a node that has a taint `NoExecute`, at once, or as soon as they tolerate it no
//! longer. `controller` says which pods have to go when, `tolerations` how long one may stay, `timed_workers` keeps those that
//! wait, `evict` is how one goes; `users` are who makes pods and taints in a scenario, `properties` what is promised,
//! `defects` what may be wrong, `describe` how that is told.

mod controller;
mod defects;
mod describe;
mod evict;
mod notes;
mod properties;
mod timed_workers;
mod tolerations;
mod users;

use wavetank_api::kinds::{NODES, PODS};
use wavetank_component::{Load, Need, Replicas};
use wavetank_version::Listed;

use crate::declared::{Declared, Users, add_user};
use crate::{gates, runs};
use controller::{ACCOUNT, CONTROLLER};
use defects::TaintEvictionDefect;
use users::UsesTaints;

/// The key of the number of those who use taints.
const USERS: &str = "taint-users";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the taint eviction controller, which does not run",
    add: "`controllers: [taint-eviction-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "t",
        "The number of clients that make pods on nodes, with tolerations of each kind, let them run, change what they tolerate \
         and delete them, and that taint and cordon nodes, named t1, t2 and so on.",
    ),
    Load::command(
        "use-taints",
        "use",
        "Until the storm ends, users of taints make, run, change or delete a pod, or taint or cordon a node.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use taints",
            add: "`taint-users: 2` to `topology`",
        },
    ),
    add_user::<UsesTaints>,
);

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    service_account: Some(ACCOUNT),
    users: Some(CLIENTS),
    resources: |_| vec![&PODS, &NODES],
    defects: &[TaintEvictionDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    ..Declared::new(
        (
            "taint-eviction",
            "the controller that evicts pods from nodes whose taints they do not tolerate, and who makes pods and taints for it",
        ),
        (CONTROLLER, gates::TAINT_EVICTION_CONTROLLER),
        None,
        NEEDED,
        |_, cx, _| controller::new(cx),
    )
};
