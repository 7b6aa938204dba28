//! The controller (`pkg/controller/replicaset/replica_set.go`): what it is made of, and one sync of an object. How many
//! pods are made and deleted is in `manage`, what is written into the status in `status`, what wakes it up in `events`.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::json;
use wavetank_api::kinds::PODS;
use wavetank_api::selector::LabelSelector;
use wavetank_api::{Object, Stamp, Stored};
use wavetank_client::RestClient;
use wavetank_client::informer::Lister;
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Cx, Name, Rx, Timer, mutant};
use wavetank_version::Set;

use super::defects::ReplicaSetDefect;
use super::events::Events;
use super::kind::Kind;
use super::notes::Syncs;
use super::status::{StatusOf, calculate_status};
use crate::controller::{Controller, ControllerContext, Work};
use crate::controller_utils::{
    Claimed, ConsistencyStore, ControllerRef, ControllerRefManager, Expectations, PodOwnerDefect,
    RealPodControl, SyncError, filter_pods_by_owner, find_min_next_pod_availability_check,
    is_controlled_by, is_pod_active, is_pod_terminating, pod_key,
};
use crate::gates;
use wavetank_components::elected::process_next_work_item;

/// `ReplicaSetController`
#[derive(Debug)]
pub(crate) struct ReplicaSetController {
    pub(super) kind: Kind,
    pub(super) rest: RestClient,
    pub(super) sets: Lister,
    pub(super) pods: Lister,
    pub(super) pod_control: RealPodControl,
    pub(super) expectations: Expectations,
    pub(super) defects: Set<ReplicaSetDefect>,
    of_owners: Set<PodOwnerDefect>,
    consistency: ConsistencyStore,
    workers: u32,
}

/// Upstream's `NewReplicaSetController`, `NewReplicationManager`
pub(crate) fn new(cx: &mut ControllerContext, kind: Kind, workers: u32) -> Arc<dyn Controller> {
    Arc::new(ReplicaSetController::new_base_controller(cx, kind, workers))
}

impl ReplicaSetController {
    /// `NewBaseController`
    fn new_base_controller(
        cx: &mut ControllerContext,
        kind: Kind,
        workers: u32,
    ) -> ReplicaSetController {
        let sets = cx.informers.informer_for(kind.resource()).lister();
        let pods = cx.informers.informer_for(&PODS).lister();
        let stores = match cx.rest.release.has(gates::READS_OWN_WRITES) {
            true => vec![(&PODS, pods), (kind.resource(), sets)],
            false => Vec::new(),
        };
        let own = Name::new(kind.controller());
        let consistency = ConsistencyStore::new(own, stores);
        let events = Events {
            kind,
            defects: cx.defects.of(),
            sets,
            consistency: consistency.clone(),
        };
        events.add_event_handlers(cx);
        ReplicaSetController {
            kind,
            sets,
            pods,
            pod_control: RealPodControl {
                rest: cx.rest.clone(),
                on_write: consistency.clone(),
            },
            rest: cx.rest.clone(),
            expectations: kind.expectations(),
            defects: cx.defects.of(),
            of_owners: cx.defects.of(),
            consistency,
            workers,
        }
    }

