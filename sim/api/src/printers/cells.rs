//! The cells of kinds, in the order of their columns.

use super::cluster::{
    api_service_cells, event_cells, node_cells, other_cells, priority_level_cells, request_cells,
};
use super::duration::age;
use super::metrics::print_horizontal_pod_autoscaler;
use super::network::{
    format_labels, print_endpoint_slice, print_endpoints, print_ingress, print_service,
};
use super::pods::print_pod;
use super::storage::{claim_cells, driver_cells, quota_cells, volume_cells};
use super::workloads::{
    cron_job_cells, daemon_set_cells, deployment_cells, job_cells, replicas_cells,
    stateful_set_cells,
};
use crate::json::{self, Json};
use crate::kinds::deployments;
use crate::times::Stamp;

/// The cells of a row.
pub(super) type Cells = Vec<Json>;
/// How a kind is printed: its cells, and the conditions of its row.
pub(super) type Print = fn(&Json, Stamp) -> (Cells, Option<Json>);

/// How a kind is printed, if not by its name and its age only.
pub(super) fn of(kind: &str) -> Option<Print> {
    Some(match kind {
        "Pod" => print_pod,
        "Service" => print_service,
        "EndpointSlice" => print_endpoint_slice,
        "Endpoints" => print_endpoints,
        "Ingress" => print_ingress,
        "HorizontalPodAutoscaler" => print_horizontal_pod_autoscaler,
        "Node" => |node, now| (node_cells(node, now), None),
        "Event" => |event, now| (event_cells(event, now), None),
        "Deployment" => |own, now| (deployment_cells(own, now), None),
        "ReplicaSet" | "ReplicationController" => |own, now| (replicas_cells(own, now), None),
        "StatefulSet" => |own, now| (stateful_set_cells(own, now), None),
        "DaemonSet" => |own, now| (daemon_set_cells(own, now), None),
        "Job" => |own, now| (job_cells(own, now), None),
        "CronJob" => |own, now| (cron_job_cells(own, now), None),
        "PersistentVolume" => |own, now| (volume_cells(own, now), None),
        "PersistentVolumeClaim" => |own, now| (claim_cells(own, now), None),
        "ResourceQuota" => |own, now| (quota_cells(own, now), None),
        "CSIDriver" => |own, now| (driver_cells(own, now), None),
        "PriorityLevelConfiguration" => |own, now| (priority_level_cells(own, now), None),
        "APIService" => |own, now| (api_service_cells(own, now), None),
        "CSIStorageCapacity" => |own, _| {
            let cells = ["storageClassName", "capacity"].map(|field| text(own, &[field]).into());
            ([vec![name(own)], cells.to_vec()].concat(), None)
        },
        "PodTemplate" => |own, _| {
            let [names, images] = layout_container_cells(own, &["template", "spec"]);
            let labels = format_labels(own, &["template", "metadata", "labels"]);
            (vec![name(own), names, images, labels], None)
        },
        "CertificateSigningRequest" => |own, now| (request_cells(own, now), None),
        "Scale" => |own, now| {
            let number = |part| json::number(own, &[part, "replicas"]).unwrap_or(0).into();
            (
                vec![name(own), number("spec"), number("status"), age(own, now)],
                None,
            )
        },
        kind if short(kind, &Json::Null).is_some() => |own, now| {
            let cells = short(text(own, &["kind"]), own).unwrap_or_default();
            ([vec![name(own)], cells, vec![age(own, now)]].concat(), None)
        },
        "FlowSchema" | "PriorityClass" | "RoleBinding" | "ClusterRoleBinding" | "StorageClass"
        | "IngressClass" => |own, now| (other_cells(own, now), None),
        _ => return None,
    })
}

pub(super) fn text<'a>(object: &'a Json, path: &[&str]) -> &'a str {
    json::text(object, path)
}

pub(super) fn name(object: &Json) -> Json {
    text(object, &["metadata", "name"]).into()
}

pub(super) fn or_none(shown: &str) -> Json {
    or(shown, "<none>")
}

pub(super) fn or(shown: &str, missing: &str) -> Json {
    match shown {
        "" => missing.into(),
        shown => shown.into(),
    }
}

/// The texts of a list, with this between them.
pub(super) fn joined(object: &Json, path: &[&str], between: &str) -> String {
    let texts: Vec<&str> = json::list(object, path)
        .iter()
        .filter_map(Json::as_str)
        .collect();
    texts.join(between)
}

pub(super) fn number(object: &Json, path: &[&str]) -> i64 {
    json::number(object, path).unwrap_or(0)
}

pub(super) fn count(object: &Json, path: &[&str]) -> usize {
    let map = json::at(object, path).and_then(Json::as_object);
    map.map_or(0, json::Map::len) + json::list(object, path).len()
}

pub(super) fn flag(object: &Json, path: &[&str], missing: bool) -> Json {
    json::at(object, path)
        .and_then(Json::as_bool)
        .unwrap_or(missing)
        .into()
}

/// `layoutContainerCells`: names and images of the containers of a spec.
pub(super) fn layout_container_cells(object: &Json, spec: &[&str]) -> [Json; 2] {
    let all = json::list(object, &[spec, &["containers"]].concat());
    ["name", "image"].map(|field| {
        let texts: Vec<&str> = all.iter().map(|own| text(own, &[field])).collect();
        texts.join(",").into()
    })
}

