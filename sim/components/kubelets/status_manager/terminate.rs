//! What is told of a pod whose worker is done: nothing of it is left open.

use super::*;

/// `hasPodInitialized`, as far as the API tells.
fn has_pod_initialized(pod: &Object) -> bool {
    let specs = pod::init_containers(pod);
    let Some(spec) = specs.last() else {
        return true;
    };
    let status = pod::status(pod);
    let ended = |own: &Json, field| json::number(own, &[field, "terminated", "exitCode"]);
    let mut all = json::list(status, &["containerStatuses"]).iter();
    if all.any(|own| ended(own, "lastState").is_some() || own["state"].get("waiting").is_none()) {
        return true;
    }
    let last = named(json::list(status, &["initContainerStatuses"]), &spec.name);
    last.is_some_and(|own| match spec.is_restartable {
        true => own["state"].get("running").is_some() && own["started"] == true,
        false => ["lastState", "state"]
            .iter()
            .any(|field| ended(own, field) == Some(0)),
    })
}

/// `initializedContainers`: how many of them, from the first one on, show that they were started. The first one does.
fn initialized_containers(all: &[Json]) -> usize {
    let shows = |own: &Json| {
        let last = json::at(own, &["lastState", "terminated"]);
        own["state"].get("waiting").is_none() || last.is_some()
    };
    let last = all.iter().rposition(shows).unwrap_or(0);
    (last + 1).min(all.len())
}

fn set_container_terminated(own: &mut Json) {
    if json::at(own, &["state", "terminated"]).is_none() {
        own["state"] = json!({"terminated": {
            "reason": "ContainerStatusUnknown",
            "message": "The container could not be located when the pod was terminated",
            "exitCode": 137,
        }});
    }
}

/// `TerminatePod`
pub(crate) fn terminate_pod(kubelet: &Kubelet, rx: Rx, pod: &Object) {
    let cached = get_pod_status(rx, pod.uid());
    let mut status = cached
        .as_ref()
        .map_or(pod::status(pod), Object::json)
        .clone();
    for list in LISTS {
        let Some(all) = status.get_mut(list).and_then(Json::as_array_mut) else {
            continue;
        };
        let count = match list {
            INIT_STATUSES => initialized_containers(all),
            _ if has_pod_initialized(pod) => all.len(),
            _ => 0,
        };
        all.iter_mut()
            .take(count)
            .for_each(set_container_terminated);
    }
    if !is_pod_phase_terminal(phase(&status)) && !is_static_pod(pod) {
        status["phase"] = "Failed".into();
    }
    let flags = Flags {
        force: true,
        is_finished: true,
        ..Flags::default()
    };
    update_status_internal(kubelet, rx, pod, status, flags);
}
