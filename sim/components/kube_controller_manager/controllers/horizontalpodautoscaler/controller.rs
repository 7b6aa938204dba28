//! The controller (`pkg/controller/podautoscaler/horizontal.go`, v1.36.2): what it is made of, its queue, its workers, and what
//! wakes it up. Each autoscaler is looked at every 15 s, whatever happens to it (`rate_limiters.go`). One look is in `reconcile`.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::kinds::{AUTOSCALERS, PODS};
use wavetank_client::RestClient;
use wavetank_client::informer::{HandlerSpec, Lister, Notice, Resync};
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Name, NotState, ProcId, Rx};
use wavetank_version::Set;

use super::defects::HorizontalPodAutoscalerDefect as Bug;
use super::selectors;
use crate::controller::{Controller, ControllerContext, Mapper, Work};
use wavetank_components::elected::process_next_work_item_with;

/// Its name in `--controllers`.
pub(super) const CONTROLLER: &str = "horizontal-pod-autoscaler-controller";
/// The account that it works as.
pub(super) const ACCOUNT: &str = "horizontal-pod-autoscaler";
const QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "horizontalpodautoscaler");
/// `--horizontal-pod-autoscaler-sync-period`
pub(super) const RESYNC_PERIOD: Duration = Duration::from_secs(15);

/// `--min-resync-period`
const MIN_RESYNC_PERIOD: Duration = Duration::from_secs(12 * 3600);

/// Upstream's `HorizontalController`
#[derive(Debug)]
pub(super) struct HorizontalController {
    pub(super) rest: RestClient,
    /// Who says what pods use.
    pub(super) metrics_server: Option<ProcId>,
    pub(super) autoscalers: Lister,
    pub(super) pods: Lister,
    pub(super) defects: Set<Bug>,
    workers: u32,
}

/// Upstream's `NewHorizontalController`
pub(super) fn new(cx: &mut ControllerContext, workers: u32) -> Arc<dyn Controller> {
    let pods = cx.informers.informer_for(&PODS).lister();
    let defects = cx.defects.of();
    let mut informer = cx.informers.informer_for(&AUTOSCALERS);
    informer.resynced(MIN_RESYNC_PERIOD);
    informer.add_event_handler(HandlerSpec {
        resync: Resync::Every(RESYNC_PERIOD),
        on: NotState(Arc::new(move |rx, _, notice| handle(rx, notice, defects))),
        ..HandlerSpec::new(CONTROLLER)
    });
    Arc::new(HorizontalController {
        rest: cx.rest.clone(),
        metrics_server: cx.metrics_server,
        autoscalers: informer.lister(),
        pods,
        defects,
        workers,
    })
}

fn handle(rx: Rx, notice: &Notice, defects: Set<Bug>) {
    match notice {
        Notice::Added { .. } | Notice::Updated { .. } => enqueue_hpa(rx, notice.key(), defects),
        Notice::Deleted(_) => delete_hpa(rx, &notice.key(), defects),
    }
}

/// `enqueueHPA`: with the delay; where it waits already it is no earlier.
fn enqueue_hpa(rx: Rx, key: Item, defects: Set<Bug>) {
    selectors::register(rx, key.clone());
    match defects.has(Bug::AutoscalersWakeThemselves) {
        true => QUEUE.add(rx, key),
        false => add_rate_limited(rx, key),
    }
}

/// `deleteHPA`
fn delete_hpa(rx: Rx, key: &Item, defects: Set<Bug>) {
    QUEUE.forget(rx, key);
    if !defects.has(Bug::SelectorsOutliveAutoscalers) {
        selectors::delete_selector(rx, key);
    }
}

/// Upstream's `AddRateLimited` of a `FixedItemIntervalRateLimiter`
fn add_rate_limited(rx: Rx, key: Item) {
    QUEUE.add_after(rx, key, RESYNC_PERIOD);
}

impl Controller for HorizontalController {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![QUEUE]
    }

    fn mapper(&self) -> Mapper {
        Mapper::Asked
    }

    fn workers(&self) -> u32 {
        self.workers
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            for cache in [self.autoscalers, self.pods] {
                cache.wait_for_cache_sync(rx).await;
            }
            let reconcile = |key: Item| self.reconcile_key(rx, key);
            // `processNextWorkItem`
            process_next_work_item_with(rx, leading, QUEUE, reconcile, |key, is_gone| {
                if !is_gone {
                    add_rate_limited(rx, key.clone());
                }
            })
            .await
        })
    }
}
