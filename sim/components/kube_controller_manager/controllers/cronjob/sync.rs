//! One sync of a CronJob (`sync`, `syncCronJob`, `cleanupFinishedJobs`): Jobs that have ended are taken off the list of those
//! that are active, there are not too many of them, and the Job of the time that is due is made.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::cron::{Schedule, parse_standard};
use wavetank_api::kinds::jobs::is_job_finished;
use wavetank_api::kinds::{CRON_JOBS, JOBS};
use wavetank_api::{Json, Method, Object, Reason, Request, Stamp, Stored, json};
use wavetank_client::Failure;
use wavetank_client::workqueue::Item;
use wavetank_engine::Rx;

use super::controller::ControllerV2;
use super::defects::CronJobDefect;
use super::jobs::{
    active, add_to_active_list, by_job_start_time, delete_from_active_list, get_job_from_template2,
    get_job_name, in_active_list, in_active_list_by_name, scheduled_time,
};
use super::notes::{DeletesJob, JobIsForeign, MadeJobFor, MakesJobFor};
use super::times::{
    last_schedule_time, next_schedule_time, next_schedule_time_duration, starting_deadline_seconds,
};
use crate::controller_utils::{SyncError, get_controller_of, is_controlled_by, pod_key};

const LAST_SUCCESSFUL_TIME: [&str; 2] = ["status", "lastSuccessfulTime"];

/// What a sync works on: the CronJob of the cache with what is to be written of it; and one that was read since, on which it
/// goes on if there is one (`cronJob = cjCopy`). What is changed in that one is not written.
struct Work {
    copy: Json,
    read_since: Option<Json>,
    /// `updateStatus`
    updates: bool,
}

/// What a sync comes to: when the CronJob is looked at again, if that is known.
type Synced = Result<Option<Duration>, SyncError>;

impl Work {
    fn cron_job(&self) -> &Json {
        self.read_since.as_ref().unwrap_or(&self.copy)
    }

    fn change(&mut self) -> &mut Json {
        self.read_since.as_mut().unwrap_or(&mut self.copy)
    }

    fn object(&self) -> Object {
        Object::new(self.cron_job().clone())
    }
}

/// How a Job has ended: `Complete` or `Failed` (`getFinishedStatus`).
fn get_finished_status(job: &Json) -> Option<&str> {
    let mut all = json::list(job, &["status", "conditions"]).iter();
    let ended = all.find(|own| {
        let kind = json::text(own, &["type"]);
        matches!(kind, "Complete" | "Failed") && own["status"] == "True"
    })?;
    Some(json::text(ended, &["type"]))
}

/// Is it a Job of this CronJob that has not ended?
fn runs_for(cron_job: &Json, job: &Json) -> bool {
    let uid = json::text(cron_job, &["metadata", "uid"]);
    is_controlled_by(job, uid) && !is_job_finished(job)
}

impl ControllerV2 {
    /// `sync`
    pub(super) async fn sync(&self, rx: Rx, key: Item) -> Synced {
        let Some(cron_job) = self.cron_jobs.get(rx, &key) else {
            return Ok(None);
        };
        let jobs = self.get_jobs_to_be_reconciled(rx, &cron_job.object);
        let mut work = Work {
            copy: cron_job.json(),
            read_since: None,
            updates: false,
        };
        self.cleanup_finished_jobs(rx, &mut work, &jobs).await;
        let synced = self.sync_cron_job(rx, &mut work, &jobs).await;
        if work.updates {
            let object = &cron_job.object;
            let path = CRON_JOBS.path(object.namespace(), object.name());
            let put = Request::new(Method::Put, format!("{path}/status")).with(work.copy);
            self.rest.object(rx, put).await?;
        }
        // That of `syncCronJob` counts only where no time is known.
        synced
    }

    /// `getJobsToBeReconciled`: those that name it as their controller.
    fn get_jobs_to_be_reconciled(&self, rx: Rx, cron_job: &Object) -> Vec<Stored> {
        let mut jobs = self.jobs.list(rx);
        jobs.retain(|job| {
            let owner = get_controller_of(job.object.json());
            let named = owner.is_some_and(|own| own["name"] == *cron_job.name());
            named && job.object.namespace() == cron_job.namespace()
        });
        jobs
    }

    /// `cleanupFinishedJobs`
    async fn cleanup_finished_jobs(&self, rx: Rx, work: &mut Work, jobs: &[Stored]) {
        for (field, ended) in [
            ("successfulJobsHistoryLimit", "Complete"),
            ("failedJobsHistoryLimit", "Failed"),
        ] {
            let Some(limit) = json::number(work.cron_job(), &["spec", field]) else {
                continue;
            };
            let mut all: Vec<&Stored> = jobs.iter().collect();
            all.retain(|job| get_finished_status(job.object.json()) == Some(ended));
            // `removeOldestJobs`
            let excess = all
                .len()
                .saturating_sub(usize::try_from(limit).unwrap_or(0));
            all.sort_by_key(|job| by_job_start_time(&job.object));
            for job in all.into_iter().take(excess) {
                if self.delete_job(rx, work, &job.object, false).await {
                    work.updates = true;
                }
            }
        }
    }

