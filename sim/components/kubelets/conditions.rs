//! The conditions of a pod that its kubelet writes (`pkg/kubelet/status/generate.go`, v1.36.2).

use serde_json::json;
use wavetank_api::Object;
use wavetank_api::json::Json;

use crate::phase::exit_code;
use crate::pod::{self, Spec, generation, named};

/// `PodConditionByKubelet`
const BY_KUBELET: [&str; 5] = [
    "PodScheduled",
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
];

/// `PodConditionByKubelet`
pub(crate) fn pod_condition_by_kubelet(kind: &Json) -> bool {
    BY_KUBELET.iter().any(|own| kind == own)
}

/// `PodConditionSharedByKubelet`
pub(crate) fn pod_condition_shared_by_kubelet(kind: &Json) -> bool {
    kind == DISRUPTION_TARGET
}

pub(crate) const DISRUPTION_TARGET: &str = "DisruptionTarget";
/// `PodReasonTerminationByKubelet`
pub(crate) const TERMINATION_BY_KUBELET: &str = "TerminationByKubelet";

/// The condition of a pod that its kubelet kills since its node needs that.
pub(crate) fn disruption_target(pod: &Object, message: &str) -> Json {
    let mut own = condition(pod, DISRUPTION_TARGET, true);
    own["reason"] = TERMINATION_BY_KUBELET.into();
    own["message"] = message.into();
    own
}

/// `ReplaceOrAppendPodCondition`
pub(crate) fn replace_or_append_pod_condition(all: &mut Vec<Json>, new: Json) {
    match all.iter_mut().find(|own| own["type"] == new["type"]) {
        Some(old) => *old = new,
        None => all.push(new),
    }
}

pub(crate) fn condition(pod: &Object, kind: &str, status: bool) -> Json {
    let status = if status { "True" } else { "False" };
    let mut own = json!({
        "type": kind,
        "status": status,
        "lastProbeTime": null,
        "lastTransitionTime": null,
    });
    // Static pods have none.
    if generation(pod) != 0 {
        own["observedGeneration"] = generation(pod).into();
    }
    own
}

/// Upstream's `generateContainersReadyConditionForTerminalPhase`, and the same of `Ready`.
pub(crate) fn condition_for_terminal_phase(pod: &Object, kind: &str, phase: &str) -> Json {
    let mut own = condition(pod, kind, false);
    own["reason"] = match phase {
        "Failed" => "PodFailed".into(),
        _ => "PodCompleted".into(),
    };
    own
}

/// Upstream's `GenerateContainersReadyCondition`; that of `Ready` is the same where there are no gates.
pub(crate) fn generate_ready_condition(
    pod: &Object,
    kind: &str,
    statuses: &[Json],
    phase: &str,
) -> Json {
    let is = |own: &Spec, ready: bool| match named(statuses, &own.name) {
        None => false,
        Some(own) => own["ready"] == ready,
    };
    let init = pod::init_containers(pod).into_iter();
    let mut specs: Vec<Spec> = init.filter(|own| own.is_restartable).collect();
    specs.extend(pod::containers(pod));
    let names = |which: &dyn Fn(&Spec) -> bool| names(&specs, which);
    let unknown = names(&|own| named(statuses, &own.name).is_none());
    let unready = names(&|own| is(own, false));
    if phase == "Failed" || (phase == "Succeeded" && unknown.is_empty()) {
        return condition_for_terminal_phase(pod, kind, phase);
    }
    let mut messages = Vec::new();
    if !unknown.is_empty() {
        messages.push(format!("containers with unknown status: [{unknown}]"));
    }
    if !unready.is_empty() {
        messages.push(format!("containers with unready status: [{unready}]"));
    }
    let mut own = condition(pod, kind, messages.is_empty());
    if !messages.is_empty() {
        own["reason"] = "ContainersNotReady".into();
        own["message"] = messages.join(", ").into();
    }
    own
}

fn names(specs: &[Spec], which: &dyn Fn(&Spec) -> bool) -> String {
    let all = specs.iter().filter(|own| which(own)).map(|own| &*own.name);
    all.collect::<Vec<&str>>().join(" ")
}

/// `isInitContainerInitialized`
fn is_init_container_initialized(spec: &Spec, status: &Json) -> bool {
    match spec.is_restartable {
        true => status["started"] == true,
        false => status["ready"] == true,
    }
}

/// `HasAnyRegularContainerStarted`
fn has_any_regular_container_started(pod: &Object, statuses: &[Json]) -> bool {
    let specs = pod::containers(pod);
    let mut all = specs.iter().filter_map(|own| named(statuses, &own.name));
    all.any(|own| own["state"].get("running").is_some() || exit_code(&own["state"]).is_some())
}

/// `GeneratePodInitializedCondition`
pub(crate) fn generate_pod_initialized_condition(
    pod: &Object,
    old: &Json,
    statuses: &[Json],
    phase: &str,
) -> Json {
    const KIND: &str = "Initialized";
    let specs = pod::init_containers(pod);
    let unknown = names(&specs, &|own| named(statuses, &own.name).is_none());
    let incomplete = names(&specs, &|own| {
        let status = named(statuses, &own.name);
        status.is_some_and(|status| !is_init_container_initialized(own, status))
    });
    let mut own = condition(pod, KIND, true);
    if phase == "Succeeded" && unknown.is_empty() {
        own["reason"] = "PodCompleted".into();
        return own;
    }
    // What was initialized stays so.
    let was = pod::condition(old, KIND).is_some_and(|own| own["status"] == "True");
    let is_done = unknown.is_empty() && incomplete.is_empty();
    if is_done || was || has_any_regular_container_started(pod, statuses) {
        return own;
    }
    let mut messages = Vec::new();
    for (names, are) in [(unknown, "unknown"), (incomplete, "incomplete")] {
        if !names.is_empty() {
            messages.push(format!("containers with {are} status: [{names}]"));
        }
    }
    own["status"] = "False".into();
    own["reason"] = "ContainersNotInitialized".into();
    own["message"] = messages.join(", ").into();
    own
}
