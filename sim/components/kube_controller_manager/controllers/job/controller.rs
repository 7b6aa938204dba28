//! The controller (`pkg/controller/job/job_controller.go`, v1.36.2): what it is made of, its queues and its workers. One sync
//! of a Job is in `sync`, how pods are made and deleted in `manage`, how they are counted in `track`, what becomes of pods
//! without a Job in `orphans`, what wakes it up in `events`.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::kinds::{JOBS, PODS};
use wavetank_api::{Method, Reason, Request, Stored};
use wavetank_api::{Object, json::Json};
use wavetank_client::RestClient;
use wavetank_client::informer::Lister;
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Cx, Name, Rx, Timer};
use wavetank_version::Set;

use super::defects::JobDefect;
use super::events::Events;
use super::notes::{JobStatusIsInvalid, WritesJobStatus};
use crate::controller::{Controller, ControllerContext, Work};
use crate::controller_utils::{
    ConsistencyStore, ControllerRef, Expectations, PodOwnerDefect, RealPodControl, SyncError,
    pod_key,
};
use wavetank_api::kinds::jobs::is_job_finished;
use wavetank_components::elected::process_next_work_item;

/// Its name in `--controllers`.
pub(super) const CONTROLLER: &str = "job-controller";
/// `DefaultJobApiBackOff`
const DEFAULT_JOB_API_BACK_OFF: Duration = Duration::from_secs(1);
/// `MaxJobApiBackOff`
const MAX_JOB_API_BACK_OFF: Duration = Duration::from_secs(60);
pub(super) const QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "job")
    .waiting_first(DEFAULT_JOB_API_BACK_OFF)
    .waiting_at_most(MAX_JOB_API_BACK_OFF);
/// `orphanQueue`
pub(super) const ORPHAN_QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "job_orphan_pod")
    .waiting_first(DEFAULT_JOB_API_BACK_OFF)
    .waiting_at_most(MAX_JOB_API_BACK_OFF);
pub(super) const EXPECTATIONS: Expectations = Expectations::new(Name::new(CONTROLLER));

/// Upstream's `Controller`
#[derive(Debug)]
pub(super) struct JobController {
    pub(super) rest: RestClient,
    pub(super) pod_control: RealPodControl,
    pub(super) jobs: Lister,
    pub(super) pods: Lister,
    pub(super) consistency: ConsistencyStore,
    pub(super) defects: Set<JobDefect>,
    pub(super) of_owners: Set<PodOwnerDefect>,
    workers: u32,
}

/// Its `worker`.
#[derive(Debug)]
struct Workers(Arc<JobController>);

/// Its `orphanWorker`.
#[derive(Debug)]
struct OrphanWorkers(Arc<JobController>);

/// What a Job refers to itself with.
pub(super) fn controller_ref(job: &Object) -> ControllerRef<'_> {
    ControllerRef {
        of: &JOBS,
        object: job,
    }
}

/// Upstream's `NewController`
pub(super) fn new(cx: &mut ControllerContext, workers: u32) -> Arc<dyn Controller> {
    let jobs = cx.informers.informer_for(&JOBS).lister();
    let pods = cx.informers.informer_for(&PODS).lister();
    let stores = vec![(&PODS, pods), (&JOBS, jobs)];
    let consistency = ConsistencyStore::new(Name::new(CONTROLLER), stores);
    let events = Events {
        jobs,
        consistency: consistency.clone(),
        defects: cx.defects.of(),
    };
    events.add_event_handlers(cx);
    Arc::new(Workers(Arc::new(JobController {
        rest: cx.rest.clone(),
        pod_control: RealPodControl {
            rest: cx.rest.clone(),
            on_write: consistency.clone(),
        },
        jobs,
        pods,
        consistency,
        defects: cx.defects.of(),
        of_owners: cx.defects.of(),
        workers,
    })))
}

impl JobController {
    /// `updateJobStatus`: the Job as it is then.
    pub(super) async fn update_job_status(&self, rx: Rx, job: &Json) -> Result<Stored, SyncError> {
        let object = Object::new(job.clone());
        let key = pod_key(&object);
        rx.note(WritesJobStatus {
            job: key.clone(),
            finishes: is_job_finished(job),
        });
        let path = JOBS.path(object.namespace(), object.name());
        let put = Request::new(Method::Put, format!("{path}/status")).with(job.clone());
        let updated = match self.rest.object(rx, put).await {
            Ok(updated) => updated,
            Err(error) => {
                if error.is(Reason::Invalid) {
                    let why = error.to_string().into();
                    rx.note(JobStatusIsInvalid { job: key, why });
                }
                return Err(error.into());
            }
        };
        let (uid, revision) = (object.uid(), updated.resource_version);
        self.consistency.wrote_at(rx, &key, uid, &JOBS, revision);
        Ok(updated)
    }

    /// Is a Job synced from caches that have not seen what was written?
    pub(super) fn reads_stale(&self) -> bool {
        let without = [
            JobDefect::StaleJobs,
            JobDefect::PodsCountTwice,
            JobDefect::FinishedJobsAreSynced,
            JobDefect::ActWithoutExpectations,
            JobDefect::FinishesBeforePodsAreSeen,
        ];
        without.into_iter().any(|defect| self.defects.has(defect))
    }

    async fn wait_for_caches(&self, rx: Rx) {
        for cache in [self.pods, self.jobs] {
            cache.wait_for_cache_sync(rx).await;
        }
    }
}

impl Controller for Workers {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![QUEUE, ORPHAN_QUEUE]
    }

    fn workers(&self) -> u32 {
        self.0.workers
    }

    fn beside(&self) -> Vec<Arc<dyn Controller>> {
        vec![Arc::new(OrphanWorkers(self.0.clone()))]
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.0.wait_for_caches(rx).await;
            let sync = |key: Item| self.0.sync_job(rx, key);
            process_next_work_item(rx, leading, QUEUE, sync).await
        })
    }

    fn timer(&self, cx: &mut Cx<'_>, timer: Timer) -> bool {
        Expectations::timer(cx, timer)
    }
}

impl Controller for OrphanWorkers {
    fn name(&self) -> &'static str {
        "job-controller-orphan-pods"
    }

    fn workers(&self) -> u32 {
        self.0.workers
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.0.wait_for_caches(rx).await;
            let sync = |key: Item| self.0.sync_orphan_pod(rx, key);
            process_next_work_item(rx, leading, ORPHAN_QUEUE, sync).await
        })
    }
}
