//! What the Job of a time is called and holds, which Jobs a CronJob lists as active, and which of them go first (the other half of
//! `pkg/controller/cronjob/utils.go`).

use serde_json::json;
use wavetank_api::kinds::{CRON_JOBS, JOBS};
use wavetank_api::{Json, Object, Stamp, json};

use crate::controller_utils::ControllerRef;

/// `CronJobScheduledTimestampAnnotation`
pub(super) const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";
const ACTIVE: [&str; 2] = ["status", "active"];

/// `status.active`
pub(super) fn active(cron_job: &Json) -> &[Json] {
    json::list(cron_job, &ACTIVE)
}

/// `inActiveList`
pub(super) fn in_active_list(cron_job: &Json, uid: &str) -> bool {
    active(cron_job).iter().any(|own| own["uid"] == uid)
}

/// `inActiveListByName`
pub(super) fn in_active_list_by_name(cron_job: &Json, name: &str) -> bool {
    active(cron_job).iter().any(|own| own["name"] == name)
}

/// `deleteFromActiveList`
pub(super) fn delete_from_active_list(cron_job: &mut Json, uid: &str) {
    let mut left = active(cron_job).to_vec();
    left.retain(|own| own["uid"] != uid);
    set_active(cron_job, left);
}

/// What is left out when it is empty.
fn set_active(cron_job: &mut Json, active: Vec<Json>) {
    match active.is_empty() {
        true => drop(json::remove(cron_job, &ACTIVE)),
        false => json::set(cron_job, &ACTIVE, active),
    }
}

/// Adds a Job to the list (`getRef`).
pub(super) fn add_to_active_list(cron_job: &mut Json, job: &Object, revision: u64) {
    let mut all = active(cron_job).to_vec();
    all.push(json!({
        "apiVersion": JOBS.api_version(),
        "kind": JOBS.kind,
        "name": job.name(),
        "namespace": job.namespace(),
        "resourceVersion": revision.to_string(),
        "uid": job.uid(),
    }));
    set_active(cron_job, all);
}

/// `getJobName`, `getTimeHashInMinutes`
pub(super) fn get_job_name(cron_job: &str, time: Stamp) -> String {
    let minutes = time.nanos() / 60_000_000_000;
    format!("{cron_job}-{minutes}")
}

/// `getJobFromTemplate2`
pub(super) fn get_job_from_template2(cron_job: &Object, time: Stamp) -> Json {
    let template = json::at(cron_job.json(), &["spec", "jobTemplate"]);
    let template = template.unwrap_or(&Json::Null);
    let owner = ControllerRef {
        of: &CRON_JOBS,
        object: cron_job,
    };
    let mut job = json!({
        "apiVersion": JOBS.api_version(),
        "kind": JOBS.kind,
        "metadata": {
            "name": get_job_name(cron_job.name(), time),
            "annotations": {},
            "ownerReferences": [owner.json()],
        },
        "spec": json::at(template, &["spec"]),
    });
    for field in ["labels", "annotations"] {
        let given = json::at(template, &["metadata", field]);
        if let Some(given) = given.filter(|own| !own.is_null()) {
            job["metadata"][field] = given.clone();
        }
    }
    job["metadata"]["annotations"][SCHEDULED] = time.seconds().into();
    job
}

/// The time of a Job that a CronJob made.
pub(super) fn scheduled_time(job: &Json) -> Option<Stamp> {
    Stamp::parse(json::text(job, &["metadata", "annotations", SCHEDULED]))
}

/// `byJobStartTime`: what Jobs are sorted by, those that have not started last.
pub(super) fn by_job_start_time(job: &Object) -> (bool, Option<Stamp>, String) {
    let start = Stamp::parse(json::text(job.json(), &["status", "startTime"]));
    (start.is_none(), start, job.name().to_owned())
}
