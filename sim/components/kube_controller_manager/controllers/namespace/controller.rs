//! The controller of namespaces (`pkg/controller/namespace/namespace_controller.go`): one that is being deleted is looked
//! at after a while, and again until nothing of it is left. How that is done is in `deleter`.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Resource;
use wavetank_api::kinds::NAMESPACES;
use wavetank_client::RestClient;
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_client::leader_election::Leading;
use wavetank_client::wait::{Stop, Turn};
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Either, Name, NotState, Rx};
use wavetank_version::Set;

use super::CONTROLLER;
use super::defects::NamespaceDefect;
use super::deleter::{DeletionError, NamespacedResourcesDeleter};
use crate::controller::{Controller, ControllerContext, Work};
use wavetank_components::elected::{DRAIN, process_next_work_item_with};

/// `nsControllerRateLimiter`
const QUEUE: WorkQueue =
    WorkQueue::new(Name::new(CONTROLLER), "namespace").waiting_at_most(Duration::from_secs(60));
/// `namespaceDeletionGracePeriod`: for servers that admit objects to hear of the deletion.
const GRACE_PERIOD: Duration = Duration::from_secs(5);
/// `NewNamespacedResourcesDeleter` is through: it knows what can be listed and deleted.
static MADE: Stop = Stop::new("namespaced-resources-deleter");

/// The controller.
#[derive(Debug)]
pub(super) struct NamespaceController {
    namespaces: Lister,
    deleter: NamespacedResourcesDeleter,
    workers: u32,
}

/// `enqueueNamespace`
fn enqueue_namespace(rx: Rx, _: u32, notice: &Notice) {
    if let Notice::Added { new, .. } | Notice::Updated { new, .. } = notice
        && new.object.is_being_deleted()
    {
        QUEUE.add_after(rx, notice.key(), GRACE_PERIOD);
    }
}

impl NamespaceController {
    /// Upstream's `NewNamespaceController`: it empties namespaces of these resources.
    pub fn new(
        cx: &mut ControllerContext,
        resources: impl Iterator<Item = &'static Resource>,
        workers: u32,
    ) -> NamespaceController {
        let mut informer = cx.informers.informer_for(&NAMESPACES);
        informer.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(enqueue_namespace)),
            ..HandlerSpec::new("namespace")
        });
        let rest: RestClient = cx.rest.clone();
        let defects: Set<NamespaceDefect> = cx.defects.of();
        NamespaceController {
            namespaces: informer.lister(),
            deleter: NamespacedResourcesDeleter {
                rest,
                defects,
                resources: resources.collect(),
            },
            workers,
        }
    }

    /// `syncNamespaceFromKey`
    async fn sync_namespace_from_key(&self, rx: Rx, key: Item) -> Result<(), DeletionError> {
        match self.namespaces.get(rx, &key) {
            Some(_) => self.deleter.delete(rx, &key).await,
            None => Ok(()),
        }
    }

    /// What upstream does while it makes the controller: a manager that cannot find out which resources there are exits.
    async fn make(&self, rx: Rx) -> Turn {
        match self.deleter.init_op_cache(rx).await {
            true => MADE.close(rx),
            false => rx.restart(),
        }
        Turn::Over
    }

    /// What becomes of a namespace that was looked at.
    fn done(&self, rx: Rx, key: &Item, synced: Result<(), DeletionError>) {
        match synced {
            Ok(()) => QUEUE.forget(rx, key),
            Err(DeletionError::ResourcesRemaining(estimate)) => {
                if !self
                    .deleter
                    .defects
                    .has(NamespaceDefect::RemainingIsForgotten)
                {
                    let wait = u64::try_from(estimate / 2 + 1).unwrap_or(1);
                    QUEUE.add_after(rx, key.clone(), Duration::from_secs(wait));
                }
            }
            Err(_) => QUEUE.add_rate_limited(rx, key.clone()),
        }
    }
}

impl Controller for NamespaceController {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![QUEUE]
    }

    fn workers(&self) -> u32 {
        1 + self.workers
    }

    fn work_of<'a>(&'a self, rx: Rx, leading: &'a Leading, number: u32) -> Work<'a> {
        Box::pin(async move {
            match number {
                0 => self.make(rx).await,
                _ => self.work(rx, leading).await,
            }
        })
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            let leadership = leading.leadership();
            let ready = async {
                MADE.closed(rx).await;
                self.namespaces.wait_for_cache_sync(rx).await;
            };
            let stopped = rx.select(DRAIN.closed(rx), leadership.closed(rx));
            if let Either::Left(_) = rx.select(stopped, ready).await {
                return Turn::Over;
            }
            let sync = |key| self.sync_namespace_from_key(rx, key);
            let done = |key: &Item, synced| self.done(rx, key, synced);
            process_next_work_item_with(rx, leading, QUEUE, sync, done).await
        })
    }
}
