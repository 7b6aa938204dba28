//! Which Jobs are made, and when.

use wavetank_api::Object;
use wavetank_api::kinds::jobs::is_job_finished;
use wavetank_api::kinds::{CRON_JOBS, JOBS};
use wavetank_api::{Stamp, json};
use wavetank_engine::{Always, Check, Note, World};

use super::super::jobs::scheduled_time;
use super::super::notes::MakesJobFor;
use crate::controller_utils::get_controller_of;
use wavetank_components::changes::changes;
use wavetank_components::promises::{always, violated};
use wavetank_components::view::ClusterView;

pub(super) fn cron_times_run_once() -> Always {
    always("cron-times-run-once", run_once)
}

/// The UID of its CronJob, and the time that a Job is for.
fn run(job: &Object) -> Option<(&str, Stamp)> {
    let owner = get_controller_of(job.json()).filter(|own| own["kind"] == CRON_JOBS.kind)?;
    Some((json::text(owner, &["uid"]), scheduled_time(job.json())?))
}

fn run_once(world: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for change in changes(note, &JOBS).filter(|change| change.before.is_none()) {
        let job = change.now.as_ref().map(|kv| &kv.value);
        let Some((job, made)) = job.and_then(|job| Some((job, run(job)?))) else {
            continue;
        };
        let all = ClusterView(world).all(JOBS.registry);
        let mut others = all.iter().filter(|own| own.uid() != job.uid());
        if let Some(other) = others.find(|own| run(own) == Some(made)) {
            let (name, time) = (job.name(), made.1.seconds());
            let other = other.name();
            let message = format!("the Jobs {other} and {name} are both for {time}");
            return violated("job", name, message);
        }
        checked = Check::Held;
    }
    checked
}

/// Looks at what the controller is about to make: what is wrong with it?
fn makes(note: &Note, wrong: impl Fn(&MakesJobFor) -> Option<String>) -> Check {
    let Some(makes) = note.body.get::<MakesJobFor>() else {
        return Check::Idle;
    };
    let (cron_job, time) = (&makes.cron_job, makes.time.seconds());
    match wrong(makes) {
        None => Check::Held,
        Some(why) => {
            let message = format!("the Job of the CronJob {cron_job} for {time} is made, {why}");
            violated("cronjob", cron_job, message)
        }
    }
}

pub(super) fn jobs_are_of_their_schedule() -> Always {
    always("jobs-are-of-their-schedule", |_, note| {
        makes(note, |own| {
            let is_early = own.time > own.now;
            let early = is_early.then(|| format!("and it is {} only", own.now.seconds()));
            let why = "which is no time of its schedule".to_owned();
            early.or((!own.is_of_schedule).then_some(why))
        })
    })
}

pub(super) fn starting_deadlines_are_kept() -> Always {
    always("starting-deadlines-are-kept", |_, note| {
        makes(note, |own| {
            let deadline = own.deadline.filter(|deadline| *deadline < own.now)?;
            let (deadline, now) = (deadline.seconds(), own.now.micros());
            Some(format!("at {now}, and was to be made until {deadline}"))
        })
    })
}

pub(super) fn forbidden_jobs_wait() -> Always {
    always("forbidden-jobs-wait", |_, note| {
        makes(note, |own| {
            let active = own.active;
            let forbidden = own.forbids && active > 0;
            forbidden.then(|| format!("which is forbidden beside {active} that are active"))
        })
    })
}

/// What the controller sees that runs may have ended meanwhile.
fn still_runs(world: &World, uid: &str) -> bool {
    let jobs = ClusterView(world).all(JOBS.registry);
    let mut jobs = jobs.into_iter().filter(|job| job.uid() == uid);
    jobs.any(|job| !is_job_finished(job.json()) && !job.is_being_deleted())
}

pub(super) fn forbidden_jobs_run_alone() -> Always {
    always("forbidden-jobs-run-alone", |world, note| {
        makes(note, |own| {
            let others = own.others.iter().filter(|uid| still_runs(world, uid));
            let others = others.count();
            let forbidden = own.forbids && others > 0;
            forbidden.then(|| format!("which is forbidden beside {others} that it sees run"))
        })
    })
}
