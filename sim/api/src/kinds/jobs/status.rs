//! What the status of a Job may say (`ValidateJobUpdateStatus`, `getStatusValidationOptions`), and what it says.

use crate::gates;
use crate::json::{self, Json};
use crate::kinds::deployments::not_negative;
use crate::metadata;
use crate::strategy::Context;
use crate::times::Stamp;
use crate::validation::ErrorList;

/// The conditions of a finished Job, and what has to be said before each.
pub const FINISHED: [(&str, &str); 2] = [
    ("Complete", "SuccessCriteriaMet"),
    ("Failed", "FailureTarget"),
];

/// The condition of this type, if it is true.
fn condition<'a>(job: &'a Json, kind: &str) -> Option<&'a Json> {
    let mut all = json::list(job, &["status", "conditions"]).iter();
    all.find(|own| json::text(own, &["type"]) == kind && json::text(own, &["status"]) == "True")
}

/// The condition by which it is finished, the first in the list.
fn finished_condition(job: &Json) -> Option<&Json> {
    let mut all = json::list(job, &["status", "conditions"]).iter();
    all.find(|own| {
        let kind = json::text(own, &["type"]);
        let finishes = FINISHED.iter().any(|(finished, _)| *finished == kind);
        finishes && json::text(own, &["status"]) == "True"
    })
}

/// `IsJobFinished`
pub fn is_job_finished(job: &Json) -> bool {
    finished_condition(job).is_some()
}

/// `jobFinishTime`: when it finished, if its condition says so.
pub fn job_finish_time(job: &Json) -> Option<Stamp> {
    let condition = finished_condition(job)?;
    Stamp::parse(json::text(condition, &["lastTransitionTime"]))
}

fn is_given(job: &Json, field: &str) -> bool {
    json::at(job, &["status", field]).is_some_and(|own| !own.is_null())
}

/// `ValidateJobUpdateStatus`
pub(super) fn validate_job_update_status(
    cx: &Context,
    job: &Json,
    old: &Json,
    errors: &mut ErrorList,
) {
    for field in ["active", "succeeded", "failed", "ready", "terminating"] {
        not_negative(job, &["status", field], errors);
    }
    if cx.release.has(gates::JOB_STATUS_IS_VALIDATED) {
        validate_transition(job, old, errors);
    }
}

/// The rules that came with `JobManagedBy`.
fn validate_transition(job: &Json, old: &Json, errors: &mut ErrorList) {
    let complete = condition(job, FINISHED[0].0).is_some();
    if is_job_finished(job) && !is_job_finished(old) {
        let active = json::number(job, &["status", "active"]).unwrap_or(0);
        if active > 0 {
            errors.invalid(
                "status.active",
                active,
                "active>0 is invalid for finished job",
            );
        }
        if !is_given(job, "startTime") {
            let detail = "startTime is required for finished job";
            errors.required("status.startTime", detail);
        }
    }
    if complete && !is_given(job, "completionTime") {
        let detail = "completionTime is required for Complete jobs";
        errors.required("status.completionTime", detail);
    }
    let completion = json::text(job, &["status", "completionTime"]);
    if !complete && is_given(job, "completionTime") {
        let detail = "cannot set completionTime when there is no Complete=True condition";
        errors.invalid("status.completionTime", completion, detail);
    }
    let start = json::text(job, &["status", "startTime"]);
    if let (Some(start), Some(end)) = (Stamp::parse(start), Stamp::parse(completion))
        && end < start
    {
        let detail = "completionTime cannot be set before startTime";
        errors.invalid("status.completionTime", completion, detail);
    }
    if is_given(old, "completionTime")
        && json::text(old, &["status", "completionTime"]) != completion
    {
        errors.invalid("status.completionTime", completion, metadata::IMMUTABLE);
    }
    let conditions = json::at(job, &["status", "conditions"])
        .cloned()
        .unwrap_or_default();
    let mut refuse = |detail: String| errors.invalid("status.conditions", &conditions, detail);
    if complete && condition(job, FINISHED[1].0).is_some() {
        refuse("cannot set Complete=True and Failed=true conditions".to_owned());
    }
    for (kind, before) in FINISHED {
        let (was, is) = (
            condition(old, kind).is_some(),
            condition(job, kind).is_some(),
        );
        if was && !is {
            refuse(format!("cannot disable the terminal {kind}=True condition"));
        }
        if is && !was && condition(job, before).is_none() {
            refuse(format!(
                "cannot set {kind}=True condition without the {before}=true condition"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn errors(status: Json, old: Json) -> String {
        let cx = Context {
            release: wavetank_releases::V1_36,
            now: Stamp::parse("2026-01-01T00:00:00Z").expect("an instant"),
            dual_stack: false,
        };
        let mut errors = ErrorList::default();
        let [job, old] = [status, old].map(|status| json!({ "status": status }));
        validate_job_update_status(&cx, &job, &old, &mut errors);
        errors.to_string()
    }

    fn complete() -> Json {
        let at = "2026-01-01T00:00:00Z";
        let condition =
            |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": at});
        json!({
            "startTime": at, "completionTime": at,
            "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
        })
    }

    #[test]
    fn a_job_finishes_once_and_in_order() {
        assert_eq!(errors(complete(), json!({})), "[]");
        let job = json!({ "status": complete() });
        let at = job_finish_time(&job).map(Stamp::seconds);
        assert_eq!(at.as_deref(), Some("2026-01-01T00:00:00Z"));
        assert!(
            errors(json!({}), complete()).contains("cannot disable the terminal Complete=True")
        );
        let mut alone = complete();
        json::set(
            &mut alone,
            &["conditions"],
            json!([complete()["conditions"][1]]),
        );
        let found = errors(alone, json!({}));
        assert!(
            found.contains("without the SuccessCriteriaMet=true condition"),
            "{found}"
        );
    }
}
