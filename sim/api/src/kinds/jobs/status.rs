//! What the status of a Job may say (`ValidateJobUpdateStatus`, `getStatusValidationOptions`), and what it says.

use std::collections::BTreeSet;

use super::indexes::{validate_failed_indexes_not_overlap_completed, validate_indexes_format};
use super::is_indexed;
use crate::gates;
use crate::json::{self, Json};
use crate::kinds::deployments::not_negative;
use crate::metadata;
use crate::strategy::Context;
use crate::times::Stamp;
use crate::validation::{Bad, ErrorList};

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
    validate_uncounted(job, errors);
    if cx.release.has(gates::JOB_STATUS_IS_VALIDATED) {
        validate_job_status(job, old, errors);
        validate_job_status_update(job, old, errors);
    }
}

/// No UID of a pod that is to be counted is there twice.
fn validate_uncounted(job: &Json, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for list in ["succeeded", "failed"] {
        let all = json::list(job, &["status", "uncountedTerminatedPods", list]);
        for (at, uid) in all.iter().enumerate() {
            let uid = uid.as_str().unwrap_or_default();
            let field = format!("status.uncountedTerminatedPods.{list}[{at}]");
            if uid.is_empty() {
                errors.invalid(field, uid, "must not be empty");
            } else if !seen.insert(uid) {
                errors.duplicate(field, uid);
            }
        }
    }
}

/// What has changed in a status (`getStatusValidationOptions`): most rules are for what has.
struct Changed<'a> {
    job: &'a Json,
    old: &'a Json,
}

impl Changed<'_> {
    fn field(&self, name: &str) -> bool {
        json::at(self.job, &["status", name]) != json::at(self.old, &["status", name])
    }

    fn number(&self, name: &str) -> bool {
        let own = |of| json::number(of, &["status", name]).unwrap_or(0);
        own(self.job) != own(self.old)
    }

    fn text(&self, name: &str) -> bool {
        json::text(self.job, &["status", name]) != json::text(self.old, &["status", name])
    }

    fn condition(&self, kind: &str) -> bool {
        condition(self.job, kind).is_some() != condition(self.old, kind).is_some()
    }

    fn finished(&self) -> bool {
        is_job_finished(self.job) != is_job_finished(self.old)
    }
}

/// `validateJobStatus`
fn validate_job_status(job: &Json, old: &Json, errors: &mut ErrorList) {
    let changed = Changed { job, old };
    validate_conditions(&changed, errors);
    validate_finished(&changed, errors);
    validate_indexes(&changed, errors);
    let number = |field| json::number(job, &["status", field]).unwrap_or(0);
    let (ready, active) = (number("ready"), number("active"));
    if (changed.field("ready") || changed.number("active")) && ready > active {
        errors.invalid(
            "status.ready",
            ready,
            "cannot set more ready pods than active",
        );
    }
}

