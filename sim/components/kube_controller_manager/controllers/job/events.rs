//! What wakes the controller up (handlers of `pkg/controller/job/job_controller.go`): a Job changes, or a pod does that one
//! controls or could adopt.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::json;
use wavetank_api::kinds::deployments::label_selector_as_selector;
use wavetank_api::kinds::jobs::is_job_finished;
use wavetank_api::kinds::{JOBS, PODS};
use wavetank_api::{Object, Stamp, Stored};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_engine::{NotState, Rx};
use wavetank_version::Set;

use super::backoff_utils::remove_backoff_record;
use super::controller::{CONTROLLER, EXPECTATIONS, QUEUE};
use super::defects::JobDefect;
use super::orphans::{enqueue_label_selector, enqueue_orphan_pod, resolve_controller_ref};
use super::tracking_utils::{finalizer_removal_observed, finish_observed};
use super::util::{has_job_tracking_finalizer, of_spec};
use crate::controller::ControllerContext;
use crate::controller_utils::{ConsistencyStore, POD_CONTROLLER_INDEX, get_controller_of, pod_key};

/// `SyncJobBatchPeriod`
pub(super) const SYNC_JOB_BATCH_PERIOD: Duration = Duration::from_secs(1);

/// The handlers of the controller.
#[derive(Clone, Debug)]
pub(super) struct Events {
    pub jobs: Lister,
    pub consistency: ConsistencyStore,
    pub defects: Set<JobDefect>,
}

/// `enqueueSyncJobImmediately`
fn enqueue_sync_job_immediately(rx: Rx, job: &Object) {
    QUEUE.add(rx, pod_key(job));
}

/// `enqueueSyncJobBatched`
fn enqueue_sync_job_batched(rx: Rx, job: &Object) {
    QUEUE.add_after(rx, pod_key(job), SYNC_JOB_BATCH_PERIOD);
}

