//! Parts of a pod that have a path of their own: its containers for debugging, its resources; and the addresses in its
//! status (`kubernetes/pkg/registry/core/pod/strategy.go`, `pkg/apis/core/validation/validation.go`).

use serde_json::json;

use super::pods::{MIRROR, get_pod_qos, keep, validate_pod_metadata_and_spec};
use crate::addresses::{is_valid_ip_for_legacy_field, parse_ip_sloppy};
use crate::json::{self, Json};
use crate::metadata;
use crate::validation::{Bad, ErrorList};

/// Upstream's `Convert_v1_PodStatus_To_core_PodStatus`: an old kubelet says one address only, and it counts.
pub(super) fn convert_pod_ips(pod: &mut Json) {
    let ip = json::text(pod, &["status", "podIP"]).to_owned();
    let first = json::list(pod, &["status", "podIPs"]).first();
    let first = first.map_or("", |own| json::text(own, &["ip"]));
    if !ip.is_empty() && first != ip {
        json::set(pod, &["status", "podIPs"], json!([{"ip": ip}]));
    }
}

/// `validatePodIPs`: one of each family at most. Addresses that were there may stay.
pub(super) fn validate_pod_ips(pod: &Json, old: &Json, errors: &mut ErrorList) {
    const FIELD: &str = "status.podIPs";
    let ips = |of| json::list(of, &["status", "podIPs"]).iter();
    let text = |own| json::text(own, &["ip"]);
    let all: Vec<&str> = ips(pod).map(text).collect();
    for (at, ip) in all.iter().enumerate() {
        let kept = ips(old).any(|own| text(own) == *ip);
        if !kept {
            is_valid_ip_for_legacy_field(ip, &format!("{FIELD}[{at}]"), errors);
        }
    }
    if all.len() < 2 {
        return;
    }
    let parsed = all.iter().map(|ip| parse_ip_sloppy(ip));
    let parsed: Vec<_> = parsed.collect();
    if let Some(at) = parsed.iter().position(Option::is_none) {
        let why = format!(
            "failed to check for dual stack with error:invalid IP[{at}]: {}",
            all[at]
        );
        errors.add(crate::validation::ErrorType::Internal, FIELD, why);
    }
    let of = |four: bool| parsed.iter().flatten().any(|ip| ip.is_ipv4() == four);
    let dual = parsed.iter().all(Option::is_some) && of(true) && of(false);
    if !dual || all.len() > 2 {
        let shown: Vec<String> = all
            .iter()
            .map(|ip| format!("{{\"IP\":{}}}", crate::quote::quote(ip)))
            .collect();
        let bad = Bad::shown(format!("[{}]", shown.join(",")));
        errors.invalid(
            FIELD,
            bad,
            "may specify no more than one IP for each IP family",
        );
    }
}

/// `dropNonEphemeralContainerUpdates`
pub(super) fn drop_non_ephemeral_container_updates(pod: &mut Json, old: &Json) {
    const CONTAINERS: [&str; 2] = ["spec", "ephemeralContainers"];
    let containers = json::at(pod, &CONTAINERS).cloned();
    keep(pod, old, &["spec"]);
    keep(pod, old, &["status"]);
    reset_object_meta_for_status(pod, old);
    match containers {
        Some(containers) => json::set(pod, &CONTAINERS, containers),
        None => {
            json::remove(pod, &CONTAINERS);
        }
    }
}

/// `ValidatePodEphemeralContainersUpdate`
pub(super) fn validate_pod_ephemeral_containers_update(pod: &Json, old: &Json) -> ErrorList {
    const PATH: &str = "spec.ephemeralContainers";
    let mut errors = metadata::validate_object_meta_update(pod, old);
    errors.extend(validate_pod_metadata_and_spec(pod));
    let containers = |of| json::list(of, &["spec", "ephemeralContainers"]);
    for before in containers(old) {
        let name = json::text(before, &["name"]);
        let mut all = containers(pod).iter();
        let shown = crate::quote::quote(name);
        match all.find(|own| json::text(own, &["name"]) == name) {
            None => {
                let detail = format!("existing ephemeral containers {shown} may not be removed\n");
                errors.forbidden(PATH, detail);
            }
            Some(now) if now != before => {
                let detail = format!("existing ephemeral containers {shown} may not be changed\n");
                errors.forbidden(PATH, detail);
            }
            Some(_) => {}
        }
    }
    errors
}