/// Which conditions go together.
fn validate_conditions(changed: &Changed<'_>, errors: &mut ErrorList) {
    let is = |kind| condition(changed.job, kind).is_some();
    let (complete, failed) = (is("Complete"), is("Failed"));
    let (met, target) = (is("SuccessCriteriaMet"), is("FailureTarget"));
    let mut refuse = |detail| errors.invalid("status.conditions", Bad::omitted(), detail);
    if (changed.condition("Complete") || changed.condition("Failed")) && complete && failed {
        refuse("cannot set Complete=True and Failed=true conditions");
    }
    if (changed.condition("Complete") || changed.condition("FailureTarget")) && complete && target {
        refuse("cannot set Complete=True and FailureTarget=true conditions");
    }
    if (changed.condition("Failed") || changed.field("failedIndexes")) && failed && !target {
        refuse("cannot set Failed=True condition without the FailureTarget=true condition");
    }
    if (changed.condition("Complete") || changed.condition("SuccessCriteriaMet"))
        && complete
        && !met
    {
        refuse("cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
    }
    if met && failed {
        refuse("cannot set SuccessCriteriaMet=True and Failed=true conditions");
    }
    if met && target {
        refuse("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
    }
}

/// What is true of a Job that has finished, and when it did.
fn validate_finished(changed: &Changed<'_>, errors: &mut ErrorList) {
    let job = changed.job;
    let number = |field| json::number(job, &["status", field]).unwrap_or(0);
    let (finished, finishes) = (is_job_finished(job), changed.finished());
    if (finishes || changed.number("active")) && number("active") > 0 && finished {
        let detail = "active>0 is invalid for finished job";
        errors.invalid("status.active", number("active"), detail);
    }
    let suspended = json::at(job, &["spec", "suspend"]) == Some(&Json::Bool(true))
        && json::number(job, &["spec", "completions"]) == Some(0);
    let starts = (finishes || changed.field("startTime")) && !suspended;
    if starts && !is_given(job, "startTime") && finished {
        let detail = "startTime is required for finished job";
        errors.required("status.startTime", detail);
    }
    let uncounted = json::at(job, &["status", "uncountedTerminatedPods"]);
    let waits = |list| !json::list(job, &["status", "uncountedTerminatedPods", list]).is_empty();
    if (finishes || changed.field("uncountedTerminatedPods"))
        && finished
        && (waits("succeeded") || waits("failed"))
    {
        let detail = "must be empty for finished job";
        errors.invalid("status.uncountedTerminatedPods", uncounted, detail);
    }
    if (finishes || changed.field("terminating")) && number("terminating") > 0 && finished {
        let detail = "terminating>0 is invalid for finished job";
        errors.invalid("status.terminating", number("terminating"), detail);
    }
    validate_times(changed, errors);
}

fn validate_times(changed: &Changed<'_>, errors: &mut ErrorList) {
    let job = changed.job;
    let complete = condition(job, "Complete").is_some();
    let (start, end) = (
        json::text(job, &["status", "startTime"]),
        json::text(job, &["status", "completionTime"]),
    );
    let ends = changed.condition("Complete") || changed.field("completionTime");
    if ends && is_given(job, "completionTime") && !complete {
        let detail = "cannot set completionTime when there is no Complete=True condition";
        errors.invalid("status.completionTime", end, detail);
    }
    if ends && !is_given(job, "completionTime") && complete {
        let detail = "completionTime is required for Complete jobs";
        errors.required("status.completionTime", detail);
    }
    if (changed.field("startTime") || changed.field("completionTime"))
        && let (Some(from), Some(to)) = (Stamp::parse(start), Stamp::parse(end))
        && to < from
    {
        let detail = "must be equal to or after `startTime`";
        errors.invalid("status.completionTime", end, detail);
    }
}

/// How indexes are written, and of which Jobs there are some.
fn validate_indexes(changed: &Changed<'_>, errors: &mut ErrorList) {
    let job = changed.job;
    let completions = json::number(job, &["spec", "completions"]);
    let per_index = json::number(job, &["spec", "backoffLimitPerIndex"]).is_some();
    let completed = json::text(job, &["status", "completedIndexes"]);
    let failed = json::at(job, &["status", "failedIndexes"]).and_then(Json::as_str);
    let completes = changed.text("completedIndexes");
    let fails = changed.field("failedIndexes");
    if let Some(completions) = completions {
        if let Err(why) = validate_indexes_format(completed, completions)
            && completes
        {
            let detail = format!("error parsing completedIndexes: {why}");
            errors.invalid("status.completedIndexes", completed, detail);
        }
        if let Some(failed) = failed.filter(|_| fails && per_index)
            && let Err(why) = validate_indexes_format(failed, completions)
        {
            let detail = format!("error parsing failedIndexes: {why}");
            errors.invalid("status.failedIndexes", failed, detail);
        }
    }
    if completes && !completed.is_empty() && !is_indexed(job) {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        errors.invalid("status.completedIndexes", completed, detail);
    }
    let Some(failed) = failed else {
        return;
    };
    if fails && !per_index {
        let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        errors.invalid("status.failedIndexes", failed, detail);
    }
    if let Some(completions) = completions.filter(|_| fails || completes)
        && let Err(detail) =
            validate_failed_indexes_not_overlap_completed(completed, failed, completions)
    {
        errors.invalid("status.failedIndexes", failed, detail);
    }
}

/// Is the condition of this type there, and false?
fn is_condition_false(job: &Json, kind: &str) -> bool {
    let mut all = json::list(job, &["status", "conditions"]).iter();
    all.any(|own| json::text(own, &["type"]) == kind && json::text(own, &["status"]) == "False")
}

/// `ValidateJobStatusUpdate`
fn validate_job_status_update(job: &Json, old: &Json, errors: &mut ErrorList) {
    let changed = Changed { job, old };
    let (was, is) = (
        |kind| condition(old, kind).is_some(),
        |kind| condition(job, kind).is_some(),
    );
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if was(kind) && !is(kind) {
            let detail = format!("cannot disable the terminal {kind}=True condition");
            errors.invalid("status.conditions", Bad::omitted(), detail);
        }
    }
    let is_elastic = is_indexed(job)
        && json::number(job, &["spec", "completions"])
            == json::number(job, &["spec", "parallelism"]);
    for field in ["failed", "succeeded"] {
        let count = |of| json::number(of, &["status", field]).unwrap_or(0);
        if count(job) < count(old) && !(field == "succeeded" && is_elastic) {
            let detail = format!("cannot decrease the {field} counter");
            errors.invalid(format!("status.{field}"), count(job), detail);
        }
    }
    let completion = json::text(job, &["status", "completionTime"]);
    if is_given(job, "completionTime")
        && is_given(old, "completionTime")
        && json::text(old, &["status", "completionTime"]) != completion
    {
        errors.invalid("status.completionTime", completion, metadata::IMMUTABLE);
    }
    let is_resuming = was("Suspended") && is_condition_false(job, "Suspended");
    let suspended = json::at(job, &["spec", "suspend"]) == Some(&Json::Bool(true));
    if changed.field("startTime") && !is_resuming && is_given(old, "startTime") && !suspended {
        let start = json::text(job, &["status", "startTime"]);
        let detail = "field is immutable for unsuspended job once set";
        errors.invalid("status.startTime", start, detail);
    }
    let mut refuse = |detail| errors.invalid("status.conditions", Bad::omitted(), detail);
    if was("SuccessCriteriaMet") && !is("SuccessCriteriaMet") {
        refuse("cannot disable the SuccessCriteriaMet=True condition");
    }
    if was("Complete") && !was("SuccessCriteriaMet") && is("SuccessCriteriaMet") {
        refuse("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions");
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

    #[test]
    fn counters_do_not_go_back_and_no_pod_is_counted_twice() {
        let counted = |failed: u32| json!({ "failed": failed });
        assert_eq!(errors(counted(2), counted(1)), "[]");
        let found = errors(counted(1), counted(2));
        assert!(
            found.contains("cannot decrease the failed counter"),
            "{found}"
        );
        let twice = json!({"uncountedTerminatedPods": {"succeeded": ["a"], "failed": ["a"]}});
        let found = errors(twice, json!({}));
        assert!(
            found.contains("failed[0]: Duplicate value: \"a\""),
            "{found}"
        );
    }

    #[test]
    fn no_more_pods_are_ready_than_are_active() {
        let status = |active: u32| json!({"active": active, "ready": 1});
        assert_eq!(errors(status(1), json!({})), "[]");
        let found = errors(status(0), json!({}));
        let why = "status.ready: Invalid value: 1: cannot set more ready pods than active";
        assert_eq!(found, why);
    }

    #[test]
    fn the_start_changes_only_when_a_job_is_resumed() {
        let status = |at: &str, suspended: &str| {
            let condition = json!({"type": "Suspended", "status": suspended});
            json!({"startTime": at, "conditions": [condition]})
        };
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z");
        assert_eq!(errors(status(late, "False"), status(early, "True")), "[]");
        let found = errors(status(late, "False"), status(early, "False"));
        assert!(found.contains("immutable for unsuspended job"), "{found}");
    }
}
