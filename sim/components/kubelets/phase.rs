//! The phase of a pod out of the statuses of its containers (`getPhase` of `pkg/kubelet/kubelet_pods.go`, v1.36.2).

use wavetank_api::Object;
use wavetank_api::json::{self, Json};

use crate::pod::{self, Spec, is_static_pod, named};

pub(crate) fn exit_code(state: &Json) -> Option<i64> {
    json::number(state, &["terminated", "exitCode"])
}

/// How many containers of a pod are so.
#[derive(Default)]
struct Counts {
    /// Init containers: those that are not done, sidecars that have not started up, and those that will never be done.
    pending_init: usize,
    pending_sidecars: usize,
    failed_for_good: usize,
    /// Sidecars and regular ones.
    unknown: usize,
    running: usize,
    waiting: usize,
    stopped: usize,
    not_restartable: usize,
    succeeded: usize,
}

impl Counts {
    fn init_container(&mut self, pod: &Object, spec: &Spec, status: Option<&Json>) {
        let Some(own) = status else {
            self.pending_init += 1;
            return;
        };
        let waits = own["state"].get("waiting").is_some();
        let last = exit_code(&own["lastState"]).filter(|_| waits);
        match exit_code(&own["state"]).or(last) {
            Some(0) => {}
            Some(code) => self.failed_for_good += usize::from(!spec.should_restart(pod, code)),
            None => self.pending_init += 1,
        }
    }

    fn sidecar(&mut self, status: Option<&Json>) {
        let Some(own) = status else {
            self.unknown += 1;
            return;
        };
        let state = &own["state"];
        if state.get("running").is_some() {
            self.pending_sidecars += usize::from(own["started"] != true);
            self.running += 1;
        } else if exit_code(state).is_some() {
            // One that has ended is as good as none.
        } else if state.get("waiting").is_none() {
            self.pending_sidecars += 1;
            self.unknown += 1;
        } else if exit_code(&own["lastState"]).is_none() {
            self.pending_sidecars += 1;
            self.waiting += 1;
        }
    }

    fn container(&mut self, pod: &Object, spec: &Spec, status: Option<&Json>) {
        let Some(own) = status else {
            self.unknown += 1;
            return;
        };
        let state = &own["state"];
        let last = exit_code(&own["lastState"]);
        if state.get("running").is_some() {
            self.running += 1;
        } else if let Some(code) = exit_code(state) {
            self.stopped += 1;
            self.not_restartable += usize::from(!spec.should_restart(pod, code));
            self.succeeded += usize::from(code == 0);
        } else if let Some(code) = last.filter(|_| state.get("waiting").is_some()) {
            self.stopped += 1;
            self.not_restartable += usize::from(!spec.should_restart(pod, code));
        } else if state.get("waiting").is_some() {
            self.waiting += 1;
        } else {
            self.unknown += 1;
        }
    }
}

/// `getPhase`
pub(crate) fn get_phase(
    pod: &Object,
    statuses: &[Json],
    is_terminal: bool,
    has_initialized: bool,
) -> &'static str {
    let mut counts = Counts::default();
    for spec in pod::init_containers(pod) {
        let status = named(statuses, &spec.name);
        match spec.is_restartable {
            true => counts.sidecar(status),
            false => counts.init_container(pod, &spec, status),
        }
    }
    for spec in pod::containers(pod) {
        counts.container(pod, &spec, named(statuses, &spec.name));
    }
    let ended = match counts.stopped == counts.succeeded {
        true => "Succeeded",
        false => "Failed",
    };
    let is_pending = counts.pending_init > 0 || (counts.pending_sidecars > 0 && !has_initialized);
    match () {
        () if counts.failed_for_good > 0 => "Failed",
        () if is_pending || counts.waiting > 0 => "Pending",
        () if counts.running > 0 && counts.unknown == 0 => "Running",
        () if counts.running == 0 && counts.stopped > 0 && counts.unknown == 0 => match () {
            () if is_terminal && !is_static_pod(pod) => ended,
            () if counts.stopped != counts.not_restartable => "Running",
            () => ended,
        },
        () => "Pending",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

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
        let of = |policy, all: &[Json], terminal| get_phase(&pod(policy), all, terminal, false);
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

    #[test]
    fn a_pod_is_pending_until_its_init_containers_are_done() {
        let init = json!([{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]);
        let spec = json!({"restartPolicy": "Never", "containers": [{"name": "a"}], "initContainers": init});
        let pod = Object::new(json!({ "spec": spec }));
        let ended = |code: i64| json!({"terminated": {"exitCode": code}});
        let (running, waiting) = (json!({"running": {}}), json!({"waiting": {}}));
        let of = |all: [&Json; 3], started: bool, initialized| {
            let mut sidecar = status("s", all[1].clone());
            sidecar["started"] = started.into();
            let all = [
                status("i", all[0].clone()),
                sidecar,
                status("a", all[2].clone()),
            ];
            get_phase(&pod, &all, false, initialized)
        };
        assert_eq!(of([&running, &waiting, &waiting], false, false), "Pending");
        assert_eq!(of([&ended(1), &waiting, &waiting], false, false), "Failed");
        assert_eq!(of([&ended(0), &running, &waiting], false, false), "Pending");
        assert_eq!(of([&ended(0), &running, &running], false, false), "Pending");
        assert_eq!(of([&ended(0), &running, &running], false, true), "Running");
        assert_eq!(of([&ended(0), &running, &ended(0)], true, true), "Running");
        assert_eq!(
            of([&ended(0), &ended(143), &ended(0)], false, true),
            "Succeeded"
        );
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
            let phase = get_phase(&pod(policy), &statuses, is_terminal, false);
            prop_assert_eq!(phase, as_described(policy, &all, is_terminal));
        }
    }
}
