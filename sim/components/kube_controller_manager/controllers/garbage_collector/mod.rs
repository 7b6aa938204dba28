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
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use wavetank_api::Resource;
use wavetank_api::kinds::{CONFIG_MAPS, EVENTS, NEW_EVENTS, PODS, REPLICA_SETS};
use wavetank_component::{
    Component, Description, Hit, Keys, Load, Mistakes, Need, Part, PropertyInfo, Replicas, Section,
    Setup, Spec, Stored, Wiring,
};
use wavetank_engine::{FaultKind, Note, World};
use wavetank_version::{Gate, List, Listed};

use crate::kube_controller_manager::controller::{
    Controller, ControllerContext, ControllerDescriptor,
};
use crate::kube_controller_manager::gates;
use crate::users::User;
use crate::{informers, kube_apiserver, kube_controller_manager};
use controller::GarbageCollector;
use defects::CollectorDefect;
use users::UsesOwners;

const NAME: &str = "garbage-collector";
/// Its name in `--controllers`.
const CONTROLLER: &str = "garbage-collector-controller";
/// The key of the number of those who make owners and dependents.
const USERS: &str = "owner-users";

/// Its descriptor.
#[derive(Clone, Copy, Debug)]
pub struct GarbageCollectors;

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// The number of objects that the garbage collector deletes at once, and of those whose dependents it orphans at once
    /// (`--concurrent-gc-syncs`); without it 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 50))]
    pub concurrent_gc_syncs: Option<u32>,
}

impl Part for Options {
    const SECTION: Section = Section::Options;
}

fn is_run(spec: &Spec) -> bool {
    kube_controller_manager::runs(spec, CONTROLLER)
}

const NEEDED: Need = Need {
    met: is_run,
    lacking: "the garbage collector, which does not run",
    add: "`controllers: [garbage-collector-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

impl Component for GarbageCollectors {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "the controller that deletes objects whose owners are gone, and who makes owners and dependents for it"
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Options>()]
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of clients that make objects with owners, give them others, let them go, and delete them in \
                     each way, named g1, g2 and so on.";
        Some(Replicas::counted(USERS, "g", about).dispensable())
    }

    fn workload(&self) -> Vec<Load> {
        let need = Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to make owners and dependents",
            add: "`owner-users: 2` to `topology`",
        };
        let about = "Until the storm ends, users make an object with owners, adopt, release, change or delete one.";
        vec![Load::command("use-owners", "use", about, need).until_calm()]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(USERS, spec, mistakes);
        let syncs = spec.part::<Options>().concurrent_gc_syncs;
        kube_controller_manager::check_syncs(
            spec,
            mistakes,
            CONTROLLER,
            "concurrent-gc-syncs",
            syncs,
        );
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        let used = is_run(spec) || spec.count(USERS) > 0;
        match used {
            true => vec![&CONFIG_MAPS, &REPLICA_SETS, &PODS],
            false => Vec::new(),
        }
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(rest) = informers::rest(setup, wiring) else {
            return;
        };
        for name in wiring.names(NAME) {
            wiring.process(name, User::new(rest.clone(), UsesOwners));
        }
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }

    fn defects(&self) -> Vec<List> {
        vec![CollectorDefect::LIST]
    }

    fn exists(&self, spec: &Spec) -> bool {
        is_run(spec)
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

impl ControllerDescriptor for GarbageCollectors {
    fn controller_name(&self) -> &'static str {
        CONTROLLER
    }

    fn service_account(&self) -> &'static str {
        "generic-garbage-collector"
    }

    fn releases_with_it(&self) -> Gate {
        gates::GARBAGE_COLLECTOR
    }

    /// It has informers of all resources that somebody uses, but for those that upstream ignores. Of others there are no
    /// objects, so that their informers would show nothing.
    fn new_controller(&self, setup: &Setup, cx: &mut ControllerContext) -> Arc<dyn Controller> {
        let ignored = [&EVENTS, &NEW_EVENTS];
        let used = setup.kinds.used();
        let resources = used.filter(|own| !own.is_custom() && !ignored.contains(own));
        let syncs = setup.part::<Options>().concurrent_gc_syncs.unwrap_or(20);
        Arc::new(GarbageCollector::new(cx, resources, syncs))
    }
}
