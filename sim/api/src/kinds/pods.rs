//! Pods (`kubernetes/pkg/registry/core/pod/strategy.go`, `pkg/apis/core/v1/defaults.go`,
//! `pkg/apis/core/validation/validation.go`).
//!
//! What a PodSpec holds is in `pod_spec`, what happens to a pod through its subresources in
//! `pod_binding`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::json;

use super::declared::immutable;
use super::pod_parts::{
    convert_pod_ips, drop_non_ephemeral_container_updates, drop_non_resize_updates,
    validate_pod_ephemeral_containers_update, validate_pod_ips, validate_pod_resize,
};
use super::pod_spec;
use crate::decode::values::Quantity;
use crate::diff;
use crate::gates;
use crate::internal;
use crate::json::{self, Json, Map};
use crate::metadata;
use crate::names;
use crate::strategy::{Context, Grace, Part, Strategy};
use crate::validation::{Bad, ErrorList};

/// The rules of Pods.
pub struct Pods;

impl Strategy for Pods {
    fn shown(&self) -> crate::discovery::Shown {
        crate::discovery::Shown {
            short_names: &["po"],
            categories: crate::discovery::ALL,
            subresources: crate::discovery::OF_POD,
        }
    }

    fn get_reset_fields(&self, part: Part) -> &'static [&'static [&'static str]] {
        match part {
            Part::Status => &[
                &["spec"],
                &["metadata", "deletionTimestamp"],
                &["metadata", "ownerReferences"],
            ],
            _ => &[&["status"]],
        }
    }

    fn default(&self, pod: &mut Json) {
        convert_pod_ips(pod);
        let Some(spec) = pod.get_mut("spec").filter(|spec| spec.is_object()) else {
            return;
        };
        let on_host = spec.get("hostNetwork") == Some(&Json::Bool(true));
        for list in ["initContainers", "containers"] {
            for container in pod_spec::objects_mut(spec, &[list]) {
                requests_of_limits(container);
                if on_host {
                    host_ports(container);
                }
            }
        }
        pod_spec::set_defaults(spec);
        if let Some(spec) = spec.as_object_mut() {
            pod_spec::default(spec, "enableServiceLinks", true);
        }
    }

    fn prepare_for_create(&self, cx: &Context, pod: &mut Json) {
        let qos = get_pod_qos(pod);
        json::set(
            pod,
            &["status"],
            json!({"phase": "Pending", "qosClass": qos}),
        );
        // `applySchedulingGatedCondition`
        if !json::list(pod, &["spec", "schedulingGates"]).is_empty() {
            let gated = json!({
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            });
            super::pod_binding::update_pod_condition(pod, gated, cx.now);
        }
        if counts_generation(cx) {
            json::set(pod, &["metadata", "generation"], 1);
        }
    }

    fn validate(&self, _cx: &Context, pod: &Json) -> ErrorList {
        let mut errors = validate_pod_metadata_and_spec(pod);
        if !json::list(pod, &["spec", "ephemeralContainers"]).is_empty() {
            errors.forbidden("spec.ephemeralContainers", "cannot be set on create");
        }
        errors
    }

    fn prepare_for_update(&self, cx: &Context, part: Part, pod: &mut Json, old: &Json) {
        match part {
            Part::Status => {
                keep(pod, old, &["spec"]);
                json::remove(pod, &["metadata", "deletionTimestamp"]);
                keep(pod, old, &["metadata", "ownerReferences"]);
                if json::text(pod, &["status", "qosClass"]).is_empty() {
                    keep(pod, old, &["status", "qosClass"]);
                }
            }
            Part::EphemeralContainers | Part::Resize => {
                match part {
                    Part::Resize => drop_non_resize_updates(pod, old),
                    _ => drop_non_ephemeral_container_updates(pod, old),
                }
                if counts_generation(cx) && pod.get("spec") != old.get("spec") {
                    count_generation(pod, old);
                }
            }
            _ => {
                keep(pod, old, &["status"]);
                if counts_generation(cx) && pod.get("spec") != old.get("spec") {
                    count_generation(pod, old);
                }
            }
        }
    }

