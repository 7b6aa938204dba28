//! What a mirrored slice is like, and whether Endpoints are to be mirrored
//! (`pkg/controller/endpointslicemirroring/utils.go`, v1.36.2).

use std::net::IpAddr;

use serde_json::json;
use wavetank_api::Object;
use wavetank_api::json::{self, Json, Map};
use wavetank_api::kinds::{ENDPOINT_SLICES, ENDPOINTS};
use wavetank_version::Set;

use super::controller::MANAGER;
use super::defects::MirroringDefect;
use crate::endpoint_utils::{
    LABEL_MANAGED_BY, LABEL_SERVICE_NAME, TRIGGER_TIME, get_endpoint_slice_prefix, label, labels,
    new_port_map_key, some,
};

/// `LabelSkipMirror`
pub(super) const LABEL_SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";
/// `LeaderElectionRecordAnnotationKey`
pub(super) const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
/// `LastAppliedConfigAnnotation`
pub(super) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// `addrTypePortMapKey`: the type of addresses, and the ports that these have.
pub(super) type AddrTypePortMapKey = (&'static str, String);

/// The types of addresses that Endpoints may have.
pub(super) const ADDR_TYPES: [&str; 2] = ["IPv4", "IPv6"];

/// `newAddrTypePortMapKey`
pub(super) fn new_addr_type_port_map_key(ports: &[Json], addr_type: &str) -> AddrTypePortMapKey {
    let known = ADDR_TYPES.into_iter().find(|known| *known == addr_type);
    (known.unwrap_or("IPv4"), new_port_map_key(ports))
}

fn annotations(object: &Json) -> Option<&Map> {
    json::at(object, &["metadata", "annotations"]).and_then(Json::as_object)
}

/// `shouldMirror`
pub(super) fn should_mirror(endpoints: &Object, defects: Set<MirroringDefect>) -> bool {
    let skips = skip_mirror(endpoints) && !defects.has(MirroringDefect::SkipMirrorIsIgnored);
    let is_lock =
        has_leader_election(endpoints) && !defects.has(MirroringDefect::LeaderLocksAreMirrored);
    !skips && !is_lock
}

/// `skipMirror`
fn skip_mirror(endpoints: &Object) -> bool {
    label(endpoints.json(), LABEL_SKIP_MIRROR) == "true"
}

/// `hasLeaderElection`
fn has_leader_election(endpoints: &Object) -> bool {
    annotations(endpoints.json()).is_some_and(|own| own.contains_key(LEADER))
}

/// Upstream's `cloneAndRemoveKeys`
fn without(map: Option<&Map>, keys: &[&str]) -> Map {
    let mut kept = map.cloned().unwrap_or_default();
    kept.retain(|key, _| !keys.contains(&&**key));
    kept
}

/// The annotations of Endpoints that their slices are to have.
fn annotations_to_mirror(endpoints: &Object, defects: Set<MirroringDefect>) -> Map {
    let all = annotations(endpoints.json());
    if defects.has(MirroringDefect::AnnotationsAreNotMirrored) {
        return Map::new();
    }
    match defects.has(MirroringDefect::LastAppliedIsMirrored) {
        true => without(all, &[TRIGGER_TIME]),
        false => without(all, &[TRIGGER_TIME, LAST_APPLIED]),
    }
}

/// Are labels and annotations of a slice those of the Endpoints?
pub(super) fn says_the_same(
    slice: &Json,
    endpoints: &Object,
    defects: Set<MirroringDefect>,
) -> bool {
    if defects.has(MirroringDefect::AnnotationsAreNotMirrored) {
        return true;
    }
    let own = without(labels(slice), &[LABEL_MANAGED_BY, LABEL_SERVICE_NAME]);
    let of_slice = annotations(slice).cloned().unwrap_or_default();
    without(labels(endpoints.json()), &[]) == own
        && annotations_to_mirror(endpoints, defects) == of_slice
}

/// `needRebuildExistingSlices`: does it mirror other Endpoints of this name?
pub(super) fn need_rebuild_existing_slices(endpoints: &Object, slice: &Json) -> bool {
    let mut owners = json::list(slice, &["metadata", "ownerReferences"]).iter();
    owners.any(|own| {
        own["kind"] == ENDPOINTS.kind
            && own["name"] == endpoints.name()
            && own["uid"] != endpoints.uid()
    })
}

/// `newEndpointSlice`: one that takes the place of the slice of this name, if one is given.
pub(super) fn new_endpoint_slice(
    endpoints: &Object,
    ports: &[Json],
    addr_type: &str,
    name: Option<&str>,
    defects: Set<MirroringDefect>,
) -> Json {
    let mut labels = labels(endpoints.json()).cloned().unwrap_or_default();
    labels.insert(LABEL_SERVICE_NAME.to_owned(), endpoints.name().into());
    labels.insert(LABEL_MANAGED_BY.to_owned(), MANAGER.into());
    let mut slice = json!({
        "apiVersion": ENDPOINT_SLICES.api_version(),
        "kind": ENDPOINT_SLICES.kind,
        "metadata": {
            "namespace": endpoints.namespace(),
            "labels": labels,
            "ownerReferences": [{
                "apiVersion": "v1",
                "kind": ENDPOINTS.kind,
                "name": endpoints.name(),
                "uid": endpoints.uid(),
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        },
        "addressType": addr_type,
        "endpoints": null,
        "ports": some(ports.to_vec()),
    });
    let annotations = annotations_to_mirror(endpoints, defects);
    if !annotations.is_empty() {
        slice["metadata"]["annotations"] = annotations.into();
    }
    match name {
        Some(name) => slice["metadata"]["name"] = name.into(),
        None => {
            slice["metadata"]["generateName"] = get_endpoint_slice_prefix(endpoints.name()).into();
        }
    }
    slice
}

/// `addressToEndpoint`: an endpoint, and the type of its address; `None` of what is no address.
pub(super) fn address_to_endpoint(address: &Json, ready: bool) -> Option<(Json, &'static str)> {
    let ip: IpAddr = json::text(address, &["ip"]).parse().ok()?;
    let addr_type = match ip.is_ipv4() {
        true => "IPv4",
        false => "IPv6",
    };
    let mut endpoint = json!({
        "addresses": [ip.to_string()],
        "conditions": {"ready": ready},
    });
    let given = |field: &str| address.get(field).filter(|own| !own.is_null());
    for field in ["targetRef", "nodeName"] {
        if let Some(value) = given(field) {
            endpoint[field] = value.clone();
        }
    }
    let hostname = json::text(address, &["hostname"]);
    if !hostname.is_empty() {
        endpoint["hostname"] = hostname.into();
    }
    Some((endpoint, addr_type))
}

/// `epPortsToEpsPorts`
pub(super) fn ep_ports_to_eps_ports(ports: &[Json]) -> Vec<Json> {
    let of_slice = |port: &Json| {
        let mut own = json!({
            "name": json::text(port, &["name"]),
            "port": port["port"],
            "protocol": json::text(port, &["protocol"]),
        });
        if let Some(protocol) = port.get("appProtocol").filter(|own| !own.is_null()) {
            own["appProtocol"] = protocol.clone();
        }
        own
    };
    ports.iter().map(of_slice).collect()
}
