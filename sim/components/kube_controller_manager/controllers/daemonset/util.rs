//! What is said of a set and its pods (`pkg/controller/daemon/util/daemonset_util.go`). Pure.

use serde_json::json;
use wavetank_api::Stored;
use wavetank_api::json::{self, Json};

use crate::controller_utils::get_scaled_value_from_int_or_percent;

/// `DeprecatedTemplateGeneration`
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";
/// `DaemonSetTemplateGenerationKey`
const TEMPLATE_GENERATION_LABEL: &str = "pod-template-generation";
/// `DefaultDaemonSetUniqueLabelKey`
pub(super) const HASH_LABEL: &str = "controller-revision-hash";
/// `ObjectNameField`
const NAME_FIELD: &str = "metadata.name";
/// Where a pod says on which nodes it may run.
const REQUIRED: [&str; 4] = [
    "spec",
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
];

/// What daemon pods tolerate: taints, their effects, and whether only pods on the host's network do.
const TOLERATED: [(&str, &str, bool); 7] = [
    ("node.kubernetes.io/not-ready", "NoExecute", false),
    ("node.kubernetes.io/unreachable", "NoExecute", false),
    ("node.kubernetes.io/disk-pressure", "NoSchedule", false),
    ("node.kubernetes.io/memory-pressure", "NoSchedule", false),
    ("node.kubernetes.io/pid-pressure", "NoSchedule", false),
    ("node.kubernetes.io/unschedulable", "NoSchedule", false),
    ("node.kubernetes.io/network-unavailable", "NoSchedule", true),
];

pub(super) fn of_spec(set: &Json, field: &str) -> i64 {
    json::number(set, &["spec", field]).unwrap_or(0)
}

pub(super) fn of_status(set: &Json, field: &str) -> i64 {
    json::number(set, &["status", field]).unwrap_or(0)
}

/// The label of a pod or a revision that says which template it is of.
pub(super) fn hash_of(object: &Json) -> &str {
    json::text(object, &["metadata", "labels", HASH_LABEL])
}

pub(super) fn phase(pod: &Json) -> &str {
    json::text(pod, &["status", "phase"])
}

pub(super) fn node_name(pod: &Json) -> &str {
    json::text(pod, &["spec", "nodeName"])
}

/// `GetTemplateGeneration`; none where it is no number either.
pub(super) fn get_template_generation(set: &Json) -> Option<i64> {
    let text = json::text(set, &["metadata", "annotations", TEMPLATE_GENERATION]);
    text.parse().ok()
}

/// Upstream's `AddOrUpdateTolerationInPodSpec`
fn add_or_update_toleration(tolerations: &mut Vec<Json>, new: &Json) {
    let part = |of: &Json, field| json::text(of, &[field]).to_owned();
    let is_same = |own: &Json| {
        let mut fields = ["key", "effect", "operator", "value"].into_iter();
        fields.all(|field| part(own, field) == part(new, field))
    };
    let mut is_there = false;
    for own in tolerations.iter_mut().filter(|own| is_same(own)) {
        *own = new.clone();
        is_there = true;
    }
    if !is_there {
        tolerations.push(new.clone());
    }
}

/// Upstream's `AddOrUpdateDaemonPodTolerations`: the tolerations of a template, and those that all daemon pods have.
pub(super) fn daemon_pod_tolerations(template: &Json) -> Vec<Json> {
    let mut all = json::list(template, &["spec", "tolerations"]).to_vec();
    let on_host = template["spec"]["hostNetwork"] == true;
    for (key, effect, needs_host) in TOLERATED {
        if on_host || !needs_host {
            let new = json!({"key": key, "operator": "Exists", "effect": effect});
            add_or_update_toleration(&mut all, &new);
        }
    }
    all
}

/// `CreatePodTemplate`
pub(super) fn create_pod_template(set: &Json, hash: &str) -> Json {
    let mut template = json::at(set, &["spec", "template"])
        .cloned()
        .unwrap_or_default();
    let tolerations = daemon_pod_tolerations(&template);
    json::set(&mut template, &["spec", "tolerations"], tolerations);
    let labels = json::map_mut(&mut template, &["metadata", "labels"]);
    if let Some(generation) = get_template_generation(set) {
        let generation = generation.to_string();
        labels.insert(TEMPLATE_GENERATION_LABEL.to_owned(), generation.into());
    }
    if !hash.is_empty() {
        labels.insert(HASH_LABEL.to_owned(), hash.into());
    }
    template
}

