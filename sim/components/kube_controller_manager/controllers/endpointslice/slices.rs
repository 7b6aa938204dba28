//! What slices of a Service are like (`k8s.io/endpointslice/utils.go`, v1.36.2). Hints of topology are left out.

use std::net::IpAddr;

use serde_json::json;
use wavetank_api::Object;
use wavetank_api::json::{self, Json, Map};
use wavetank_api::kinds::{ENDPOINT_SLICES, SERVICES};

use crate::controller_utils::is_pod_ready;
use crate::controllers::endpoints::IS_HEADLESS;
use crate::endpoint_utils::{
    CLUSTER_IP_NONE, LABEL_MANAGED_BY, LABEL_SERVICE_NAME, TRIGGER_TIME, endpoints, find_port,
    get_endpoint_slice_prefix, is_managed_by, is_of_service_of, label, labels, pod_ips,
    should_set_hostname, some,
};

use super::controller::MANAGER;

/// `LabelTopologyZone`
const TOPOLOGY_ZONE: &str = "topology.kubernetes.io/zone";

/// `ManagedByController`
pub(super) fn managed_by_controller(slice: &Object) -> bool {
    is_managed_by(slice, MANAGER)
}

/// Is it one that the controller keeps for the Service of this name?
pub(super) fn is_of_service(slice: &Object, namespace: &str, name: &str) -> bool {
    is_of_service_of(slice, MANAGER, namespace, name)
}

/// `ownedBy`
pub(super) fn owned_by(slice: &Json, service: &Object) -> bool {
    let owners = json::list(slice, &["metadata", "ownerReferences"]);
    owners.iter().any(|own| {
        own["uid"] == service.uid() && own["kind"] == SERVICES.kind && own["apiVersion"] == "v1"
    })
}

/// `getAddressTypesForService`, in a fixed order.
pub(super) fn get_address_types_for_service(service: &Json) -> Vec<&'static str> {
    let families = json::list(service, &["spec", "ipFamilies"]);
    let known = ["IPv4", "IPv6"].into_iter();
    let of_families: Vec<&str> = known
        .filter(|known| families.iter().any(|family| family == known))
        .collect();
    if !of_families.is_empty() {
        return of_families;
    }
    if !is_service_ip_set(service) {
        return vec!["IPv4", "IPv6"];
    }
    match json::text(service, &["spec", "clusterIP"]).contains(':') {
        true => vec!["IPv6"],
        false => vec!["IPv4"],
    }
}

/// `isServiceIPSet`
fn is_service_ip_set(service: &Json) -> bool {
    let cluster_ip = json::text(service, &["spec", "clusterIP"]);
    !cluster_ip.is_empty() && cluster_ip != CLUSTER_IP_NONE
}

/// `getEndpointPorts`
pub(super) fn get_endpoint_ports(service: &Json, pod: &Json) -> Vec<Json> {
    let ports = json::list(service, &["spec", "ports"]).iter();
    let found = ports.filter_map(|port| {
        let mut of_slice = json!({
            "name": json::text(port, &["name"]),
            "port": find_port(pod, port)?,
            "protocol": json::text(port, &["protocol"]),
        });
        if let Some(protocol) = port.get("appProtocol").filter(|own| !own.is_null()) {
            of_slice["appProtocol"] = protocol.clone();
        }
        Some(of_slice)
    });
    found.collect()
}

/// `podToEndpoint`
pub(super) fn pod_to_endpoint(
    pod: &Object,
    node: Option<&Json>,
    service: &Object,
    address_type: &str,
) -> Json {
    let json = pod.json();
    let serving = is_pod_ready(json).is_some();
    let terminating = pod.is_being_deleted();
    let publishes = service.json()["spec"]["publishNotReadyAddresses"] == true;
    let mut endpoint = json!({
        "addresses": get_endpoint_addresses(json, address_type),
        "conditions": {
            "ready": publishes || (serving && !terminating),
            "serving": serving,
            "terminating": terminating,
        },
        "targetRef": {
            "kind": "Pod",
            "namespace": pod.namespace(),
            "name": pod.name(),
            "uid": pod.uid(),
        },
    });
    let node_name = json::text(json, &["spec", "nodeName"]);
    if !node_name.is_empty() {
        endpoint["nodeName"] = node_name.into();
    }
    let zone = node.map_or("", |node| label(node, TOPOLOGY_ZONE));
    if !zone.is_empty() {
        endpoint["zone"] = zone.into();
    }
    if should_set_hostname(pod, service) {
        endpoint["hostname"] = json["spec"]["hostname"].clone();
    }
    endpoint
}

