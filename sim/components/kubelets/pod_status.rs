//! The status of a pod out of what runs (`pkg/kubelet/kubelet_pods.go`, v1.36.2): that of its containers, and what `phase` and
//! `conditions` make of it.

use std::sync::Arc;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::{Object, Stamp};
use wavetank_engine::Rx;
use wavetank_version::Set;

use crate::conditions::{
    DISRUPTION_TARGET, condition, generate_pod_initialized_condition, generate_ready_condition,
    pod_condition_by_kubelet, replace_or_append_pod_condition,
};
use crate::defects::KubeletDefect;
use crate::init_containers::{
    has_any_active_regular_container_started, has_any_regular_container_created,
};
use crate::kubelet::Kubelet;
use crate::kuberuntime::{pod_sandbox_changed, reason, should_container_be_restarted};
use crate::phase::{exit_code, get_phase};
use crate::pleg::Cached;
use crate::pod::{self, Spec, is_pod_phase_terminal, named, phase, shown};
use crate::runtime::cri::{Container, State};
use crate::{prober, status_manager};

/// `convertContainerStatus` in there, with what was told of the container before.
fn convert_container_status(own: &Container, old: Option<&Json>) -> Json {
    let id = format!("containerd://{}", own.id);
    let state = match own.state {
        State::Running(at) => json!({"running": {"startedAt": shown(at)}}),
        State::Created => json!({"waiting": {}}),
        State::Exited {
            started,
            finished,
            code,
        } => json!({"terminated": {
            "exitCode": code,
            "reason": if code == 0 { "Completed" } else { "Error" },
            "startedAt": shown(started),
            "finishedAt": shown(finished),
            "containerID": id,
        }}),
    };
    let mut restarts = own.restarts;
    let mut last = json!({});
    if let Some(old) = old {
        let counted = json::number(old, &["restartCount"]).unwrap_or(0);
        let has_ended = exit_code(&old["state"]).is_some();
        restarts = restarts.max(counted);
        if own.is_running() && has_ended && counted >= own.restarts {
            restarts = counted + 1;
        }
        if has_ended && old["containerID"] != id.as_str() {
            last = old["state"].clone();
        } else if exit_code(&old["lastState"]).is_some() {
            last = old["lastState"].clone();
        }
    }
    json!({
        "name": *own.name,
        "state": state,
        "lastState": last,
        "ready": false,
        "restartCount": restarts,
        "image": *own.image,
        "imageID": *own.image,
        "containerID": id,
    })
}

/// The state of a container of which nothing is known.
fn default_waiting_state(spec: &Spec, old: Option<&Json>, reason: &str) -> Json {
    let mut own = json!({
        "name": *spec.name,
        "state": {"waiting": {"reason": reason}},
        "lastState": {},
        "ready": false,
        "restartCount": 0,
        "image": *spec.image,
        "imageID": "",
    });
    match old {
        Some(ended) if exit_code(&ended["state"]).is_some() => return ended.clone(),
        Some(old) => {
            own["restartCount"] = old["restartCount"].clone();
            if let Some(last) = old.get("lastState") {
                own["lastState"] = last.clone();
            }
        }
        None => {}
    }
    own
}

/// Which list of statuses it is.
#[derive(Clone, Copy, PartialEq)]
enum Which {
    Regular,
    Init,
}

