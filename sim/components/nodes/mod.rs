//! Nodes of a scenario until there are kubelets: each registers itself, and is ready. `node` is the process.

mod node;

use wavetank_api::Resource;
use wavetank_api::kinds::NODES;
use wavetank_component::{Component, Hit, Mistakes, Replicas, Setup, Spec, Wiring};
use wavetank_engine::FaultKind;

use crate::{informers, kube_apiserver};

/// The key of their number.
pub const NAME: &str = "nodes";

/// Nodes that register themselves.
#[derive(Clone, Copy, Debug)]
pub struct Nodes;

/// The name of the Node that the process with this number registers, from 1 on.
pub fn node_name(number: usize) -> String {
    format!("n{number}")
}

impl Component for Nodes {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "nodes that register themselves, as kubelets do"
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of nodes that register themselves, as n1, n2 and so on; their processes are h1, h2 and so \
                     on.";
        Some(Replicas::counted(NAME, "h", about).dispensable())
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(NAME, spec, mistakes);
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        let used = spec.count(NAME) > 0;
        used.then_some(&NODES).into_iter().collect()
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(rest) = informers::rest(setup, wiring) else {
            return;
        };
        for (at, name) in wiring.names(NAME).iter().enumerate() {
            wiring.process(name, node::Node::new(&node_name(at + 1), rest.clone()));
        }
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }
}
