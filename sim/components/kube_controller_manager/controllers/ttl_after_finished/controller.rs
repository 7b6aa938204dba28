//! The algorithm (`pkg/controller/ttlafterfinished/ttlafterfinished_controller.go`): a finished Job is looked at when
//! its TTL has passed, first as the cache shows it and then as an apiserver does, and deleted if it still should go.
//! Nobody listens to its event recorder, upstream neither.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::kinds::JOBS;
use wavetank_api::kinds::jobs::{is_job_finished, job_finish_time, ttl_seconds_after_finished};
use wavetank_api::{Json, Method, Reason, Request, Stamp, Stored, json};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{Failure, RestClient};
use wavetank_engine::{Name, NotState, Rx, mutant};
use wavetank_version::{Defect, Gate, Set, defects};

use crate::controller::{Controller, ControllerContext, Work};
use wavetank_components::elected::process_next_work_item;

/// Its name in `--controllers`.
pub(super) const CONTROLLER: &str = "ttl-after-finished-controller";
const QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "ttl_jobs_to_delete");

const TTL_FROM_CACHE: Defect = Defect::known(
    "ttl-from-cache",
    "the final check of `processJob`, left out",
    "a Job is deleted as the cache shows it: its TTL may have been raised meanwhile",
)
.ships(Gate::NEVER);

const TTL_WITHOUT_PRECONDITIONS: Defect = Defect::known(
    "ttl-without-preconditions",
    "the preconditions of `processJob`, left out",
    "a Job is deleted by its name alone: it may be another one by now",
)
.ships(Gate::NEVER);

const FIX_TTL_PRECONDITION: Defect = Defect::fix(
    "fix-ttl-precondition",
    "FINDINGS.md, 21",
    "a Job is deleted only if it is still the one that was read: with the TTL that it had",
);

defects! {
    /// A mistake in the TTL-after-finished controller, or the fix of one.
    pub enum TtlDefect in "TTL-after-finished controllers" {
        FromCache = TTL_FROM_CACHE,
        WithoutPreconditions = TTL_WITHOUT_PRECONDITIONS,
        FixPrecondition = FIX_TTL_PRECONDITION,
    }
}

/// The controller asks for the deletion of a Job, whose TTL has passed as far as it knows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct CleansUp {
    /// `namespace/name`
    pub job: Item,
}

/// The controller.
#[derive(Debug)]
pub(super) struct TtlController {
    rest: RestClient,
    defects: Set<TtlDefect>,
    jobs: Lister,
    workers: u32,
}

/// `needsCleanup`, of a Job that nobody deletes.
fn needs_cleanup(job: &Json) -> bool {
    let is_being_deleted = json::at(job, &["metadata", "deletionTimestamp"]).is_some();
    !is_being_deleted && ttl_seconds_after_finished(job).is_some() && is_job_finished(job)
}

/// `getFinishAndExpireTime`: when its TTL has passed, if it has one and says when it finished.
pub(super) fn get_finish_and_expire_time(job: &Json) -> Option<Stamp> {
    let seconds = ttl_seconds_after_finished(job)?;
    Some(job_finish_time(job)?.plus_seconds(seconds))
}

/// Upstream's `addJob`, `updateJob`
fn enqueue(rx: Rx, _: u32, notice: &Notice) {
    if let Notice::Added { new, .. } | Notice::Updated { new, .. } = notice
        && needs_cleanup(new.object.json())
        && !(matches!(notice, Notice::Updated { .. })
            && mutant!(
                "finishing-is-not-noticed",
                "a Job that finishes is not looked at"
            ))
    {
        QUEUE.add(rx, notice.key());
    }
}

impl TtlController {
    /// `New`
    pub fn new(cx: &mut ControllerContext, workers: u32) -> TtlController {
        let mut informer = cx.informers.informer_for(&JOBS);
        informer.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(enqueue)),
            ..HandlerSpec::new("ttl-after-finished")
        });
        TtlController {
            jobs: informer.lister(),
            rest: cx.rest.clone(),
            defects: cx.defects.of(),
            workers,
        }
    }

    /// `processJob`
    async fn process_job(&self, rx: Rx, key: Item) -> Result<(), Failure> {
        let Some(seen) = self.jobs.get(rx, &key) else {
            return Ok(());
        };
        if !process_ttl(rx, &key, &seen) {
            return Ok(());
        }
        let (namespace, name) = key.split_once('/').unwrap_or(("", &key));
        let path = JOBS.path(namespace, name);
        let fresh = match self.defects.has(TtlDefect::FromCache) {
            true => seen,
            false => {
                let get = Request::new(Method::Get, path.clone());
                match self.rest.object(rx, get).await {
                    Err(error) if error.is(Reason::NotFound) => return Ok(()),
                    read => read?,
                }
            }
        };
        if !process_ttl(rx, &key, &fresh) {
            return Ok(());
        }
        rx.note(CleansUp { job: key.clone() });
        let delete = Request::new(Method::Delete, path).with(self.delete_options(&fresh));
        self.rest.request(rx, delete).await.map(drop)
    }

    fn delete_options(&self, fresh: &Stored) -> Json {
        let mut options = json!({
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": "Foreground",
        });
        if !self.defects.has(TtlDefect::WithoutPreconditions) {
            options["preconditions"] = json!({"uid": fresh.object.uid()});
            // The fix is one of the final check.
            let is_checked = !self.defects.has(TtlDefect::FromCache);
            if self.defects.has(TtlDefect::FixPrecondition) && is_checked {
                let revision = fresh.resource_version.to_string();
                options["preconditions"]["resourceVersion"] = revision.into();
            }
        }
        options
    }
}

/// `processTTL`: has it passed? If it has not, the Job is looked at again when it will have.
fn process_ttl(rx: Rx, key: &Item, job: &Stored) -> bool {
    let job = job.object.json();
    let Some(expires) = get_finish_and_expire_time(job).filter(|_| needs_cleanup(job)) else {
        return false;
    };
    let left = expires.nanos() - Stamp::of(rx.clock()).nanos();
    match u64::try_from(left) {
        Ok(left)
            if left > 0
                && mutant!("ttl-is-not-waited-for", "a finished Job is deleted at once") =>
        {
            let _ = left;
            true
        }
        Ok(left) if left > 0 => {
            QUEUE.add_after(rx, key.clone(), Duration::from_nanos(left));
            false
        }
        _ => true,
    }
}

impl Controller for TtlController {
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
            self.jobs.wait_for_cache_sync(rx).await;
            process_next_work_item(rx, leading, QUEUE, |key| self.process_job(rx, key)).await
        })
    }
}

/// For the descriptor.
pub(super) fn new(cx: &mut ControllerContext, workers: u32) -> Arc<dyn Controller> {
    Arc::new(TtlController::new(cx, workers))
}
