//! The controller (`pkg/controller/disruption/disruption.go`, v1.36.2): what it is made of, its queues and its workers. One sync
//! of a budget is in `sync`, whose pods these are in `finders`, what wakes it up in `events`, pods that were to be evicted and
//! stay in `stale`.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::kinds::{
    DEPLOYMENTS, POD_DISRUPTION_BUDGETS, PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS,
};
use wavetank_client::RestClient;
use wavetank_client::informer::Lister;
use wavetank_client::leader_election::Leading;
use wavetank_client::wait::Turn;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Name, Rx};
use wavetank_version::Set;

use super::defects::DisruptionDefect;
use super::events::Events;
use super::finders::Finders;
use crate::controller::{Controller, ControllerContext, Mapper, Work};
use crate::controller_utils::SyncError;
use wavetank_components::elected::process_next_work_item;

/// Its name in `--controllers`.
pub(super) const CONTROLLER: &str = "disruption-controller";
pub(super) const QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "disruption");
/// `recheckQueue`
pub(super) const RECHECK_QUEUE: WorkQueue =
    WorkQueue::new(Name::new(CONTROLLER), "disruption_recheck");
/// `stalePodDisruptionQueue`
pub(super) const STALE_QUEUE: WorkQueue =
    WorkQueue::new(Name::new(CONTROLLER), "stale_pod_disruption");
/// `DeletionTimeout`
pub(super) const DELETION_TIMEOUT: Duration = Duration::from_secs(2 * 60);
/// `stalePodDisruptionTimeout`
pub(super) const STALE_POD_DISRUPTION_TIMEOUT: Duration = Duration::from_secs(2 * 60);

/// Upstream's `DisruptionController`
#[derive(Debug)]
pub(super) struct DisruptionController {
    pub(super) rest: RestClient,
    pub(super) pods: Lister,
    pub(super) budgets: Lister,
    pub(super) finders: Finders,
    pub(super) defects: Set<DisruptionDefect>,
}

/// Its goroutines.
#[derive(Clone, Copy, Debug)]
enum Role {
    /// `worker`
    Sync,
    /// `recheckWorker`
    Recheck,
    /// `stalePodDisruptionWorker`
    Stale,
}

/// One of them.
#[derive(Debug)]
struct Worker {
    of: Arc<DisruptionController>,
    role: Role,
}

/// Upstream's `NewDisruptionController`
pub(super) fn new(cx: &mut ControllerContext) -> Arc<dyn Controller> {
    let mut lister = |resource| cx.informers.informer_for(resource).lister();
    let (pods, budgets) = (lister(&PODS), lister(&POD_DISRUPTION_BUDGETS));
    let finders = Finders {
        rest: cx.rest.clone(),
        controllers: lister(&REPLICATION_CONTROLLERS),
        replica_sets: lister(&REPLICA_SETS),
        deployments: lister(&DEPLOYMENTS),
        stateful_sets: lister(&STATEFUL_SETS),
    };
    let defects = cx.defects.of();
    Events { budgets, defects }.add_event_handlers(cx);
    let of = Arc::new(DisruptionController {
        rest: cx.rest.clone(),
        pods,
        budgets,
        finders,
        defects,
    });
    let role = Role::Sync;
    Arc::new(Worker { of, role })
}

impl DisruptionController {
    async fn wait_for_caches(&self, rx: Rx) {
        let Finders {
            controllers,
            replica_sets,
            deployments,
            stateful_sets,
            ..
        } = &self.finders;
        let all = [
            self.pods,
            self.budgets,
            *controllers,
            *replica_sets,
            *deployments,
            *stateful_sets,
        ];
        for cache in all {
            cache.wait_for_cache_sync(rx).await;
        }
    }
}

/// `processNextRecheckWorkItem`
async fn process_next_recheck_work_item(rx: Rx, leading: &Leading) -> Turn {
    let again = |budget: Item| async move {
        QUEUE.add_rate_limited(rx, budget);
        Ok::<(), SyncError>(())
    };
    process_next_work_item(rx, leading, RECHECK_QUEUE, again).await
}

impl Controller for Worker {
    fn name(&self) -> &'static str {
        match self.role {
            Role::Sync => CONTROLLER,
            Role::Recheck => "disruption-controller-recheck",
            Role::Stale => "disruption-controller-stale",
        }
    }

    fn queues(&self) -> Vec<WorkQueue> {
        match self.role {
            Role::Sync => vec![QUEUE, RECHECK_QUEUE, STALE_QUEUE],
            Role::Recheck | Role::Stale => Vec::new(),
        }
    }

    fn mapper(&self) -> Mapper {
        Mapper::Asked
    }

    fn beside(&self) -> Vec<Arc<dyn Controller>> {
        let worker = |role| {
            let of = self.of.clone();
            Arc::new(Worker { of, role }) as Arc<dyn Controller>
        };
        match self.role {
            Role::Sync => vec![worker(Role::Recheck), worker(Role::Stale)],
            Role::Recheck | Role::Stale => Vec::new(),
        }
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            let own = &self.of;
            own.wait_for_caches(rx).await;
            match self.role {
                Role::Sync => {
                    let sync = |key: Item| own.sync(rx, key);
                    process_next_work_item(rx, leading, QUEUE, sync).await
                }
                Role::Recheck => process_next_recheck_work_item(rx, leading).await,
                Role::Stale => {
                    let sync = |key: Item| own.sync_stale_pod_disruption(rx, key);
                    process_next_work_item(rx, leading, STALE_QUEUE, sync).await
                }
            }
        })
    }
}
