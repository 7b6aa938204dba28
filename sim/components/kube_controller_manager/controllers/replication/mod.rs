//! The ReplicationController controller: that of ReplicaSets, over another kind
//! (`pkg/controller/replication/replication_controller.go`). All that it does is in `replicaset`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_api::Resource;
use wavetank_api::kinds::PODS;
use wavetank_component::{Component, Keys, Mistakes, Part, Section, Setup, Spec};
use wavetank_version::{Gate, List};

use super::replicaset::{self, Kind};
use crate::kube_controller_manager::controller::{
    Controller, ControllerContext, ControllerDescriptor,
};
use crate::kube_controller_manager::{self, gates};

/// Its descriptor.
#[derive(Clone, Copy, Debug)]
pub struct ReplicationControllers;

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// The number of ReplicationControllers that their controller syncs at once (`--concurrent-rc-syncs`); without it 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 50))]
    pub concurrent_rc_syncs: Option<u32>,
}

impl Part for Options {
    const SECTION: Section = Section::Options;
}

impl Component for ReplicationControllers {
    fn name(&self) -> &'static str {
        "replication"
    }

    fn about(&self) -> &'static str {
        "the controller that keeps as many pods of a ReplicationController as it asks for"
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Options>()]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        let syncs = spec.part::<Options>().concurrent_rc_syncs;
        let key = "concurrent-rc-syncs";
        let name = Kind::ReplicationController.controller();
        kube_controller_manager::check_syncs(spec, mistakes, name, key, syncs);
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        match replicaset::running(spec).contains(&Kind::ReplicationController) {
            true => vec![&PODS, Kind::ReplicationController.resource()],
            false => Vec::new(),
        }
    }

    fn defects_of_parts(&self, _: &Spec) -> Vec<List> {
        replicaset::defects()
    }
}

impl ControllerDescriptor for ReplicationControllers {
    fn controller_name(&self) -> &'static str {
        Kind::ReplicationController.controller()
    }

    fn releases_with_it(&self) -> Gate {
        gates::REPLICA_SET_CONTROLLER
    }

    fn new_controller(&self, setup: &Setup, cx: &mut ControllerContext) -> Arc<dyn Controller> {
        let workers = setup.part::<Options>().concurrent_rc_syncs;
        let workers = workers.unwrap_or(replicaset::SYNCS);
        replicaset::new(cx, Kind::ReplicationController, workers)
    }
}
