//! What the controller says, and what is stored of Jobs, in words.

use serde_json::Value as Json;
use wavetank_api::json;
use wavetank_api::kinds::JOBS;
use wavetank_api::kinds::jobs::{is_job_finished, ttl_seconds_after_finished};
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use super::controller::CleansUp;

/// What it says.
pub(super) fn note(note: &Note) -> Option<Description> {
    let CleansUp { job } = note.body.get()?;
    Some(Description {
        text: format!("asks for the deletion of the Job {job}, whose TTL has passed"),
        about: vec![job.to_string()],
    })
}

/// A Job.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name = key.strip_prefix(JOBS.registry)?.strip_prefix('/')?;
    let text = value.map(|job| {
        let deleted = json::at(job, &["metadata", "deletionTimestamp"]).is_some();
        let finished = match (deleted, is_job_finished(job)) {
            (true, _) => "being deleted",
            (false, true) => "finished",
            (false, false) => "running",
        };
        let ttl = match ttl_seconds_after_finished(job) {
            Some(ttl) => format!("{finished}, with a TTL of {ttl} s"),
            None => format!("{finished}, without a TTL"),
        };
        ttl + &counts(job)
    });
    Some(Stored {
        text,
        about: vec![name.to_owned()],
    })
}

/// What the Job controller has counted, if there is one.
fn counts(job: &Json) -> String {
    let Some(uncounted) = json::at(job, &["status", "uncountedTerminatedPods"]) else {
        return String::new();
    };
    let count = |field| json::number(job, &["status", field]).unwrap_or(0);
    let waiting = ["succeeded", "failed"].map(|list| json::list(uncounted, &[list]).len());
    let [active, succeeded, failed] = ["active", "succeeded", "failed"].map(count);
    let waiting: usize = waiting.iter().sum();
    format!(
        "; {active} pods active, {succeeded} succeeded, {failed} failed, {waiting} to be counted"
    )
}
