//! Clients that make, change and delete Services: `writer` is what they do.

pub(crate) mod writer;

use std::sync::Arc;

use wavetank_api::Resource;
use wavetank_api::kinds::SERVICES;
use wavetank_component::{
    Component, Hit, Load, Mistakes, Need, Replicas, Section, Setup, Spec, Wiring,
};
use wavetank_engine::FaultKind;

use crate::{kube_apiserver, services};
use writer::ServiceWriter;

/// Its name.
pub const NAME: &str = "service-writers";

/// Clients that use Services.
#[derive(Clone, Copy, Debug)]
pub struct ServiceWriters;

const NEEDED: Need = Need {
    met: |spec| spec.count(NAME) > 0,
    lacking: "nobody makes Services",
    add: "`service-writers: 4` to `topology`",
};

impl Component for ServiceWriters {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "clients that make, change and delete Services"
    }

    fn replicas(&self) -> Option<Replicas> {
        let about =
            "The number of clients that make, change and delete Services, named s1, s2 and so on.";
        Some(Replicas::counted(NAME, "s", about))
    }

    fn workload(&self) -> Vec<Load> {
        let services =
            "Until the storm ends, clients make, change and delete Services through any apiserver.";
        let probe = "Clients make Services and delete them at once, also when the storm is over.";
        vec![
            Load::command("services", "use", services, NEEDED).until_calm(),
            Load::command("probe-services", "probe", probe, NEEDED),
        ]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(NAME, spec, mistakes);
        if spec.count(NAME) > 0 && services::ranges(spec).is_none() {
            let message = "apiservers have nothing to give to Services";
            let help = services::add_ranges(NAME);
            mistakes.key(Section::Topology, NAME, message, help);
        }
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let oldest = kube_apiserver::running(setup).into_iter().min();
        let (Some(ranges), Some(oldest)) = (services::ranges(setup), oldest) else {
            return;
        };
        let servers = Arc::new(wiring.ids(kube_apiserver::NAME));
        for name in wiring.names(NAME) {
            let writer = ServiceWriter::new(name, servers.clone(), oldest, &ranges);
            wiring.process(name, writer);
        }
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        let used = spec.count(NAME) > 0;
        used.then_some(&SERVICES).into_iter().collect()
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }
}