/// `convertToAPIContainerStatuses`
fn convert_to_api_container_statuses(
    rx: Rx,
    defects: Set<KubeletDefect>,
    pod: &Object,
    status: &Cached,
    previous: &[Json],
    which: Which,
) -> Vec<Json> {
    let init = pod::init_containers(pod);
    let reason = match init.is_empty() {
        true => "ContainerCreating",
        false => "PodInitializing",
    };
    let specs = match which {
        Which::Regular => pod::containers(pod),
        Which::Init => init,
    };
    let mut all: Vec<Json> = specs
        .iter()
        .map(|spec| default_waiting_state(spec, named(previous, &spec.name), reason))
        .collect();
    // One that ran and is not there any more has ended in a way that nobody knows.
    for (spec, own) in specs.iter().zip(&mut all) {
        let old = named(previous, &spec.name);
        let ran = old.is_some_and(|old| old["state"].get("running").is_some());
        let is_known = exit_code(&own["lastState"]).is_some();
        if status.find(&spec.name).is_some() || !ran || is_known {
            continue;
        }
        own["lastState"] = json!({"terminated": {
            "reason": "ContainerStatusUnknown",
            "message": "The container could not be located when the pod was deleted.  The container used to be Running",
            "exitCode": 137,
        }});
        if !pod.is_being_deleted() {
            let count = json::number(own, &["restartCount"]).unwrap_or(0);
            own["restartCount"] = (count + 1).into();
        }
    }
    for (spec, own) in specs.iter().zip(&mut all) {
        let mut known = status
            .status
            .containers
            .iter()
            .filter(|own| own.name == spec.name);
        if let Some(newest) = known.next() {
            *own = convert_container_status(newest, named(previous, &spec.name));
            let old = named(previous, &spec.name).filter(|_| newest.is_running());
            let old = old.filter(|old| {
                old["containerID"] == own["containerID"]
                    || defects.has(KubeletDefect::NewContainersInheritStarted)
            });
            if let Some(started) = old.and_then(|old| old.get("started")) {
                own["started"] = started.clone();
            }
        }
        if let Some(last) = known.next() {
            own["lastState"] = convert_container_status(last, None)["state"].clone();
        }
    }
    for (spec, own) in specs.iter().zip(&mut all) {
        if which == Which::Regular || !init_container_is_done(pod, status, spec, own) {
            wait_if_restarted(rx, pod, status, spec, own);
        }
    }
    if which == Which::Regular {
        all.sort_by(|a, b| json::text(a, &["name"]).cmp(json::text(b, &["name"])));
    }
    all
}

/// Is it an init container that is not started again? One that is not there any more, and after which others came, has succeeded.
fn init_container_is_done(pod: &Object, status: &Cached, spec: &Spec, own: &mut Json) -> bool {
    match status.find(&spec.name) {
        Some(found) => matches!(found.state, State::Exited { code: 0, .. }),
        None => {
            let waits = own["state"].get("waiting").is_some();
            let is_done =
                has_any_regular_container_created(pod, status) && !spec.is_restartable && waits;
            if is_done {
                own["state"] = json!({"terminated": {
                    "reason": "Completed",
                    "message": "Unable to get init container status from container runtime and pod has been initialized, \
                                treat it as exited normally",
                    "exitCode": 0,
                }});
            }
            is_done
        }
    }
}

/// One that is to be started again waits, for the reason that is known.
fn wait_if_restarted(rx: Rx, pod: &Object, status: &Cached, spec: &Spec, own: &mut Json) {
    if !should_container_be_restarted(pod, status, spec) {
        return;
    }
    let Some(reason) = reason(rx, &pod::uid(pod), &spec.name) else {
        return;
    };
    if exit_code(&own["state"]).is_some() {
        own["lastState"] = own["state"].clone();
    }
    own["state"] = json!({"waiting": {"reason": *reason}});
}

/// Upstream's `pastActiveDeadline` of `pkg/kubelet/active_deadline.go`.
fn should_evict(rx: Rx, pod: &Object, status: &Json) -> bool {
    let deadline = json::number(pod.json(), &["spec", "activeDeadlineSeconds"]);
    let begun = Stamp::parse(json::text(status, &["startTime"]));
    let end = begun
        .zip(deadline)
        .map(|(begun, seconds)| begun.plus_seconds(seconds));
    end.is_some_and(|end| end <= Stamp::of(rx.clock()))
}

/// `ShouldSync`: is a pod that goes on past its deadline?
pub(crate) fn should_sync(rx: Rx, pod: &Object) -> bool {
    let deadline = json::at(pod.json(), &["spec", "activeDeadlineSeconds"]);
    if deadline.is_none() {
        return false;
    }
    let known = status_manager::get_pod_status(rx, pod.uid());
    should_evict(
        rx,
        pod,
        known.as_ref().map_or(pod::status(pod), Object::json),
    )
}

