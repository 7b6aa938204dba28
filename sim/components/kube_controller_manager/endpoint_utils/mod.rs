//! What the controllers of Endpoints and of EndpointSlices share (`k8s.io/endpointslice/util`,
//! `pkg/controller/util/endpoint`): `pods` is what wakes them up, and who works on pods that change, `projection` says which
//! Services a change of a pod concerns, `trigger_time` since when a change is to be seen, and what is here which pods count.
//! `subsets` is how addresses of Endpoints are packed, `slices` what is said of EndpointSlices, `tracker` what a controller knows
//! of those that it wrote, `defects` what may be wrong in that, and `notes` what it says of them. The rest is for properties:
//! `expected` is which pods a Service selects, `late` what is written because of late changes, `own_slices` from which slices
//! a controller may reconcile, and `awaited` for which it may wait. `slice_users` is what users do to slices.

mod awaited;
mod defects;
mod expected;
mod late;
pub mod notes;
mod own_slices;
mod pods;
mod projection;
mod slice_users;
mod slices;
mod subsets;
mod tracker;
mod trigger_time;

use wavetank_api::json::{self, Json};
use wavetank_api::{Object, Stored};
use wavetank_client::Index;
use wavetank_client::informer::Lister;
use wavetank_engine::{NotState, Rx};

pub use awaited::SlicesThatAreGoneAreNotAwaited;
pub use defects::SliceTrackerDefect;
pub use expected::{ports_at, says_ready, selected_pods};
pub use late::{follows, services_concerned};
pub use own_slices::OwnSlicesAreKnown;
pub use pods::{PodWorkers, Queues};
pub use slice_users::{SliceAct, act_on_slice};
pub use slices::{
    EndpointSet, LABEL_MANAGED_BY, LABEL_SERVICE_NAME, TRIGGER_TIME, endpoints,
    endpoints_equal_beyond_hash, generation, get_endpoint_slice_prefix, hash_endpoint,
    is_managed_by, is_of_service_of, label, new_port_map_key, service_controller_key, service_of,
    some,
};
pub use subsets::{MAX_CAPACITY, Subset, repack_subsets, truncate_endpoints};
pub use tracker::EndpointSliceTracker;
pub use trigger_time::TriggerTimeTracker;

/// What Services without an address for themselves have in its place.
pub const CLUSTER_IP_NONE: &str = "None";

/// The labels that a Service selects pods by, if it selects any (`spec.selector` that is not nil).
pub fn selector(service: &Json) -> Option<&json::Map> {
    let selector = json::at(service, &["spec", "selector"]);
    selector.and_then(Json::as_object)
}

/// Upstream's `ValidatedSetSelector(…).Matches`
pub fn selects(selector: &json::Map, labels: Option<&json::Map>) -> bool {
    let has = |(key, value): (&String, &Json)| labels.and_then(|own| own.get(key)) == Some(value);
    selector.iter().all(has)
}

/// The labels of an object.
pub fn labels(object: &Json) -> Option<&json::Map> {
    json::at(object, &["metadata", "labels"]).and_then(Json::as_object)
}

/// Pods by their namespace and each of their labels. Upstream has no such index: its lister looks at each pod of the
/// namespace, and finds the same.
pub const POD_LABELS_INDEX: Index = Index {
    name: "labels",
    of: NotState(|pod| {
        let own = labels(pod.json()).into_iter().flatten();
        let value =
            |(name, value): (&String, &Json)| label_index_key(pod.namespace(), name, value).into();
        own.map(value).collect()
    }),
};

fn label_index_key(namespace: &str, name: &str, value: &Json) -> String {
    format!("{namespace}/{name}={}", value.as_str().unwrap_or_default())
}

/// The pods of a Service, as the cache shows them, which has the [`POD_LABELS_INDEX`].
pub fn pods_of(rx: Rx, pods: Lister, service: &Object) -> Vec<Stored> {
    let Some(selector) = selector(service.json()) else {
        return Vec::new();
    };
    let mut all = match selector.iter().next() {
        Some((name, value)) => {
            let value = label_index_key(service.namespace(), name, value);
            pods.by_index(rx, &POD_LABELS_INDEX, &value)
        }
        None => pods.list(rx),
    };
    all.retain(|pod| {
        let is_near = pod.object.namespace() == service.namespace();
        is_near && selects(selector, labels(pod.object.json()))
    });
    all
}

/// The addresses of a pod (`status.podIPs`).
pub fn pod_ips(pod: &Json) -> impl Iterator<Item = &str> {
    let all = json::list(pod, &["status", "podIPs"]).iter();
    all.map(|own| json::text(own, &["ip"]))
}

/// `ShouldPodBeInEndpoints`
pub fn should_pod_be_in_endpoints(pod: &Object, include_terminating: bool) -> bool {
    let json = pod.json();
    let is_over = matches!(
        json::text(json, &["status", "phase"]),
        "Failed" | "Succeeded"
    );
    let has_address =
        !json::text(json, &["status", "podIP"]).is_empty() || pod_ips(json).next().is_some();
    !is_over && has_address && (include_terminating || !pod.is_being_deleted())
}

/// `ShouldSetHostname`
pub fn should_set_hostname(pod: &Object, service: &Object) -> bool {
    let spec = |field| json::text(pod.json(), &["spec", field]);
    let is_near = service.namespace() == pod.namespace();
    !spec("hostname").is_empty() && spec("subdomain") == service.name() && is_near
}

/// `FindPort`: the number of the port of a pod that a port of a Service leads to.
pub fn find_port(pod: &Json, service_port: &Json) -> Option<i64> {
    let target = &service_port["targetPort"];
    let Some(name) = target.as_str() else {
        return Some(target.as_i64().unwrap_or(0));
    };
    let is_sidecar = |own: &&Json| own["restartPolicy"] == "Always";
    let containers = json::list(pod, &["spec", "containers"]).iter();
    let sidecars = json::list(pod, &["spec", "initContainers"]).iter();
    let all = containers.chain(sidecars.filter(is_sidecar));
    let mut ports = all.flat_map(|own| json::list(own, &["ports"]));
    let protocol = |port: &Json| match port["protocol"].as_str() {
        None | Some("") => "TCP".to_owned(),
        Some(protocol) => protocol.to_owned(),
    };
    let found =
        ports.find(|port| port["name"] == *name && protocol(port) == protocol(service_port));
    found?["containerPort"].as_i64()
}
