//! The Endpoints controller, which lists the pods of each Service. `controller` is one sync, `subsets` how addresses are
//! packed, `events` what wakes it up, `defects` what may be wrong in it; `users` are who makes Services and pods in a
//! scenario, `properties` and `own_view` what is promised to them, `describe` how that is told.

mod controller;
mod defects;
mod describe;
mod events;
mod notes;
mod own_view;
mod properties;
mod subsets;
mod users;

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use wavetank_api::Resource;
use wavetank_api::kinds::{ENDPOINTS, PODS, SERVICES};
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
use crate::{informers, kube_apiserver, kube_controller_manager, services};
use controller::{ACCOUNT, CONTROLLER};
use defects::EndpointsDefect;
use users::UsesServices;

const NAME: &str = "endpoints";
/// The key of the number of those who use Services.
const USERS: &str = "service-users";

/// Its descriptor.
#[derive(Clone, Copy, Debug)]
pub struct EndpointsControllers;

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// The number of Services whose Endpoints are synced at once (`--concurrent-endpoint-syncs`); without it 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 50))]
    pub concurrent_endpoint_syncs: Option<u32>,
}

impl Part for Options {
    const SECTION: Section = Section::Options;
}

fn is_run(spec: &Spec) -> bool {
    kube_controller_manager::runs(spec, CONTROLLER)
}

const NEEDED: Need = Need {
    met: is_run,
    lacking: "the Endpoints controller, which does not run",
    add: "`controllers: [endpoints-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

impl Component for EndpointsControllers {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "the controller that lists the pods of each Service in its Endpoints, and who makes Services and pods for it"
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Options>()]
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of clients that make, change and delete Services, make pods for them, let these become \
                     ready and unready, and end them, named q1, q2 and so on.";
        Some(Replicas::counted(USERS, "q", about).dispensable())
    }

    fn workload(&self) -> Vec<Load> {
        let need = Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use Services",
            add: "`service-users: 2` to `topology`",
        };
        let about = "Until the storm ends, users make, change and delete Services and the pods behind them.";
        vec![Load::command("use-services", "use", about, need).until_calm()]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(USERS, spec, mistakes);
        if spec.count(USERS) > 0 && services::ranges(spec).is_none() {
            let message = format!(
                "`{USERS}` make Services, and apiservers without addresses to give have none"
            );
            let help = "add `service-cluster-ip-range: 10.96.0.0/24` to `options`";
            mistakes.key(Section::Topology, USERS, message, help);
        }
        let syncs = spec.part::<Options>().concurrent_endpoint_syncs;
        let key = "concurrent-endpoint-syncs";
        kube_controller_manager::check_syncs(spec, mistakes, CONTROLLER, key, syncs);
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        match is_run(spec) || spec.count(USERS) > 0 {
            true => vec![&SERVICES, &PODS, &ENDPOINTS],
            false => Vec::new(),
        }
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(rest) = informers::rest(setup, wiring) else {
            return;
        };
        for name in wiring.names(NAME) {
            wiring.process(name, User::new(rest.clone(), UsesServices));
        }
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }

    fn defects(&self) -> Vec<List> {
        vec![EndpointsDefect::LIST]
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
        match is_run(setup) {
            true => kube_controller_manager::settles(setup) + properties::SETTLES_WITHIN,
            false => Duration::ZERO,
        }
    }

    fn describe(&self, _: &World, note: &Note) -> Option<Description> {
        describe::note(note)
    }

    fn describe_stored(&self, key: &str, value: Option<&Json>) -> Option<Stored> {
        describe::stored(key, value)
    }
}

impl ControllerDescriptor for EndpointsControllers {
    fn controller_name(&self) -> &'static str {
        CONTROLLER
    }

    fn service_account(&self) -> &'static str {
        ACCOUNT
    }

    fn releases_with_it(&self) -> Gate {
        gates::ENDPOINTS_CONTROLLER
    }

    fn new_controller(&self, setup: &Setup, cx: &mut ControllerContext) -> Arc<dyn Controller> {
        let workers = setup.part::<Options>().concurrent_endpoint_syncs;
        controller::new(cx, workers.unwrap_or(5))
    }
}
