//! The simulated kube-controller-manager beside the first server of a recording: one, which always leads, with the
//! controllers that there are.

use std::sync::Arc;

use wavetank_api::kinds::Kinds;
use wavetank_client::leader_election::LockKind;
use wavetank_client::{LoadBalancer, Policy, RestClient, Servers};
use wavetank_component::{Section, Setup};
use wavetank_engine::ProcId;
use wavetank_kube_controller_manager::controller::ControllerDescriptor;
use wavetank_kube_controller_manager::{
    ControllerManager, controller_context, new_controller_descriptors,
};
use wavetank_version::{Set, Version};

use serde_json::{Map, Value as Json, json};

/// The name of its process.
pub(crate) const NAME: &str = "kube-controller-manager";

/// The controllers that it runs: all that are upstream's. Those that are on by default are there for scenarios.
pub(crate) fn controllers() -> Vec<Arc<dyn ControllerDescriptor>> {
    let mut all = new_controller_descriptors();
    all.retain(|controller| controller.is_disabled_by_default());
    all
}

/// What it is composed for. Flags are as on a command line; those of how many workers controllers have are honoured.
pub(crate) fn setup(flags: &[String]) -> Setup {
    let mut options = Map::new();
    for flag in flags {
        let flag = flag.trim_start_matches("--");
        if let Some((key, value)) = flag.split_once('=')
            && key.starts_with("concurrent-")
            && let Ok(count) = value.parse::<u32>()
        {
            options.insert(key.to_owned(), count.into());
        }
    }
    let names = controllers();
    let names: Json = names.iter().map(|own| own.controller_name()).collect();
    options.insert("controllers".to_owned(), names);
    let mut topology = Map::new();
    topology.insert("controller-managers".to_owned(), json!(1));
    let mut setup = Setup::default();
    setup.spec.given.add(Section::Options, options);
    setup.spec.given.add(Section::Topology, topology);
    setup
}

/// The process, over this server, which has objects of these kinds.
pub(crate) fn of(
    flags: &[String],
    release: Version,
    server: ProcId,
    kinds: Kinds,
) -> ControllerManager {
    let mut setup = setup(flags);
    setup.spec.kinds = kinds;
    let servers = Servers::Balanced(LoadBalancer {
        servers: vec![server],
        policy: Policy::Fixed,
        window: None,
    });
    let rest = RestClient::new(release, servers);
    let lists: Vec<_> = controllers().iter().flat_map(|own| own.defects()).collect();
    let context = controller_context(rest, setup.selection(release, &lists));
    let lock = LockKind::of(release);
    ControllerManager::new(
        NAME,
        &setup,
        context,
        &controllers(),
        Set::NONE,
        lock,
        false,
    )
}
