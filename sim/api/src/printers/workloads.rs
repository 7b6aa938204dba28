//! Workloads: how much of them is there.

use super::cells::{Cells, count, layout_container_cells, name, number, or_none, selector, text};
use super::duration::{age, human_duration, since};
use super::network::format_labels;
use crate::json::{self, Json};
use crate::kinds::deployments;
use crate::times::Stamp;

pub(super) fn deployment_cells(own: &Json, now: Stamp) -> Cells {
    let status = |field| number(own, &["status", field]);
    let ready = format!(
        "{}/{}",
        status("readyReplicas"),
        number(own, &["spec", "replicas"])
    );
    let [names, images] = layout_container_cells(own, &["spec", "template", "spec"]);
    let selected = json::at(own, &["spec", "selector"]).map(deployments::selector_in_words);
    let selected = selected.unwrap_or_default();
    vec![
        name(own),
        ready.into(),
        status("updatedReplicas").into(),
        status("availableReplicas").into(),
        age(own, now),
        names,
        images,
        selected.map_or_else(|| "<invalid>".into(), Json::from),
    ]
}

pub(super) fn replicas_cells(own: &Json, now: Stamp) -> Cells {
    let status = |field| number(own, &["status", field]).into();
    let [names, images] = layout_container_cells(own, &["spec", "template", "spec"]);
    let selected = match text(own, &["kind"]) {
        "ReplicationController" => format_labels(own, &["spec", "selector"]),
        _ => selector(own, &["spec", "selector"]),
    };
    vec![
        name(own),
        number(own, &["spec", "replicas"]).into(),
        status("replicas"),
        status("readyReplicas"),
        age(own, now),
        names,
        images,
        selected,
    ]
}

pub(super) fn stateful_set_cells(own: &Json, now: Stamp) -> Cells {
    let [names, images] = layout_container_cells(own, &["spec", "template", "spec"]);
    let ready = number(own, &["status", "readyReplicas"]);
    let ready = format!("{ready}/{}", number(own, &["spec", "replicas"]));
    vec![name(own), ready.into(), age(own, now), names, images]
}

pub(super) fn daemon_set_cells(own: &Json, now: Stamp) -> Cells {
    let status = |field| number(own, &["status", field]).into();
    let [names, images] = layout_container_cells(own, &["spec", "template", "spec"]);
    vec![
        name(own),
        status("desiredNumberScheduled"),
        status("currentNumberScheduled"),
        status("numberReady"),
        status("updatedNumberScheduled"),
        status("numberAvailable"),
        format_labels(own, &["spec", "template", "spec", "nodeSelector"]),
        age(own, now),
        names,
        images,
        selector(own, &["spec", "selector"]),
    ]
}

pub(super) fn job_cells(own: &Json, now: Stamp) -> Cells {
    let done = number(own, &["status", "succeeded"]);
    let completions = match json::number(own, &["spec", "completions"]) {
        Some(wanted) => format!("{done}/{wanted}"),
        None => match number(own, &["spec", "parallelism"]) {
            many if many > 1 => format!("{done}/1 of {many}"),
            _ => format!("{done}/1"),
        },
    };
    let instant = |field| Stamp::parse(text(own, &["status", field]));
    let duration = match (instant("startTime"), instant("completionTime")) {
        (None, _) => String::new(),
        (Some(start), end) => human_duration(end.unwrap_or(now).nanos() - start.nanos()),
    };
    let conditions = json::list(own, &["status", "conditions"]);
    let holds = |kind: &str| {
        let mut all = conditions.iter();
        let found = all.find(|condition| text(condition, &["type"]) == kind);
        found.is_some_and(|condition| text(condition, &["status"]) == "True")
    };
    let deleted = !text(own, &["metadata", "deletionTimestamp"]).is_empty();
    let status = match () {
        () if holds("Complete") => "Complete",
        () if holds("Failed") => "Failed",
        () if deleted => "Terminating",
        () if holds("Suspended") => "Suspended",
        () if holds("FailureTarget") => "FailureTarget",
        () if holds("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    };
    let [names, images] = layout_container_cells(own, &["spec", "template", "spec"]);
    vec![
        name(own),
        status.into(),
        completions.into(),
        duration.into(),
        age(own, now),
        names,
        images,
        selector(own, &["spec", "selector"]),
    ]
}

pub(super) fn cron_job_cells(own: &Json, now: Stamp) -> Cells {
    let last = match text(own, &["status", "lastScheduleTime"]) {
        "" => "<none>".to_owned(),
        instant => since(instant, now),
    };
    let suspended = match json::at(own, &["spec", "suspend"]) {
        Some(Json::Bool(true)) => "True",
        Some(Json::Bool(false)) => "False",
        _ => "<unset>",
    };
    const JOB: [&str; 3] = ["spec", "jobTemplate", "spec"];
    let [names, images] =
        layout_container_cells(own, &[JOB.as_slice(), &["template", "spec"]].concat());
    vec![
        name(own),
        text(own, &["spec", "schedule"]).into(),
        or_none(text(own, &["spec", "timeZone"])),
        suspended.into(),
        count(own, &["status", "active"]).into(),
        last.into(),
        age(own, now),
        names,
        images,
        selector(own, &[JOB.as_slice(), &["selector"]].concat()),
    ]
}
