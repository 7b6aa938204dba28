//! What is said of slices, and of the endpoints in them, whoever keeps them (`k8s.io/endpointslice/util/endpointset.go` and
//! `util/controller_utils.go`, v1.36.2).

use std::collections::{BTreeMap, BTreeSet};

use wavetank_api::json::{self, Json};
use wavetank_api::{Object, names};

use super::labels;

/// `LabelServiceName`
pub const LABEL_SERVICE_NAME: &str = "kubernetes.io/service-name";
/// `LabelManagedBy`
pub const LABEL_MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
/// `EndpointsLastChangeTriggerTime`
pub const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";
/// The endpoints that should be listed, by what they are found again by (`EndpointSet`).
pub type EndpointSet = BTreeMap<String, Json>;

/// The value of a label; the empty text of one that is not there.
pub fn label<'a>(object: &'a Json, key: &str) -> &'a str {
    let value = labels(object).and_then(|all| all.get(key));
    value.and_then(Json::as_str).unwrap_or_default()
}

/// The Service that a slice says it is of (`getServiceNN`).
pub fn service_of(slice: &Object) -> String {
    let service = label(slice.json(), LABEL_SERVICE_NAME);
    format!("{}/{service}", slice.namespace())
}

/// `ServiceControllerKey`: the same, if it says so.
pub fn service_controller_key(slice: &Object) -> Option<String> {
    let is_said = !label(slice.json(), LABEL_SERVICE_NAME).is_empty();
    is_said.then(|| service_of(slice))
}

/// Is it kept by the controller that labels its slices so (`ManagedByController`)?
pub fn is_managed_by(slice: &Object, manager: &str) -> bool {
    label(slice.json(), LABEL_MANAGED_BY) == manager
}

/// Is it one that this controller keeps for the Service of this name?
pub fn is_of_service_of(slice: &Object, manager: &str, namespace: &str, name: &str) -> bool {
    slice.namespace() == namespace
        && label(slice.json(), LABEL_SERVICE_NAME) == name
        && is_managed_by(slice, manager)
}

/// Its generation.
pub fn generation(slice: &Object) -> i64 {
    json::number(slice.json(), &["metadata", "generation"]).unwrap_or(0)
}

/// Its endpoints.
pub fn endpoints(slice: &Json) -> &[Json] {
    json::list(slice, &["endpoints"])
}

/// A list as Go's client sends it: one that is empty is none.
pub fn some(list: Vec<Json>) -> Json {
    match list.is_empty() {
        true => Json::Null,
        false => list.into(),
    }
}

/// `NewPortMapKey`. Upstream sorts ports by hashes of how Go prints them, here by their text.
pub fn new_port_map_key(ports: &[Json]) -> String {
    let mut all: Vec<String> = ports.iter().map(Json::to_string).collect();
    all.sort();
    all.join(",")
}

/// `hashEndpoint`: by this an endpoint is found again.
pub fn hash_endpoint(endpoint: &Json) -> String {
    let addresses: BTreeSet<String> = json::list(endpoint, &["addresses"])
        .iter()
        .map(Json::to_string)
        .collect();
    let text = |path: &[&str]| json::text(endpoint, path);
    let (namespace, name) = (
        text(&["targetRef", "namespace"]),
        text(&["targetRef", "name"]),
    );
    format!("{addresses:?} {} {namespace}/{name}", text(&["hostname"]))
}

/// `EndpointsEqualBeyondHash`
pub fn endpoints_equal_beyond_hash(one: &Json, other: &Json) -> bool {
    let target = |endpoint: &Json| {
        let mut target = endpoint["targetRef"].clone();
        json::remove(&mut target, &["resourceVersion"]);
        target
    };
    let same = |field: &str| one.get(field) == other.get(field);
    let same_condition = |field: &str| one["conditions"][field] == other["conditions"][field];
    same("nodeName")
        && same("zone")
        && ["ready", "serving", "terminating"]
            .into_iter()
            .all(same_condition)
        && target(one) == target(other)
}

/// `getEndpointSlicePrefix`
pub fn get_endpoint_slice_prefix(service: &str) -> String {
    let prefix = format!("{service}-");
    match names::name_is_dns_subdomain(&prefix, true).is_empty() {
        true => prefix,
        false => service.to_owned(),
    }
}