/// `metav1.ResetObjectMetaForStatus`
fn reset_object_meta_for_status(pod: &mut Json, old: &Json) {
    for field in [
        "deletionTimestamp",
        "generation",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
    ] {
        keep(pod, old, &["metadata", field]);
    }
}

const LISTS: [&str; 2] = ["containers", "initContainers"];

/// `dropNonResizeUpdates`: of the containers only their resources. Other containers are left for validation to find.
pub(super) fn drop_non_resize_updates(pod: &mut Json, old: &Json) {
    let of = |pod: &Json, list: &str| json::list(pod, &["spec", list]).to_vec();
    let name = |container: &Json| json::text(container, &["name"]).to_owned();
    let names = |pod: &Json| LISTS.map(|list| of(pod, list).iter().map(name).collect::<Vec<_>>());
    if names(pod) != names(old) {
        return;
    }
    let resized = LISTS.map(|list| {
        let both = of(pod, list).into_iter().zip(of(old, list));
        let merged = both.map(|(new, mut container)| {
            for field in ["resources", "resizePolicy"] {
                keep(&mut container, &new, &[field]);
            }
            container
        });
        merged.collect::<Vec<Json>>()
    });
    keep(pod, old, &["spec"]);
    keep(pod, old, &["status"]);
    reset_object_meta_for_status(pod, old);
    for (list, containers) in LISTS.into_iter().zip(resized) {
        if !containers.is_empty() {
            json::set(pod, &["spec", list], containers);
        }
    }
}

/// `ValidatePodResize`, without the resources of a whole pod.
pub(super) fn validate_pod_resize(pod: &Json, old: &Json) -> ErrorList {
    let mut errors = metadata::validate_object_meta_update(pod, old);
    errors.extend(validate_pod_metadata_and_spec(pod));
    if json::at(old, &MIRROR).is_some() {
        let mut only = ErrorList::default();
        only.forbidden("<nil>", "static pods cannot be resized");
        return only;
    }
    if get_pod_qos(pod) != get_pod_qos(old) {
        let class = json::text(pod, &["status", "qosClass"]);
        let detail = "Pod QOS Class may not change as a result of resizing";
        errors.invalid("spec", class, detail);
    }
    let mut statuses = json::list(old, &["status", "containerStatuses"]).iter();
    let running = statuses.find(|own| json::at(own, &["state", "running"]).is_some());
    if running.is_some_and(|own| own.get("resources").is_none_or(Json::is_null)) {
        errors.forbidden("spec", "Pod running on node without support for resize");
    }
    let before = errors.len();
    validate_pod_resize_container_ordering(pod, old, &mut errors);
    if errors.len() > before {
        return errors;
    }
    for list in ["initContainers", "containers"] {
        let of = |pod| json::list(pod, &["spec", list]).iter();
        for (at, (new, old)) in of(pod).zip(of(old)).enumerate() {
            validate_container_resize(
                new,
                old,
                &format!("spec.{list}[{at}].resources"),
                &mut errors,
            );
        }
    }
    errors
}

/// `validatePodResizeContainerOrdering`
fn validate_pod_resize_container_ordering(pod: &Json, old: &Json, errors: &mut ErrorList) {
    for list in LISTS {
        let of = |pod| json::list(pod, &["spec", list]);
        if of(pod).len() != of(old).len() {
            let detail = format!("{list} may not be added or removed on resize");
            errors.forbidden(format!("spec.{list}"), detail);
            continue;
        }
        for (at, (new, old)) in of(pod).iter().zip(of(old)).enumerate() {
            if new.get("name") != old.get("name") {
                let detail = format!("{list} may not be renamed or reordered on resize");
                errors.forbidden(format!("spec.{list}[{at}].name"), detail);
            }
        }
    }
}

