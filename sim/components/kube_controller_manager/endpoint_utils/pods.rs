//! What wakes both controllers up, and the goroutines that turn changes of pods into Services (`onServiceUpdate`,
//! `onPodUpdate`, `podQueueWorker` of `pkg/controller/endpoint/endpoints_controller.go` and
//! `pkg/controller/endpointslice/endpointslice_controller.go`, v1.36.2).

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::kinds::{PODS, SERVICES};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{NotState, Rx};

use super::projection::{PodProjectionKey, get_pod_update_projection_key, get_services_to_update};
use crate::controller::{Controller, ControllerContext, Work};
use crate::controller_utils::{SyncError, pod_key};
use wavetank_components::elected::process_next_work_item;

/// `--endpoint-updates-batch-period`
const BATCH_PERIOD: Duration = Duration::ZERO;

/// The queues of a controller: of Services, and of pods that changed.
#[derive(Clone, Copy, Debug)]
pub struct Queues {
    pub services: WorkQueue,
    pub pods: WorkQueue,
}

impl Queues {
    /// Adds the handlers at the informers of Services and of pods, for the controller of this name.
    pub fn add_event_handlers(self, cx: &mut ControllerContext, controller: &'static str) {
        let mut services = cx.informers.informer_for(&SERVICES);
        services.add_event_handler(HandlerSpec {
            // `onServiceUpdate`, `onServiceDelete`
            on: NotState(Arc::new(move |rx, _, notice| {
                let service = match notice {
                    Notice::Added { new, .. } | Notice::Updated { new, .. } => Some(new),
                    Notice::Deleted(gone) => gone.last.as_ref(),
                };
                if let Some(service) = service {
                    self.services.add(rx, pod_key(&service.object));
                }
            })),
            ..HandlerSpec::new(controller)
        });
        let mut pods = cx.informers.informer_for(&PODS);
        pods.add_event_handler(HandlerSpec {
            // `onPodUpdate`
            on: NotState(Arc::new(move |rx, _, notice| {
                if let Some(key) = get_pod_update_projection_key(notice) {
                    self.pods.add(rx, key.item());
                }
            })),
            ..HandlerSpec::new(controller)
        });
    }
}

/// The `podQueueWorker`s of a controller.
#[derive(Debug)]
pub struct PodWorkers {
    /// How they are called.
    pub name: &'static str,
    pub workers: u32,
    /// They begin once these have synced.
    pub caches: Vec<Lister>,
    pub services: Lister,
    pub queues: Queues,
}

impl PodWorkers {
    /// `syncPod`
    fn sync_pod(&self, rx: Rx, item: &Item) {
        let key = PodProjectionKey::of(item);
        for service in get_services_to_update(rx, self.services, &key) {
            self.queues.services.add_after(rx, service, BATCH_PERIOD);
        }
    }
}

impl Controller for PodWorkers {
    fn name(&self) -> &'static str {
        self.name
    }

    fn workers(&self) -> u32 {
        self.workers
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            for cache in &self.caches {
                cache.wait_for_cache_sync(rx).await;
            }
            let sync = |item: Item| async move {
                self.sync_pod(rx, &item);
                Ok::<_, SyncError>(())
            };
            process_next_work_item(rx, leading, self.queues.pods, sync).await
        })
    }
}