    /// `deleteJob`: did that succeed?
    async fn delete_job(&self, rx: Rx, work: &mut Work, job: &Object, is_replaced: bool) -> bool {
        rx.note(DeletesJob {
            job: pod_key(job),
            is_replaced,
        });
        let path = JOBS.path(job.namespace(), job.name());
        let delete = Request::new(Method::Delete, path).with(json!({
            "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background",
        }));
        let deleted = self.rest.request(rx, delete).await.is_ok();
        if deleted {
            delete_from_active_list(work.change(), job.uid());
        }
        deleted
    }

    async fn get_job(&self, rx: Rx, namespace: &str, name: &str) -> Result<Stored, Failure> {
        let get = Request::new(Method::Get, JOBS.path(namespace, name));
        self.rest.object(rx, get).await
    }

    /// The first half of `syncCronJob`: what became of its Jobs.
    async fn look_at_jobs(
        &self,
        rx: Rx,
        work: &mut Work,
        jobs: &[Stored],
    ) -> Result<(), SyncError> {
        for job in jobs {
            let (uid, json) = (job.object.uid(), job.object.json());
            let found = in_active_list(work.cron_job(), uid);
            if !found && !is_job_finished(json) {
                let object = work.object();
                let path = CRON_JOBS.path(object.namespace(), object.name());
                let get = Request::new(Method::Get, path);
                let fresh = self.rest.object(rx, get).await?.json();
                if in_active_list(&fresh, uid) {
                    work.read_since = Some(fresh);
                }
            } else if is_job_finished(json) {
                if found {
                    delete_from_active_list(work.change(), uid);
                    work.updates = true;
                }
                note_success(work, json);
            }
        }
        for listed in active(work.cron_job()).to_vec() {
            let uid = json::text(&listed, &["uid"]);
            let is_seen = jobs.iter().any(|job| job.object.uid() == uid);
            if is_seen || self.defects.has(CronJobDefect::MissingJobsStayActive) {
                continue;
            }
            let text = |field| json::text(&listed, &[field]);
            let is_gone = match self.get_job(rx, text("namespace"), text("name")).await {
                Err(error) if error.is(Reason::NotFound) => true,
                found => {
                    let is_another = found?.object.uid() != uid;
                    is_another && self.defects.has(CronJobDefect::FixActiveByUid)
                }
            };
            if is_gone {
                delete_from_active_list(work.change(), uid);
                work.updates = true;
            }
        }
        Ok(())
    }

    /// `syncCronJob`
    async fn sync_cron_job(&self, rx: Rx, work: &mut Work, jobs: &[Stored]) -> Synced {
        let now = Stamp::of(rx.clock());
        self.look_at_jobs(rx, work, jobs).await?;
        let cron_job = work.object();
        let json = cron_job.json();
        let is_suspended = json::at(json, &["spec", "suspend"]) == Some(&Json::Bool(true));
        if cron_job.is_being_deleted() || is_suspended {
            return Ok(None);
        }
        let Ok(schedule) = parse_standard(json::text(json, &["spec", "schedule"])) else {
            return Ok(None);
        };
        let Ok(due) = next_schedule_time(json, now, &schedule, self.defects) else {
            return Ok(None);
        };
        let next = |json: &Json| next_schedule_time_duration(json, now, &schedule, self.defects);
        let Some(time) = due else {
            return Ok(Some(next(json)));
        };
        let deadline = starting_deadline_seconds(json).map(|seconds| time.plus_seconds(seconds));
        let ignores = self.defects.has(CronJobDefect::StartingDeadlinesAreIgnored);
        if deadline.is_some_and(|deadline| deadline < now) && !ignores {
            return Ok(Some(next(json)));
        }
        let name = get_job_name(cron_job.name(), time);
        if in_active_list_by_name(json, &name) || last_schedule_time(json) == Some(time) {
            return Ok(Some(next(json)));
        }
        self.list_forgotten(work, jobs, time);
        let cron_job = work.object();
        let json = cron_job.json();
        let policy = json::text(json, &["spec", "concurrencyPolicy"]);
        if policy == "Forbid" && self.is_something_active(json, jobs) {
            return Ok(Some(next(json)));
        }
        if policy == "Replace" {
            self.replace_active(rx, work).await?;
        }
        let others = jobs.iter().map(|job| &job.object);
        let is_other = |job: &Json| scheduled_time(job).is_some_and(|own| own != time);
        let others = others.filter(|job| runs_for(json, job.json()) && is_other(job.json()));
        let others = others.map(|job| job.uid().into()).collect();
        self.make_job(rx, work, &schedule, (time, now), others)
            .await
    }

