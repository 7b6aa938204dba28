//! Pods that have no Job any more, or one that has finished: their tracking finalizer is removed (`syncOrphanPod` of
//! `pkg/controller/job/job_controller.go`).

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::JOBS;
use wavetank_api::kinds::deployments::label_selector_as_selector;
use wavetank_api::kinds::jobs::is_job_finished;
use wavetank_api::{Object, Reason, Stored};
use wavetank_client::informer::Lister;
use wavetank_client::workqueue::Item;
use wavetank_engine::Rx;

use super::controller::{JobController, ORPHAN_QUEUE};
use super::defects::JobDefect;
use super::util::{
    has_job_tracking_finalizer, managed_by_external_controller, remove_tracking_finalizer_patch,
};
use crate::controller_utils::{SyncError, get_controller_of, is_pod_active, pod_key};

pub(super) const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";
/// What a key begins with that names a pod (`OrphanPodKeyKindName`), or that holds a selector (`OrphanPodKeyKindSelector`).
const BY_NAME: &str = "name:";
const BY_SELECTOR: &str = "selector:";

/// `enqueueOrphanPod`
pub(super) fn enqueue_orphan_pod(rx: Rx, pod: &Object) {
    ORPHAN_QUEUE.add(rx, format!("{BY_NAME}{}", pod_key(pod)).into());
}

/// `enqueueLabelSelector`: all pods that a Job selects.
pub(super) fn enqueue_label_selector(rx: Rx, job: &Object) {
    let selector = json::at(job.json(), &["spec", "selector"]);
    let key = json!([job.namespace(), selector]);
    ORPHAN_QUEUE.add(rx, format!("{BY_SELECTOR}{key}").into());
}

/// `resolveControllerRef`
pub(super) fn resolve_controller_ref(
    rx: Rx,
    jobs: Lister,
    namespace: &str,
    reference: &Json,
) -> Option<Stored> {
    if reference["kind"] != *JOBS.kind {
        return None;
    }
    let name = json::text(reference, &["name"]);
    let job = jobs.get(rx, &format!("{namespace}/{name}"))?;
    (reference["uid"] == *job.object.uid()).then_some(job)
}

impl JobController {
    /// `syncOrphanPod`
    pub(super) async fn sync_orphan_pod(&self, rx: Rx, key: Item) -> Result<(), SyncError> {
        if let Some(name) = key.strip_prefix(BY_NAME) {
            return match self.pods.get(rx, name) {
                Some(pod) => self.handle_single_orphan_pod(rx, &pod.object).await,
                None => Ok(()),
            };
        }
        let selector = key.strip_prefix(BY_SELECTOR).unwrap_or_default();
        let selector: Json = serde_json::from_str(selector).unwrap_or_default();
        self.sync_orphan_pods_by_selector(rx, &selector[0], &selector[1])
            .await
    }

    /// `syncOrphanPodsBySelector`, as it is since PR #141329, which tries again what has failed.
    async fn sync_orphan_pods_by_selector(
        &self,
        rx: Rx,
        namespace: &Json,
        selector: &Json,
    ) -> Result<(), SyncError> {
        let Some(selector) = label_selector_as_selector(selector) else {
            return Ok(());
        };
        let mut pods = self.pods.list(rx);
        pods.retain(|pod| {
            *namespace == *pod.object.namespace() && selector.matches(pod.object.json())
        });
        let mut first = Ok(());
        for pod in pods {
            let handled = self.handle_single_orphan_pod(rx, &pod.object).await;
            first = first.and(handled);
        }
        match self.defects.has(JobDefect::OrphansAreTriedOnce) {
            true => Ok(()),
            false => first,
        }
    }

    /// `handleSingleOrphanPod`
    async fn handle_single_orphan_pod(&self, rx: Rx, pod: &Object) -> Result<(), SyncError> {
        let mut is_late = false;
        if let Some(reference) = get_controller_of(pod.json()) {
            let is_of_a_job =
                reference["kind"] == *JOBS.kind && reference["apiVersion"] == *JOBS.api_version();
            if !is_of_a_job {
                return Ok(());
            }
            let job = resolve_controller_ref(rx, self.jobs, pod.namespace(), reference);
            // It was adopted, or belongs to one of another controller.
            let is_kept = job.as_ref().is_some_and(|job| {
                let job = job.object.json();
                managed_by_external_controller(job) || !is_job_finished(job)
            });
            if is_kept {
                return Ok(());
            }
            is_late = job.is_some() && is_pod_active(pod.json());
        }
        if !has_job_tracking_finalizer(pod.json()) {
            return Ok(());
        }
        // That of a Job which is gone is the collector's.
        if is_late && self.defects.has(JobDefect::FixLatePodsGo) {
            unless_gone(self.pod_control.delete_pod(rx, pod).await)?;
        }
        let patch = remove_tracking_finalizer_patch();
        let patched = self
            .pod_control
            .patch_pod(rx, pod, STRATEGIC_MERGE_PATCH, patch);
        unless_gone(patched.await)
    }
}

/// That the pod is gone is no error.
fn unless_gone(result: Result<(), SyncError>) -> Result<(), SyncError> {
    match result {
        Err(error) if !error.is(Reason::NotFound) => Err(error),
        _ => Ok(()),
    }
}
