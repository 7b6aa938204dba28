//! Nodes, events, and kinds of the cluster that say more than a word.

use super::cells::{Cells, flag, name, number, or, or_none, text};
use super::duration::{age, human_duration, since};
use crate::json::{self, Json};
use crate::metadata;
use crate::times::Stamp;

pub(super) fn node_cells(own: &Json, now: Stamp) -> Cells {
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

pub(super) fn event_cells(own: &Json, now: Stamp) -> Cells {
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

pub(super) fn priority_level_cells(own: &Json, now: Stamp) -> Cells {
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

pub(super) fn request_cells(own: &Json, now: Stamp) -> Cells {
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

/// Upstream's `ConvertToTable` of kube-aggregator.
pub(super) fn api_service_cells(own: &Json, now: Stamp) -> Cells {
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
pub(super) fn other_cells(own: &Json, now: Stamp) -> Cells {
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