    fn validate_update(&self, cx: &Context, part: Part, pod: &Json, old: &Json) -> ErrorList {
        match part {
            Part::Status => {
                let mut errors = metadata::validate_object_meta_update(pod, old);
                let name = |pod| json::text(pod, &["status", "nominatedNodeName"]).to_owned();
                let nominated = name(pod);
                if nominated != name(old) && !nominated.is_empty() {
                    let found = names::name_is_dns_subdomain(&nominated, false);
                    errors.invalid_each("status.nominatedNodeName", nominated.clone(), found);
                }
                let bound = !json::text(old, &["spec", "nodeName"]).is_empty();
                let nominates = nominated != name(old) && !nominated.is_empty();
                if cx.release.has(gates::BOUND_PODS_ARE_NOT_NOMINATED) && bound && nominates {
                    let detail = "may not be set on pods that are already bound to a node";
                    errors.forbidden("status.nominatedNodeName", detail);
                }
                if cx.release.has(gates::POD_STATUSES_ARE_VALIDATED) {
                    immutable(pod, old, &["status", "qosClass"], &mut errors);
                    validate_pod_ips(pod, old, &mut errors);
                }
                errors
            }
            Part::EphemeralContainers => validate_pod_ephemeral_containers_update(pod, old),
            Part::Resize => validate_pod_resize(pod, old),
            _ => validate_pod_update(cx, pod, old),
        }
    }

    fn warnings(&self, _cx: &Context, pod: &Json, old: Option<&Json>) -> Vec<String> {
        let found = names::is_dns1123_label(json::text(pod, &["metadata", "name"]));
        if old.is_some() || found.is_empty() {
            return Vec::new();
        }
        vec![format!(
            "metadata.name: this is used in the Pod's hostname, which can result in surprising \
             behavior; a DNS label is recommended: [{}]",
            found.join(" ")
        )]
    }

    fn check_graceful_delete(&self, pod: &Json, asked: Option<i64>) -> Grace {
        let own = json::number(pod, &["spec", "terminationGracePeriodSeconds"]);
        let unscheduled = json::text(pod, &["spec", "nodeName"]).is_empty();
        let phase = json::text(pod, &["status", "phase"]);
        if unscheduled || matches!(phase, "Failed" | "Succeeded") {
            return Grace::Seconds(0);
        }
        match asked.or(own).unwrap_or(0) {
            seconds if seconds < 0 => Grace::Seconds(1),
            seconds => Grace::Seconds(seconds),
        }
    }

    fn returns_deleted_object(&self) -> bool {
        true
    }

    fn has(&self, part: Part) -> bool {
        part != Part::Finalize
    }

    fn convert_field_label<'a>(&self, label: &'a str) -> Result<&'a str, String> {
        match label {
            "metadata.name"
            | "metadata.namespace"
            | "spec.nodeName"
            | "spec.restartPolicy"
            | "spec.schedulerName"
            | "spec.serviceAccountName"
            | "spec.hostNetwork"
            | "status.phase"
            | "status.podIP"
            | "status.podIPs"
            | "status.nominatedNodeName" => Ok(label),
            "spec.host" => Ok("spec.nodeName"),
            label => Err(format!("field label not supported: {label}")),
        }
    }

    fn field<'a>(&self, pod: &'a Json, field: &str) -> Cow<'a, str> {
        let value = match field {
            "status.podIP" => {
                let first = json::list(pod, &["status", "podIPs"]).first();
                first.map_or("", |ip| json::text(ip, &["ip"]))
            }
            "spec.hostNetwork" => {
                match json::at(pod, &["spec", "hostNetwork"]) == Some(&Json::Bool(true)) {
                    true => "true",
                    false => "false",
                }
            }
            field => {
                let path: Vec<&str> = field.split('.').collect();
                json::text(pod, &path)
            }
        };
        value.into()
    }
}

fn counts_generation(cx: &Context) -> bool {
    cx.release.has(gates::PODS_COUNT_GENERATIONS)
}

/// What lies here is what lay here before.
pub(crate) fn keep(object: &mut Json, old: &Json, path: &[&str]) {
    match json::at(old, path) {
        Some(value) => json::set(object, path, value.clone()),
        None => {
            json::remove(object, path);
        }
    }
}

/// `metadata.generation` is one more than it was.
pub(crate) fn count_generation(object: &mut Json, old: &Json) {
    let generation = json::number(old, &["metadata", "generation"]).unwrap_or(0);
    json::set(object, &["metadata", "generation"], generation + 1);
}

fn requests_of_limits(container: &mut Map) {
    let Some(resources) = container.get_mut("resources").and_then(Json::as_object_mut) else {
        return;
    };
    let Some(Json::Object(limits)) = resources.get("limits").cloned() else {
        return;
    };
    let requests = resources.entry("requests").or_insert_with(|| json!({}));
    for (name, limit) in limits {
        if let Some(requests) = requests.as_object_mut() {
            requests.entry(name).or_insert(limit);
        }
    }
}

fn host_ports(container: &mut Map) {
    let ports = container.get_mut("ports").and_then(Json::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Json::as_object_mut) {
        if let Some(number) = port.get("containerPort").cloned() {
            pod_spec::default(port, "hostPort", number);
        }
    }
}

