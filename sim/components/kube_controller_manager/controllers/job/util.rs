//! What is said of a Job and of its pods (helpers of `pkg/controller/job/job_controller.go`).

use serde_json::json;
use wavetank_api::Object;
use wavetank_api::json::{self, Json};

/// `JobTrackingFinalizer`
pub(super) const JOB_TRACKING_FINALIZER: &str = "batch.kubernetes.io/job-tracking";
/// `JobControllerName`
const JOB_CONTROLLER_NAME: &str = "kubernetes.io/job-controller";

/// A number of its spec.
pub(super) fn of_spec(job: &Json, field: &str) -> Option<i64> {
    json::number(job, &["spec", field])
}

/// A count of its status.
pub(super) fn of_status(job: &Json, field: &str) -> i64 {
    json::number(job, &["status", field]).unwrap_or(0)
}

/// A list of UIDs in `status.uncountedTerminatedPods`.
pub(super) fn uncounted(job: &Json, list: &str) -> Vec<String> {
    let all = json::list(job, &["status", "uncountedTerminatedPods", list]);
    let texts = all.iter().filter_map(Json::as_str);
    texts.map(str::to_owned).collect()
}

/// Writes such a list, which Go leaves out where it is empty.
pub(super) fn set_uncounted(job: &mut Json, list: &str, uids: Vec<String>) {
    let path = ["status", "uncountedTerminatedPods", list];
    match uids.is_empty() {
        true => drop(json::remove(job, &path)),
        false => json::set(job, &path, uids),
    }
}

/// Writes a count of the status, which Go leaves out where it is 0.
pub(super) fn set_count(job: &mut Json, field: &str, count: i64) {
    match count {
        0 => drop(json::remove(job, &["status", field])),
        _ => json::set(job, &["status", field], count),
    }
}

/// `jobSuspended`
pub(super) fn job_suspended(job: &Json) -> bool {
    json::at(job, &["spec", "suspend"]) == Some(&Json::Bool(true))
}

/// `managedByExternalController`
pub(super) fn managed_by_external_controller(job: &Json) -> bool {
    let by = json::text(job, &["spec", "managedBy"]);
    !by.is_empty() && by != JOB_CONTROLLER_NAME
}

/// `onlyReplaceFailedPods`
pub(super) fn only_replace_failed_pods(job: &Json) -> bool {
    let policy = json::at(job, &["spec", "podFailurePolicy"]);
    json::text(job, &["spec", "podReplacementPolicy"]) == "Failed"
        || policy.is_some_and(|own| !own.is_null())
}

pub(super) fn phase(pod: &Json) -> &str {
    json::text(pod, &["status", "phase"])
}

pub(super) fn is_being_deleted(object: &Json) -> bool {
    json::at(object, &["metadata", "deletionTimestamp"]).is_some()
}

/// `isPodFailed`, where only pods that have failed are replaced or where those that go are, too.
pub(super) fn is_pod_failed(pod: &Json, only_replace_failed: bool) -> bool {
    if phase(pod) == "Failed" {
        return true;
    }
    !only_replace_failed && is_being_deleted(pod) && phase(pod) != "Succeeded"
}

/// `hasJobTrackingFinalizer`
pub(super) fn has_job_tracking_finalizer(pod: &Json) -> bool {
    let mut all = json::list(pod, &["metadata", "finalizers"]).iter();
    all.any(|own| own == JOB_TRACKING_FINALIZER)
}

/// `removeTrackingFinalizerPatch`
pub(super) fn remove_tracking_finalizer_patch() -> Json {
    json!({"metadata": {"$deleteFromPrimitiveList/finalizers": [JOB_TRACKING_FINALIZER]}})
}

/// `appendJobCompletionFinalizerIfNotFound`, in the metadata of a pod or of a template.
pub(super) fn append_job_completion_finalizer_if_not_found(of: &mut Json) {
    if has_job_tracking_finalizer(of) {
        return;
    }
    let mut all = json::list(of, &["metadata", "finalizers"]).to_vec();
    all.push(JOB_TRACKING_FINALIZER.into());
    json::set(of, &["metadata", "finalizers"], all);
}

/// The UIDs of pods.
pub(super) fn uid_of(pod: &Object) -> String {
    pod.uid().to_owned()
}
