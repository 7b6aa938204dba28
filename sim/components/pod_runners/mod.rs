//! What runs pods in a scenario until there are kubelets: it gives pods a node, makes them ready, and ends those that
//! are being deleted. In storms pods fail and become unready, too. A pod says by its image what becomes of it. `runner` is
//! the process, `tasks` pods that run until they have done something.

mod runner;
mod tasks;

use wavetank_api::Resource;
use wavetank_api::kinds::PODS;
use wavetank_component::{Component, Hit, Load, Mistakes, Need, Replicas, Setup, Spec, Wiring};
use wavetank_engine::FaultKind;

use crate::{informers, kube_apiserver};

const NAME: &str = "pod-runners";
/// Pods of this image never become ready.
pub const NEVER_READY: &str = "image:broken";

/// Pods of this image run for a while before they are ready.
pub const SLOW: &str = "image:slow";

/// Pods of this image run for a while, and succeed; in storms some of them fail, with an exit code that is drawn.
pub const TASK: &str = "task:ok";
/// Pods of this image run for a while, and fail with the exit code 1.
pub const FAILING_TASK: &str = "task:fails";

/// Clients that stand in for schedulers and kubelets.
#[derive(Clone, Copy, Debug)]
pub struct PodRunners;

const NEEDED: Need = Need {
    met: |spec| spec.count(NAME) > 0,
    lacking: "there is nobody to run pods",
    add: "`pod-runners: 2` to `topology`",
};

impl Component for PodRunners {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "clients that bind pods, make them ready and end them, as a scheduler and kubelets would"
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of clients that give pods a node, make them ready and end those that are being deleted, \
                     named p1, p2 and so on.";
        Some(Replicas::counted(NAME, "p", about).dispensable())
    }

    fn workload(&self) -> Vec<Load> {
        let run = "Pod runners look at all pods, and take a few of them a step further.";
        let fail = "Until the storm ends, pods fail or become unready.";
        vec![
            Load::command("run-pods", "run", run, NEEDED),
            Load::command("fail-pods", "fail", fail, NEEDED).until_calm(),
        ]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(NAME, spec, mistakes);
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        let used = spec.count(NAME) > 0;
        used.then_some(&PODS).into_iter().collect()
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(rest) = informers::rest(setup, wiring) else {
            return;
        };
        for name in wiring.names(NAME) {
            wiring.process(name, runner::PodRunner::new(rest.clone()));
        }
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }
}
