//! What a pod is doing, in one word (`printPod`).

use serde_json::json;

use super::cells::{Cells, or_none, text};
use super::duration::{age, since};
use crate::json::{self, Json};
use crate::times::Stamp;

/// How often containers were started anew, and when last.
#[derive(Clone, Copy, Default)]
struct Restarts<'a> {
    count: i64,
    last: &'a str,
}

impl<'a> Restarts<'a> {
    fn add(&mut self, status: &'a Json) {
        self.count += json::number(status, &["restartCount"]).unwrap_or(0);
        let finished = json::text(status, &["lastState", "terminated", "finishedAt"]);
        if Stamp::parse(finished) > Stamp::parse(self.last) {
            self.last = finished;
        }
    }
}

fn is_restartable(pod: &Json, name: &str) -> bool {
    let mut all = json::list(pod, &["spec", "initContainers"]).iter();
    let found = all.find(|container| text(container, &["name"]) == name);
    found.is_some_and(|container| text(container, &["restartPolicy"]) == "Always")
}

/// The part of a state that it is in.
fn state<'a>(status: &'a Json, name: &str) -> Option<&'a Json> {
    json::at(status, &["state", name]).filter(|state| state.is_object())
}

fn exit_code(terminated: &Json) -> i64 {
    json::number(terminated, &["exitCode"]).unwrap_or(0)
}

/// What ended a container: its reason, the signal, or what it exited with.
fn ended(terminated: &Json) -> String {
    let signal = json::number(terminated, &["signal"]).unwrap_or(0);
    match (text(terminated, &["reason"]), signal) {
        ("", 0) => format!("ExitCode:{}", exit_code(terminated)),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn is_true(flag: &Json, field: &str) -> bool {
    flag.get(field) == Some(&Json::Bool(true))
}

fn condition<'a>(pod: &'a Json, name: &str) -> Option<&'a Json> {
    let mut all = json::list(pod, &["status", "conditions"]).iter();
    all.find(|condition| text(condition, &["type"]) == name)
}

/// Is a condition of this type true?
fn holds(pod: &Json, name: &str) -> bool {
    condition(pod, name).is_some_and(|condition| text(condition, &["status"]) == "True")
}

/// What is known of the containers of a pod.
struct Seen<'a> {
    reason: String,
    ready: usize,
    total: usize,
    restarts: Restarts<'a>,
    of_sidecars: Restarts<'a>,
}

impl<'a> Seen<'a> {
    /// The init containers in their order, up to the first that keeps the pod waiting. Is there one?
    fn init_containers(&mut self, pod: &'a Json) -> bool {
        let all = json::list(pod, &["spec", "initContainers"]).len();
        let statuses = json::list(pod, &["status", "initContainerStatuses"]);
        for (at, status) in statuses.iter().enumerate() {
            self.restarts.add(status);
            let restartable = is_restartable(pod, text(status, &["name"]));
            if restartable {
                self.of_sidecars.add(status);
            }
            let terminated = state(status, "terminated");
            if terminated.is_some_and(|terminated| exit_code(terminated) == 0) {
                continue;
            }
            if restartable && is_true(status, "started") {
                self.ready += usize::from(is_true(status, "ready"));
                continue;
            }
            let waiting = state(status, "waiting").map(|waiting| text(waiting, &["reason"]));
            let waiting = waiting.filter(|reason| !matches!(*reason, "" | "PodInitializing"));
            self.reason = match (terminated, waiting) {
                (Some(terminated), _) => format!("Init:{}", ended(terminated)),
                (None, Some(reason)) => format!("Init:{reason}"),
                (None, None) => format!("Init:{at}/{all}"),
            };
            return true;
        }
        false
    }

    fn containers(&mut self, pod: &'a Json) {
        self.restarts = self.of_sidecars;
        let (mut running, mut failure) = (false, None);
        for status in json::list(pod, &["status", "containerStatuses"])
            .iter()
            .rev()
        {
            self.restarts.add(status);
            let waiting = state(status, "waiting").map(|waiting| text(waiting, &["reason"]));
            if let Some(reason) = waiting.filter(|reason| !reason.is_empty()) {
                self.reason = reason.to_owned();
            } else if let Some(terminated) = state(status, "terminated") {
                self.reason = ended(terminated);
                if exit_code(terminated) != 0 {
                    failure = Some(self.reason.clone());
                }
            } else if is_true(status, "ready") && state(status, "running").is_some() {
                running = true;
                self.ready += 1;
            }
        }
        // Some are done, and it is not over yet.
        if self.reason == "Completed" {
            if running && holds(pod, "Ready") {
                "Running".clone_into(&mut self.reason);
            } else if let Some(failure) = failure {
                self.reason = failure;
            } else if running {
                "NotReady".clone_into(&mut self.reason);
            }
        }
    }
}

