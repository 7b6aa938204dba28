//! The controller (`pkg/controller/cronjob/cronjob_controllerv2.go`, v1.36.2): what it is made of, its queue, its workers, and
//! what wakes it up. One sync of a CronJob is in `sync`.

use std::sync::Arc;

use wavetank_api::cron::parse_standard;
use wavetank_api::kinds::{CRON_JOBS, JOBS};
use wavetank_api::{Json, Object, Stamp, Stored, json};
use wavetank_client::RestClient;
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Name, NotState, Rx};
use wavetank_version::Set;

use super::defects::CronJobDefect;
use super::times::next_schedule_time_duration;
use crate::controller::{Controller, ControllerContext, Work};
use crate::controller_utils::{get_controller_of, pod_key};
use wavetank_components::elected::process_next_work_item_with;

/// Its name in `--controllers`.
pub(super) const CONTROLLER: &str = "cronjob-controller";
pub(super) const QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "cronjob");

/// `ControllerV2`
#[derive(Debug)]
pub(super) struct ControllerV2 {
    pub(super) rest: RestClient,
    pub(super) jobs: Lister,
    pub(super) cron_jobs: Lister,
    pub(super) defects: Set<CronJobDefect>,
    workers: u32,
}

/// Its handlers.
#[derive(Clone, Copy, Debug)]
struct Events {
    cron_jobs: Lister,
    defects: Set<CronJobDefect>,
}

/// Upstream's `NewControllerV2`
pub(super) fn new(cx: &mut ControllerContext, workers: u32) -> Arc<dyn Controller> {
    let jobs = cx.informers.informer_for(&JOBS).lister();
    let cron_jobs = cx.informers.informer_for(&CRON_JOBS).lister();
    let defects = cx.defects.of();
    let events = Events { cron_jobs, defects };
    cx.informers
        .informer_for(&JOBS)
        .add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| events.job(rx, notice))),
            ..HandlerSpec::new(CONTROLLER)
        });
    cx.informers
        .informer_for(&CRON_JOBS)
        .add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| events.cron_job(rx, notice))),
            ..HandlerSpec::new(CONTROLLER)
        });
    Arc::new(ControllerV2 {
        rest: cx.rest.clone(),
        jobs,
        cron_jobs,
        defects,
        workers,
    })
}

impl Events {
    fn job(self, rx: Rx, notice: &Notice) {
        match notice {
            // `addJob`
            Notice::Added { new, .. } => self.enqueue_owner(rx, &new.object),
            Notice::Updated { old, new } => self.update_job(rx, old, new),
            // `deleteJob`
            Notice::Deleted(gone) => {
                if let Some(last) = &gone.last {
                    self.enqueue_owner(rx, &last.object);
                }
            }
        }
    }

    /// `updateJob`. The same version comes again with a resync only.
    fn update_job(self, rx: Rx, old: &Stored, job: &Stored) {
        if old.resource_version == job.resource_version {
            return;
        }
        let (old, job) = (&old.object, &job.object);
        if get_controller_of(old.json()) != get_controller_of(job.json()) {
            self.enqueue_owner(rx, old);
        }
        self.enqueue_owner(rx, job);
    }

    /// Wakes the CronJob that controls a Job (`resolveControllerRef`).
    fn enqueue_owner(self, rx: Rx, job: &Object) {
        let owner = get_controller_of(job.json()).filter(|own| own["kind"] == CRON_JOBS.kind);
        let Some(owner) = owner else {
            return;
        };
        let key: Item = format!("{}/{}", job.namespace(), json::text(owner, &["name"])).into();
        let found = self.cron_jobs.get(rx, &key);
        if found.is_some_and(|own| owner["uid"] == *own.object.uid()) {
            QUEUE.add(rx, key);
        }
    }

    fn cron_job(self, rx: Rx, notice: &Notice) {
        match notice {
            Notice::Updated { old, new } => {
                self.update_cron_job(rx, old.object.json(), &new.object)
            }
            _ => QUEUE.add(rx, notice.key()),
        }
    }

    /// `updateCronJob`
    fn update_cron_job(self, rx: Rx, old: &Json, cron_job: &Object) {
        let new = cron_job.json();
        let differs = |field| json::at(old, &["spec", field]) != json::at(new, &["spec", field]);
        if differs("schedule") || differs("timeZone") {
            let Ok(schedule) = parse_standard(json::text(new, &["spec", "schedule"])) else {
                return;
            };
            let now = Stamp::of(rx.clock());
            let left = next_schedule_time_duration(new, now, &schedule, self.defects);
            return QUEUE.add_after(rx, pod_key(cron_job), left);
        }
        if !self.defects.has(CronJobDefect::ResumedSchedulesWait) {
            QUEUE.add(rx, pod_key(cron_job));
        }
    }
}

impl Controller for ControllerV2 {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![QUEUE]
    }

    fn workers(&self) -> u32 {
        self.workers
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            for cache in [self.jobs, self.cron_jobs] {
                cache.wait_for_cache_sync(rx).await;
            }
            let sync = |key: Item| self.sync(rx, key);
            // `processNextWorkItem`
            process_next_work_item_with(rx, leading, QUEUE, sync, |key, synced| match synced {
                Err(_) => QUEUE.add_rate_limited(rx, key.clone()),
                Ok(Some(after)) => {
                    QUEUE.forget(rx, key);
                    QUEUE.add_after(rx, key.clone(), after);
                }
                Ok(None) => {}
            })
            .await
        })
    }
}