fn rolling<'a>(set: &'a Json, field: &str) -> Option<&'a Json> {
    json::at(set, &["spec", "updateStrategy", "rollingUpdate", field])
}

pub(super) fn is_rolling_update(set: &Json) -> bool {
    json::text(set, &["spec", "updateStrategy", "type"]) == "RollingUpdate"
}

/// `SurgeCount`
pub(super) fn surge_count(set: &Json, scheduled: i64) -> i64 {
    match is_rolling_update(set) {
        true => get_scaled_value_from_int_or_percent(rolling(set, "maxSurge"), scheduled, true),
        false => 0,
    }
}

/// `UnavailableCount`
pub(super) fn unavailable_count(set: &Json, scheduled: i64) -> i64 {
    let most = rolling(set, "maxUnavailable");
    match is_rolling_update(set) {
        true => get_scaled_value_from_int_or_percent(most, scheduled, true),
        false => 0,
    }
}

/// `AllowsSurge`
pub(super) fn allows_surge(set: &Json) -> bool {
    surge_count(set, 1) > 0
}

/// `IsPodUpdated`
pub(super) fn is_pod_updated(pod: &Json, hash: &str, generation: Option<i64>) -> bool {
    let label = json::text(pod, &["metadata", "labels", TEMPLATE_GENERATION_LABEL]);
    let is_of_generation = generation.is_some_and(|own| label == own.to_string());
    let is_of_hash = !hash.is_empty() && hash_of(pod) == hash;
    is_of_hash || is_of_generation
}

/// `ReplaceDaemonSetPodNodeNameNodeAffinity`
pub(super) fn replace_daemon_set_pod_node_name_node_affinity(template: &mut Json, node: &str) {
    let field = json!({"key": NAME_FIELD, "operator": "In", "values": [node]});
    let terms = json!([{"matchFields": [field]}]);
    let path = [REQUIRED.as_slice(), &["nodeSelectorTerms"]].concat();
    json::set(template, &path, terms);
}

/// `GetTargetNodeName`
pub(super) fn get_target_node_name(pod: &Json) -> Option<&str> {
    let own = node_name(pod);
    if !own.is_empty() {
        return Some(own);
    }
    let path = [REQUIRED.as_slice(), &["nodeSelectorTerms"]].concat();
    let terms = json::list(pod, &path).iter();
    let mut fields = terms.flat_map(|term| json::list(term, &["matchFields"]));
    let named = fields.find(|own| own["key"] == NAME_FIELD && own["operator"] == "In")?;
    match json::list(named, &["values"]) {
        [only] => only.as_str(),
        _ => None,
    }
}

/// Sorts pods as `podByCreationTimestampAndPhase`: those that have a node come first, then the oldest.
pub(super) fn sort_by_creation_timestamp_and_phase(pods: &mut [Stored]) {
    pods.sort_by_cached_key(|pod| {
        let json = pod.object.json();
        let created = json::text(json, &["metadata", "creationTimestamp"]).to_owned();
        let name = pod.object.name().to_owned();
        (node_name(json).is_empty(), created, name)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set() -> Json {
        json!({
            "metadata": {"name": "d", "annotations": {TEMPLATE_GENERATION: "3"}},
            "spec": {
                "template": {"metadata": {"labels": {"app": "d"}}, "spec": {
                    "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
                }},
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "34%", "maxSurge": 0}},
            },
        })
    }

    #[test]
    fn a_daemon_pod_is_for_one_node_and_tolerates_its_troubles() {
        let mut template = create_pod_template(&set(), "abc");
        replace_daemon_set_pod_node_name_node_affinity(&mut template, "n2");
        assert_eq!(get_target_node_name(&template), Some("n2"));
        assert_eq!(
            json::list(&template, &["spec", "tolerations"]).len(),
            TOLERATED.len() - 1
        );
        assert!(is_pod_updated(&template, "abc", None) && is_pod_updated(&template, "", Some(3)));
        assert!(!is_pod_updated(&template, "other", Some(4)));
    }

    #[test]
    fn percents_are_of_the_nodes_that_are_wanted_and_rounded_up() {
        assert_eq!(unavailable_count(&set(), 4), 2);
        assert_eq!(unavailable_count(&set(), 0), 0);
        assert!(!allows_surge(&set()));
    }
}
