//! The ReplicaSet controller, which keeps as many pods of a set as it asks for, and what serves ReplicationControllers
//! with it. `controller` is one sync, `manage` how pods are made and deleted, `status` what is written back, `events`
//! what wakes it up, `kind` what it has to know of the kind, `defects` what may be wrong in it; `users` are who makes sets in a scenario, `properties` what
//! is promised to them, `describe` how that is told.

mod controller;
mod defects;
mod describe;
mod events;
mod kind;
mod manage;
mod notes;
mod properties;
mod status;
mod users;

use wavetank_api::Resource;
use wavetank_api::kinds::PODS;
use wavetank_component::{Load, Need, Replicas, Spec};
use wavetank_version::{List, Listed};

use crate::controller_utils::PodOwnerDefect;
use crate::declared::{Declared, Syncs, Users};
use crate::{gates, runs};
pub(super) use controller::new;
use defects::ReplicaSetDefect;
pub(super) use kind::Kind;
pub(super) use properties::SETTLES_WITHIN;
use users::UsesSets;
use wavetank_components::users::User;

/// The key of the number of those who use sets.
const USERS: &str = "replica-set-users";

/// The lists of defects of both controllers.
pub(super) const DEFECTS: &[List] = &[ReplicaSetDefect::LIST, PodOwnerDefect::LIST];

/// The kinds whose controllers run.
pub(super) fn running(spec: &Spec) -> Vec<Kind> {
    let mut all = Kind::ALL.to_vec();
    all.retain(|kind| runs(spec, kind.controller()));
    all
}

const NEEDED: Need = Need {
    met: |spec| !running(spec).is_empty(),
    lacking: "the controller of ReplicaSets or that of ReplicationControllers, and neither runs",
    add: "`controllers: [replicaset-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const SYNCS: Syncs = Syncs {
    key: "concurrent-replicaset-syncs",
    about: "The number of ReplicaSets that their controller syncs at once (`--concurrent-replicaset-syncs`); without it 5.",
    default: 5,
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "k",
        "The number of clients that make ReplicaSets and ReplicationControllers, scale and delete them, relabel, make and \
         delete pods, named k1, k2 and so on; the garbage collector of pods whose set is gone, too.",
    ),
    Load::command(
        "use-replica-sets",
        "use",
        "Until the storm ends, users make, scale and delete sets of pods, and relabel, make and delete pods.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use sets of pods",
            add: "`replica-set-users: 2` to `topology`",
        },
    ),
    |setup, wiring, name, rest| {
        let kinds = running(setup);
        wiring.process(name, User::new(rest, UsesSets { kinds }));
    },
);

/// Pods, and the kinds that somebody uses here: the other controller says that itself.
fn resources(spec: &Spec) -> Vec<&'static Resource> {
    let by_users = spec.count(USERS) > 0;
    let mut used = running(spec);
    used.retain(|kind| by_users || *kind == Kind::ReplicaSet);
    let any = by_users || !used.is_empty();
    let sets = used.into_iter().map(Kind::resource);
    any.then_some(&PODS).into_iter().chain(sets).collect()
}

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    users: Some(CLIENTS),
    resources,
    defects: DEFECTS,
    properties: properties::all,
    settles_within: SETTLES_WITHIN,
    note: describe::note,
    stored: describe::stored,
    ..Declared::new(
        (
            "replicaset",
            "the controller that keeps as many pods of a ReplicaSet as it asks for, and who makes ReplicaSets for it",
        ),
        (Kind::ReplicaSet.controller(), gates::REPLICA_SET_CONTROLLER),
        Some(SYNCS),
        NEEDED,
        |_, cx, workers| new(cx, Kind::ReplicaSet, workers),
    )
};
