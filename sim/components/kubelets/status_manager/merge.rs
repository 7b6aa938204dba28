//! What becomes of a status when it meets the one before it: in the cache, and in the API. Pure.

use super::*;
use crate::conditions::{
    DISRUPTION_TARGET, pod_condition_shared_by_kubelet, replace_or_append_pod_condition,
};

/// `checkContainerStateTransition`: may it be?
pub(super) fn check_container_state_transition(
    defects: Set<KubeletDefect>,
    pod: &Object,
    old: &Json,
    new: &Json,
) -> bool {
    if restart_policy(pod) == "Always" {
        return true;
    }
    let mut sidecars = pod::init_containers(pod);
    sidecars.retain(|own| own.is_restartable);
    if !sidecars.is_empty() && defects.has(KubeletDefect::StatusesOfSidecarsStay) {
        sidecars.clear();
    }
    LISTS.iter().all(|list| {
        let new = json::list(new, &[list]);
        json::list(old, &[list]).iter().all(|old| {
            let name = json::text(old, &["name"]);
            let Some(code) = json::number(old, &["state", "terminated", "exitCode"]) else {
                return true;
            };
            let is_sidecar = sidecars.iter().any(|own| *own.name == *name);
            let runs_again = is_sidecar || pod::container_should_restart(pod, code);
            let new = named(new, name);
            runs_again || new.is_none_or(|new| json::at(new, &["state", "terminated"]).is_some())
        })
    })
}

/// `updateLastTransitionTime`
fn update_last_transition_time(status: &mut Json, old: &Json, kind: &str, now: &str) {
    let all = status.get_mut("conditions").and_then(Json::as_array_mut);
    let mut those = all.into_iter().flatten().filter(|own| own["type"] == kind);
    let Some(own) = those.next() else {
        return;
    };
    let before = pod::condition(old, kind).filter(|old| old["status"] == own["status"]);
    own["lastTransitionTime"] = match before {
        Some(before) => before["lastTransitionTime"].clone(),
        None => now.into(),
    };
}

/// The same of all conditions that are a kubelet's, and of those that it shares with others.
pub(super) fn update_last_transition_times(status: &mut Json, old: &Json, now: &str) {
    let all = json::list(status, &["conditions"]).iter();
    let kinds = all.map(|own| json::text(own, &["type"]).to_owned());
    let kinds: Vec<String> = kinds.collect();
    for kind in kinds.iter().filter(|kind| is_told(&kind.as_str().into())) {
        update_last_transition_time(status, old, kind, now);
    }
}

/// Does a kubelet tell conditions of this type?
fn is_told(kind: &Json) -> bool {
    pod_condition_by_kubelet(kind) || pod_condition_shared_by_kubelet(kind)
}

/// `isPodStatusByKubeletEqual`
pub(super) fn is_pod_status_by_kubelet_equal(old: &Json, new: &Json) -> bool {
    let own = |status: &Json| {
        let all = json::list(status, &["conditions"]).iter();
        let all = all.filter(|own| is_told(&own["type"]));
        let told = all.map(|own| {
            ["type", "status", "reason", "message"].map(|field| own.get(field).cloned())
        });
        told.collect::<Vec<_>>()
    };
    let (mut old_conditions, mut new_conditions) = (own(old), own(new));
    let kind = |own: &[Option<Json>; 4]| format!("{:?}", own[0]);
    old_conditions.sort_by_key(kind);
    new_conditions.sort_by_key(kind);
    let rest = |status: &Json| {
        let mut rest = bare(status);
        rest.as_object_mut().map(|own| own.remove("conditions"));
        rest
    };
    old_conditions == new_conditions && rest(old) == rest(new)
}

/// Without what is empty: a server leaves that out, and so do Go's types.
pub(super) fn bare(value: &Json) -> Json {
    match value {
        Json::Object(map) => {
            let all = map.iter().map(|(field, own)| (field.clone(), bare(own)));
            let kept = all.filter(|(field, own)| {
                let is_empty = own.is_null()
                    || own.as_object().is_some_and(Map::is_empty) && field == "lastState"
                    || own.as_str() == Some("");
                !is_empty
            });
            Json::Object(kept.collect())
        }
        Json::Array(all) => all.iter().map(bare).collect(),
        other => other.clone(),
    }
}

