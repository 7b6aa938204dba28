//! Servers of the resource metrics API (metrics-server), and the load of a scenario that they measure. How much load there is
//! stands in a ConfigMap, which users of autoscalers write; it is spread over the pods that serve. `server` is the process,
//! `samples` what pods use. Nothing here knows who asks, and why.

mod samples;
mod server;

use wavetank_api::Resource;
use wavetank_api::kinds::{CONFIG_MAPS, PODS};
use wavetank_component::{Component, Load, Mistakes, Need, Replicas, Setup, Spec, Wiring};

use crate::{informers, kube_apiserver};

pub use samples::{MILLI_IN_MEBI, PodMetrics, load_of};
pub use server::{ListPodMetrics, METRICS, PodMetricsList};

/// Its name, and the key of their number.
pub const NAME: &str = "metrics-servers";
/// The ConfigMap in the namespace `default` that says how much load there is on pods with which label `app`: in thousandths of
/// a core, and in mebibytes as well.
pub const LOAD: &str = "load";

/// Servers of the resource metrics API.
#[derive(Clone, Copy, Debug)]
pub struct MetricsServers;

const NEEDED: Need = Need {
    met: |spec| spec.count(NAME) > 0,
    lacking: "there is nobody to measure what pods use",
    add: "`metrics-servers: 1` to `topology`",
};

impl Component for MetricsServers {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "servers that say what pods use, of a load that is spread over them"
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of servers of the resource metrics API, which measure each 15 s what pods use of the load that \
                     is spread over them, named ms1, ms2 and so on: each controller asks the first.";
        Some(Replicas::counted(NAME, "ms", about).dispensable())
    }

    fn workload(&self) -> Vec<Load> {
        let lose =
            "Until the storm ends, servers of metrics lose what they have measured of some pods.";
        vec![Load::command("lose-samples", "lose", lose, NEEDED).until_calm()]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(NAME, spec, mistakes);
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        match spec.count(NAME) {
            0 => Vec::new(),
            _ => vec![&PODS, &CONFIG_MAPS],
        }
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(rest) = informers::rest(setup, wiring) else {
            return;
        };
        for name in wiring.names(NAME) {
            wiring.process(name, server::MetricsServer::new(rest.clone()));
        }
    }
}
