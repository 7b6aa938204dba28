//! The TTL controller: each node says how long its kubelet may keep what it has read of Secrets and ConfigMaps, the longer the
//! larger the cluster is. `controller` is the algorithm, `users` are who makes clusters grow and shrink in a scenario,
//! `properties` what is promised to kubelets, `defects` what may be wrong, `describe` how that is told.

mod controller;
mod defects;
mod describe;
mod notes;
mod properties;
mod users;

use wavetank_api::kinds::NODES;
use wavetank_component::{Load, Need, Number, Replicas, Section, Setup};
use wavetank_version::Listed;

use crate::declared::{Declared, Users, add_user};
use crate::{gates, runs};
use controller::CONTROLLER;
use defects::TtlDefect;
use users::ScalesClusters;

/// The key of the number of those who make clusters grow and shrink.
const USERS: &str = "cluster-scalers";
/// What they are told.
const USE: &str = "scale-clusters";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the TTL controller, which does not run",
    add: "`controllers: [ttl-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const DIVISOR: Number = Number {
    section: Section::Options,
    key: "ttl-boundaries-divisor",
    about: "The sizes of clusters at which the TTL controller takes another TTL, 90 and 100 nodes, 450 and 500 and so on, are divided \
            by this, so that fewer nodes will do; without it 1, as it is in a release.",
    range: (1, 25),
};

fn divisor(setup: &Setup) -> u32 {
    DIVISOR.of(&setup.given).unwrap_or(1)
}

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "sc",
        "The number of clients that make and delete nodes, and meddle with what the TTL controller says to them, named sc1, sc2 and \
         so on.",
    ),
    Load::command(
        USE,
        "use",
        "Until the storm ends, scalers make or delete a few nodes, or meddle with the TTL of one.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to make nodes",
            add: "`cluster-scalers: 1` to `topology`",
        },
    ),
    add_user::<ScalesClusters>,
);

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    numbers: &[DIVISOR],
    users: Some(CLIENTS),
    resources: |_| vec![&NODES],
    defects: &[TtlDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    ..Declared::new(
        (
            "ttl",
            "the controller that tells kubelets how long they may keep what they have read, and who makes clusters grow for it",
        ),
        (CONTROLLER, gates::TTL_CONTROLLER),
        None,
        NEEDED,
        |setup, cx, _| controller::new(cx, divisor(setup)),
    )
};
