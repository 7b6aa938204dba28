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

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use wavetank_api::Resource;
use wavetank_api::kinds::PODS;
use wavetank_component::{
    Component, Description, Hit, Keys, Load, Mistakes, Need, Part, PropertyInfo, Replicas, Section,
    Setup, Spec, Stored, Wiring,
};
use wavetank_engine::{FaultKind, Note, World};
use wavetank_version::{Gate, List, Listed};

use crate::kube_controller_manager::controller::{
    Controller, ControllerContext, ControllerDescriptor,
};
use crate::kube_controller_manager::controller_utils::PodOwnerDefect;
use crate::kube_controller_manager::gates;
use crate::users::User;
use crate::{informers, kube_apiserver, kube_controller_manager};
pub(super) use controller::new;
use defects::ReplicaSetDefect;
pub(super) use kind::Kind;
use users::UsesSets;

const NAME: &str = "replicaset";
/// The key of the number of those who use sets.
const USERS: &str = "replica-set-users";
/// Of how many objects a controller syncs at once, unless it is said.
pub(super) const SYNCS: u32 = 5;

/// Its descriptor.
#[derive(Clone, Copy, Debug)]
pub struct ReplicaSets;

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// The number of ReplicaSets that their controller syncs at once (`--concurrent-replicaset-syncs`); without it 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 50))]
    pub concurrent_replicaset_syncs: Option<u32>,
}

impl Part for Options {
    const SECTION: Section = Section::Options;
}

/// The lists of defects of both controllers.
pub(super) fn defects() -> Vec<List> {
    vec![ReplicaSetDefect::LIST, PodOwnerDefect::LIST]
}

/// The kinds whose controllers run.
pub(super) fn running(spec: &Spec) -> Vec<Kind> {
    let mut all = Kind::ALL.to_vec();
    all.retain(|kind| kube_controller_manager::runs(spec, kind.controller()));
    all
}

const NEEDED: Need = Need {
    met: |spec| !running(spec).is_empty(),
    lacking: "the controller of ReplicaSets or that of ReplicationControllers, and neither runs",
    add: "`controllers: [replicaset-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

impl Component for ReplicaSets {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "the controller that keeps as many pods of a ReplicaSet as it asks for, and who makes ReplicaSets for it"
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Options>()]
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of clients that make ReplicaSets and ReplicationControllers, scale and delete them, \
                     relabel, make and delete pods, named k1, k2 and so on; the garbage collector of pods whose set is \
                     gone, too.";
        Some(Replicas::counted(USERS, "k", about).dispensable())
    }

    fn workload(&self) -> Vec<Load> {
        let need = Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use sets of pods",
            add: "`replica-set-users: 2` to `topology`",
        };
        let about = "Until the storm ends, users make, scale and delete sets of pods, and relabel, make and delete pods.";
        vec![Load::command("use-replica-sets", "use", about, need).until_calm()]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(USERS, spec, mistakes);
        let syncs = spec.part::<Options>().concurrent_replicaset_syncs;
        let key = "concurrent-replicaset-syncs";
        let name = Kind::ReplicaSet.controller();
        kube_controller_manager::check_syncs(spec, mistakes, name, key, syncs);
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        let running = running(spec);
        let by_users = spec.count(USERS) > 0;
        let mut used = running;
        used.retain(|kind| by_users || *kind == Kind::ReplicaSet);
        let any = by_users || !used.is_empty();
        let sets = used.into_iter().map(Kind::resource);
        any.then_some(&PODS).into_iter().chain(sets).collect()
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(rest) = informers::rest(setup, wiring) else {
            return;
        };
        for name in wiring.names(NAME) {
            let kinds = running(setup);
            wiring.process(name, User::new(rest.clone(), UsesSets { kinds }));
        }
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }

    fn defects(&self) -> Vec<List> {
        defects()
    }

    fn exists(&self, spec: &Spec) -> bool {
        !running(spec).is_empty()
    }

    fn added_by(&self) -> String {
        NEEDED.add.to_owned()
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        properties::all()
    }

    fn settles(&self, setup: &Setup) -> Duration {
        kube_controller_manager::settles(setup) + properties::SETTLES_WITHIN
    }

    fn describe(&self, _: &World, note: &Note) -> Option<Description> {
        describe::note(note)
    }

    fn describe_stored(&self, key: &str, value: Option<&Json>) -> Option<Stored> {
        describe::stored(key, value)
    }
}

impl ControllerDescriptor for ReplicaSets {
    fn controller_name(&self) -> &'static str {
        Kind::ReplicaSet.controller()
    }

    fn releases_with_it(&self) -> Gate {
        gates::REPLICA_SET_CONTROLLER
    }

    fn new_controller(&self, setup: &Setup, cx: &mut ControllerContext) -> Arc<dyn Controller> {
        let workers = setup.part::<Options>().concurrent_replicaset_syncs;
        new(cx, Kind::ReplicaSet, workers.unwrap_or(SYNCS))
    }
}
