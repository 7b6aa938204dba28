//! What the controller says, in words. What is stored of Jobs and pods is told by others that keep some.

use wavetank_component::Description;
use wavetank_engine::Note;

use super::notes::{
    CountsPods, DropsJobPods, FinishedJob, JobStatusIsInvalid, MadeJobPod, MakesJobPods,
    WritesJobStatus,
};

/// What it says; `None` for what no story needs.
pub(super) fn note(note: &Note) -> Option<Description> {
    if let Some(CountsPods {
        job,
        succeeded,
        failed,
        ..
    }) = note.body.get()
    {
        let failed = failed.len();
        let text = format!(
            "counts {succeeded} successes of the Job {job}, and {failed} pods that have failed since"
        );
        return told(text, job);
    }
    if let Some(MakesJobPods { job, count, .. }) = note.body.get() {
        return told(
            format!("is about to make {count} pods of the Job {job}"),
            job,
        );
    }
    if let Some(MadeJobPod { pod, .. }) = note.body.get() {
        return told(format!("made the pod {pod}"), pod);
    }
    if let Some(DropsJobPods { job, pods, .. }) = note.body.get() {
        let count = pods.len();
        return told(
            format!("deletes {count} pods of the Job {job} that it does not count"),
            job,
        );
    }
    if let Some(WritesJobStatus { job, finishes }) = note.body.get() {
        let end = if *finishes {
            ", which has finished"
        } else {
            ""
        };
        return told(format!("writes the status of the Job {job}{end}"), job);
    }
    if let Some(JobStatusIsInvalid { job, why }) = note.body.get() {
        return told(
            format!("is refused the status of the Job {job}: {why}"),
            job,
        );
    }
    let FinishedJob { uid } = note.body.get()?;
    told(
        format!("has told the Job with the UID {uid} that it has finished"),
        uid,
    )
}

fn told(text: String, about: &str) -> Option<Description> {
    Some(Description {
        text,
        about: vec![about.to_owned()],
    })
}
