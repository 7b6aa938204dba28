//! The controller (`pkg/controller/endpointslicemirroring/endpointslicemirroring_controller.go`, v1.36.2): what it is made of, and
//! one sync of Endpoints. What wakes it up is in `events`.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Stored;
use wavetank_api::kinds::{ENDPOINT_SLICES, ENDPOINTS, SERVICES};
use wavetank_client::informer::Lister;
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Name, Rx};
use wavetank_version::Set;

use super::defects::MirroringDefect;
use super::events::add_event_handlers;
use super::mirrored::should_mirror;
use super::reconciler::Reconciler;
use crate::controller::{Controller, ControllerContext, Work};
use crate::controller_utils::SyncError;
use crate::endpoint_utils::notes::{CleansUp, Reconciles, WaitsForSlices};
use crate::endpoint_utils::{EndpointSliceTracker, generation, is_of_service_of, selector};
use wavetank_components::elected::process_next_work_item;

/// Its name in `--controllers`.
pub(crate) const CONTROLLER: &str = "endpointslice-mirroring-controller";
/// Its service account.
pub(super) const ACCOUNT: &str = "endpointslicemirroring-controller";
/// Upstream's `ControllerName`: what its slices are labelled with.
pub(crate) const MANAGER: &str = "endpointslicemirroring-controller.k8s.io";
/// Upstream's `queue`: of Endpoints, which wait `defaultSyncBackOff` at least and `maxSyncBackOff` at most if they failed.
pub(super) const QUEUE: WorkQueue =
    WorkQueue::new(Name::new(CONTROLLER), "endpoint_slice_mirroring")
        .waiting_first(Duration::from_secs(1))
        .waiting_at_most(Duration::from_secs(100));
/// `maxRetries`
const MAX_RETRIES: u32 = 15;

/// `Controller`
#[derive(Debug)]
struct Inner {
    endpoints: Lister,
    slices: Lister,
    services: Lister,
    reconciler: Reconciler,
    tracker: EndpointSliceTracker,
    defects: Set<MirroringDefect>,
    workers: u32,
}

/// Its `worker`.
#[derive(Debug)]
struct Workers(Arc<Inner>);

/// Upstream's `NewController`
pub(super) fn new(
    cx: &mut ControllerContext,
    workers: u32,
    max_endpoints_per_subset: usize,
) -> Arc<dyn Controller> {
    let endpoints = cx.informers.informer_for(&ENDPOINTS).lister();
    let slices = cx.informers.informer_for(&ENDPOINT_SLICES).lister();
    let services = cx.informers.informer_for(&SERVICES).lister();
    let defects: Set<MirroringDefect> = cx.defects.of();
    let tracker = EndpointSliceTracker {
        manager: MANAGER,
        defects: cx.defects.of(),
    };
    add_event_handlers(cx, tracker, defects);
    Arc::new(Workers(Arc::new(Inner {
        endpoints,
        slices,
        services,
        reconciler: Reconciler {
            rest: cx.rest.clone(),
            max_endpoints_per_subset,
            tracker,
            defects,
        },
        tracker,
        defects,
        workers,
    })))
}

impl Inner {
    async fn wait_for_caches(&self, rx: Rx) {
        for cache in [self.endpoints, self.slices, self.services] {
            cache.wait_for_cache_sync(rx).await;
        }
    }

    /// Upstream's `syncEndpoints` with `handleErr`: what failed too often is dropped.
    async fn sync_or_drop(&self, rx: Rx, key: Item) -> Result<(), SyncError> {
        let requeues = QUEUE.num_requeues(rx, &key);
        match self.sync_endpoints(rx, &key).await {
            Err(_) if requeues >= MAX_RETRIES => Ok(()),
            synced => synced,
        }
    }

    /// `syncEndpoints`
    async fn sync_endpoints(&self, rx: Rx, key: &Item) -> Result<(), SyncError> {
        let endpoints = self.endpoints.get(rx, key);
        let to_mirror = endpoints.filter(|own| should_mirror(&own.object, self.defects));
        let Some(endpoints) = to_mirror else {
            return self.delete_mirrored_slices(rx, key).await;
        };
        let Some(service) = self.services.get(rx, key) else {
            return self.delete_mirrored_slices(rx, key).await;
        };
        if selector(service.object.json()).is_some() {
            return match self
                .defects
                .has(MirroringDefect::MirrorsStayBesideASelector)
            {
                true => Ok(()),
                false => self.delete_mirrored_slices(rx, key).await,
            };
        }
        let mut slices = self.endpoint_slices_mirrored_for_service(rx, key);
        if self.defects.has(MirroringDefect::FixLookPastSlicesThatGo) {
            slices.retain(|slice| {
                let stays = !slice.object.is_being_deleted();
                if !stays && self.tracker.has(rx, slice) {
                    self.tracker.expect_deletion(rx, slice);
                }
                stays
            });
        }
        let uses_any = self.defects.has(MirroringDefect::MirrorsFromStaleSlices);
        let stale = self.tracker.stale_slices(rx, key, self.slices, &slices);
        if let Some(lacking) = stale.filter(|_| !uses_any) {
            rx.note(WaitsForSlices {
                manager: MANAGER,
                service: key.clone(),
                lacking,
            });
            return self.tracker.try_again_later(rx, QUEUE, key);
        }
        let seen = |slice: &Stored| (slice.object.uid().into(), generation(&slice.object));
        rx.note(Reconciles {
            manager: MANAGER,
            service: key.clone(),
            of: endpoints.object.uid().into(),
            slices: slices.iter().map(seen).collect(),
        });
        let reconciled = self.reconciler.reconcile(rx, &endpoints.object, &slices);
        reconciled.await
    }

    /// `deleteMirroredSlices`
    async fn delete_mirrored_slices(&self, rx: Rx, key: &Item) -> Result<(), SyncError> {
        self.tracker.delete_service(rx, key);
        let slices = self.endpoint_slices_mirrored_for_service(rx, key);
        rx.note(CleansUp {
            manager: MANAGER,
            service: key.clone(),
            delete: slices.len(),
        });
        self.reconciler.delete_endpoints(rx, &slices).await
    }

    /// `endpointSlicesMirroredForService`
    fn endpoint_slices_mirrored_for_service(&self, rx: Rx, key: &Item) -> Vec<Stored> {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let mut all = self.slices.list(rx);
        all.retain(|slice| is_of_service_of(&slice.object, MANAGER, namespace, name));
        all
    }
}

impl Controller for Workers {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![QUEUE]
    }

    fn workers(&self) -> u32 {
        self.0.workers
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.0.wait_for_caches(rx).await;
            let sync = |key| self.0.sync_or_drop(rx, key);
            process_next_work_item(rx, leading, QUEUE, sync).await
        })
    }
}