/// `qos.GetPodQOS`
pub fn get_pod_qos(pod: &Json) -> &'static str {
    let containers = ["containers", "initContainers"].map(|list| json::list(pod, &["spec", list]));
    let (mut any, mut all) = (false, true);
    for container in containers.into_iter().flatten() {
        let quantity = |list: &str, name: &str| {
            let text = json::text(container, &["resources", list, name]);
            Quantity::parse(text).map_or(0, |quantity| quantity.nanos)
        };
        for name in ["cpu", "memory"] {
            let (limit, request) = (quantity("limits", name), quantity("requests", name));
            any |= limit > 0 || request > 0;
            all &= limit > 0 && limit == request;
        }
    }
    match (any, all) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// `MirrorPodAnnotationKey`
pub(super) const MIRROR: [&str; 3] = ["metadata", "annotations", "kubernetes.io/config.mirror"];
const MIRROR_FIELD: &str = "metadata.annotations[kubernetes.io/config.mirror]";

/// `ValidatePodSpecificAnnotations`, of mirror pods.
fn validate_pod_specific_annotations(pod: &Json, errors: &mut ErrorList) {
    if json::at(pod, &MIRROR).is_some() && json::text(pod, &["spec", "nodeName"]).is_empty() {
        let detail = "must set spec.nodeName if mirror pod annotation is set";
        errors.invalid(MIRROR_FIELD, json::text(pod, &MIRROR), detail);
    }
}

/// `ValidatePodSpecificAnnotationUpdates`, of mirror pods.
fn validate_pod_specific_annotation_updates(pod: &Json, old: &Json, errors: &mut ErrorList) {
    match (json::at(old, &MIRROR), json::at(pod, &MIRROR)) {
        (Some(old), new) if new != Some(old) => {
            errors.forbidden(
                MIRROR_FIELD,
                "may not remove or update mirror pod annotation",
            );
        }
        (None, Some(_)) => errors.forbidden(MIRROR_FIELD, "may not add mirror pod annotation"),
        _ => {}
    }
    validate_pod_specific_annotations(pod, errors);
}

/// `validatePodMetadataAndSpec`
pub(super) fn validate_pod_metadata_and_spec(pod: &Json) -> ErrorList {
    let mut errors = metadata::validate_object_meta(pod, true, &names::name_is_dns_subdomain);
    validate_pod_specific_annotations(pod, &mut errors);
    let spec = pod.get("spec").unwrap_or(&Json::Null);
    pod_spec::validate_pod_spec(spec, "spec", &mut errors);
    errors
}

/// `ValidatePodUpdate`
fn validate_pod_update(cx: &Context, pod: &Json, old: &Json) -> ErrorList {
    let mut errors = metadata::validate_object_meta_update(pod, old);
    errors.extend(validate_pod_metadata_and_spec(pod));
    validate_pod_specific_annotation_updates(pod, old, &mut errors);
    for list in ["containers", "initContainers"] {
        let (new, old) = (
            json::list(pod, &["spec", list]),
            json::list(old, &["spec", list]),
        );
        let field = format!("spec.{list}");
        if new.len() != old.len() {
            errors.forbidden(field, "pod updates may not add or remove containers");
            return errors;
        }
        for (at, container) in new.iter().enumerate() {
            if json::text(container, &["image"]).is_empty() {
                errors.required(format!("{field}[{at}].image"), "");
            }
        }
    }
    let deadline = |pod| json::number(pod, &["spec", "activeDeadlineSeconds"]);
    let field = "spec.activeDeadlineSeconds";
    match (deadline(pod), deadline(old)) {
        (Some(new), _) if !(0..=i64::from(i32::MAX)).contains(&new) => {
            errors.invalid(field, new, names::inclusive_range_error(0, i32::MAX));
            return errors;
        }
        (Some(new), Some(old)) if old < new => {
            errors.invalid(field, new, "must be less than or equal to previous value");
            return errors;
        }
        (None, Some(_)) => {
            let detail = "must not update from a positive integer to nil value";
            errors.invalid(field, Bad::shown("null"), detail);
        }
        _ => {}
    }
    let mut munged = pod.get("spec").cloned().unwrap_or(Json::Null);
    let old_spec = old.get("spec").unwrap_or(&Json::Null);
    let mends = cx.release.has(gates::NEGATIVE_GRACE_MAY_BE_MENDED);
    munge(&mut munged, old_spec, mends);
    validate_only_deleted_scheduling_gates(pod, old, &mut errors);
    validate_only_added_tolerations(pod, old, &mut errors);
    if munged != *old_spec {
        let may = if mends {
            "`spec.containers[*].image`,`spec.initContainers[*].image`,\
             `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
             tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
             previously negative)"
        } else {
            "`spec.containers[*].image`, `spec.initContainers[*].image`, \
             `spec.activeDeadlineSeconds` or `spec.tolerations` (only additions to existing \
             tolerations)"
        };
        let shown = diff::unified(&internal::pod_spec(old_spec), &internal::pod_spec(&munged));
        errors.forbidden(
            "spec",
            format!("pod updates may not change fields other than {may}\n{shown}"),
        );
    }
    errors
}

