//! The cells of kinds, in the order of their columns.

use super::duration::{age, human_duration, since};
use super::metrics::print_autoscaler;
use super::network::{
    format_labels, print_endpoint_slice, print_endpoints, print_ingress, print_service,
};
use super::pods::print_pod;
use crate::json::{self, Json};
use crate::kinds::deployments;
use crate::metadata;
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
        "HorizontalPodAutoscaler" => print_autoscaler,
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
            let [names, images] = containers(own, &["template", "spec"]);
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

fn or(shown: &str, missing: &str) -> Json {
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

fn number(object: &Json, path: &[&str]) -> i64 {
    json::number(object, path).unwrap_or(0)
}

fn count(object: &Json, path: &[&str]) -> usize {
    let map = json::at(object, path).and_then(Json::as_object);
    map.map_or(0, json::Map::len) + json::list(object, path).len()
}

fn flag(object: &Json, path: &[&str], missing: bool) -> Json {
    json::at(object, path)
        .and_then(Json::as_bool)
        .unwrap_or(missing)
        .into()
}

/// `layoutContainerCells`: names and images of the containers of a spec.
fn containers(object: &Json, spec: &[&str]) -> [Json; 2] {
    let all = json::list(object, &[spec, &["containers"]].concat());
    ["name", "image"].map(|field| {
        let texts: Vec<&str> = all.iter().map(|own| text(own, &[field])).collect();
        texts.join(",").into()
    })
}

/// `metav1.FormatLabelSelector`
fn selector(object: &Json, path: &[&str]) -> Json {
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

fn deployment_cells(own: &Json, now: Stamp) -> Cells {
    let status = |field| number(own, &["status", field]);
    let ready = format!(
        "{}/{}",
        status("readyReplicas"),
        number(own, &["spec", "replicas"])
    );
    let [names, images] = containers(own, &["spec", "template", "spec"]);
    let selected = json::at(own, &["spec", "selector"]).map(deployments::selector_in_words);
    let selected = selected.unwrap_or_default();
    vec![
        name(own),
        ready.into(),
        status("updatedReplicas").into(),
        status("availableReplicas").into(),
        age(own, now),
        names,
        images,
        selected.map_or_else(|| "<invalid>".into(), Json::from),
    ]
}

fn replicas_cells(own: &Json, now: Stamp) -> Cells {
    let status = |field| number(own, &["status", field]).into();
    let [names, images] = containers(own, &["spec", "template", "spec"]);
    let selected = match text(own, &["kind"]) {
        "ReplicationController" => format_labels(own, &["spec", "selector"]),
        _ => selector(own, &["spec", "selector"]),
    };
    vec![
        name(own),
        number(own, &["spec", "replicas"]).into(),
        status("replicas"),
        status("readyReplicas"),
        age(own, now),
        names,
        images,
        selected,
    ]
}

fn stateful_set_cells(own: &Json, now: Stamp) -> Cells {
    let [names, images] = containers(own, &["spec", "template", "spec"]);
    let ready = number(own, &["status", "readyReplicas"]);
    let ready = format!("{ready}/{}", number(own, &["spec", "replicas"]));
    vec![name(own), ready.into(), age(own, now), names, images]
}

fn daemon_set_cells(own: &Json, now: Stamp) -> Cells {
    let status = |field| number(own, &["status", field]).into();
    let [names, images] = containers(own, &["spec", "template", "spec"]);
    vec![
        name(own),
        status("desiredNumberScheduled"),
        status("currentNumberScheduled"),
        status("numberReady"),
        status("updatedNumberScheduled"),
        status("numberAvailable"),
        format_labels(own, &["spec", "template", "spec", "nodeSelector"]),
        age(own, now),
        names,
        images,
        selector(own, &["spec", "selector"]),
    ]
}

fn job_cells(own: &Json, now: Stamp) -> Cells {
    let done = number(own, &["status", "succeeded"]);
    let completions = match json::number(own, &["spec", "completions"]) {
        Some(wanted) => format!("{done}/{wanted}"),
        None => match number(own, &["spec", "parallelism"]) {
            many if many > 1 => format!("{done}/1 of {many}"),
            _ => format!("{done}/1"),
        },
    };
    let instant = |field| Stamp::parse(text(own, &["status", field]));
    let duration = match (instant("startTime"), instant("completionTime")) {
        (None, _) => String::new(),
        (Some(start), end) => human_duration(end.unwrap_or(now).nanos() - start.nanos()),
    };
    let conditions = json::list(own, &["status", "conditions"]);
    let holds = |kind: &str| {
        let mut all = conditions.iter();
        let found = all.find(|condition| text(condition, &["type"]) == kind);
        found.is_some_and(|condition| text(condition, &["status"]) == "True")
    };
    let deleted = !text(own, &["metadata", "deletionTimestamp"]).is_empty();
    let status = match () {
        () if holds("Complete") => "Complete",
        () if holds("Failed") => "Failed",
        () if deleted => "Terminating",
        () if holds("Suspended") => "Suspended",
        () if holds("FailureTarget") => "FailureTarget",
        () if holds("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    };
    let [names, images] = containers(own, &["spec", "template", "spec"]);
    vec![
        name(own),
        status.into(),
        completions.into(),
        duration.into(),
        age(own, now),
        names,
        images,
        selector(own, &["spec", "selector"]),
    ]
}

fn cron_job_cells(own: &Json, now: Stamp) -> Cells {
    let last = match text(own, &["status", "lastScheduleTime"]) {
        "" => "<none>".to_owned(),
        instant => since(instant, now),
    };
    let suspended = match json::at(own, &["spec", "suspend"]) {
        Some(Json::Bool(true)) => "True",
        Some(Json::Bool(false)) => "False",
        _ => "<unset>",
    };
    const JOB: [&str; 3] = ["spec", "jobTemplate", "spec"];
    let [names, images] = containers(own, &[JOB.as_slice(), &["template", "spec"]].concat());
    vec![
        name(own),
        text(own, &["spec", "schedule"]).into(),
        or_none(text(own, &["spec", "timeZone"])),
        suspended.into(),
        count(own, &["status", "active"]).into(),
        last.into(),
        age(own, now),
        names,
        images,
        selector(own, &[JOB.as_slice(), &["selector"]].concat()),
    ]
}

fn node_cells(own: &Json, now: Stamp) -> Cells {
    let mut ready = json::list(own, &["status", "conditions"]).iter();
    let ready = ready.rfind(|condition| text(condition, &["type"]) == "Ready");
    let mut status = match ready.map(|ready| text(ready, &["status"])) {
        Some("True") => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if json::at(own, &["spec", "unschedulable"]) == Some(&Json::Bool(true)) {
        status += ",SchedulingDisabled";
    }
    let labels = metadata::entries(own, &["metadata", "labels"]);
    let role = |(key, value)| match (key, value) {
        ("kubernetes.io/role", "") => None,
        ("kubernetes.io/role", role) => Some(role),
        (key, _) => key
            .strip_prefix("node-role.kubernetes.io/")
            .filter(|role: &&str| !role.is_empty()),
    };
    let mut roles: Vec<&str> = labels.filter_map(role).collect();
    roles.sort_unstable();
    roles.dedup();
    let info = |field| text(own, &["status", "nodeInfo", field]);
    let address = |kind: &str| {
        let mut all = json::list(own, &["status", "addresses"]).iter();
        let found = all.find(|address| text(address, &["type"]) == kind);
        found.map_or_else(|| "<none>".into(), |found| text(found, &["address"]).into())
    };
    let known = |field| or(info(field), "<unknown>");
    let kernel = match info("architecture") {
        "" => known("kernelVersion"),
        architecture => {
            let kernel = known("kernelVersion");
            format!("{} ({architecture})", kernel.as_str().unwrap_or_default()).into()
        }
    };
    vec![
        name(own),
        status.into(),
        or_none(&roles.join(",")),
        age(own, now),
        info("kubeletVersion").into(),
        address("InternalIP"),
        address("ExternalIP"),
        known("osImage"),
        kernel,
        known("containerRuntimeVersion"),
    ]
}

fn event_cells(own: &Json, now: Stamp) -> Cells {
    let at = |path: &[&str]| text(own, path);
    let first = match at(&["firstTimestamp"]) {
        "" => at(&["eventTime"]),
        first => first,
    };
    let series = own.get("series").filter(|series| series.is_object());
    let (last, count) = match series {
        Some(series) => (
            text(series, &["lastObservedTime"]),
            number(series, &["count"]),
        ),
        None => {
            let last = Some(at(&["lastTimestamp"])).filter(|last| !last.is_empty());
            (last.unwrap_or(first), number(own, &["count"]).max(1))
        }
    };
    let involved = |field| at(&["involvedObject", field]);
    let kind = involved("kind").to_lowercase();
    let target = match involved("name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let either = |one: &'static str, other: &'static str| match at(&["source", one]) {
        "" => at(&[other]),
        own => own,
    };
    let component = either("component", "reportingComponent");
    let source = match either("host", "reportingInstance") {
        "" => component.to_owned(),
        host => format!("{component}, {host}"),
    };
    vec![
        since(last, now).into(),
        at(&["type"]).into(),
        at(&["reason"]).into(),
        target.into(),
        involved("fieldPath").into(),
        source.into(),
        at(&["message"]).trim().into(),
        since(first, now).into(),
        count.into(),
        name(own),
    ]
}

/// `GetAccessModesAsString`
fn access_modes(object: &Json, path: &[&str]) -> Json {
    const MODES: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let all = json::list(object, path);
    let has = |mode: &str| all.iter().any(|own| own == mode);
    let shown = MODES
        .into_iter()
        .filter(|(mode, _)| has(mode))
        .map(|(_, short)| short);
    shown.collect::<Vec<_>>().join(",").into()
}

/// A class that an annotation named, before there was a field for it.
fn storage_class(own: &Json) -> Json {
    let old = [
        "metadata",
        "annotations",
        "volume.beta.kubernetes.io/storage-class",
    ];
    match text(own, &old) {
        "" => text(own, &["spec", "storageClassName"]).into(),
        class => class.into(),
    }
}

fn phase(own: &Json) -> Json {
    match text(own, &["metadata", "deletionTimestamp"]) {
        "" => text(own, &["status", "phase"]).into(),
        _ => "Terminating".into(),
    }
}

fn volume_cells(own: &Json, now: Stamp) -> Cells {
    let at = |path: &[&str]| text(own, path);
    let claim = match json::at(own, &["spec", "claimRef"]) {
        Some(Json::Object(_)) => {
            let of = |field| at(&["spec", "claimRef", field]);
            format!("{}/{}", of("namespace"), of("name"))
        }
        _ => String::new(),
    };
    vec![
        name(own),
        or(at(&["spec", "capacity", "storage"]), "0"),
        access_modes(own, &["spec", "accessModes"]),
        at(&["spec", "persistentVolumeReclaimPolicy"]).into(),
        phase(own),
        claim.into(),
        storage_class(own),
        or(at(&["spec", "volumeAttributesClassName"]), "<unset>"),
        at(&["status", "reason"]).into(),
        age(own, now),
        or(at(&["spec", "volumeMode"]), "<unset>"),
    ]
}

fn claim_cells(own: &Json, now: Stamp) -> Cells {
    let at = |path: &[&str]| text(own, path);
    let volume = at(&["spec", "volumeName"]);
    let (capacity, modes) = match volume {
        "" => ("".into(), "".into()),
        _ => (
            or(at(&["status", "capacity", "storage"]), "0"),
            access_modes(own, &["status", "accessModes"]),
        ),
    };
    vec![
        name(own),
        phase(own),
        volume.into(),
        capacity,
        modes,
        storage_class(own),
        or(at(&["spec", "volumeAttributesClassName"]), "<unset>"),
        age(own, now),
        or(at(&["spec", "volumeMode"]), "<unset>"),
    ]
}

fn quota_cells(own: &Json, now: Stamp) -> Cells {
    let column = |limits: bool| {
        let hard = metadata::entries(own, &["status", "hard"]);
        let own = hard
            .filter(|(name, _)| name.starts_with("limits.") == limits)
            .map(|(name, hard)| {
                let used = text(own, &["status", "used", name]);
                format!(
                    "{name}: {}/{hard}",
                    if used.is_empty() { "0" } else { used }
                )
            });
        own.collect::<Vec<_>>().join(", ").into()
    };
    vec![name(own), column(false), column(true), age(own, now)]
}

fn driver_cells(own: &Json, now: Stamp) -> Cells {
    let spec = |field| flag(own, &["spec", field], false);
    let tokens = match json::at(own, &["spec", "tokenRequests"]) {
        Some(Json::Array(all)) => {
            let audiences: Vec<&str> = all.iter().map(|own| text(own, &["audience"])).collect();
            audiences.join(",").into()
        }
        _ => "<unset>".into(),
    };
    vec![
        name(own),
        flag(own, &["spec", "attachRequired"], true),
        spec("podInfoOnMount"),
        spec("storageCapacity"),
        tokens,
        spec("requiresRepublish"),
        or_none(&joined(own, &["spec", "volumeLifecycleModes"], ",")),
        age(own, now),
    ]
}

fn priority_level_cells(own: &Json, now: Stamp) -> Cells {
    let of = |path: &[&str]| {
        let limited = [&["spec", "limited"], path].concat();
        json::at(own, &limited)
            .cloned()
            .unwrap_or_else(|| "<none>".into())
    };
    let queuing = |field| of(&["limitResponse", "queuing", field]);
    vec![
        name(own),
        text(own, &["spec", "type"]).into(),
        of(&["nominalConcurrencyShares"]),
        queuing("queues"),
        queuing("handSize"),
        queuing("queueLengthLimit"),
        age(own, now),
    ]
}

fn request_cells(own: &Json, now: Stamp) -> Cells {
    let conditions = json::list(own, &["status", "conditions"]);
    let has = |kind: &str| conditions.iter().any(|own| text(own, &["type"]) == kind);
    let mut status = match () {
        () if has("Denied") => "Denied",
        () if has("Approved") => "Approved",
        () => "Pending",
    }
    .to_owned();
    if has("Failed") {
        status += ",Failed";
    }
    if !text(own, &["status", "certificate"]).is_empty() {
        status += ",Issued";
    }
    let wanted = json::number(own, &["spec", "expirationSeconds"]);
    let wanted = wanted.map(|seconds| human_duration(i128::from(seconds) * 1_000_000_000));
    vec![
        name(own),
        age(own, now),
        or_none(text(own, &["spec", "signerName"])),
        text(own, &["spec", "username"]).into(),
        or_none(&wanted.unwrap_or_default()),
        status.into(),
    ]
}

/// `ConvertToTable` of kube-aggregator.
fn api_service_cells(own: &Json, now: Stamp) -> Cells {
    let service = |field| text(own, &["spec", "service", field]);
    let at = match json::at(own, &["spec", "service"]) {
        Some(Json::Object(_)) => format!("{}/{}", service("namespace"), service("name")),
        _ => "Local".to_owned(),
    };
    let mut available = json::list(own, &["status", "conditions"]).iter();
    let available = available.find(|own| text(own, &["type"]) == "Available");
    let available = match available.map(|own| (text(own, &["status"]), text(own, &["reason"]))) {
        None => "Unknown".to_owned(),
        Some((status, reason)) if status != "True" && !reason.is_empty() => {
            format!("{status} ({reason})")
        }
        Some((status, _)) => status.to_owned(),
    };
    vec![name(own), at.into(), available.into(), age(own, now)]
}

/// Kinds whose age is not in the last column, or whose name says more.
fn other_cells(own: &Json, now: Stamp) -> Cells {
    let at = |path: &[&str]| Json::from(text(own, path));
    let default = |annotation: &str| {
        let is = text(own, &["metadata", "annotations", annotation]) == "true";
        let name = text(own, &["metadata", "name"]);
        Json::from(if is {
            format!("{name} (default)")
        } else {
            name.to_owned()
        })
    };
    match text(own, &["kind"]) {
        "FlowSchema" => {
            let mut all = json::list(own, &["status", "conditions"]).iter();
            let dangling = all.find(|own| text(own, &["type"]) == "Dangling");
            vec![
                name(own),
                at(&["spec", "priorityLevelConfiguration", "name"]),
                number(own, &["spec", "matchingPrecedence"]).into(),
                or_none(text(own, &["spec", "distinguisherMethod", "type"])),
                age(own, now),
                dangling.map_or("?", |own| text(own, &["status"])).into(),
            ]
        }
        "PriorityClass" => vec![
            name(own),
            number(own, &["value"]).into(),
            flag(own, &["globalDefault"], false),
            age(own, now),
            at(&["preemptionPolicy"]),
        ],
        "StorageClass" => vec![
            default("storageclass.kubernetes.io/is-default-class"),
            at(&["provisioner"]),
            or(text(own, &["reclaimPolicy"]), "Delete"),
            or(text(own, &["volumeBindingMode"]), "Immediate"),
            flag(own, &["allowVolumeExpansion"], false),
            age(own, now),
        ],
        "IngressClass" => {
            let of = |field| text(own, &["spec", "parameters", field]);
            let parameters = match (of("kind"), of("apiGroup")) {
                ("", _) => "<none>".to_owned(),
                (kind, "") => format!("{kind}/{}", of("name")),
                (kind, group) => format!("{kind}.{group}/{}", of("name")),
            };
            vec![
                default("ingressclass.kubernetes.io/is-default-class"),
                at(&["spec", "controller"]),
                parameters.into(),
                age(own, now),
            ]
        }
        _ => {
            let of = |field| text(own, &["roleRef", field]);
            let subjects = |kind: &str| {
                let all = json::list(own, &["subjects"]).iter();
                let own = all.filter(|subject| text(subject, &["kind"]) == kind);
                let shown = own.map(|subject| match kind {
                    "ServiceAccount" => {
                        let namespace = text(subject, &["namespace"]);
                        format!("{namespace}/{}", text(subject, &["name"]))
                    }
                    _ => text(subject, &["name"]).to_owned(),
                });
                Json::from(shown.collect::<Vec<_>>().join(", "))
            };
            vec![
                name(own),
                format!("{}/{}", of("kind"), of("name")).into(),
                age(own, now),
                subjects("User"),
                subjects("Group"),
                subjects("ServiceAccount"),
            ]
        }
    }
}