/// The conditions of a pod: those that others write stay.
fn generate_conditions(
    pod: &Object,
    old: &Json,
    all: &[Json],
    phase: &str,
    new_sandbox: bool,
) -> Vec<Json> {
    let conditions = json::list(pod::status(pod), &["conditions"]).iter();
    let others = conditions.filter(|own| !pod_condition_by_kubelet(&own["type"]));
    let mut conditions: Vec<Json> = others.cloned().collect();
    // It comes of what happened once, and not of what runs.
    if let Some(own) = pod::condition(old, DISRUPTION_TARGET) {
        replace_or_append_pod_condition(&mut conditions, own.clone());
    }
    conditions.extend([
        condition(pod, "PodReadyToStartContainers", !new_sandbox),
        generate_pod_initialized_condition(pod, old, all, phase),
        generate_ready_condition(pod, "Ready", all, phase),
        generate_ready_condition(pod, "ContainersReady", all, phase),
        condition(pod, "PodScheduled", true),
    ]);
    conditions
}

impl Kubelet {
    /// `generateAPIPodStatus`
    pub(crate) fn generate_api_pod_status(
        &self,
        rx: Rx,
        pod: &Object,
        status: &Arc<Cached>,
        is_terminal: bool,
    ) -> Json {
        let of_api = pod::status(pod);
        let old = status_manager::get_pod_status(rx, pod.uid());
        let old = old.as_ref().map_or(of_api, Object::json);
        let convert = |field, which| {
            let previous = json::list(old, &[field]);
            convert_to_api_container_statuses(rx, self.defects, pod, status, previous, which)
        };
        let mut statuses = convert("containerStatuses", Which::Regular);
        let mut init = convert("initContainerStatuses", Which::Init);
        let mut all = statuses.clone();
        all.extend(init.iter().cloned());
        let has_initialized = has_any_active_regular_container_started(pod, status);
        // Only this kubelet knows that it is to be over.
        let is_ours = is_pod_phase_terminal(phase(old)) && !is_pod_phase_terminal(phase(of_api));
        let reverts = is_ours && self.defects.has(KubeletDefect::KilledPodsRevert);
        let is_terminal = is_terminal && !reverts;
        let mut phase_now = get_phase(pod, &all, is_terminal, has_initialized).to_owned();
        let turns = is_ours && !reverts && is_pod_phase_terminal(&phase_now);
        if turns
            && phase_now != phase(old)
            && !self.defects.has(KubeletDefect::KilledPodsMaySucceed)
        {
            phase_now = phase(old).to_owned();
        }
        if !is_pod_phase_terminal(&phase_now) {
            let of_manager = if reverts { "" } else { phase(old) };
            let kept = [of_manager, phase(of_api)];
            if let Some(kept) = kept.into_iter().find(|own| is_pod_phase_terminal(own)) {
                phase_now = kept.to_owned();
            }
        }
        let mut own = json!({});
        if phase_now == phase(old) {
            for field in ["reason", "message"] {
                let kept = [old, of_api].map(|own| json::text(own, &[field]));
                if let Some(kept) = kept.into_iter().find(|own| !own.is_empty()) {
                    own[field] = kept.into();
                }
            }
        }
        let keeps = should_evict(rx, pod, old)
            && is_pod_phase_terminal(phase(old))
            && self.defects.has(KubeletDefect::FixEndedPodsKeepTheirPhase);
        if keeps {
            phase_now = phase(old).to_owned();
        }
        if should_evict(rx, pod, old) && !keeps {
            phase_now = "Failed".to_owned();
            own["reason"] = "DeadlineExceeded".into();
            own["message"] = "Pod was active on the node longer than the specified deadline".into();
        }
        let api_phase = phase(of_api);
        if is_pod_phase_terminal(api_phase) {
            phase_now = api_phase.to_owned();
        }
        prober::update_pod_status(self, rx, pod, &mut statuses);
        prober::update_init_statuses(self, rx, pod, &mut init);
        let (new_sandbox, ..) = pod_sandbox_changed(&status.status);
        let mut all = init.clone();
        all.extend(statuses.iter().cloned());
        let conditions = generate_conditions(pod, old, &all, &phase_now, new_sandbox);
        own["phase"] = phase_now.into();
        own["conditions"] = conditions.into();
        own["containerStatuses"] = statuses.into();
        if !init.is_empty() {
            own["initContainerStatuses"] = init.into();
        }
        if let Some(qos) = of_api.get("qosClass") {
            own["qosClass"] = qos.clone();
        }
        if let Some(address) = &status.address {
            own["podIP"] = (**address).into();
            own["podIPs"] = json!([{"ip": **address}]);
        }
        own
    }
}
