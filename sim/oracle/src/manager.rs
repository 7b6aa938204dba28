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

/// Those of nodes act when time has passed. A step takes another time here than it took there, so they are simulated in
/// recordings that are about them: there the script keeps nodes alive, and says how long one may be silent.
const OF_NODES: [&str; 2] = ["node-lifecycle-controller", "taint-eviction-controller"];
const SILENCE: &str = "node-monitor-grace-period";

/// What they work as, and the controller of ranges as well.
pub(crate) const OF_NODES_ACCOUNT: &str = "node-controller";

/// Runs only where its flag is given (`startNodeIpamController`).
const OF_RANGES: (&str, &str) = ("node-ipam-controller", "allocate-node-cidrs=true");

/// The controllers that it runs with these flags: all that are upstream's. Those that are on by default are there for scenarios.
pub(crate) fn controllers(flags: &[String]) -> Vec<Arc<dyn ControllerDescriptor>> {
    let with_nodes = is_about_nodes(flags);
    let with_ranges = flags.iter().any(|flag| flag.contains(OF_RANGES.1));
    let mut all = new_controller_descriptors().to_vec();
    all.retain(|controller| {
        let is_of_nodes = OF_NODES.contains(&controller.controller_name());
        let is_of_ranges = OF_RANGES.0 == controller.controller_name();
        controller.is_disabled_by_default()
            && (with_nodes || !is_of_nodes)
            && (with_ranges || !is_of_ranges)
    });
    all
}

/// Do these flags say how long a node may be silent?
pub(crate) fn is_about_nodes(flags: &[String]) -> bool {
    flags.iter().any(|flag| flag.contains(SILENCE))
}

/// What it is composed for. Flags are as on a command line; those of how many workers controllers have are honoured, and those
/// of how nodes are watched.
pub(crate) fn setup(flags: &[String]) -> Setup {
    let mut options = Map::new();
    for flag in flags {
        let flag = flag.trim_start_matches("--");
        let Some((key, value)) = flag.split_once('=') else {
            continue;
        };
        if key.starts_with("concurrent-")
            && let Ok(count) = value.parse::<u32>()
        {
            options.insert(key.to_owned(), count.into());
        }
        if key.starts_with("node-") || key == "cluster-cidr" {
            options.insert(key.to_owned(), value.into());
        }
    }
    let names = controllers(flags);
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
    let lists: Vec<_> = controllers(flags)
        .iter()
        .flat_map(|own| own.defects())
        .collect();
    let context = controller_context(rest, setup.selection(release, &lists));
    let lock = LockKind::of(release);
    ControllerManager::new(
        NAME,
        &setup,
        context,
        &controllers(flags),
        Set::NONE,
        lock,
        false,
    )
}
