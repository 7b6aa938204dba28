//! The status of a pod out of what runs (`pkg/kubelet/kubelet_pods.go`, `pkg/kubelet/status/generate.go`, v1.36.2), of pods
//! without init containers.

use std::sync::Arc;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::{Object, Stamp};
use wavetank_engine::Rx;
use wavetank_version::Set;

use crate::defects::KubeletDefect;
use crate::kubelet::Kubelet;
use crate::kuberuntime::{pod_sandbox_changed, reason, should_container_be_restarted};
use crate::pleg::Cached;
use crate::pod::{
    self, container_should_restart, generation, is_pod_phase_terminal, named, phase, shown,
};
use crate::runtime::cri::{Container, State};
use crate::{prober, status_manager};

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

fn exit_code(state: &Json) -> Option<i64> {
    json::number(state, &["terminated", "exitCode"])
}

/// `getPhase`, of regular containers.
fn get_phase(pod: &Object, statuses: &[Json], is_terminal: bool) -> &'static str {
    let (mut unknown, mut running, mut waiting) = (0, 0, 0);
    let (mut stopped, mut not_restartable, mut succeeded) = (0, 0, 0);
    for spec in pod::containers(pod) {
        let Some(own) = named(statuses, &spec.name) else {
            unknown += 1;
            continue;
        };
        let state = &own["state"];
        let last = exit_code(&own["lastState"]);
        if state.get("running").is_some() {
            running += 1;
        } else if let Some(code) = exit_code(state) {
            stopped += 1;
            not_restartable += usize::from(!container_should_restart(pod, code));
            succeeded += usize::from(code == 0);
        } else if let Some(code) = last.filter(|_| state.get("waiting").is_some()) {
            stopped += 1;
            not_restartable += usize::from(!container_should_restart(pod, code));
        } else if state.get("waiting").is_some() {
            waiting += 1;
        } else {
            unknown += 1;
        }
    }
    let ended = match stopped == succeeded {
        true => "Succeeded",
        false => "Failed",
    };
    match () {
        () if waiting > 0 => "Pending",
        () if running > 0 && unknown == 0 => "Running",
        () if running == 0 && stopped > 0 && unknown == 0 => match () {
            () if is_terminal => ended,
            () if stopped != not_restartable => "Running",
            () => ended,
        },
        () => "Pending",
    }
}

/// `convertContainerStatus` in there.
fn convert_container_status(own: &Container) -> Json {
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
    json!({
        "name": *own.name,
        "state": state,
        "lastState": {},
        "ready": false,
        "restartCount": own.restarts,
        "image": *own.image,
        "imageID": *own.image,
        "containerID": id,
    })
}

/// `convertToAPIContainerStatuses`
fn convert_to_api_container_statuses(
    rx: Rx,
    defects: Set<KubeletDefect>,
    pod: &Object,
    status: &Cached,
    previous: &[Json],
) -> Vec<Json> {
    let specs = pod::containers(pod);
    let mut all: Vec<Json> = Vec::new();
    for spec in &specs {
        let old = named(previous, &spec.name);
        let ended = old.filter(|old| exit_code(&old["state"]).is_some());
        let mut own = json!({
            "name": *spec.name,
            "state": {"waiting": {"reason": "ContainerCreating"}},
            "lastState": {},
            "ready": false,
            "restartCount": 0,
            "image": *spec.image,
            "imageID": "",
        });
        match (ended, old) {
            (Some(ended), _) => own = ended.clone(),
            (None, Some(old)) => {
                own["restartCount"] = old["restartCount"].clone();
                if let Some(last) = old.get("lastState") {
                    own["lastState"] = last.clone();
                }
            }
            (None, None) => {}
        }
        all.push(own);
    }
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
            *own = convert_container_status(newest);
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
            own["lastState"] = convert_container_status(last)["state"].clone();
        }
    }
    for (spec, own) in specs.iter().zip(&mut all) {
        if !should_container_be_restarted(pod, status, &spec.name) {
            continue;
        }
        let Some(reason) = reason(rx, &pod::uid(pod), &spec.name) else {
            continue;
        };
        if exit_code(&own["state"]).is_some() {
            own["lastState"] = own["state"].clone();
        }
        own["state"] = json!({"waiting": {"reason": *reason}});
    }
    all.sort_by(|a, b| json::text(a, &["name"]).cmp(json::text(b, &["name"])));
    all
}