impl Events {
    /// Adds them at the informers, and the index of pods.
    pub fn add_event_handlers(self, cx: &mut ControllerContext) {
        let all = Arc::new(self);
        let own = all.clone();
        let mut jobs = cx.informers.informer_for(&JOBS);
        jobs.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| own.job(rx, notice))),
            ..HandlerSpec::new(CONTROLLER)
        });
        let own = all;
        let mut pods = cx.informers.informer_for(&PODS);
        pods.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| own.pod(rx, notice))),
            ..HandlerSpec::new(CONTROLLER)
        });
        pods.add_indexers(&[POD_CONTROLLER_INDEX]);
    }

    /// Do orphans keep the finalizer that they have?
    fn leaves_orphans(&self) -> bool {
        self.defects.has(JobDefect::OrphansKeepTheFinalizer)
    }

    fn job(&self, rx: Rx, notice: &Notice) {
        match notice {
            // `addJob`
            Notice::Added { new, .. } => enqueue_sync_job_immediately(rx, &new.object),
            Notice::Updated { old, new } => self.update_job(rx, &old.object, &new.object),
            Notice::Deleted(gone) => {
                if let Some(last) = &gone.last {
                    self.delete_job(rx, &last.object);
                }
            }
        }
    }

    /// `updateJob`
    fn update_job(&self, rx: Rx, old: &Object, job: &Object) {
        // It was made anew between two looks. Upstream does not ask.
        if old.uid() != job.uid() {
            if self.defects.has(JobDefect::FixJobsMadeAnew) {
                self.delete_job(rx, old);
            } else if !self.defects.has(JobDefect::ExpectationsOutliveTheJob) {
                EXPECTATIONS.delete_expectations(rx, &pod_key(job));
            }
        }
        if is_job_finished(job.json()) {
            // A backup: no pod should have the finalizer by then.
            if !self.leaves_orphans() && !self.finishes_early() {
                enqueue_label_selector(rx, job);
            }
            return;
        }
        let generation = |of: &Object| json::number(of.json(), &["metadata", "generation"]);
        match generation(job) == generation(old) {
            true => enqueue_sync_job_batched(rx, job),
            false => enqueue_sync_job_immediately(rx, job),
        }
        let start = Stamp::parse(json::text(job.json(), &["status", "startTime"]));
        let deadline = |of: &Object| of_spec(of.json(), "activeDeadlineSeconds");
        if let (Some(start), Some(seconds)) = (start, deadline(job))
            && deadline(old) != Some(seconds)
        {
            let left = start.plus_seconds(seconds).nanos() - Stamp::of(rx.clock()).nanos();
            let left = u64::try_from(left).unwrap_or(0);
            QUEUE.add_after(rx, pod_key(job), Duration::from_nanos(left));
        }
    }

    /// Is that a controller that lets Jobs fail before it has seen their pods?
    fn finishes_early(&self) -> bool {
        self.defects.has(JobDefect::FinishesBeforePodsAreSeen)
    }

    /// `deleteJob`
    fn delete_job(&self, rx: Rx, job: &Object) {
        enqueue_sync_job_immediately(rx, job);
        let key = pod_key(job);
        self.consistency.clear(rx, &key, Some(job.uid()));
        finish_observed(rx, job.uid());
        if !self.leaves_orphans() {
            enqueue_label_selector(rx, job);
        }
        // Upstream has that from PR #142236 on, if at all.
        if !self.defects.has(JobDefect::ExpectationsOutliveTheJob) {
            EXPECTATIONS.delete_expectations(rx, &key);
        }
        remove_backoff_record(rx, &key);
    }

    fn pod(&self, rx: Rx, notice: &Notice) {
        match notice {
            Notice::Added { new, .. } => self.add_pod(rx, &new.object),
            Notice::Updated { old, new } => self.update_pod(rx, old, new),
            Notice::Deleted(gone) => {
                if let Some(last) = &gone.last {
                    self.delete_pod(rx, &last.object, true);
                }
            }
        }
    }

    /// `addPod`
    fn add_pod(&self, rx: Rx, pod: &Object) {
        let job_of = |reference| resolve_controller_ref(rx, self.jobs, pod.namespace(), reference);
        if pod.is_being_deleted() {
            let job = get_controller_of(pod.json()).and_then(job_of);
            // Upstream says that it was made earlier, before a restart perhaps. Who was restarted expects nothing yet.
            if let Some(job) = job.filter(|_| self.defects.has(JobDefect::FixGoingPodsWereMade)) {
                EXPECTATIONS.creation_observed(rx, &pod_key(&job.object));
            }
            return self.delete_pod(rx, pod, false);
        }
        if let Some(reference) = get_controller_of(pod.json()) {
            if let Some(job) = job_of(reference) {
                EXPECTATIONS.creation_observed(rx, &pod_key(&job.object));
                enqueue_sync_job_batched(rx, &job.object);
            }
            return;
        }
        self.clean_orphan(rx, pod);
        self.enqueue_matching(rx, pod);
    }

    /// An orphan that has the finalizer loses it.
    fn clean_orphan(&self, rx: Rx, pod: &Object) {
        if has_job_tracking_finalizer(pod.json()) && !self.leaves_orphans() {
            enqueue_orphan_pod(rx, pod);
        }
    }

    /// `updatePod`
    fn update_pod(&self, rx: Rx, old: &Stored, new: &Stored) {
        if old.resource_version == new.resource_version {
            return;
        }
        let (old, new) = (&old.object, &new.object);
        if new.is_being_deleted() {
            return self.delete_pod(rx, new, false);
        }
        let removed = !has_job_tracking_finalizer(new.json());
        let (was, is) = (get_controller_of(old.json()), get_controller_of(new.json()));
        let changed = was != is;
        let job_of = |reference| resolve_controller_ref(rx, self.jobs, new.namespace(), reference);
        let tell = |job: Stored| {
            if removed {
                finalizer_removal_observed(rx, &pod_key(&job.object), new.uid());
            }
            enqueue_sync_job_batched(rx, &job.object);
        };
        if let Some(was) = was.filter(|_| changed)
            && let Some(job) = job_of(was)
        {
            tell(job);
        }
        if let Some(is) = is {
            if let Some(job) = job_of(is) {
                tell(job);
            }
            return;
        }
        self.clean_orphan(rx, new);
        let labels = |pod: &Object| json::at(pod.json(), &["metadata", "labels"]).cloned();
        if changed || labels(old) != labels(new) {
            self.enqueue_matching(rx, new);
        }
    }

    /// `deletePod`: a pod is gone for good, or marked as going.
    fn delete_pod(&self, rx: Rx, pod: &Object, is_final: bool) {
        let has_finalizer = has_job_tracking_finalizer(pod.json());
        let Some(reference) = get_controller_of(pod.json()) else {
            return self.clean_orphan(rx, pod);
        };
        let job = resolve_controller_ref(rx, self.jobs, pod.namespace(), reference);
        let is_over = |job: &Stored| is_job_finished(job.object.json()) && !self.finishes_early();
        let Some(job) = job.filter(|job| !is_over(job)) else {
            // No sync will remove the finalizer.
            if has_finalizer {
                enqueue_orphan_pod(rx, pod);
            }
            return;
        };
        let key = pod_key(&job.object);
        EXPECTATIONS.lower_deletions(rx, &key);
        if is_final || !has_finalizer {
            finalizer_removal_observed(rx, &key, pod.uid());
        }
        enqueue_sync_job_batched(rx, &job.object);
    }

    /// Upstream's `getPodJobs`, and what is done with them: those that could adopt an orphan.
    fn enqueue_matching(&self, rx: Rx, pod: &Object) {
        for job in self.jobs.list(rx) {
            let is_near = job.object.namespace() == pod.namespace();
            let selector = json::at(job.object.json(), &["spec", "selector"]);
            let selector = selector.and_then(label_selector_as_selector);
            if is_near && selector.is_some_and(|own| own.matches(pod.json())) {
                enqueue_sync_job_batched(rx, &job.object);
            }
        }
    }
}