/// Takes back what an update may change.
fn munge(spec: &mut Json, old: &Json, mends: bool) {
    for list in ["containers", "initContainers"] {
        let images: Vec<&str> = json::list(old, &[list])
            .iter()
            .map(|container| json::text(container, &["image"]))
            .collect();
        for (container, image) in pod_spec::objects_mut(spec, &[list]).zip(images) {
            container.insert("image".to_owned(), image.into());
        }
    }
    for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        keep(spec, old, &[field]);
    }
    let seconds = |spec| json::number(spec, &["terminationGracePeriodSeconds"]);
    if mends && seconds(old).is_some_and(|old| old < 0) && seconds(spec) == Some(1) {
        keep(spec, old, &["terminationGracePeriodSeconds"]);
    }
}

/// `validateOnlyDeletedSchedulingGates`
fn validate_only_deleted_scheduling_gates(pod: &Json, old: &Json, errors: &mut ErrorList) {
    let gates = |of| json::list(of, &["spec", "schedulingGates"]).iter();
    let name = |gate| json::text(gate, &["name"]);
    for (at, gate) in gates(pod).map(name).enumerate() {
        if !gates(old).any(|own| name(own) == gate) {
            let detail =
                format!("only deletion is allowed, but found new scheduling gate '{gate}'");
            errors.forbidden(format!("spec.schedulingGates[{at}].name"), detail);
        }
    }
}

/// `validateOnlyAddedTolerations`
fn validate_only_added_tolerations(pod: &Json, old: &Json, errors: &mut ErrorList) {
    const FIELD: &str = "spec.tolerations";
    let bare = |toleration: &Json| {
        let mut bare = toleration.clone();
        json::remove(&mut bare, &["tolerationSeconds"]);
        bare.to_string()
    };
    let new = json::list(pod, &["spec", "tolerations"]);
    let kept: BTreeSet<String> = new.iter().map(bare).collect();
    for toleration in json::list(old, &["spec", "tolerations"]) {
        if !kept.contains(&bare(toleration)) {
            let detail = "existing toleration can not be modified except its tolerationSeconds";
            errors.forbidden(FIELD, detail);
            return;
        }
    }
    pod_spec::validate_tolerations(new, FIELD, errors);
}

/// `DefaultTolerationSeconds`: pods stay for five minutes on a node that is not ready
/// (`plugin/pkg/admission/defaulttolerationseconds/admission.go`). On a create and an update.
pub fn default_tolerations(pod: &mut Json) {
    const SECONDS: i64 = 300;
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let tolerates = |toleration: &Json| {
            let text = |field| json::text(toleration, &[field]);
            let of_key = text("key") == key || text("key").is_empty();
            of_key && matches!(text("effect"), "NoExecute" | "")
        };
        if json::list(pod, &["spec", "tolerations"])
            .iter()
            .any(tolerates)
        {
            continue;
        }
        let added = json!({
            "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS,
        });
        let spec = json::map_mut(pod, &["spec"]);
        match spec.entry("tolerations").or_insert(Json::Null) {
            Json::Array(items) => items.push(added),
            slot => *slot = json!([added]),
        }
    }
}

/// `Priority`, without PriorityClasses: pods that name none have priority 0
/// (`plugin/pkg/admission/priority/admission.go`). On a create.
pub fn default_priority(pod: &mut Json) {
    let spec = json::map_mut(pod, &["spec"]);
    pod_spec::default(spec, "priority", 0);
    pod_spec::default(spec, "preemptionPolicy", "PreemptLowerPriority");
}

