//! Pods that run until they have done something (those of images that say so): how each ends, as kubelets tell it. One that
//! is to go is killed first, and is told of as failed then; what finalizers hold stays after that.

use serde_json::{Value as Json, json};
use wavetank_api::{Stamp, json};

use super::runner::Step;
use super::{FAILING_TASK, TASK};

/// The exit codes of tasks that fail in storms.
pub(super) const CODES: [i64; 3] = [1, 42, 3];
/// That of a task that is killed (SIGTERM).
pub(super) const KILLED: i64 = 143;

/// The image of a task; nothing if the pod is none.
fn image(pod: &Json) -> Option<&str> {
    let containers = json::list(pod, &["spec", "containers"]).iter();
    let mut images = containers.map(|own| json::text(own, &["image"]));
    images.find(|image| [TASK, FAILING_TASK].contains(image))
}

/// Does it run until it has done something?
pub(super) fn is_task(pod: &Json) -> bool {
    image(pod).is_some()
}

/// The exit code of one that is let alone.
pub(super) fn exit_code(pod: &Json) -> i64 {
    i64::from(image(pod) == Some(FAILING_TASK))
}

/// What is to be done to it, if anything is.
pub(super) fn step(pod: &Json) -> Option<Step> {
    let phase = json::text(pod, &["status", "phase"]);
    let has_ended = matches!(phase, "Succeeded" | "Failed");
    let is_bound = !json::text(pod, &["spec", "nodeName"]).is_empty();
    let goes = json::at(pod, &["metadata", "deletionTimestamp"]).is_some();
    let grace = json::number(pod, &["metadata", "deletionGracePeriodSeconds"]).unwrap_or(0);
    match (goes, has_ended) {
        (true, false) => Some(Step::Kill),
        (true, true) => (grace > 0).then_some(Step::End),
        (false, true) => None,
        (false, false) if !is_bound => Some(Step::Bind),
        (false, false) if phase == "Running" => Some(Step::Finish),
        (false, false) => Some(Step::Start),
    }
}

/// The pod as one that has ended with this exit code.
pub(super) fn ended(pod: &Json, code: i64, now: Stamp) -> Json {
    let mut pod = pod.clone();
    let at = now.seconds();
    let reason = if code == 0 { "Completed" } else { "Error" };
    let names = json::list(&pod, &["spec", "containers"]).iter();
    let statuses = names.map(|own| {
        json!({
            "name": own["name"],
            "image": own["image"],
            "imageID": "",
            "ready": false,
            "restartCount": 0,
            "state": {"terminated": {
                "exitCode": code, "reason": reason, "startedAt": at, "finishedAt": at,
            }},
        })
    });
    let statuses: Vec<Json> = statuses.collect();
    let mut conditions = json::list(&pod, &["status", "conditions"]).to_vec();
    conditions.retain(|own| own["type"] != "Ready");
    conditions.push(json!({"type": "Ready", "status": "False", "lastTransitionTime": at}));
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    json::set(&mut pod, &["status", "phase"], phase);
    json::set(&mut pod, &["status", "conditions"], conditions);
    json::set(&mut pod, &["status", "containerStatuses"], statuses);
    pod
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(image: &str, phase: &str, metadata: Json) -> Json {
        json!({
            "metadata": metadata,
            "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": image}]},
            "status": {"phase": phase},
        })
    }

    #[test]
    fn a_task_that_goes_is_killed_before_it_ends() {
        let going = |phase, grace: i64| {
            let metadata = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": grace});
            step(&pod(TASK, phase, metadata))
        };
        assert_eq!(going("Running", 30), Some(Step::Kill));
        assert_eq!(going("Failed", 30), Some(Step::End));
        assert_eq!(going("Failed", 0), None);
    }

    #[test]
    fn a_task_runs_and_ends_and_other_pods_are_none() {
        let now = Stamp::parse("2026-01-01T00:00:00Z").expect("an instant");
        let running = pod(TASK, "Running", json!({}));
        assert_eq!(step(&running), Some(Step::Finish));
        let ended = ended(&running, exit_code(&running), now);
        assert_eq!(step(&ended), None);
        assert_eq!(ended["status"]["phase"], "Succeeded");
        assert_eq!(exit_code(&pod(FAILING_TASK, "Running", json!({}))), 1);
        assert!(!is_task(&pod("image:1", "Running", json!({}))));
    }
}