/// Upstream's `metav1.FormatLabelSelector`
pub(super) fn selector(object: &Json, path: &[&str]) -> Json {
    let selector = json::at(object, path).filter(|selector| selector.is_object());
    match selector.map(deployments::selector_in_words) {
        None => "<none>".into(),
        Some(None) => "<error>".into(),
        Some(Some(words)) => or_none(&words),
    }
}

/// The cells between name and age of kinds that are told in a line.
fn short(kind: &str, own: &Json) -> Option<Cells> {
    let at = |path: &[&str]| Json::from(text(own, path));
    Some(match kind {
        "ConfigMap" => vec![(count(own, &["data"]) + count(own, &["binaryData"])).into()],
        "Secret" => vec![at(&["type"]), count(own, &["data"]).into()],
        "ServiceAccount" | "DeviceClass" | "ResourceClaimTemplate" => Vec::new(),
        "Namespace" => vec![at(&["status", "phase"])],
        "Lease" => vec![at(&["spec", "holderIdentity"])],
        "RuntimeClass" => vec![at(&["handler"])],
        "VolumeAttributesClass" => vec![at(&["driverName"])],
        "CSINode" => vec![count(own, &["spec", "drivers"]).into()],
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            vec![count(own, &["webhooks"]).into()]
        }
        "ServiceCIDR" => vec![joined(own, &["spec", "cidrs"], ",").into()],
        "NetworkPolicy" => vec![selector(own, &["spec", "podSelector"])],
        "IPAddress" => vec![parent_ref(own).into()],
        "PodDisruptionBudget" => {
            let bound = |field| match json::at(own, &["spec", field]) {
                Some(Json::String(percent)) => percent.as_str().into(),
                Some(Json::Number(number)) => number.to_string().into(),
                _ => "N/A".into(),
            };
            let allowed = number(own, &["status", "disruptionsAllowed"]).into();
            vec![bound("minAvailable"), bound("maxUnavailable"), allowed]
        }
        "VolumeAttachment" => vec![
            at(&["spec", "attacher"]),
            at(&["spec", "source", "persistentVolumeName"]),
            at(&["spec", "nodeName"]),
            flag(own, &["status", "attached"], false),
        ],
        "ResourceSlice" => vec![
            at(&["spec", "nodeName"]),
            at(&["spec", "driver"]),
            at(&["spec", "pool", "name"]),
        ],
        "ResourceClaim" => vec![claim_state(own).into()],
        "ControllerRevision" => vec![controller(own), number(own, &["revision"]).into()],
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => {
            let list = match kind {
                "MutatingAdmissionPolicy" => "mutations",
                _ => "validations",
            };
            let of = |field| text(own, &["spec", "paramKind", field]);
            let kind = match json::at(own, &["spec", "paramKind"]) {
                Some(Json::Object(_)) => format!("{}/{}", of("apiVersion"), of("kind")),
                _ => "<unset>".to_owned(),
            };
            vec![count(own, &["spec", list]).into(), kind.into()]
        }
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => {
            let of = |field| text(own, &["spec", "paramRef", field]);
            let name = match (of("name"), of("namespace")) {
                ("", _) => "<unset>".to_owned(),
                (name, "") => format!("*/{name}"),
                (name, namespace) => format!("{namespace}/{name}"),
            };
            vec![at(&["spec", "policyName"]), name.into()]
        }
        _ => return None,
    })
}

fn parent_ref(address: &Json) -> String {
    let of = |field| text(address, &["spec", "parentRef", field]);
    if json::at(address, &["spec", "parentRef"]).is_none_or(Json::is_null) {
        return "<none>".to_owned();
    }
    let resource = match of("group") {
        "" => of("resource").to_lowercase(),
        group => format!("{}.{group}", of("resource")).to_lowercase(),
    };
    match of("namespace") {
        "" => format!("{resource}/{}", of("name")),
        namespace => format!("{resource}/{namespace}/{}", of("name")),
    }
}

fn claim_state(claim: &Json) -> String {
    let deleted = !text(claim, &["metadata", "deletionTimestamp"]).is_empty();
    let allocated = json::at(claim, &["status", "allocation"]).is_some_and(Json::is_object);
    let reserved = count(claim, &["status", "reservedFor"]) > 0;
    let states = [
        (deleted, "deleted"),
        (!allocated && !deleted, "pending"),
        (allocated, "allocated"),
        (allocated && reserved, "reserved"),
    ];
    let held = states
        .into_iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, state)| state);
    held.collect::<Vec<_>>().join(",")
}

/// Who controls an object: `replicaset.apps/x`.
fn controller(object: &Json) -> Json {
    let mut owners = json::list(object, &["metadata", "ownerReferences"]).iter();
    let owner = owners.find(|owner| owner.get("controller") == Some(&Json::Bool(true)));
    let Some(owner) = owner else {
        return "<none>".into();
    };
    let kind = match text(owner, &["apiVersion"]).split_once('/') {
        Some((group, _)) => format!("{}.{group}", text(owner, &["kind"])),
        None => text(owner, &["kind"]).to_owned(),
    };
    format!("{}/{}", kind.to_lowercase(), text(owner, &["name"])).into()
}
