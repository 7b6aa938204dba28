//! What is true once all has been well for a while.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::cron::{Schedule, parse_standard};
use wavetank_api::kinds::jobs::is_job_finished;
use wavetank_api::kinds::{CRON_JOBS, JOBS};
use wavetank_api::{Json, Object, Stamp, json};
use wavetank_engine::{Check, Instant, Note, Property, Stable, World};

use super::super::controller::CONTROLLER;
use super::super::jobs::{active, get_job_name};
use super::super::times::{last_schedule_time, starting_deadline_seconds};
use crate::controller_utils::is_controlled_by;
use crate::somebody_runs;
use wavetank_components::changes::changes;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// So long ago a time is that must have been acted on, in seconds.
const PAST: i64 = 60;

/// When the schedule of each CronJob was last changed, by its UID. Upstream promises nothing of times before that.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct SchedulesGoOn {
    after: Duration,
    changed: BTreeMap<Arc<str>, Instant>,
}

fn cron_jobs(world: &World) -> Vec<&Object> {
    let mut all = ClusterView(world).all(CRON_JOBS.registry);
    all.retain(|own| !own.is_being_deleted());
    all
}

fn schedule(cron_job: &Json) -> &str {
    json::text(cron_job, &["spec", "schedule"])
}

/// Its schedule, if it is one and goes on.
fn running(cron_job: &Json) -> Option<Schedule> {
    let is_suspended = json::at(cron_job, &["spec", "suspend"]) == Some(&Json::Bool(true));
    parse_standard(schedule(cron_job))
        .ok()
        .filter(|_| !is_suspended)
}

impl SchedulesGoOn {
    pub fn after(after: Duration) -> SchedulesGoOn {
        SchedulesGoOn {
            after,
            changed: BTreeMap::new(),
        }
    }

    /// The last time of its schedule for which it should have run, and has not.
    fn left_out(&self, cron_job: &Object, now: Stamp) -> Option<Stamp> {
        let json = cron_job.json();
        let schedule = running(json)?;
        let made = Stamp::parse(json::text(json, &["metadata", "creationTimestamp"]))?;
        let changed = self.changed.get(cron_job.uid());
        let mut since = last_schedule_time(json).unwrap_or(made);
        since = since.max(changed.map_or(made, |own| Stamp::of(own.0)));
        if starting_deadline_seconds(json).is_some() {
            since = since.max(now.plus_seconds(-2 * PAST));
        }
        let times = std::iter::successors(schedule.next(since), |own| schedule.next(*own));
        times
            .take_while(|own| *own <= now.plus_seconds(-PAST))
            .last()
    }
}

/// Is something of a CronJob active that keeps others from being made?
fn waits(cron_job: &Json) -> bool {
    let policy = json::text(cron_job, &["spec", "concurrencyPolicy"]);
    policy == "Forbid" && !active(cron_job).is_empty()
}

/// Is the Job of this time another's?
fn is_foreign(world: &World, cron_job: &Object, time: Stamp) -> bool {
    let name = get_job_name(cron_job.name(), time);
    let found = ClusterView(world).get(&JOBS.key(cron_job.namespace(), &name));
    found.is_some_and(|kv| !is_controlled_by(kv.value.json(), cron_job.uid()))
}

impl Property for SchedulesGoOn {
    fn name(&self) -> &'static str {
        "schedules-go-on"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let changes = changes(note, &CRON_JOBS).next().is_some();
        (!changes).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        for change in changes(note, &CRON_JOBS) {
            match (&change.before, &change.now) {
                (Some(before), Some(now))
                    if schedule(before.value.json()) != schedule(now.value.json()) =>
                {
                    let uid = now.value.uid().into();
                    self.changed.insert(uid, Instant(world.now()));
                }
                (Some(before), None) => drop(self.changed.remove(before.value.uid())),
                _ => {}
            }
        }
        Check::Idle
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.after)
    }

    fn deadline(&mut self, world: &World) -> Check {
        if !somebody_runs(world, CONTROLLER) {
            return Check::Idle;
        }
        let now = Stamp::of(world.now());
        for cron_job in cron_jobs(world) {
            let Some(time) = self.left_out(cron_job, now) else {
                continue;
            };
            if !waits(cron_job.json()) && !is_foreign(world, cron_job, time) {
                let (name, time) = (cron_job.name(), time.seconds());
                let message = format!("the CronJob {name} has not run for {time}");
                return violated("cronjob", name, message);
            }
        }
        Check::Held
    }
}

fn active_are_there(world: &World) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    for cron_job in cron_jobs(world) {
        for listed in active(cron_job.json()) {
            let text = |field| json::text(listed, &[field]);
            let found = ClusterView(world).get(&JOBS.key(text("namespace"), text("name")));
            let found = found.filter(|kv| kv.value.uid() == text("uid"));
            let why = match found {
                None => "is gone",
                Some(kv) if is_job_finished(kv.value.json()) => "has ended",
                Some(_) => continue,
            };
            let (name, job) = (cron_job.name(), text("name"));
            let message = format!("the CronJob {name} lists the Job {job} as active, which {why}");
            return violated("cronjob", name, message);
        }
    }
    Check::Held
}

pub(super) fn active_jobs_run(after: Duration) -> Stable {
    Stable::new(
        "active-jobs-run",
        after,
        |_, _| Check::Idle,
        active_are_there,
    )
}

fn has_ended_as(job: &Json, kind: &str) -> bool {
    let mut all = json::list(job, &["status", "conditions"]).iter();
    all.any(|own| own["type"] == kind && own["status"] == "True")
}

fn history_is_short(world: &World) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    let now = Stamp::of(world.now());
    for cron_job in cron_jobs(world) {
        let json = cron_job.json();
        // It was synced at that time.
        let last = running(json).and_then(|own| own.next(now.plus_seconds(-3 * PAST)));
        if last.is_none_or(|last| last > now.plus_seconds(-PAST)) {
            continue;
        }
        for (field, kind) in [
            ("successfulJobsHistoryLimit", "Complete"),
            ("failedJobsHistoryLimit", "Failed"),
        ] {
            let limit = json::number(json, &["spec", field]).unwrap_or(i64::MAX);
            let mut jobs = ClusterView(world).all(JOBS.registry);
            jobs.retain(|job| is_controlled_by(job.json(), cron_job.uid()));
            jobs.retain(|job| has_ended_as(job.json(), kind));
            if jobs.len() as i64 > limit {
                let (name, count) = (cron_job.name(), jobs.len());
                let message = format!(
                    "the CronJob {name} has {count} Jobs that are {kind}, and is to keep {limit}"
                );
                return violated("cronjob", name, message);
            }
        }
    }
    Check::Held
}

pub(super) fn job_history_is_short(after: Duration) -> Stable {
    Stable::new(
        "job-history-is-short",
        after,
        |_, _| Check::Idle,
        history_is_short,
    )
}