/// The fields of a patch that makes `new` of `old` (`CreateTwoWayMergePatch`).
pub(super) fn patch_of_status(old: &Json, new: &Json) -> Map {
    let mut patch = Map::new();
    let empty = Map::new();
    let (before, after) = (
        old.as_object().unwrap_or(&empty),
        new.as_object().unwrap_or(&empty),
    );
    for (field, value) in after {
        let is_list = matches!(&**field, "conditions" | "podIPs");
        if !is_list && before.get(field).map(bare) != Some(bare(value)) {
            patch.insert(field.clone(), value.clone());
        }
    }
    for field in before.keys().filter(|field| !after.contains_key(*field)) {
        if matches!(&**field, "podIP" | "reason" | "message") {
            patch.insert(field.clone(), Json::Null);
        }
    }
    let conditions = |own: &Json| json::list(own, &["conditions"]).to_vec();
    patch.extend(patch_of_conditions(&conditions(old), &conditions(new)));
    let (old, new) = (json::list(old, &["podIPs"]), json::list(new, &["podIPs"]));
    if old != new {
        let gone = old.iter().filter(|own| !new.contains(own));
        let gone = gone.map(|own| json!({"ip": own["ip"], "$patch": "delete"}));
        let added = new.iter().filter(|own| !old.contains(own)).cloned();
        patch.insert("$setElementOrder/podIPs".to_owned(), new.into());
        patch.insert("podIPs".to_owned(), added.chain(gone).collect());
    }
    patch
}

/// `mergePodStatus`
pub(super) fn merge_pod_status(
    defects: Set<KubeletDefect>,
    pod: &Object,
    old: &Json,
    new: &Json,
    could_run: bool,
    now: &str,
) -> Json {
    let mut merged = new.clone();
    let ends = !is_pod_phase_terminal(phase(old)) && is_pod_phase_terminal(phase(new));
    let others = json::list(old, &["conditions"]).iter();
    let others = others.filter(|own| !pod_condition_by_kubelet(&own["type"]));
    let ours = json::list(new, &["conditions"]).iter();
    let ours = ours.filter(|own| pod_condition_by_kubelet(&own["type"]));
    let mut conditions: Vec<Json> = others.chain(ours).cloned().collect();
    let is_early = !(ends && !could_run);
    if !is_early || defects.has(KubeletDefect::DisruptionsAreToldEarly) {
        let mut told = new.clone();
        update_last_transition_time(&mut told, old, DISRUPTION_TARGET, now);
        if let Some(own) = pod::condition(&told, DISRUPTION_TARGET) {
            replace_or_append_pod_condition(&mut conditions, own.clone());
        }
    }
    merged["conditions"] = conditions.into();
    if ends && could_run {
        for field in ["phase", "reason", "message"] {
            match old.get(field) {
                Some(value) => merged[field] = value.clone(),
                None => {
                    json::remove(&mut merged, &[field]);
                }
            }
        }
    }
    let now = phase(&merged).to_owned();
    if is_pod_phase_terminal(&now) && !defects.has(KubeletDefect::EndedPodsStayReady) {
        let is_true =
            |kind| pod::condition(&merged, kind).is_some_and(|own| own["status"] == "True");
        if is_true("Ready") || is_true("ContainersReady") {
            for kind in ["ContainersReady", "Ready"] {
                let mut new = condition_for_terminal_phase(pod, kind, &now);
                let all = merged.get_mut("conditions").and_then(Json::as_array_mut);
                for own in all.into_iter().flatten().filter(|own| own["type"] == kind) {
                    new["lastTransitionTime"] = own["lastTransitionTime"].clone();
                    *own = new.clone();
                }
            }
        }
    }
    merged
}
