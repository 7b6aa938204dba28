//! The controller (`pkg/controller/endpointslice/endpointslice_controller.go`, v1.36.2): what it is made of, and one sync of
//! a Service. What wakes it up is in `events`.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::json;
use wavetank_api::kinds::{ENDPOINT_SLICES, NODES, PODS, SERVICES};
use wavetank_api::{Object, Stored};
use wavetank_client::informer::Lister;
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Name, Rx};
use wavetank_version::Set;

use super::defects::EndpointSliceDefect;
use super::events::add_event_handlers;
use super::reconciler::{Reconciler, Wanted};
use super::slices::is_of_service;
use crate::controller::{Controller, ControllerContext, Work};
use crate::controller_utils::SyncError;
use crate::endpoint_utils::notes::{Reconciles, WaitsForSlices};
use crate::endpoint_utils::{
    EndpointSliceTracker, POD_LABELS_INDEX, PodWorkers, Queues, TriggerTimeTracker, generation,
    pods_of, selector,
};
use wavetank_components::elected::process_next_work_item;

/// Its name in `--controllers`, also that of its service account.
pub(crate) const CONTROLLER: &str = "endpointslice-controller";
/// Upstream's `ControllerName`: what its slices are labelled with.
pub(crate) const MANAGER: &str = "endpointslice-controller.k8s.io";
/// Upstream's `serviceQueue`: a Service that failed waits at least `defaultSyncBackOff`.
pub(super) const QUEUES: Queues = Queues {
    services: WorkQueue::new(Name::new(CONTROLLER), "endpoint_slice")
        .waiting_first(Duration::from_secs(1)),
    pods: WorkQueue::new(Name::new(CONTROLLER), "pods"),
};
/// `maxRetries`
const MAX_RETRIES: u32 = 15;

/// How often the controller with `placeholder-slices-are-rewritten` looks at a Service: that stands for the resync of informers.
const RESYNC_PERIOD: Duration = Duration::from_secs(30);

const TRIGGER_TIMES: TriggerTimeTracker = TriggerTimeTracker(Name::new(CONTROLLER));

/// `Controller`
#[derive(Debug)]
struct Inner {
    services: Lister,
    pods: Lister,
    nodes: Lister,
    slices: Lister,
    reconciler: Reconciler,
    tracker: EndpointSliceTracker,
    defects: Set<EndpointSliceDefect>,
    workers: u32,
}

/// Its `serviceQueueWorker`.
#[derive(Debug)]
struct Workers(Arc<Inner>);

/// Upstream's `NewController`
pub(super) fn new(
    cx: &mut ControllerContext,
    workers: u32,
    max_endpoints_per_slice: usize,
) -> Arc<dyn Controller> {
    let mut pods = cx.informers.informer_for(&PODS);
    pods.add_indexers(&[POD_LABELS_INDEX]);
    let pods = pods.lister();
    let services = cx.informers.informer_for(&SERVICES).lister();
    let nodes = cx.informers.informer_for(&NODES).lister();
    let slices = cx.informers.informer_for(&ENDPOINT_SLICES).lister();
    let defects: Set<EndpointSliceDefect> = cx.defects.of();
    let tracker = EndpointSliceTracker {
        manager: MANAGER,
        defects: cx.defects.of(),
    };
    add_event_handlers(cx, tracker, defects);
    Arc::new(Workers(Arc::new(Inner {
        services,
        pods,
        nodes,
        slices,
        reconciler: Reconciler {
            rest: cx.rest.clone(),
            nodes,
            max_endpoints_per_slice,
            tracker,
            defects,
        },
        tracker,
        defects,
        workers,
    })))
}

impl Inner {
    fn caches(&self) -> [Lister; 4] {
        [self.pods, self.services, self.slices, self.nodes]
    }

    async fn wait_for_caches(&self, rx: Rx) {
        for cache in self.caches() {
            cache.wait_for_cache_sync(rx).await;
        }
    }

    /// Upstream's `syncService` with `handleErr`: what failed too often is dropped.
    async fn sync_or_drop(&self, rx: Rx, key: Item) -> Result<(), SyncError> {
        let requeues = QUEUES.services.num_requeues(rx, &key);
        match self.sync_service(rx, &key).await {
            Err(_) if requeues >= MAX_RETRIES => Ok(()),
            synced => synced,
        }
    }

    /// `syncService`
    async fn sync_service(&self, rx: Rx, key: &Item) -> Result<(), SyncError> {
        let Some(service) = self.services.get(rx, key) else {
            TRIGGER_TIMES.delete_service(rx, key);
            self.tracker.delete_service(rx, key);
            return Ok(());
        };
        let service = &service.object;
        if json::text(service.json(), &["spec", "type"]) == "ExternalName"
            || selector(service.json()).is_none()
        {
            return Ok(());
        }
        let pods = pods_of(rx, self.pods, service);
        let slices = self.slices_of(rx, service);
        let uses_any = self.defects.has(EndpointSliceDefect::StaleSlicesAreUsed);
        let stale = self.tracker.stale_slices(rx, key, self.slices, &slices);
        if let Some(lacking) = stale.filter(|_| !uses_any) {
            rx.note(WaitsForSlices {
                manager: MANAGER,
                service: key.clone(),
                lacking,
            });
            return self.tracker.try_again_later(rx, QUEUES.services, key);
        }
        let seen = |slice: &Stored| (slice.object.uid().into(), generation(&slice.object));
        rx.note(Reconciles {
            manager: MANAGER,
            service: key.clone(),
            of: service.uid().into(),
            slices: slices.iter().map(seen).collect(),
        });
        if self
            .defects
            .has(EndpointSliceDefect::PlaceholdersAreRewritten)
        {
            QUEUES.services.add_after(rx, key.clone(), RESYNC_PERIOD);
        }
        let trigger_time =
            TRIGGER_TIMES.compute_endpoint_last_change_trigger_time(rx, key, service.json(), &pods);
        let wanted = Wanted {
            service,
            pods: &pods,
            trigger_time: trigger_time.as_deref(),
        };
        self.reconciler.reconcile(rx, wanted, &slices).await
    }

    /// The slices of a Service, as the cache shows them, without those that go (`dropEndpointSlicesPendingDeletion`).
    fn slices_of(&self, rx: Rx, service: &Object) -> Vec<Stored> {
        let mut all = self.slices.list(rx);
        all.retain(|slice| {
            is_of_service(&slice.object, service.namespace(), service.name())
                && !slice.object.is_being_deleted()
        });
        all
    }
}

impl Controller for Workers {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![QUEUES.services, QUEUES.pods]
    }

    fn workers(&self) -> u32 {
        self.0.workers
    }

    fn beside(&self) -> Vec<Arc<dyn Controller>> {
        vec![Arc::new(PodWorkers {
            name: "endpointslice-controller-pods",
            workers: self.0.workers,
            caches: self.0.caches().to_vec(),
            services: self.0.services,
            queues: QUEUES,
        })]
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.0.wait_for_caches(rx).await;
            let sync = |key| self.0.sync_or_drop(rx, key);
            process_next_work_item(rx, leading, QUEUES.services, sync).await
        })
    }
}
