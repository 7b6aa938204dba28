//! Pods get a node (`kubernetes/pkg/registry/core/pod/storage/storage.go`, `BindingREST`).

use serde_json::json;
use wavetank_version::Version;

use crate::gates;
use crate::json::{self, Json};
use crate::status::Status;
use crate::times::Stamp;
use crate::validation::ErrorList;

/// What is wrong with a Binding (`ValidatePodBinding`, and the name in the path).
pub fn check(binding: &Json, name: &str) -> Result<(), Status> {
    if json::text(binding, &["metadata", "name"]) != name {
        let message = "name in URL does not match name in Binding object";
        return Err(Status::new_bad_request(message));
    }
    let mut errors = ErrorList::default();
    let kind = json::text(binding, &["target", "kind"]);
    if !matches!(kind, "" | "Node") {
        errors.not_supported("target.kind", kind, &["Node", "<empty>"]);
    }
    if json::text(binding, &["target", "name"]).is_empty() {
        errors.required("target.name", "");
    }
    match errors.is_empty() {
        true => Ok(()),
        false => Err(Status::untyped(errors.to_string())),
    }
}

/// The pod on its node (`setPodHostAndAnnotations`).
pub fn bind(pod: &Json, binding: &Json, release: Version, now: Stamp) -> Result<Json, Status> {
    let name = json::text(pod, &["metadata", "name"]);
    let conflict = |why: String| {
        let resource = crate::Resource {
            plural: "pods/binding",
            ..super::PODS
        };
        Status::new_conflict(&resource, name, &why)
    };
    // `storage.Preconditions`
    for (field, shown) in [("uid", "UID"), ("resourceVersion", "ResourceVersion")] {
        let of = |object| json::text(object, &["metadata", field]).to_owned();
        let (wanted, found) = (of(binding), of(pod));
        if !wanted.is_empty() && wanted != found {
            let key = super::PODS.key(json::text(pod, &["metadata", "namespace"]), name);
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: \
                 Precondition failed: {shown} in precondition: {wanted}, {shown} in object meta: {found}"
            );
            return Err(Status::new_conflict(&super::PODS, name, &why));
        }
    }
    if json::at(pod, &["metadata", "deletionTimestamp"]).is_some() {
        return Err(conflict(format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        )));
    }
    let node = json::text(pod, &["spec", "nodeName"]);
    if !node.is_empty() {
        return Err(conflict(format!(
            "pod {name} is already assigned to node {node:?}"
        )));
    }
    if !json::list(pod, &["spec", "schedulingGates"]).is_empty() {
        return Err(conflict(format!(
            "pod {name} has non-empty .spec.schedulingGates"
        )));
    }
    let mut bound = pod.clone();
    let target = json::text(binding, &["target", "name"]);
    json::set(&mut bound, &["spec", "nodeName"], target);
    for (key, value) in crate::metadata::entries(binding, &["metadata", "annotations"]) {
        json::set(&mut bound, &["metadata", "annotations", key], value);
    }
    if release.has(gates::BOUND_PODS_ARE_NOT_NOMINATED) {
        json::remove(&mut bound, &["status", "nominatedNodeName"]);
        for (key, value) in crate::metadata::entries(binding, &["metadata", "labels"]) {
            json::set(&mut bound, &["metadata", "labels", key], value);
        }
    }
    let scheduled = json!({"type": "PodScheduled", "status": "True"});
    update_pod_condition(&mut bound, scheduled, now);
    Ok(bound)
}

/// `podutil.UpdatePodCondition`: the condition takes the place of one of its type; its last
/// transition is now, unless its status is as before.
pub fn update_pod_condition(pod: &mut Json, mut condition: Json, now: Stamp) {
    let conditions = json::map_mut(pod, &["status"])
        .entry("conditions")
        .or_insert(Json::Null);
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Json::Array(conditions) = conditions else {
        return;
    };
    condition["lastProbeTime"] = Json::Null;
    condition["lastTransitionTime"] = now.seconds().into();
    let same = |other: &&mut Json| other.get("type") == condition.get("type");
    match conditions.iter_mut().find(same) {
        Some(old) => {
            if old.get("status") == condition.get("status") {
                let before = old.get("lastTransitionTime").cloned();
                condition["lastTransitionTime"] = before.unwrap_or_default();
            }
            *old = condition;
        }
        None => conditions.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavetank_releases::V1_36;

    #[test]
    fn a_pod_is_bound_once() {
        let now = Stamp::parse("2026-01-01T00:00:00Z").expect("an instant");
        let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
        let pod = json!({"metadata": {"name": "p", "uid": "u"}, "spec": {}, "status": {}});
        check(&binding, "p").expect("good");
        let bound = bind(&pod, &binding, V1_36, now).expect("binds");
        assert_eq!(bound["spec"]["nodeName"], "n");
        assert_eq!(bound["status"]["conditions"][0]["status"], "True");
        let again = bind(&bound, &binding, V1_36, now).expect_err("bound");
        assert_eq!(
            again.message,
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node \
             \"n\""
        );
        let bad = check(
            &json!({"metadata": {"name": "p"}, "target": {"kind": "X"}}),
            "p",
        );
        assert_eq!(
            bad.expect_err("bad").message,
            "[target.kind: Unsupported value: \"X\": supported values: \"Node\", \"<empty>\", \
             target.name: Required value]"
        );
    }
}
