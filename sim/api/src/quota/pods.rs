//! What pods use (`evaluator/core/pods.go`; `PodRequests` and `PodLimits` of `k8s.io/component-helpers/resource`).

use std::collections::{BTreeMap, BTreeSet};

use super::check::{Attributes, Operation};
use super::resources::ResourceList;
use super::scopes::Selector;
use crate::Stamp;
use crate::json::{self, Json};
use crate::kinds::pods::get_pod_qos;

/// `podResources`, but for the number of objects.
const RESOURCES: [&str; 10] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
];
/// `podResourcePrefixes`
const PREFIXES: [&str; 2] = [HUGE_PAGES, "requests.hugepages-"];
const HUGE_PAGES: &str = "hugepages-";
const REQUESTS: &str = "requests.";
/// `resourceRequestsDeviceClassPrefix`
const DEVICE_CLASSES: &str = "requests.deviceclass.resource.kubernetes.io/";
/// `validationSet`: what each container has to say if a quota limits it.
const TO_BE_SAID: [&str; 6] = [
    "cpu",
    "memory",
    "requests.cpu",
    "requests.memory",
    "limits.cpu",
    "limits.memory",
];
/// What a pod may say of all its containers at once (`SupportedPodLevelResources`).
const OF_PODS: [&str; 2] = ["cpu", "memory"];

/// Upstream's `Handles`
pub(super) fn handles(request: &Attributes) -> bool {
    match (request.subresource, request.operation) {
        ("", Operation::Create) => true,
        ("", Operation::Update) => {
            let was = request.old.as_ref().map(|old| is_terminating(old.json()));
            was.is_some_and(|was| was != is_terminating(request.object.json()))
        }
        ("resize", Operation::Update) => true,
        _ => false,
    }
}

/// `IsTerminating`
fn is_terminating(pod: &Json) -> bool {
    json::number(pod, &["spec", "activeDeadlineSeconds"]).is_some_and(|after| after >= 0)
}

/// Upstream's `MatchingResources`
pub(super) fn measures(name: &str) -> bool {
    RESOURCES.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || is_extended_resource_name_for_quota(name)
}

/// `isExtendedResourceNameForQuota`
fn is_extended_resource_name_for_quota(name: &str) -> bool {
    let foreign = !is_native_resource(name) || name.starts_with(DEVICE_CLASSES);
    foreign && name.starts_with(REQUESTS)
}

/// `IsNativeResource`
fn is_native_resource(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Is this the name of a resource that a container asks for of a node, and that a driver provides
/// (`IsDRAExtendedResourceName`, `IsExtendedResourceName`)?
fn is_extended_resource_name(name: &str) -> bool {
    !is_native_resource(name) && !name.starts_with(REQUESTS)
        || name.starts_with(&DEVICE_CLASSES[REQUESTS.len()..])
}

fn containers<'a>(pod: &'a Json, list: &str) -> &'a [Json] {
    json::list(pod, &["spec", list])
}

/// `IsPodLevelResourcesSet`
fn is_pod_level_resources_set(pod: &Json) -> bool {
    let said = ["requests", "limits"].map(|of| json::at(pod, &["spec", "resources", of]));
    let mut said = said.into_iter().flatten().filter_map(Json::as_object);
    said.any(|list| {
        list.keys()
            .any(|name| is_supported_pod_level_resource(name))
    })
}

/// `IsSupportedPodLevelResource`
fn is_supported_pod_level_resource(name: &str) -> bool {
    OF_PODS.contains(&name) || name.starts_with(HUGE_PAGES)
}

