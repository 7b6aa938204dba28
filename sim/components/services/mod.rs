//! What apiservers give to Services: cluster addresses and node ports. `allocators` gives them, as hooks of the generic
//! registry; `repair` and `address_controllers` look after what leaked.

mod address_controllers;
pub mod allocators;
mod defects;
mod describe;
pub mod gates;
mod options;
mod properties;
pub(crate) mod repair;

use serde_json::Value as Json;
use wavetank_api::Resource;
use wavetank_api::kinds::{ENDPOINTS, EVENTS, IP_ADDRESSES, NAMESPACES, SERVICE_CIDRS, SERVICES};
use wavetank_component::{
    Component, Description, Hit, Keys, Mistakes, Need, PropertyInfo, Setup, Spec, Stored,
};
use wavetank_engine::{FaultKind, Note, World};
use wavetank_version::{List, Listed};

use crate::kube_apiserver;

pub(crate) use address_controllers::SERVICE_LISTER;
pub use allocators::ServiceRanges;
pub use defects::{RepairDefect, ServiceDefect};
pub use options::{Cidrs, Options, PortRange, add_ranges};
pub use repair::{REPAIR_INTERVAL, RepairNote, RepairRound, ServiceRepair};

/// Its name.
pub const NAME: &str = "services";

/// The allocators of addresses and ports, with their repair loops: a part of apiservers.
#[derive(Clone, Copy, Debug)]
pub struct Services;

/// What the apiservers give to Services, if they give anything.
pub fn ranges(spec: &Spec) -> Option<ServiceRanges> {
    let options: Options = spec.part();
    let cluster_ips = options.service_cluster_ip_range?;
    let cluster_ips: Vec<&str> = cluster_ips.0.iter().map(String::as_str).collect();
    let ranges = ServiceRanges::of(&cluster_ips);
    Some(match options.service_node_port_range {
        None => ranges,
        Some(PortRange { first, last }) => ServiceRanges {
            node_ports: (first, last - first + 1),
            ..ranges
        },
    })
}

const NEEDED: Need = Need {
    met: |spec| ranges(spec).is_some(),
    lacking: "Services, and there is nothing to give them",
    add: "`service-cluster-ip-range: 10.0.0.0/24` to `options`",
};

impl Component for Services {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "what apiservers give to Services: addresses and ports, and the loops that repair what leaked"
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Options>()]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        spec.part::<Options>().check(mistakes);
    }

    /// Services with their Endpoints, Events about them, the objects that say what is allocated, and the namespace of the
    /// Service `kubernetes`, as far as the releases know of them.
    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        if !self.exists(spec) {
            return Vec::new();
        }
        let mut used = vec![&SERVICES, &ENDPOINTS, &EVENTS];
        for release in kube_apiserver::all_releases(spec) {
            if release.has(gates::IP_ADDRESSES) {
                used.extend([&IP_ADDRESSES, &SERVICE_CIDRS]);
            }
            if !release.has(kube_apiserver::gates::SYSTEM_NAMESPACES_APART) {
                used.push(&NAMESPACES);
            }
        }
        used
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }

    fn exists(&self, spec: &Spec) -> bool {
        ranges(spec).is_some()
    }

    fn added_by(&self) -> String {
        NEEDED.add.to_owned()
    }

    fn defects(&self) -> Vec<List> {
        vec![ServiceDefect::LIST, RepairDefect::LIST]
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        properties::all(NEEDED)
    }

    fn describe(&self, world: &World, note: &Note) -> Option<Description> {
        describe::note(world, note)
    }

    fn describe_stored(&self, key: &str, value: Option<&Json>) -> Option<Stored> {
        let (text, about) = describe::stored(key, value?)?;
        let text = Some(text);
        Some(Stored { text, about })
    }
}
