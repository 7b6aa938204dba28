//! The controller (`pkg/controller/deployment/deployment_controller.go`): what it is made of, and one sync of a Deployment.
//! Which sets there are to be is in `sets`, how they are scaled in `scale`, the two strategies in `rolling` and
//! `recreate`, the status in `status`, what wakes it up in `events`.

use std::sync::Arc;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::deployments::label_selector_as_selector;
use wavetank_api::kinds::{DEPLOYMENTS, PODS, REPLICA_SETS};
use wavetank_api::{Method, Request, Stored};
use wavetank_client::RestClient;
use wavetank_client::informer::Lister;
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Name, Rx, mutant};
use wavetank_version::Set;

use super::defects::DeploymentDefect;
use super::events::Events;
use super::notes::SyncsDeployment;
use crate::controller::{Controller, ControllerContext, Work};
use crate::controller_utils::{
    Claimed, ControllerRef, ControllerRefManager, PodOwnerDefect, SyncError, pod_key,
};
use wavetank_components::elected::process_next_work_item;

/// Its name in `--controllers`.
pub(super) const CONTROLLER: &str = "deployment-controller";
pub(super) const QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "deployment");
/// `maxRetries`
const MAX_RETRIES: u32 = 15;

/// `DeploymentController`
#[derive(Debug)]
pub(super) struct DeploymentController {
    pub rest: RestClient,
    pub deployments: Lister,
    pub sets: Lister,
    pub pods: Lister,
    pub defects: Set<DeploymentDefect>,
    of_owners: Set<PodOwnerDefect>,
    workers: u32,
}

/// Upstream's `NewDeploymentController`
pub(super) fn new(cx: &mut ControllerContext, workers: u32) -> Arc<dyn Controller> {
    let deployments = cx.informers.informer_for(&DEPLOYMENTS).lister();
    let sets = cx.informers.informer_for(&REPLICA_SETS).lister();
    let pods = cx.informers.informer_for(&PODS).lister();
    let events = Events {
        deployments,
        sets,
        pods,
    };
    events.add_event_handlers(cx);
    Arc::new(DeploymentController {
        rest: cx.rest.clone(),
        deployments,
        sets,
        pods,
        defects: cx.defects.of(),
        of_owners: cx.defects.of(),
        workers,
    })
}

impl DeploymentController {
    /// Upstream's `handleErr`: what failed too often is dropped.
    async fn sync_or_drop(&self, rx: Rx, key: Item) -> Result<(), SyncError> {
        let requeues = QUEUE.num_requeues(rx, &key);
        match self.sync_deployment(rx, &key).await {
            Err(error) if error.is_of_a_namespace_that_ends() || requeues >= MAX_RETRIES => Ok(()),
            synced => synced,
        }
    }

    /// `syncDeployment`
    async fn sync_deployment(&self, rx: Rx, key: &Item) -> Result<(), SyncError> {
        rx.note(SyncsDeployment {
            deployment: key.clone(),
        });
        let Some(cached) = self.deployments.get(rx, key) else {
            return Ok(());
        };
        let claimed = self.get_replica_sets_for_deployment(rx, &cached).await?;
        let sets: Vec<Json> = claimed.iter().map(Stored::json).collect();
        let mut deployment = cached.json();
        if cached.object.is_being_deleted() {
            return self.sync_status_only(rx, &mut deployment, &sets).await;
        }
        self.check_paused_conditions(rx, &mut deployment).await?;
        let is_paused = json::at(&deployment, &["spec", "paused"]) == Some(&Json::Bool(true));
        if is_paused && !mutant!("pause-is-ignored", "a Deployment that is paused rolls out") {
            return self.sync(rx, &mut deployment, &sets, true).await;
        }
        if self.is_scaling_event(rx, &mut deployment, &sets).await? {
            return self.sync(rx, &mut deployment, &sets, false).await;
        }
        match json::text(&deployment, &["spec", "strategy", "type"]) {
            "Recreate" => self.rollout_recreate(rx, &mut deployment, &sets).await,
            _ => self.rollout_rolling(rx, &mut deployment, &sets).await,
        }
    }

    /// `getReplicaSetsForDeployment`
    async fn get_replica_sets_for_deployment(
        &self,
        rx: Rx,
        deployment: &Stored,
    ) -> Result<Vec<Stored>, SyncError> {
        let object = &deployment.object;
        let mut all = self.sets.list(rx);
        all.retain(|set| set.object.namespace() == object.namespace());
        let selector = json::at(object.json(), &["spec", "selector"]);
        let selector = selector.and_then(label_selector_as_selector);
        let selector = selector.unwrap_or_default();
        let mut manager = ControllerRefManager {
            controller: ControllerRef {
                of: &DEPLOYMENTS,
                object,
            },
            selector: &selector,
            claimed: Claimed::ReplicaSets(&self.rest),
            filter: |_, _| true,
            finalizers: &[],
            defects: self.of_owners,
            can_adopt: None,
        };
        manager.claim(rx, all).await
    }

    /// `UpdateStatus` of the Deployment as it is here.
    pub(super) async fn update_status(&self, rx: Rx, deployment: &Json) -> Result<(), SyncError> {
        let (namespace, name) = (
            json::text(deployment, &["metadata", "namespace"]),
            json::text(deployment, &["metadata", "name"]),
        );
        let path = format!("{}/status", DEPLOYMENTS.path(namespace, name));
        let put = Request::new(Method::Put, path).with(deployment.clone());
        self.rest.object(rx, put).await?;
        Ok(())
    }

    /// Looks at the Deployment again.
    pub(super) fn key(deployment: &Json) -> Item {
        pod_key(&wavetank_api::Object::new(deployment.clone()))
    }
}

impl Controller for DeploymentController {
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
            for cache in [self.deployments, self.sets, self.pods] {
                cache.wait_for_cache_sync(rx).await;
            }
            process_next_work_item(rx, leading, QUEUE, |key| self.sync_or_drop(rx, key)).await
        })
    }
}