/// Upstream's `Constraints`
pub(super) fn constraints(required: &[&str], pod: &Json) -> Result<(), String> {
    if is_pod_level_resources_set(pod) {
        return Ok(());
    }
    let required = required.iter().copied();
    let required: Vec<&str> = required.filter(|own| TO_BE_SAID.contains(own)).collect();
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let all = ["containers", "initContainers"];
    for container in all.into_iter().flat_map(|list| containers(pod, list)) {
        let of = |list| ResourceList::of(container, &["resources", list]);
        let said = pod_compute_usage_helper(&of("requests"), &of("limits"));
        for name in required.iter().filter(|name| !said.has(name)) {
            let without = missing.entry(name).or_default();
            without.insert(json::text(container, &["name"]));
        }
    }
    let all = missing.iter().map(|(name, containers)| {
        let containers: Vec<&str> = containers.iter().copied().collect();
        format!("{name} for: {}", containers.join(","))
    });
    match missing.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "must specify {}",
            all.collect::<Vec<_>>().join("; ")
        )),
    }
}

/// `podComputeUsageHelper`
fn pod_compute_usage_helper(requests: &ResourceList, limits: &ResourceList) -> ResourceList {
    let mut used = ResourceList::count(&["pods"], 1);
    for name in ["cpu", "memory", "ephemeral-storage"] {
        if let Some(request) = requests.get(name) {
            used.insert(name, request);
            used.insert(format!("{REQUESTS}{name}"), request);
        }
        if let Some(limit) = limits.get(name) {
            used.insert(format!("limits.{name}"), limit);
        }
    }
    for (name, request) in requests.iter() {
        if name.starts_with(HUGE_PAGES) {
            used.insert(name, request);
            used.insert(format!("{REQUESTS}{name}"), request);
        }
        if is_extended_resource_name(name) {
            used.insert(format!("{REQUESTS}{name}"), request);
        }
    }
    used
}

/// `PodUsageFunc`, but for the number of objects.
pub(super) fn pod_usage_func(pod: &Json, now: Stamp) -> ResourceList {
    match quota_v1_pod(pod, now) {
        false => ResourceList::default(),
        true => pod_compute_usage_helper(&sum(pod, "requests"), &sum(pod, "limits")),
    }
}

/// Upstream's `PodRequests`, `PodLimits`: what containers say together, or what the pod says for all, and the overhead. What runs
/// counts if it is more: a container may have been resized.
fn sum(pod: &Json, list: &str) -> ResourceList {
    let mut all = aggregate(pod, list);
    let of_pod = ResourceList::of(pod, &["spec", "resources", list]);
    for (name, quantity) in of_pod.iter() {
        if is_supported_pod_level_resource(name) {
            all.insert(name, quantity);
        }
    }
    let overhead = ResourceList::of(pod, &["spec", "overhead"]);
    match list {
        // Overhead adds to limits that there are.
        "limits" => {
            let limited = all.names();
            let overhead = overhead.mask(&limited);
            all.add(&overhead)
        }
        _ => all.add(&overhead),
    }
}

/// Upstream's `AggregateContainerRequests`, `AggregateContainerLimits`
fn aggregate(pod: &Json, list: &str) -> ResourceList {
    let all = containers(pod, "containers").iter();
    let running = all.fold(ResourceList::default(), |all, own| {
        all.add(&of_container(pod, "containerStatuses", own, list))
    });
    // One that restarts runs beside all that come later; the others run alone, one after another.
    let (mut beside, mut most) = (ResourceList::default(), ResourceList::default());
    for own in containers(pod, "initContainers") {
        let asked = of_container(pod, "initContainerStatuses", own, list);
        let while_it_runs = match json::text(own, &["restartPolicy"]) {
            "Always" => {
                beside = beside.add(&asked);
                beside.clone()
            }
            _ => asked.add(&beside),
        };
        most = most.max(&while_it_runs);
    }
    running.add(&beside).max(&most)
}

/// Upstream's `determineContainerReqs`, `determineContainerLimits`
fn of_container(pod: &Json, statuses: &str, container: &Json, list: &str) -> ResourceList {
    let said = ResourceList::of(container, &["resources", list]);
    let mut statuses = json::list(pod, &["status", statuses]).iter();
    let name = json::text(container, &["name"]);
    let Some(status) = statuses.find(|own| json::text(own, &["name"]) == name) else {
        return said;
    };
    let runs = ResourceList::of(status, &["resources", list]);
    match list {
        "requests" => {
            let allocated = ResourceList::of(status, &["allocatedResources"]);
            said.max(&runs).max(&allocated)
        }
        _ => said.max(&runs),
    }
}