/// `validateContainerResize`, and that nothing but processors and memory changes.
fn validate_container_resize(new: &Json, old: &Json, path: &str, errors: &mut ErrorList) {
    let mut others = false;
    for list in ["requests", "limits"] {
        let path_of = ["resources", list];
        let entries = |of| metadata::entries(of, &path_of);
        let value = |of, name: &str| json::text(of, &["resources", list, name]).to_owned();
        if entries(old).any(|(name, _)| value(new, name).is_empty()) {
            errors.forbidden(
                format!("{path}.{list}"),
                format!("resource {list} cannot be removed"),
            );
        }
        let differs = |(name, _): (&str, &str)| {
            !matches!(name, "cpu" | "memory") && value(new, name) != value(old, name)
        };
        others |= entries(new).any(differs);
    }
    if others {
        errors.forbidden("spec", "only cpu and memory resources are mutable");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(resources: Json) -> Json {
        json!({
            "metadata": {"name": "p", "namespace": "a", "resourceVersion": "1"},
            "spec": {
                "containers": [{
                    "name": "c", "image": "i:1", "resources": resources,
                    "terminationMessagePolicy": "File", "imagePullPolicy": "Always",
                }],
                "restartPolicy": "Always", "dnsPolicy": "Default",
            },
            "status": {"qosClass": "Burstable"},
        })
    }

    fn resized(from: Json, to: Json) -> String {
        let (old, mut new) = (pod(from), pod(to));
        json::set(&mut new, &["spec", "restartPolicy"], "Never");
        drop_non_resize_updates(&mut new, &old);
        assert_eq!(
            new["spec"]["restartPolicy"], "Always",
            "nothing else changes"
        );
        validate_pod_resize(&new, &old).to_string()
    }

    #[test]
    fn a_pod_keeps_its_class_when_it_is_resized() {
        let cpu = |amount: &str| json!({"requests": {"cpu": amount}});
        assert_eq!(resized(cpu("1"), cpu("2")), "[]");
        let better = json!({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}});
        let refused = resized(cpu("1"), better);
        assert!(
            refused.contains("Pod QOS Class may not change"),
            "{refused}"
        );
        let both = json!({"requests": {"cpu": "1", "memory": "1Gi"}});
        let refused = resized(both, cpu("1"));
        assert!(
            refused.contains("resource requests cannot be removed"),
            "{refused}"
        );
    }

    #[test]
    fn one_address_of_an_old_kubelet_stands_for_all() {
        let mut pod = json!({"status": {"podIP": "192.0.2.1", "podIPs": [{"ip": "192.0.2.2"}]}});
        convert_pod_ips(&mut pod);
        assert_eq!(pod["status"]["podIPs"], json!([{"ip": "192.0.2.1"}]));
    }

    #[test]
    fn a_pod_has_one_address_of_each_family() {
        let checked = |ips: &[&str]| {
            let ips: Vec<Json> = ips.iter().map(|ip| json!({"ip": ip})).collect();
            let mut errors = ErrorList::default();
            validate_pod_ips(
                &json!({"status": {"podIPs": ips}}),
                &Json::Null,
                &mut errors,
            );
            errors.len()
        };
        assert_eq!(checked(&["192.0.2.1", "2001:db8::1"]), 0);
        assert_eq!(checked(&["192.0.2.1", "192.0.2.2"]), 1);
        assert_eq!(checked(&["bogus", "192.0.2.2"]), 3);
    }

    #[test]
    fn containers_for_debugging_come_and_stay() {
        let mut old = pod(json!({}));
        json::set(
            &mut old,
            &["spec", "ephemeralContainers"],
            json!([{"name": "d"}]),
        );
        let mut new = pod(json!({}));
        drop_non_ephemeral_container_updates(&mut new, &old);
        let refused = validate_pod_ephemeral_containers_update(&new, &old).to_string();
        assert!(refused.contains("may not be removed"), "{refused}");
    }
}
