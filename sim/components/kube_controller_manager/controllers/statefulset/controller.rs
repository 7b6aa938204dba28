//! The controller (`pkg/controller/statefulset/stateful_set.go`): what it is made of, and one sync of a set. What an update
//! of a set is is in `control`, what wakes it up in `events`.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::json;
use wavetank_api::kinds::deployments::label_selector_as_selector;
use wavetank_api::kinds::{CONTROLLER_REVISIONS, PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS};
use wavetank_api::selector::LabelSelector;
use wavetank_api::{Stamp, Stored};
use wavetank_client::informer::Lister;
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Name, Rx};
use wavetank_version::Set;

use super::control::{StatefulSetControl, controller_ref};
use super::defects::StatefulSetDefect;
use super::events::Events;
use super::notes::SyncsStatefulSet;
use super::pod_control::StatefulPodControl;
use super::util::{Availability, is_member_of, of_spec};
use crate::controller::{Controller, ControllerContext, Work};
use crate::controller_utils::{
    CONTROLLER_REVISION_CONTROLLER_INDEX, Claimed, ConsistencyStore, ControllerRefManager, History,
    PodOwnerDefect, RealPodControl, SyncError, filter_pods_by_owner,
    find_min_next_pod_availability_check,
};
use wavetank_components::elected::process_next_work_item;

/// Its name in `--controllers`.
pub(super) const CONTROLLER: &str = "statefulset-controller";
pub(super) const QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "statefulset");

/// `StatefulSetController`
#[derive(Debug)]
pub(super) struct StatefulSetController {
    control: StatefulSetControl,
    pod_control: RealPodControl,
    sets: Lister,
    pods: Lister,
    claims: Lister,
    revisions: Lister,
    consistency: ConsistencyStore,
    defects: Set<StatefulSetDefect>,
    of_owners: Set<PodOwnerDefect>,
    workers: u32,
}

/// Upstream's `NewStatefulSetController`
pub(super) fn new(cx: &mut ControllerContext, workers: u32) -> Arc<dyn Controller> {
    let sets = cx.informers.informer_for(&STATEFUL_SETS).lister();
    let pods = cx.informers.informer_for(&PODS).lister();
    let claims = cx.informers.informer_for(&PERSISTENT_VOLUME_CLAIMS);
    let claims = claims.lister();
    let mut revisions = cx.informers.informer_for(&CONTROLLER_REVISIONS);
    revisions.add_indexers(&[CONTROLLER_REVISION_CONTROLLER_INDEX]);
    let revisions = revisions.lister();
    let stores = vec![
        (&PODS, pods),
        (&PERSISTENT_VOLUME_CLAIMS, claims),
        (&STATEFUL_SETS, sets),
    ];
    let consistency = ConsistencyStore::new(Name::new(CONTROLLER), stores);
    let defects = cx.defects.of();
    Events { sets, defects }.add_event_handlers(cx);
    let rest = cx.rest.clone();
    let control = StatefulSetControl {
        pod_control: StatefulPodControl {
            rest: rest.clone(),
            pods,
            claims,
            consistency: consistency.clone(),
            defects: cx.defects.of(),
        },
        history: History {
            rest: rest.clone(),
            revisions,
        },
        sets,
        defects: cx.defects.of(),
    };
    Arc::new(StatefulSetController {
        control,
        pod_control: RealPodControl {
            rest,
            on_write: consistency.clone(),
        },
        sets,
        pods,
        claims,
        revisions,
        consistency,
        defects: cx.defects.of(),
        of_owners: cx.defects.of(),
        workers,
    })
}

/// The back-offs of a queue that are shorter than [`LOOK_AGAIN`]: 5 ms, 10 ms and so on.
const SHORT_BACK_OFFS: u32 = 8;
/// The fixes of findings 34 and 58: so often a set is looked at that waits for what no event tells.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl StatefulSetController {
    /// Upstream's `sync`
    async fn sync(&self, rx: Rx, key: Item) -> Result<(), SyncError> {
        rx.note(SyncsStatefulSet { set: key.clone() });
        let ready = self.consistency.ensure_ready(rx, &key);
        if ready.is_err() && !self.defects.has(StatefulSetDefect::StaleStatefulSet) {
            // Upstream tries again after up to 1000 s, and no event of a claim brings that on. Whatever fails next
            // would wait as long.
            let is_long = QUEUE.num_requeues(rx, &key) >= SHORT_BACK_OFFS;
            if is_long && self.defects.has(StatefulSetDefect::FixLookAgainForCaches) {
                QUEUE.add_after(rx, key, LOOK_AGAIN);
                return Ok(());
            }
            return ready;
        }
        let Some(set) = self.sets.get(rx, &key) else {
            self.consistency.clear(rx, &key, None);
            return Ok(());
        };
        let selector = json::at(set.object.json(), &["spec", "selector"]);
        let Some(selector) = selector.and_then(label_selector_as_selector) else {
            return Ok(());
        };
        let revisions = self.control.list_revisions(rx, &set.object, &selector);
        self.control
            .history
            .adopt_orphan_revisions(rx, controller_ref(&set.object), &revisions)
            .await?;
        let pods = self.get_pods_for_stateful_set(rx, &set, &selector).await?;
        self.sync_stateful_set(rx, key, &set, &pods, &selector)
            .await
    }

    /// `getPodsForStatefulSet`
    async fn get_pods_for_stateful_set(
        &self,
        rx: Rx,
        set: &Stored,
        selector: &LabelSelector,
    ) -> Result<Vec<Stored>, SyncError> {
        let pods = filter_pods_by_owner(rx, self.pods, &set.object, STATEFUL_SETS.kind, true);
        let mut manager = ControllerRefManager {
            controller: controller_ref(&set.object),
            selector,
            claimed: Claimed::Pods(&self.pod_control),
            filter: is_member_of,
            finalizers: &[],
            defects: self.of_owners,
            can_adopt: None,
        };
        manager.claim(rx, pods).await
    }

    /// `syncStatefulSet`
    async fn sync_stateful_set(
        &self,
        rx: Rx,
        key: Item,
        set: &Stored,
        pods: &[Stored],
        selector: &LabelSelector,
    ) -> Result<(), SyncError> {
        let min_ready = of_spec(set.object.json(), "minReadySeconds");
        // Nobody asks for the time where nothing depends on it.
        let now = (min_ready > 0).then(|| Stamp::of(rx.clock()));
        let available = Availability { min_ready, now };
        let updated = self
            .control
            .update_stateful_set(rx, set, pods, selector, available);
        let status = updated.await?;
        if let Some(now) = now
            && (status.awaits_availability()
                || self.defects.has(StatefulSetDefect::AvailableSetsAreSynced))
            && !self
                .defects
                .has(StatefulSetDefect::AvailabilityIsNotAwaited)
        {
            let later = Stamp::of(rx.clock());
            let next = find_min_next_pod_availability_check(pods, min_ready, now, later);
            let after = next.unwrap_or(Duration::from_secs(min_ready.unsigned_abs()));
            QUEUE.add_after(rx, key, after);
        }
        Ok(())
    }
}

impl Controller for StatefulSetController {
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
            for cache in [self.pods, self.sets, self.claims, self.revisions] {
                cache.wait_for_cache_sync(rx).await;
            }
            process_next_work_item(rx, leading, QUEUE, |key| self.sync(rx, key)).await
        })
    }
}