/// `QuotaV1Pod`: does the pod still count? One that has ended does not, nor one whose grace period is over.
pub fn quota_v1_pod(pod: &Json, now: Stamp) -> bool {
    if matches!(
        json::text(pod, &["status", "phase"]),
        "Failed" | "Succeeded"
    ) {
        return false;
    }
    let deletion = Stamp::parse(json::text(pod, &["metadata", "deletionTimestamp"]));
    let grace = json::number(pod, &["metadata", "deletionGracePeriodSeconds"]);
    match (deletion, grace) {
        (Some(deletion), Some(grace)) => now <= deletion.plus_seconds(grace),
        _ => true,
    }
}

/// `podMatchesScopeFunc`
pub(super) fn pod_matches_scope_func(scope: &Selector<'_>, pod: &Json) -> bool {
    let class = json::text(pod, &["spec", "priorityClassName"]);
    match scope.scope {
        "Terminating" => is_terminating(pod),
        "NotTerminating" => !is_terminating(pod),
        "BestEffort" => is_best_effort(pod),
        "NotBestEffort" => !is_best_effort(pod),
        "PriorityClass" if class.is_empty() => scope.selects(&[]),
        "PriorityClass" => scope.selects(&[class]),
        "CrossNamespacePodAffinity" => uses_cross_namespace_pod_affinity(pod),
        _ => false,
    }
}

/// `isBestEffort`
fn is_best_effort(pod: &Json) -> bool {
    let class = json::text(pod, &["status", "qosClass"]);
    let class = Some(class).filter(|class| !class.is_empty());
    class.unwrap_or_else(|| get_pod_qos(pod)) == "BestEffort"
}

/// `usesCrossNamespacePodAffinity`
fn uses_cross_namespace_pod_affinity(pod: &Json) -> bool {
    let crosses = |term: &Json| {
        let has = |field| json::at(term, &[field]).is_some_and(|value| !value.is_null());
        !json::list(term, &["namespaces"]).is_empty() || has("namespaceSelector")
    };
    ["podAffinity", "podAntiAffinity"].into_iter().any(|kind| {
        let terms = |list| json::list(pod, &["spec", "affinity", kind, list]).iter();
        let preferred = terms("preferredDuringSchedulingIgnoredDuringExecution");
        let preferred = preferred.filter_map(|own| own.get("podAffinityTerm"));
        let required = terms("requiredDuringSchedulingIgnoredDuringExecution");
        required.chain(preferred).any(crosses)
    })
}

/// The part of `DefaultUpdateFilter` about pods.
pub(super) fn frees(old: &Json, new: &Json, now: Stamp) -> bool {
    has_resources_changed(old, new)
        || is_terminating(old) != is_terminating(new)
        || quota_v1_pod(old, now) && !quota_v1_pod(new, now)
}

