//! The Deployment controller, which rolls out templates over ReplicaSets. `controller` is one sync, `sets` says which sets
//! there are to be, `scale` how they are scaled, `rolling` how a rollout goes, `status` what is written back, `events` what
//! wakes it up; `util` and `hash` are pure. `users` are who rolls out in a scenario, `properties` what is promised to them.

mod controller;
mod defects;
mod describe;
mod events;
mod hash;
mod notes;
mod properties;
mod rolling;
mod scale;
mod sets;
mod status;
mod users;
mod util;

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use wavetank_api::Resource;
use wavetank_api::kinds::{DEPLOYMENTS, PODS, REPLICA_SETS};
use wavetank_component::{
    Component, Description, Hit, Keys, Load, Mistakes, Need, Part, PropertyInfo, Replicas, Section,
    Setup, Spec, Stored, Wiring,
};
use wavetank_engine::{FaultKind, Note, World};
use wavetank_version::{Gate, List, Listed};

use super::replicaset;
use crate::kube_controller_manager::controller::{
    Controller, ControllerContext, ControllerDescriptor,
};
use crate::kube_controller_manager::controller_utils::PodOwnerDefect;
use crate::kube_controller_manager::gates;
use crate::users::User;
use crate::{informers, kube_apiserver, kube_controller_manager};
use controller::CONTROLLER;
use defects::DeploymentDefect;
use users::UsesDeployments;

const NAME: &str = "deployment";
/// The key of the number of those who roll out.
const USERS: &str = "deployment-users";

/// Its descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Deployments;

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// The number of Deployments that their controller syncs at once (`--concurrent-deployment-syncs`); without it 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 50))]
    pub concurrent_deployment_syncs: Option<u32>,
}

impl Part for Options {
    const SECTION: Section = Section::Options;
}

fn is_run(spec: &Spec) -> bool {
    kube_controller_manager::runs(spec, CONTROLLER)
}

const NEEDED: Need = Need {
    met: is_run,
    lacking: "the Deployment controller, which does not run",
    add: "`controllers: [deployment-controller, replicaset-controller]` to `options`, and `controller-managers: 1` to \
          `topology`",
};

impl Component for Deployments {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "the controller that rolls out Deployments over ReplicaSets, and who rolls out"
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Options>()]
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of clients that make Deployments, change their templates, scale, pause and resume them, \
                     and make them anew, named v1, v2 and so on.";
        Some(Replicas::counted(USERS, "v", about).dispensable())
    }

    fn workload(&self) -> Vec<Load> {
        let need = Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use Deployments",
            add: "`deployment-users: 2` to `topology`",
        };
        let about = "Until the storm ends, users make, roll out, scale, pause, resume and delete Deployments.";
        vec![Load::command("use-deployments", "use", about, need).until_calm()]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(USERS, spec, mistakes);
        let syncs = spec.part::<Options>().concurrent_deployment_syncs;
        let key = "concurrent-deployment-syncs";
        kube_controller_manager::check_syncs(spec, mistakes, CONTROLLER, key, syncs);
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        match is_run(spec) || spec.count(USERS) > 0 {
            true => vec![&DEPLOYMENTS, &REPLICA_SETS, &PODS],
            false => Vec::new(),
        }
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(rest) = informers::rest(setup, wiring) else {
            return;
        };
        for name in wiring.names(NAME) {
            wiring.process(name, User::new(rest.clone(), UsesDeployments));
        }
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }

    fn defects(&self) -> Vec<List> {
        vec![DeploymentDefect::LIST]
    }

    /// Who owns a set is decided as who owns a pod is.
    fn defects_of_parts(&self, _: &Spec) -> Vec<List> {
        vec![PodOwnerDefect::LIST]
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
            true => replicaset::ReplicaSets.settles(setup) + properties::ROLLS_OUT_WITHIN,
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

impl ControllerDescriptor for Deployments {
    fn controller_name(&self) -> &'static str {
        CONTROLLER
    }

    fn releases_with_it(&self) -> Gate {
        gates::DEPLOYMENT_CONTROLLER
    }

    fn new_controller(&self, setup: &Setup, cx: &mut ControllerContext) -> Arc<dyn Controller> {
        let workers = setup.part::<Options>().concurrent_deployment_syncs;
        controller::new(cx, workers.unwrap_or(5))
    }
}