/// `Priority` on an update: what an update leaves out stays as it was.
pub fn keep_priority(pod: &mut Json, old: &Json) {
    for field in ["priority", "preemptionPolicy"] {
        let absent = json::at(pod, &["spec", field]).is_none_or(Json::is_null);
        if absent {
            keep(pod, old, &["spec", field]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavetank_releases::V1_36;

    fn context() -> Context {
        Context {
            release: V1_36,
            now: crate::Stamp::parse("2026-01-01T00:00:00Z").expect("an instant"),
            dual_stack: false,
        }
    }

    fn pod() -> Json {
        let mut pod = json!({
            "metadata": {"name": "p", "namespace": "n", "resourceVersion": "1", "uid": "u"},
            "spec": {"containers": [{"name": "c", "image": "i:1", "resources": {}}]},
        });
        Pods.default(&mut pod);
        default_tolerations(&mut pod);
        default_priority(&mut pod);
        Pods.prepare_for_create(&context(), &mut pod);
        pod
    }

    #[test]
    fn init_containers_that_end_are_not_probed_and_mirror_pods_stay_so() {
        let probe = json!({"tcpSocket": {"port": 80}});
        let mut own = pod();
        let init = json!([{"name": "i", "image": "i:1", "startupProbe": probe}]);
        json::set(&mut own, &["spec", "initContainers"], init);
        Pods.default(&mut own);
        let refused = |own: &Json| validate_pod_metadata_and_spec(own).len();
        assert_eq!(refused(&own), 1);
        own["spec"]["initContainers"][0]["restartPolicy"] = "Always".into();
        assert_eq!(refused(&own), 0);

        let mut mirror = own.clone();
        json::set(&mut mirror, &MIRROR, "hash");
        assert_eq!(refused(&mirror), 1, "it has no node");
        let update = |new: &Json, old: &Json| {
            let mut errors = ErrorList::default();
            validate_pod_specific_annotation_updates(new, old, &mut errors);
            errors.len()
        };
        json::set(&mut mirror, &["spec", "nodeName"], "n1");
        assert_eq!(update(&mirror, &mirror), 0);
        assert_eq!(update(&mirror, &own), 1);
        assert_eq!(update(&own, &mirror), 1);
    }

    #[test]
    fn a_pod_gets_its_defaults() {
        let pod = pod();
        assert_eq!(
            pod["spec"],
            json!({
                "containers": [{
                    "name": "c", "image": "i:1", "resources": {}, "imagePullPolicy": "IfNotPresent",
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                }],
                "restartPolicy": "Always", "terminationGracePeriodSeconds": 30,
                "dnsPolicy": "ClusterFirst", "securityContext": {},
                "schedulerName": "default-scheduler", "enableServiceLinks": true, "priority": 0,
                "preemptionPolicy": "PreemptLowerPriority",
                "tolerations": [
                    {"key": "node.kubernetes.io/not-ready", "operator": "Exists",
                     "effect": "NoExecute", "tolerationSeconds": 300},
                    {"key": "node.kubernetes.io/unreachable", "operator": "Exists",
                     "effect": "NoExecute", "tolerationSeconds": 300},
                ],
            })
        );
        assert_eq!(
            pod["status"],
            json!({"phase": "Pending", "qosClass": "BestEffort"})
        );
        assert_eq!(Pods.validate(&context(), &pod).to_string(), "[]");
    }

    #[test]
    fn an_update_may_change_little() {
        let old = pod();
        let update = |path: &[&str], value: Json| {
            let mut new = old.clone();
            json::set(&mut new, path, value);
            Pods.validate_update(&context(), Part::Whole, &new, &old)
                .to_string()
        };
        assert_eq!(update(&["spec", "activeDeadlineSeconds"], json!(5)), "[]");
        let node = update(&["spec", "nodeName"], json!("n"));
        assert!(
            node.ends_with("- \"NodeName\": \"\",\n+ \"NodeName\": \"n\",\n  \"SecurityContext\": {\n   \"HostNetwork\": false,\n   \"HostPID\": false,\n"),
            "{node}"
        );
        assert_eq!(
            update(&["spec", "containers"], json!([])),
            "[spec.containers: Required value, spec.containers: Forbidden: pod updates may not add \
             or remove containers]"
        );
        let fewer = update(&["spec", "tolerations"], json!([]));
        assert!(
            fewer.starts_with("spec.tolerations: Forbidden: existing toleration"),
            "{fewer}"
        );
    }

    #[test]
    fn pods_on_nodes_take_their_time() {
        let mut pod = pod();
        assert_eq!(Pods.check_graceful_delete(&pod, Some(5)), Grace::Seconds(0));
        json::set(&mut pod, &["spec", "nodeName"], "n");
        assert_eq!(Pods.check_graceful_delete(&pod, None), Grace::Seconds(30));
        assert_eq!(
            Pods.check_graceful_delete(&pod, Some(-5)),
            Grace::Seconds(1)
        );
        json::set(&mut pod, &["status", "phase"], "Failed");
        assert_eq!(Pods.check_graceful_delete(&pod, None), Grace::Seconds(0));
    }
}