/// `getEndpointAddresses`
fn get_endpoint_addresses(pod: &Json, address_type: &str) -> Vec<String> {
    let of_type = |ip: &&str| ip.contains(':') == (address_type == "IPv6");
    let written = |ip: &str| {
        ip.parse::<IpAddr>()
            .map_or(ip.to_owned(), |ip| ip.to_string())
    };
    pod_ips(pod).filter(of_type).map(written).collect()
}

/// `newEndpointSlice`
pub(super) fn new_endpoint_slice(service: &Object, ports: &[Json], address_type: &str) -> Json {
    let mut slice = json!({
        "apiVersion": ENDPOINT_SLICES.api_version(),
        "kind": ENDPOINT_SLICES.kind,
        "metadata": {
            "generateName": get_endpoint_slice_prefix(service.name()),
            "namespace": service.namespace(),
            "ownerReferences": [{
                "apiVersion": "v1",
                "kind": SERVICES.kind,
                "name": service.name(),
                "uid": service.uid(),
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        },
        "addressType": address_type,
        "endpoints": null,
        "ports": some(ports.to_vec()),
    });
    let (labels, _) = set_endpoint_slice_labels(&slice, service.json());
    slice["metadata"]["labels"] = labels.into();
    slice
}

/// `addTriggerTimeAnnotation`
pub(super) fn add_trigger_time_annotation(slice: &mut Json, time: Option<&str>) {
    let annotations = json::map_mut(slice, &["metadata", "annotations"]);
    match time {
        Some(time) => drop(annotations.insert(TRIGGER_TIME.to_owned(), time.into())),
        None => drop(annotations.remove(TRIGGER_TIME)),
    }
}

/// `isReservedLabelKey`
fn is_reserved_label_key(key: &str) -> bool {
    [LABEL_SERVICE_NAME, LABEL_MANAGED_BY, IS_HEADLESS].contains(&key)
}

/// `setEndpointSliceLabels`: the labels that a slice should have, and whether they are to be written.
pub(super) fn set_endpoint_slice_labels(slice: &Json, service: &Json) -> (Map, bool) {
    let own = |object: &Json| -> Map {
        let all = labels(object).into_iter().flatten();
        let kept = all.filter(|(key, _)| !is_reserved_label_key(key));
        kept.map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    let mut of_service = own(service);
    let updated = own(slice) != of_service;
    if !is_service_ip_set(service) {
        of_service.insert(IS_HEADLESS.to_owned(), "".into());
    }
    let name = json::text(service, &["metadata", "name"]);
    of_service.insert(LABEL_SERVICE_NAME.to_owned(), name.into());
    of_service.insert(LABEL_MANAGED_BY.to_owned(), MANAGER.into());
    (of_service, updated)
}

/// Upstream's `placeholderSliceCompare`: is it as a slice without endpoints would be made?
pub(super) fn is_placeholder(slice: &Json, placeholder: &Json) -> bool {
    let own = |of: &Json| labels(of).cloned().unwrap_or_default();
    let alike = |one: &Map, other: &Map| {
        let get = |key: &String| other.get(key).and_then(Json::as_str).unwrap_or_default();
        one.iter().all(|(key, value)| value == get(key))
    };
    let (one, other) = (own(slice), own(placeholder));
    alike(&one, &other)
        && alike(&other, &one)
        && json::text(slice, &["metadata", "namespace"])
            == json::text(placeholder, &["metadata", "namespace"])
        && slice["addressType"] == placeholder["addressType"]
        && endpoints(slice).is_empty()
        && json::list(slice, &["ports"]).is_empty()
}
