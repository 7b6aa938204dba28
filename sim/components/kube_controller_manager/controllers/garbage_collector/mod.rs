//! The garbage collector: it deletes objects whose owners are gone, lets owners wait for their dependents, and takes owners
//! away from those that are to stay. `graph` is who owns whom, `graph_builder` how informers change that, `monitors` which
//! informers do; `attempt` is what workers do with a node, `operations` what they ask of apiservers, `controller` which worker does what; `users` are who makes owners and dependents in a scenario,
//! `properties` what is promised to them, `defects` what may be wrong.

mod attempt;
mod controller;
mod defects;
mod describe;
mod graph;
mod graph_builder;
mod monitors;
mod notes;
mod operations;
mod properties;
mod uid_cache;
mod users;

use std::sync::Arc;

use wavetank_api::kinds::{CONFIG_MAPS, EVENTS, NEW_EVENTS, OLD_AUTOSCALERS, PODS, REPLICA_SETS};
use wavetank_component::{Load, Need, Replicas, Setup};
use wavetank_version::Listed;

use crate::controller::{Controller, ControllerContext};
use crate::declared::{Declared, Syncs, Users, add_user};
use crate::{gates, runs};
use controller::GarbageCollector;
use defects::CollectorDefect;
use users::UsesOwners;

/// Its name in `--controllers`.
const CONTROLLER: &str = "garbage-collector-controller";
/// The key of the number of those who make owners and dependents.
const USERS: &str = "owner-users";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the garbage collector, which does not run",
    add: "`controllers: [garbage-collector-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const SYNCS: Syncs = Syncs {
    key: "concurrent-gc-syncs",
    about: "The number of objects that the garbage collector deletes at once, and of those whose dependents it orphans at \
            once (`--concurrent-gc-syncs`); without it 20.",
    default: 20,
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "g",
        "The number of clients that make objects with owners, give them others, let them go, and delete them in each way, \
         named g1, g2 and so on.",
    ),
    Load::command(
        "use-owners",
        "use",
        "Until the storm ends, users make an object with owners, adopt, release, change or delete one.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to make owners and dependents",
            add: "`owner-users: 2` to `topology`",
        },
    ),
    add_user::<UsesOwners>,
);

/// It has informers of all resources that somebody uses, but for those that upstream ignores. Of others there are no
/// objects, so that their informers would show nothing.
fn new(setup: &Setup, cx: &mut ControllerContext, syncs: u32) -> Arc<dyn Controller> {
    // Discovery prefers the newer version of autoscalers.
    let ignored = [&EVENTS, &NEW_EVENTS, &OLD_AUTOSCALERS];
    let used = setup.kinds.used();
    let resources = used.filter(|own| !own.is_custom() && !ignored.contains(own));
    Arc::new(GarbageCollector::new(cx, resources, syncs))
}

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    service_account: Some("generic-garbage-collector"),
    users: Some(CLIENTS),
    resources: |_| vec![&CONFIG_MAPS, &REPLICA_SETS, &PODS],
    defects: &[CollectorDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    stored: describe::stored,
    ..Declared::new(
        (
            "garbage-collector",
            "the controller that deletes objects whose owners are gone, and who makes owners and dependents for it",
        ),
        (CONTROLLER, gates::GARBAGE_COLLECTOR),
        Some(SYNCS),
        NEEDED,
        new,
    )
};