/// `hasResourcesChanged`
fn has_resources_changed(old: &Json, new: &Json) -> bool {
    ["containerStatuses", "initContainerStatuses"]
        .into_iter()
        .any(|list| {
            let of = |pod| json::list(pod, &["status", list]);
            of(old).iter().any(|was| {
                let same = |own: &&Json| own.get("name") == was.get("name");
                let is = of(new).iter().find(same);
                is.is_some_and(|is| is.get("resources") != was.get("resources"))
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn now() -> Stamp {
        Stamp::parse("2026-01-01T00:01:00Z").expect("an instant")
    }

    fn container(name: &str, cpu: &str) -> Json {
        json!({"name": name, "resources": {"requests": {"cpu": cpu}}})
    }

    #[test]
    fn containers_add_up_and_those_before_count_if_they_are_more() {
        let cpu = |pod: Json| {
            let used = pod_usage_func(&pod, now());
            used.mask(&["requests.cpu"]).pretty_print()
        };
        let main = [container("a", "100m"), container("b", "200m")];
        assert_eq!(
            cpu(json!({"spec": {"containers": main}})),
            "requests.cpu=300m"
        );
        let mut beside = container("s", "50m");
        beside["restartPolicy"] = "Always".into();
        let init = [beside, container("i", "400m")];
        let pod = json!({"spec": {"containers": main, "initContainers": init}});
        assert_eq!(cpu(pod.clone()), "requests.cpu=450m");
        let mut with = pod;
        with["spec"]["overhead"] = json!({"cpu": "10m"});
        assert_eq!(cpu(with.clone()), "requests.cpu=460m");
        with["spec"]["resources"] = json!({"requests": {"cpu": "2"}});
        assert_eq!(cpu(with), "requests.cpu=2010m");
    }

    #[test]
    fn a_container_that_was_resized_counts_as_it_runs() {
        let status = json!({"name": "a", "resources": {"requests": {"cpu": "300m"}}});
        let pod = json!({
            "spec": {"containers": [container("a", "100m")]},
            "status": {"containerStatuses": [status]},
        });
        assert_eq!(sum(&pod, "requests").pretty_print(), "cpu=300m");
        let mut after = pod.clone();
        after["status"]["containerStatuses"][0]["resources"]["requests"]["cpu"] = "100m".into();
        assert!(frees(&pod, &after, now()) && !frees(&pod, &pod, now()));
    }

    #[test]
    fn a_pod_that_has_ended_counts_as_an_object_only() {
        let ended = json!({"status": {"phase": "Succeeded"}});
        assert!(pod_usage_func(&ended, now()).is_empty());
        let going = |at: &str| {
            let metadata = json!({"deletionTimestamp": at, "deletionGracePeriodSeconds": 30});
            quota_v1_pod(&json!({"metadata": metadata}), now())
        };
        assert!(going("2026-01-01T00:00:30Z") && !going("2026-01-01T00:00:29Z"));
    }

    #[test]
    fn what_a_container_has_to_say_is_named() {
        let pod =
            json!({"spec": {"containers": [container("a", "1"), {"name": "c"}, {"name": "b"}]}});
        let required = [
            "requests.cpu",
            "limits.memory",
            "pods",
            "requests.ephemeral-storage",
        ];
        let wrong = constraints(&required, &pod).expect_err("two say nothing");
        assert_eq!(
            wrong,
            "must specify limits.memory for: a,b,c; requests.cpu for: b,c"
        );
    }

    #[test]
    fn names_of_devices_are_measured_by_what_is_requested() {
        for name in [
            "requests.example.com/gpu",
            "hugepages-2Mi",
            "requests.hugepages-2Mi",
        ] {
            assert!(measures(name), "{name}");
        }
        for name in ["example.com/gpu", "services", "requests.storage"] {
            assert!(!measures(name), "{name}");
        }
        let gpu = json!({"resources": {"requests": {"example.com/gpu": "2"}}});
        let pod = json!({"spec": {"containers": [gpu]}});
        let used = pod_usage_func(&pod, now()).pretty_print();
        assert_eq!(used, "pods=1,requests.example.com/gpu=2");
    }

    #[test]
    fn scopes_tell_pods_apart() {
        let selects = |scope: &str, pod: &Json| {
            let quota = json!({"spec": {"scopes": [scope]}});
            let all = super::super::scopes::get_scope_selectors_from_quota(&quota);
            pod_matches_scope_func(&all[0], pod)
        };
        let best_effort = json!({"spec": {"containers": [{"name": "a"}]}});
        let other = json!({"spec": {
            "containers": [container("a", "1")], "activeDeadlineSeconds": 5, "priorityClassName": "high",
            "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"namespaces": ["other"]},
            ]}},
        }});
        for (scope, of_first, of_second) in [
            ("BestEffort", true, false),
            ("NotBestEffort", false, true),
            ("Terminating", false, true),
            ("NotTerminating", true, false),
            ("PriorityClass", false, true),
            ("CrossNamespacePodAffinity", false, true),
        ] {
            assert_eq!(selects(scope, &best_effort), of_first, "{scope}");
            assert_eq!(selects(scope, &other), of_second, "{scope}");
        }
    }
}
