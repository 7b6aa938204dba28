//! How a status is patched (`pkg/util/pod/pod.go`, v1.36.2, `PatchPodStatus`): with what has changed in it. Pure.

use serde_json::json;
use wavetank_api::json::{self, Json, Map};

/// By what conditions are told apart.
const MERGE_KEY: &str = "type";

/// `UpdatePodCondition`, of a condition that is new as of `now`.
pub(super) fn update_pod_condition(status: &mut Json, mut condition: Json, now: &str) {
    condition["lastTransitionTime"] = now.into();
    let mut conditions = json::list(status, &["conditions"]).to_vec();
    let same = |own: &&mut Json| own[MERGE_KEY] == condition[MERGE_KEY];
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
pub(super) fn prepare_patch_bytes_for_pod_status(uid: &str, old: &Json, new: &Json) -> Json {
    let mut status = Map::new();
    for field in ["observedGeneration", "phase"] {
        if old.get(field) != new.get(field) {
            status.insert(field.to_owned(), new[field].clone());
        }
    }
    let (before, after) = (conditions(old), conditions(new));
    let changed: Vec<Json> = after
        .iter()
        .filter_map(|own| patch_of_condition(before, own))
        .collect();
    if !changed.is_empty() {
        // A list that was not there comes as a whole.
        if !before.is_empty() {
            let order = after
                .iter()
                .map(|own| json!({MERGE_KEY: own[MERGE_KEY].clone()}));
            let order: Vec<Json> = order.collect();
            status.insert("$setElementOrder/conditions".to_owned(), order.into());
        }
        status.insert("conditions".to_owned(), changed.into());
    }
    json!({"metadata": {"uid": uid}, "status": status})
}

fn conditions(status: &Json) -> &[Json] {
    json::list(status, &["conditions"])
}

/// What is new in a condition, with its type; none if nothing is.
fn patch_of_condition(before: &[Json], own: &Json) -> Option<Json> {
    let Some(old) = before.iter().find(|old| old[MERGE_KEY] == own[MERGE_KEY]) else {
        // Go's zero time is written as null.
        let mut new = own.clone();
        new["lastProbeTime"] = Json::Null;
        return Some(new);
    };
    let own = own.as_object()?;
    let mut new: Map = own
        .iter()
        .filter(|(field, value)| old.get(*field) != Some(*value))
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect();
    if new.is_empty() {
        return None;
    }
    new.insert(MERGE_KEY.to_owned(), own[MERGE_KEY].clone());
    Some(new.into())
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