    /// What the controller refers to itself with in a pod.
    pub(super) fn controller_ref<'a>(&self, set: &'a Object) -> ControllerRef<'a> {
        ControllerRef {
            of: self.kind.resource(),
            object: set,
        }
    }

    /// `syncReplicaSet`
    async fn sync_replica_set(&self, rx: Rx, key: Item) -> Result<(), SyncError> {
        rx.note(Syncs {
            kind: self.kind,
            set: key.clone(),
        });
        self.ensure_ready(rx, &key)?;
        let Some(set) = self.sets.get(rx, &key) else {
            self.consistency.clear(rx, &key, None);
            self.expectations.delete_expectations(rx, &key);
            return Ok(());
        };
        let needs_sync = self.expectations.satisfied_expectations(rx, &key)
            || self.defects.has(ReplicaSetDefect::ActsWithoutExpectations);
        let Some(selector) = self.kind.selector(set.object.json()) else {
            return Ok(());
        };
        let kind = self.kind.resource().kind;
        let all = filter_pods_by_owner(rx, self.pods, &set.object, kind, true);
        let terminating = self.terminating(&set.object, &selector, &all);
        let active = all.into_iter();
        let active = active.filter(|pod| {
            is_pod_active(pod.object.json())
                || mutant!(
                    "failed-pods-count",
                    "pods that have failed or go count as replicas"
                )
        });
        let active = self.claim_pods(rx, &set.object, &selector, active.collect());
        let active = active.await?;
        let active = self.without_deleted(rx, &key, active);
        let stays = !set.object.is_being_deleted()
            || mutant!(
                "deleted-set-is-filled",
                "a set that goes is still given pods"
            );
        let managed = match needs_sync && stays {
            true => self.manage_replicas(rx, &key, &active, &set.object).await,
            false => Ok(()),
        };
        self.conclude(rx, &key, set, &active, terminating, managed)
            .await
    }

    /// With the fix: pods whose deletion was accepted are not counted.
    fn without_deleted(&self, rx: Rx, key: &Item, mut active: Vec<Stored>) -> Vec<Stored> {
        let awaited = self.expectations.awaited_deletions(rx, key);
        let is_awaited = |pod: &Stored| awaited.contains(&pod_key(&pod.object));
        let any = active.iter().any(is_awaited);
        if any && self.defects.has(ReplicaSetDefect::FixCountNoDeleted) {
            active.retain(|pod| !is_awaited(pod));
        }
        active
    }

    /// `EnsureReady`, which ReplicationControllers do not ask.
    fn ensure_ready(&self, rx: Rx, key: &Item) -> Result<(), SyncError> {
        let ready = self.consistency.ensure_ready(rx, key);
        let is_passed = |defect, when| ready.is_err() && self.defects.has(defect) == when;
        let is_unheard = match self.kind {
            Kind::ReplicaSet => is_passed(ReplicaSetDefect::StaleReplicas, true),
            Kind::ReplicationController => {
                is_passed(ReplicaSetDefect::FixReplicationConsistency, false)
            }
        };
        match is_unheard {
            true => Ok(()),
            false => ready,
        }
    }

    /// What a sync does last: the status, and when it is looked at again.
    async fn conclude(
        &self,
        rx: Rx,
        key: &Item,
        set: Stored,
        active: &[Stored],
        terminating: Option<usize>,
        managed: Result<(), SyncError>,
    ) -> Result<(), SyncError> {
        let min_ready = json::number(set.object.json(), &["spec", "minReadySeconds"]).unwrap_or(0);
        // Nobody asks for the time where nothing depends on it.
        let now = (min_ready > 0).then(|| Stamp::of(rx.clock()));
        let uid = set.object.uid().to_owned();
        let failed = managed.as_ref().err();
        let counted = StatusOf {
            active,
            terminating,
            failed,
            now,
        };
        let status = calculate_status(rx, set.object.json(), counted);
        let updated = self.update_replica_set_status(rx, set, status).await?;
        let revision = updated.resource_version;
        let of = self.kind.resource();
        self.consistency.wrote_at(rx, key, &uid, of, revision);
        managed?;
        let count = |field| json::number(updated.object.json(), &["status", field]).unwrap_or(0);
        if let Some(now) = now
            && (count("readyReplicas") != count("availableReplicas")
                || self.defects.has(ReplicaSetDefect::RequeuesAfterSuccess))
        {
            let later = Stamp::of(rx.clock());
            let next = find_min_next_pod_availability_check(active, min_ready, now, later);
            let after = next.unwrap_or(Duration::from_secs(min_ready.unsigned_abs()));
            self.kind.queue().add_after(rx, key.clone(), after);
        }
        let wakes = || self.defects.has(ReplicaSetDefect::FixWakeWhenExpired);
        let queue = self.kind.queue();
        self.expectations
            .wake_when_expired(rx, queue, key.clone(), wakes);
        Ok(())
    }

    /// How many pods of a set are terminating (`FilterTerminatingPods`, `FilterClaimedPods`); nothing where nobody counts
    /// them.
    fn terminating(&self, set: &Object, selector: &LabelSelector, all: &[Stored]) -> Option<usize> {
        let is_counted = self.kind.counts_terminating(self.rest.release);
        is_counted.then(|| {
            let pods = all.iter().map(|pod| pod.object.json());
            let own = pods.filter(|pod| is_pod_terminating(pod));
            let own = own.filter(|pod| is_controlled_by(pod, set.uid()));
            own.filter(|pod| selector.matches(pod)).count()
        })
    }

    /// `claimPods`
    async fn claim_pods(
        &self,
        rx: Rx,
        set: &Object,
        selector: &LabelSelector,
        pods: Vec<Stored>,
    ) -> Result<Vec<Stored>, SyncError> {
        let mut manager = ControllerRefManager {
            controller: self.controller_ref(set),
            selector,
            claimed: Claimed::Pods(&self.pod_control),
            filter: |_, _| true,
            finalizers: &[],
            defects: self.of_owners,
            can_adopt: None,
        };
        manager.claim(rx, pods).await
    }
}

impl Controller for ReplicaSetController {
    fn name(&self) -> &'static str {
        self.kind.controller()
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![self.kind.queue()]
    }

    fn workers(&self) -> u32 {
        self.workers
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.pods.wait_for_cache_sync(rx).await;
            self.sets.wait_for_cache_sync(rx).await;
            let queue = self.kind.queue();
            process_next_work_item(rx, leading, queue, |key| self.sync_replica_set(rx, key)).await
        })
    }

    fn timer(&self, cx: &mut Cx<'_>, timer: Timer) -> bool {
        Expectations::timer(cx, timer)
    }
}
