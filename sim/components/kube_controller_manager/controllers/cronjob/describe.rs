//! What the controller says, and what is stored of CronJobs, in words.

use serde_json::Value as Json;
use wavetank_api::json;
use wavetank_api::kinds::CRON_JOBS;
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use super::jobs::active;
use super::notes::{DeletesJob, JobIsForeign, MadeJobFor, MakesJobFor};

/// What it says.
pub(super) fn note(note: &Note) -> Option<Description> {
    if let Some(MakesJobFor {
        cron_job,
        time,
        active,
        ..
    }) = note.body.get()
    {
        let time = time.seconds();
        let text = format!(
            "is about to make the Job of the CronJob {cron_job} for {time}, beside {active} that are active"
        );
        return told(text, cron_job);
    }
    if let Some(MadeJobFor { job }) = note.body.get() {
        return told(format!("made the Job {job}"), job);
    }
    if let Some(DeletesJob { job, is_replaced }) = note.body.get() {
        let why = match is_replaced {
            true => "which is to be replaced",
            false => "of which there are enough that are younger",
        };
        return told(
            format!("asks for the deletion of the Job {job}, {why}"),
            job,
        );
    }
    let JobIsForeign { job } = note.body.get()?;
    told(format!("finds that the Job {job} is another's"), job)
}

fn told(text: String, about: &str) -> Option<Description> {
    Some(Description {
        text,
        about: vec![about.to_owned()],
    })
}

/// A CronJob.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name = key.strip_prefix(CRON_JOBS.registry)?.strip_prefix('/')?;
    let text = value.map(|cron_job| {
        let schedule = json::text(cron_job, &["spec", "schedule"]);
        let policy = json::text(cron_job, &["spec", "concurrencyPolicy"]);
        let suspended = json::at(cron_job, &["spec", "suspend"]) == Some(&Json::Bool(true));
        let suspended = if suspended { ", suspended" } else { "" };
        let last = match json::text(cron_job, &["status", "lastScheduleTime"]) {
            "" => "never ran".to_owned(),
            last => format!("ran last for {last}"),
        };
        let active = active(cron_job).len();
        format!("{schedule} ({policy}){suspended}, {last}, {active} active")
    });
    Some(Stored {
        text,
        about: vec![name.to_owned()],
    })
}