/// `printPod`
pub(super) fn print_pod(pod: &Json, now: Stamp) -> (Cells, Option<Json>) {
    let phase = text(pod, &["status", "phase"]);
    let said = text(pod, &["status", "reason"]);
    let gated = condition(pod, "PodScheduled");
    let gated = gated.is_some_and(|own| text(own, &["reason"]) == "SchedulingGated");
    let sidecars = json::list(pod, &["spec", "initContainers"]).iter();
    let sidecars = sidecars.filter(|own| text(own, &["restartPolicy"]) == "Always");
    let mut seen = Seen {
        reason: match (gated, said) {
            (true, _) => "SchedulingGated".to_owned(),
            (_, "") => phase.to_owned(),
            (_, said) => said.to_owned(),
        },
        ready: 0,
        total: json::list(pod, &["spec", "containers"]).len() + sidecars.count(),
        restarts: Restarts::default(),
        of_sidecars: Restarts::default(),
    };
    let initializing = seen.init_containers(pod);
    if !initializing || holds(pod, "Initialized") {
        seen.containers(pod);
    }
    let over = matches!(phase, "Succeeded" | "Failed");
    if !text(pod, &["metadata", "deletionTimestamp"]).is_empty() {
        if said == "NodeLost" {
            "Unknown".clone_into(&mut seen.reason);
        } else if !over {
            "Terminating".clone_into(&mut seen.reason);
        }
    }
    let Restarts { count, last } = seen.restarts;
    let restarts = match last {
        last if count != 0 && !last.is_empty() => format!("{count} ({} ago)", since(last, now)),
        _ => count.to_string(),
    };
    let ip = json::list(pod, &["status", "podIPs"]).first();
    let ip = ip.map_or("", |ip| text(ip, &["ip"]));
    let cells = vec![
        text(pod, &["metadata", "name"]).into(),
        format!("{}/{}", seen.ready, seen.total).into(),
        seen.reason.into(),
        restarts.into(),
        age(pod, now),
        or_none(ip),
        or_none(text(pod, &["spec", "nodeName"])),
        or_none(text(pod, &["status", "nominatedNodeName"])),
        readiness_gates(pod).into(),
    ];
    (cells, completed(phase))
}

fn readiness_gates(pod: &Json) -> String {
    let gates = json::list(pod, &["spec", "readinessGates"]);
    let open = gates
        .iter()
        .filter(|gate| holds(pod, text(gate, &["conditionType"])));
    match gates.len() {
        0 => "<none>".to_owned(),
        all => format!("{}/{all}", open.count()),
    }
}

/// The condition of a row whose pod is over.
fn completed(phase: &str) -> Option<Json> {
    let message = match phase {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": phase, "message": message}]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(status: Json) -> (String, String, String) {
        let pod = json!({
            "metadata": {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "i"}]},
            "status": status,
        });
        let now = Stamp::parse("2026-01-01T00:10:00Z").expect("an instant");
        let (cells, _) = print_pod(&pod, now);
        let text = |at: usize| cells[at].as_str().unwrap_or_default().to_owned();
        (text(1), text(2), text(3))
    }

    fn same(shown: (String, String, String), wanted: [&str; 3]) {
        assert_eq!([shown.0, shown.1, shown.2], wanted);
    }

    #[test]
    fn one_word_says_what_a_pod_does() {
        same(shown(json!({"phase": "Pending"})), ["0/2", "Pending", "0"]);
        let waits =
            json!([{"name": "i", "restartCount": 1, "state": {"terminated": {"exitCode": 2}}}]);
        let init = json!({"phase": "Pending", "initContainerStatuses": waits});
        same(shown(init), ["0/2", "Init:ExitCode:2", "1"]);
        let crashes = json!({"phase": "Running", "containerStatuses": [
            {"name": "a", "ready": true, "restartCount": 0, "state": {"running": {}}},
            {"name": "b", "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
             "lastState": {"terminated": {"finishedAt": "2026-01-01T00:09:00Z"}}},
        ]});
        same(shown(crashes), ["1/2", "CrashLoopBackOff", "3 (60s ago)"]);
        let half = json!({"phase": "Running", "containerStatuses": [
            {"name": "a", "ready": true, "state": {"running": {}}},
            {"name": "b", "state": {"terminated": {"reason": "Completed", "exitCode": 0}}},
        ]});
        same(shown(half), ["1/2", "NotReady", "0"]);
    }
}
