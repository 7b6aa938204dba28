//! What gives pods a node in a scenario until there is a kube-scheduler: it knows taints, labels and names of nodes, and
//! draws one of those that fit. Where `pod_runners` are, they do that themselves, and run the pods as well.

mod binder;

use wavetank_api::Resource;
use wavetank_api::kinds::{NODES, PODS};
use wavetank_component::{Component, Hit, Load, Mistakes, Need, Replicas, Setup, Spec, Wiring};
use wavetank_engine::FaultKind;

use crate::{informers, kube_apiserver};

const NAME: &str = "binders";

/// Clients that stand in for schedulers.
#[derive(Clone, Copy, Debug)]
pub struct Binders;

const NEEDED: Need = Need {
    met: |spec| spec.count(NAME) > 0,
    lacking: "there is nobody to bind pods",
    add: "`binders: 1` to `topology`",
};

impl Component for Binders {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "clients that bind pods to nodes, as a scheduler would"
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of clients that give pods a node whose taints they tolerate and whose labels they ask for, \
                     named bd1, bd2 and so on.";
        Some(Replicas::counted(NAME, "bd", about).dispensable())
    }

    fn workload(&self) -> Vec<Load> {
        let bind = "Binders look at all pods and nodes, and bind each pod that has no node to one that fits.";
        vec![Load::command("bind-pods", "bind", bind, NEEDED)]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(NAME, spec, mistakes);
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        match spec.count(NAME) {
            0 => Vec::new(),
            _ => vec![&PODS, &NODES],
        }
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(rest) = informers::rest(setup, wiring) else {
            return;
        };
        for name in wiring.names(NAME) {
            wiring.process(name, binder::Binder::new(rest.clone()));
        }
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }
}