fn condition(pod: &Object, kind: &str, status: bool) -> Json {
    let status = if status { "True" } else { "False" };
    json!({
        "type": kind,
        "observedGeneration": generation(pod),
        "status": status,
        "lastProbeTime": null,
        "lastTransitionTime": null,
    })
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
    let is = |own: &pod::Spec, ready: bool| match named(statuses, &own.name) {
        None => false,
        Some(own) => own["ready"] == ready,
    };
    let specs = pod::containers(pod);
    let names = |which: &dyn Fn(&pod::Spec) -> bool| {
        let all = specs.iter().filter(|own| which(own)).map(|own| &*own.name);
        all.collect::<Vec<&str>>().join(" ")
    };
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
        let previous = json::list(old, &["containerStatuses"]);
        let mut statuses =
            convert_to_api_container_statuses(rx, self.defects, pod, status, previous);
        let mut phase_now = get_phase(pod, &statuses, is_terminal).to_owned();
        if !is_pod_phase_terminal(&phase_now) {
            let kept = [phase(old), phase(of_api)];
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
        let conditions = json::list(of_api, &["conditions"]).iter();
        let others = conditions.filter(|own| !pod_condition_by_kubelet(&own["type"]));
        let mut conditions: Vec<Json> = others.cloned().collect();
        let (new_sandbox, ..) = pod_sandbox_changed(&status.status);
        let mut initialized = condition(pod, "Initialized", true);
        if phase_now == "Succeeded" {
            initialized["reason"] = "PodCompleted".into();
        }
        conditions.extend([
            condition(pod, "PodReadyToStartContainers", !new_sandbox),
            initialized,
            generate_ready_condition(pod, "Ready", &statuses, &phase_now),
            generate_ready_condition(pod, "ContainersReady", &statuses, &phase_now),
            condition(pod, "PodScheduled", true),
        ]);
        own["phase"] = phase_now.into();
        own["conditions"] = conditions.into();
        own["containerStatuses"] = statuses.into();
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pod(policy: &str) -> Object {
        Object::new(
            json!({"spec": {"restartPolicy": policy, "containers": [{"name": "a"}, {"name": "b"}]}}),
        )
    }

    fn status(name: &str, state: Json) -> Json {
        json!({"name": name, "state": state, "lastState": {}})
    }

    #[test]
    fn a_pod_has_ended_when_nothing_of_it_will_run_again() {
        let ended = |code: i64| json!({"terminated": {"exitCode": code}});
        let both = |a: Json, b: Json| vec![status("a", a), status("b", b)];
        let running = json!({"running": {}});
        let of = |policy, all: &[Json], terminal| get_phase(&pod(policy), all, terminal);
        assert_eq!(
            of("Always", &both(running.clone(), ended(0)), false),
            "Running"
        );
        assert_eq!(of("Always", &both(ended(0), ended(0)), false), "Running");
        assert_eq!(of("Always", &both(ended(0), ended(0)), true), "Succeeded");
        assert_eq!(of("OnFailure", &both(ended(0), ended(1)), false), "Running");
        assert_eq!(of("Never", &both(ended(0), ended(1)), false), "Failed");
        assert_eq!(
            of("Never", &both(running, json!({"waiting": {}})), false),
            "Pending"
        );
        assert_eq!(of("Never", &[status("a", ended(0))], false), "Pending");
    }

    /// What is known of a container.
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Known {
        Nothing,
        Waits,
        Runs,
        Ended(i64),
        WaitsAgain(i64),
    }

    fn known() -> impl Strategy<Value = Known> {
        prop_oneof![
            Just(Known::Nothing),
            Just(Known::Waits),
            Just(Known::Runs),
            (0_i64..2).prop_map(Known::Ended),
            (0_i64..2).prop_map(Known::WaitsAgain),
        ]
    }

    fn shown(name: &str, known: Known) -> Option<Json> {
        let (state, last) = match known {
            Known::Nothing => return None,
            Known::Waits => (json!({"waiting": {}}), json!({})),
            Known::Runs => (json!({"running": {}}), json!({})),
            Known::Ended(code) => (json!({"terminated": {"exitCode": code}}), json!({})),
            Known::WaitsAgain(code) => {
                let last = json!({"terminated": {"exitCode": code}});
                (json!({"waiting": {}}), last)
            }
        };
        Some(json!({"name": name, "state": state, "lastState": last}))
    }

    /// The phases as `PodPhase` describes them.
    fn as_described(policy: &str, all: &[Known], is_terminal: bool) -> &'static str {
        let any = |which: fn(&Known) -> bool| all.iter().any(which);
        if any(|own| matches!(own, Known::Nothing | Known::Waits)) {
            return "Pending";
        }
        if any(|own| *own == Known::Runs) {
            return "Running";
        }
        let runs_again = |own: &Known| match own {
            Known::Ended(code) | Known::WaitsAgain(code) => match policy {
                "Always" => true,
                "OnFailure" => *code != 0,
                _ => false,
            },
            _ => false,
        };
        match () {
            () if !is_terminal && all.iter().any(runs_again) => "Running",
            // One that waits counts as one that failed.
            () if any(|own| *own != Known::Ended(0)) => "Failed",
            () => "Succeeded",
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn phases_are_as_described(
            policy in prop_oneof![Just("Always"), Just("OnFailure"), Just("Never")],
            all in [known(), known()],
            is_terminal: bool,
        ) {
            let statuses = ["a", "b"].iter().zip(all).filter_map(|(name, own)| shown(name, own));
            let statuses: Vec<Json> = statuses.collect();
            let phase = get_phase(&pod(policy), &statuses, is_terminal);
            prop_assert_eq!(phase, as_described(policy, &all, is_terminal));
        }
    }
}
