//! The pod garbage collector: it deletes pods that have ended if there are too many of them, and those that no kubelet will
//! end, since their node is gone, out of service, or was never given. `controller` is what it does every 20 s;
//! `users` are who makes nodes and pods in a scenario, `properties` what is promised to them,
//! `defects` what may be wrong, `describe` how that is told.

mod controller;
mod defects;
mod describe;
mod notes;
mod properties;
mod users;

use wavetank_api::kinds::{NODES, PODS};
use wavetank_component::{Load, Need, Number, Replicas, Section, Spec};
use wavetank_version::Listed;

use crate::declared::{Declared, Users, add_user};
use crate::{gates, runs};
use controller::{ACCOUNT, CONTROLLER};
use defects::PodGcDefect;
use users::UsesNodes;

/// The key of the number of those who use nodes and pods.
const USERS: &str = "node-users";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the pod garbage collector, which does not run",
    add: "`controllers: [pod-garbage-collector-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const THRESHOLD: Number = Number {
    section: Section::Options,
    key: "terminated-pod-gc-threshold",
    about: "So many pods that have ended may stay before the pod garbage collector deletes some of them, 0 for any number \
            (`--terminated-pod-gc-threshold`); without it 12500.",
    range: (0, 100_000),
};

fn terminated_pod_threshold(spec: &Spec) -> usize {
    THRESHOLD.of(&spec.given).unwrap_or(12_500) as usize
}

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "b",
        "The number of clients that make and delete nodes and take them out of service, and that make, run, end and delete \
         pods on them, named b1, b2 and so on.",
    ),
    Load::command(
        "use-nodes",
        "use",
        "Until the storm ends, users make, delete, break and mend a node, or make, run, end, delete or let go a pod.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to make nodes and pods",
            add: "`node-users: 2` to `topology`",
        },
    ),
    add_user::<UsesNodes>,
);

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    service_account: Some(ACCOUNT),
    numbers: &[THRESHOLD],
    users: Some(CLIENTS),
    resources: |_| vec![&PODS, &NODES],
    defects: &[PodGcDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    stored: describe::stored,
    ..Declared::new(
        (
            "podgc",
            "the controller that deletes pods that have ended or that no kubelet will end, and who makes nodes and pods for it",
        ),
        (CONTROLLER, gates::POD_GARBAGE_COLLECTOR),
        None,
        NEEDED,
        |setup, cx, _| controller::new(cx, terminated_pod_threshold(setup)),
    )
};