    /// Who made a Job may have ended before the status said so. Upstream tells that, and leaves it. The Job of the time that is due is
    /// met by its name; one that somebody made by hand has no time.
    fn list_forgotten(&self, work: &mut Work, jobs: &[Stored], due: Stamp) {
        for job in jobs {
            let json = job.object.json();
            let is_forgotten = runs_for(work.cron_job(), json)
                && !in_active_list(work.cron_job(), job.object.uid())
                && scheduled_time(json).is_some_and(|time| time != due);
            if is_forgotten && self.defects.has(CronJobDefect::FixForgottenJobsAreActive) {
                add_to_active_list(work.change(), &job.object, job.resource_version);
                work.updates = true;
            }
        }
    }

    /// What `Forbid` asks.
    fn is_something_active(&self, cron_job: &Json, jobs: &[Stored]) -> bool {
        if !self.defects.has(CronJobDefect::ForbidAsksTheCache) {
            return !active(cron_job).is_empty();
        }
        let mut seen = jobs.iter().map(|job| job.object.json());
        seen.any(|job| runs_for(cron_job, job))
    }

    /// What `Replace` does before the next Job is made.
    async fn replace_active(&self, rx: Rx, work: &mut Work) -> Result<(), SyncError> {
        for listed in active(work.cron_job()).to_vec() {
            let text = |field| json::text(&listed, &[field]);
            let job = self.get_job(rx, text("namespace"), text("name")).await?;
            if !self.delete_job(rx, work, &job.object, true).await {
                let name = pod_key(&job.object);
                let why = format!("could not replace job {name}");
                return Err(SyncError::Worded(why));
            }
            work.updates = true;
        }
        Ok(())
    }

    /// The rest of `syncCronJob`, from where the Job of a time is made. These others are seen to run.
    async fn make_job(
        &self,
        rx: Rx,
        work: &mut Work,
        schedule: &Schedule,
        (time, now): (Stamp, Stamp),
        others: Arc<[Arc<str>]>,
    ) -> Synced {
        let cron_job = work.object();
        let json = cron_job.json();
        let mut job = get_job_from_template2(&cron_job, time);
        let name = get_job_name(cron_job.name(), time);
        if self.defects.has(CronJobDefect::JobsAreNamedAtRandom) {
            json::remove(&mut job, &["metadata", "name"]);
            job["metadata"]["generateName"] = format!("{}-", cron_job.name()).into();
        }
        rx.note(MakesJobFor {
            cron_job: pod_key(&cron_job),
            uid: cron_job.uid().into(),
            time,
            now,
            deadline: starting_deadline_seconds(json).map(|seconds| time.plus_seconds(seconds)),
            is_of_schedule: match schedule {
                Schedule::At(_) => schedule.next(time.plus_seconds(-1)) == Some(time),
                Schedule::Every(_) => true,
            },
            forbids: json::text(json, &["spec", "concurrencyPolicy"]) == "Forbid",
            active: active(json).len(),
            others,
        });
        let post = Request::new(Method::Post, JOBS.path(cron_job.namespace(), ""));
        let made = match self.rest.object(rx, post.with(job)).await {
            Err(error) if error.is(Reason::AlreadyExists) => {
                // What `getJobFromTemplate2` makes has no namespace, and nothing is found without one.
                let namespace = match self.defects.has(CronJobDefect::ExistingJobsAreNotTakenUp) {
                    true => "",
                    false => cron_job.namespace(),
                };
                let found = self.get_job(rx, namespace, &name).await?;
                if !is_controlled_by(found.object.json(), cron_job.uid()) {
                    rx.note(JobIsForeign {
                        job: pod_key(&found.object),
                    });
                    // Upstream does not look at the CronJob again.
                    let after = next_schedule_time_duration(json, now, schedule, self.defects);
                    let goes_on = self.defects.has(CronJobDefect::FixGoOnAfterForeignJobs);
                    return Ok(goes_on.then_some(after));
                }
                if in_active_list(json, found.object.uid()) {
                    return Ok(None);
                }
                found
            }
            made => {
                let made = made?;
                rx.note(MadeJobFor {
                    job: pod_key(&made.object),
                });
                made
            }
        };
        let cron_job = work.change();
        add_to_active_list(cron_job, &made.object, made.resource_version);
        json::set(cron_job, &["status", "lastScheduleTime"], time.seconds());
        work.updates = true;
        let next = next_schedule_time_duration(work.cron_job(), now, schedule, self.defects);
        Ok(Some(next))
    }
}

/// When the Job was completed that was completed last is `lastSuccessfulTime`.
fn note_success(work: &mut Work, job: &Json) {
    if get_finished_status(job) != Some("Complete") {
        return;
    }
    let completed = json::text(job, &["status", "completionTime"]).to_owned();
    let last = json::text(work.cron_job(), &LAST_SUCCESSFUL_TIME);
    let is_later = Stamp::parse(&completed) > Stamp::parse(last);
    if !completed.is_empty() && is_later {
        json::set(work.change(), &LAST_SUCCESSFUL_TIME, completed);
        work.updates = true;
    }
}
