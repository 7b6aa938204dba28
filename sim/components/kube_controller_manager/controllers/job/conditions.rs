//! Conditions of a Job (`newCondition`, `ensureJobConditionStatus` and what is beside them in
//! `pkg/controller/job/job_controller.go`).

use serde_json::json;
use wavetank_api::Stamp;
use wavetank_api::json::{self, Json};

/// `newCondition`
pub(super) fn new_condition(
    kind: &str,
    status: &str,
    (reason, message): (&str, &str),
    now: Stamp,
) -> Json {
    let now = now.seconds();
    json!({
        "type": kind,
        "status": status,
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    })
}

/// `findConditionByType`
pub(super) fn find_condition_by_type<'a>(job: &'a Json, kind: &str) -> Option<&'a Json> {
    let mut all = json::list(job, &["status", "conditions"]).iter();
    all.find(|own| own["type"] == *kind)
}

/// The condition of this type, if it is true.
pub(super) fn true_condition<'a>(job: &'a Json, kind: &str) -> Option<&'a Json> {
    find_condition_by_type(job, kind).filter(|own| own["status"] == "True")
}

/// `ensureJobConditionStatus`: has the list changed? What is not there is not made false.
pub(super) fn ensure_job_condition_status(
    job: &mut Json,
    kind: &str,
    status: &str,
    (reason, message): (&str, &str),
    now: Stamp,
) -> bool {
    let new = new_condition(kind, status, (reason, message), now);
    let mut all = json::list(job, &["status", "conditions"]).to_vec();
    match all.iter_mut().find(|own| own["type"] == *kind) {
        Some(own) => {
            let same = ["status", "reason", "message"];
            if same.iter().all(|field| own[*field] == new[*field]) {
                return false;
            }
            *own = new;
        }
        None if status == "False" => return false,
        None => all.push(new),
    }
    json::set(job, &["status", "conditions"], all);
    true
}

/// Appends a condition.
pub(super) fn append_condition(job: &mut Json, condition: Json) {
    let mut all = json::list(job, &["status", "conditions"]).to_vec();
    all.push(condition);
    json::set(job, &["status", "conditions"], all);
}

/// The same condition with another type, as of now (`newFailedConditionForFailureTarget`, and what is done with
/// `SuccessCriteriaMet`).
pub(super) fn terminal_condition(interim: &Json, kind: &str, now: Stamp) -> Json {
    let text = |field| json::text(interim, &[field]);
    new_condition(kind, "True", (text("reason"), text("message")), now)
}

/// `isSuccessCriteriaMetCondition`
pub(super) fn is_success_criteria_met_condition(condition: Option<&Json>) -> bool {
    condition.is_some_and(|own| own["type"] == "SuccessCriteriaMet" && own["status"] == "True")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_not_made_false() {
        let now = Stamp::parse("2026-01-01T00:00:00Z").expect("an instant");
        let mut job = json!({"status": {}});
        let why = ("JobResumed", "Job resumed");
        let mut ensure =
            |status| ensure_job_condition_status(&mut job, "Suspended", status, why, now);
        assert!(!ensure("False"));
        assert!(ensure("True"));
        assert!(!ensure("True"));
        assert!(ensure("False"));
        assert!(true_condition(&job, "Suspended").is_none());
    }
}
