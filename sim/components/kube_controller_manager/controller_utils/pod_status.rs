//! How a status is patched (`pkg/util/pod/pod.go`, v1.36.2, `PatchPodStatus`): with what has changed in it. Pure.

use serde_json::json;
use wavetank_api::json::{self, Json, Map};
use wavetank_components::conditions::patch_of_conditions;

/// `UpdatePodCondition`, of a condition that is new as of `now`.
pub fn update_pod_condition(status: &mut Json, mut condition: Json, now: &str) {
    condition["lastTransitionTime"] = now.into();
    let mut conditions = json::list(status, &["conditions"]).to_vec();
    let same = |own: &&mut Json| own["type"] == condition["type"];
    match conditions.iter_mut().find(same) {
        Some(old) => {
            if old["status"] == condition["status"] {
                condition["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            *old = condition;
        }
        None => conditions.push(condition),
    }
    status["conditions"] = conditions.into();
}

/// `preparePatchBytesForPodStatus`, of which phase, generation and conditions may differ; the UID is a precondition.
pub fn prepare_patch_bytes_for_pod_status(uid: &str, old: &Json, new: &Json) -> Json {
    let mut status = Map::new();
    for field in ["observedGeneration", "phase"] {
        if old.get(field) != new.get(field) {
            status.insert(field.to_owned(), new[field].clone());
        }
    }
    let (before, after) = (conditions(old), conditions(new));
    let is_new = |own: &Json| !before.iter().any(|old| old["type"] == own["type"]);
    // Go's zero time is written as null.
    let after: Vec<Json> = after
        .iter()
        .map(|own| {
            let mut own = own.clone();
            if is_new(&own) {
                own["lastProbeTime"] = Json::Null;
            }
            own
        })
        .collect();
    status.extend(patch_of_conditions(before, &after));
    json!({"metadata": {"uid": uid}, "status": status})
}

fn conditions(status: &Json) -> &[Json] {
    json::list(status, &["conditions"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> Json {
        json!({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "observedGeneration": 2})
    }

    #[test]
    fn a_status_without_conditions_gets_a_whole_one() {
        let old = json!({"phase": "Running"});
        let mut new = json!({"phase": "Failed"});
        update_pod_condition(&mut new, target(), "now");
        let patch = prepare_patch_bytes_for_pod_status("u", &old, &new);
        let mut whole = target();
        whole["lastProbeTime"] = Json::Null;
        whole["lastTransitionTime"] = "now".into();
        let status = json!({"phase": "Failed", "conditions": [whole]});
        assert_eq!(patch, json!({"metadata": {"uid": "u"}, "status": status}));
    }

    #[test]
    fn of_a_condition_that_is_there_only_what_differs_is_written() {
        let (mut taken, ready) = (target(), json!({"type": "Ready", "status": "False"}));
        taken["reason"] = "DeletionByTaintManager".into();
        taken["lastTransitionTime"] = "before".into();
        let old = json!({"phase": "Failed", "conditions": [ready, taken]});
        let mut new = old.clone();
        update_pod_condition(&mut new, target(), "now");
        let patch = prepare_patch_bytes_for_pod_status("u", &old, &new);
        let order = json!([{"type": "Ready"}, {"type": "DisruptionTarget"}]);
        let changed = json!([{"type": "DisruptionTarget", "reason": "DeletionByPodGC"}]);
        let status = json!({"$setElementOrder/conditions": order, "conditions": changed});
        assert_eq!(patch["status"], status);
        let nothing = prepare_patch_bytes_for_pod_status("u", &old, &old);
        assert_eq!(nothing["status"], json!({}));
    }
}
