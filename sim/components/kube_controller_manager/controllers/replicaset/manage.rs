//! How many pods are made and deleted (`manageReplicas` of `pkg/controller/replicaset/replica_set.go`).

use std::collections::BTreeMap;

use wavetank_api::json::{self, Json};
use wavetank_api::{Object, Reason, Stamp, Stored};
use wavetank_client::wait::{Member, wait_group};
use wavetank_client::workqueue::Item;
use wavetank_engine::{Rx, mutant};

use super::controller::ReplicaSetController;
use super::defects::ReplicaSetDefect;
use super::notes::{Deleted, Made, Manages};
use crate::controller_utils::{
    Ranked, SLOW_START_INITIAL_BATCH_SIZE, SyncError, get_controller_of, is_pod_active, pod_key,
    slow_start_batch, sort_by_deletion,
};

/// `BurstReplicas`
const BURST_REPLICAS: usize = 500;

impl ReplicaSetController {
    /// `manageReplicas`
    pub(super) async fn manage_replicas(
        &self,
        rx: Rx,
        key: &Item,
        active: &[Stored],
        set: &Object,
    ) -> Result<(), SyncError> {
        let replicas = json::number(set.json(), &["spec", "replicas"]).unwrap_or(0);
        let wanted = usize::try_from(replicas).unwrap_or(0);
        if active.len() == wanted {
            return Ok(());
        }
        rx.note(Manages {
            kind: self.kind,
            set: key.clone(),
            uid: set.uid().into(),
            active: active.iter().map(|pod| pod_key(&pod.object)).collect(),
            replicas,
        });
        match active.len() < wanted {
            true => self.create(rx, key, wanted - active.len(), set).await,
            false => self.delete(rx, key, active, wanted, set).await,
        }
    }

    /// Too few.
    async fn create(
        &self,
        rx: Rx,
        key: &Item,
        lacking: usize,
        set: &Object,
    ) -> Result<(), SyncError> {
        let count = lacking.min(BURST_REPLICAS);
        self.expectations.expect_creations(rx, key, count);
        let template = json::at(set.json(), &["spec", "template"]).unwrap_or(&Json::Null);
        let controller = self.controller_ref(set);
        let one = || async move {
            match self.pod_control.create_pods(rx, template, controller).await {
                Ok(made) => rx.note(Made {
                    set: set.uid().into(),
                    pod: pod_key(&made.object),
                }),
                Err(error) if error.is_of_a_namespace_that_ends() => {}
                Err(error) => return Err(error),
            }
            Ok(())
        };
        let batches = slow_start_batch(count, SLOW_START_INITIAL_BATCH_SIZE, || Box::pin(one()));
        let (successes, result) = batches.await;
        for _ in successes..count {
            if mutant!(
                "failed-creations-are-awaited",
                "pods that could not be made are waited for"
            ) {
                break;
            }
            // No informer will see those.
            self.expectations.creation_observed(rx, key);
        }
        result
    }

    /// Too many.
    async fn delete(
        &self,
        rx: Rx,
        key: &Item,
        active: &[Stored],
        wanted: usize,
        set: &Object,
    ) -> Result<(), SyncError> {
        let count = (active.len() - wanted).min(BURST_REPLICAS);
        let related = self.get_indirectly_related_pods(rx, set);
        let more = count < active.len()
            && mutant!(
                "one-pod-too-many-goes",
                "a set that is scaled down deletes a pod too many"
            );
        let pods = get_pods_to_delete(rx, active, &related, count + usize::from(more));
        let keys = pods.iter().map(|pod| pod_key(&pod.object));
        // Those that the fix does not count must not be forgotten.
        let awaited = self.expectations.awaited_deletions(rx, key).into_iter();
        let is_kept = awaited.len() > 0 && self.defects.has(ReplicaSetDefect::FixCountNoDeleted);
        let awaited = awaited.filter(|_| is_kept);
        self.expectations
            .expect_deletions(rx, key, keys.chain(awaited));
        let all = pods.iter().map(|pod| {
            let one = self.delete_one(rx, key, &pod.object, set);
            Box::pin(one) as Member<'_, Result<(), SyncError>>
        });
        let done = wait_group(all.collect()).await;
        done.into_iter().find(Result::is_err).unwrap_or(Ok(()))
    }

    async fn delete_one(
        &self,
        rx: Rx,
        key: &Item,
        pod: &Object,
        set: &Object,
    ) -> Result<(), SyncError> {
        match self.pod_control.delete_pod(rx, pod).await {
            Ok(()) => {
                rx.note(Deleted {
                    set: set.uid().into(),
                    pod: pod_key(pod),
                });
                Ok(())
            }
            Err(error) => {
                // No informer will see that.
                let expectations = self.expectations;
                expectations.deletion_observed(rx, key, &pod_key(pod));
                match error.is(Reason::NotFound) {
                    true => Ok(()),
                    false => Err(error),
                }
            }
        }
    }

    /// `getReplicaSetsWithSameController`
    fn get_replica_sets_with_same_controller(&self, rx: Rx, set: &Object) -> Vec<Stored> {
        let uid = |object: &Object| Some(get_controller_of(object.json())?["uid"].clone());
        let Some(owner) = uid(set) else {
            return Vec::new();
        };
        let mut all = self.sets.list(rx);
        all.retain(|other| uid(&other.object).as_ref() == Some(&owner));
        all
    }

    /// `getIndirectlyRelatedPods`: those that any set of the same owner selects.
    fn get_indirectly_related_pods(&self, rx: Rx, set: &Object) -> Vec<Stored> {
        let mut related = BTreeMap::new();
        for other in self.get_replica_sets_with_same_controller(rx, set) {
            let Some(selector) = self.kind.selector(other.object.json()) else {
                continue;
            };
            for pod in self.pods.list(rx) {
                let is_near = pod.object.namespace() == other.object.namespace();
                if is_near && selector.matches(pod.object.json()) {
                    related.insert(pod.object.uid().to_owned(), pod);
                }
            }
        }
        related.into_values().collect()
    }
}

/// `getPodsToDelete`
fn get_pods_to_delete(rx: Rx, active: &[Stored], related: &[Stored], count: usize) -> Vec<Stored> {
    if count >= active.len() {
        return active.to_vec();
    }
    let mut ranked = get_pods_ranked_by_related_pods_on_same_node(active, related);
    sort_by_deletion(&mut ranked, Stamp::of(rx.clock()));
    let first = ranked.into_iter().take(count);
    first.map(|ranked| ranked.pod).collect()
}

/// `getPodsRankedByRelatedPodsOnSameNode`
fn get_pods_ranked_by_related_pods_on_same_node(
    pods: &[Stored],
    related: &[Stored],
) -> Vec<Ranked> {
    let node = |pod: &Stored| json::text(pod.object.json(), &["spec", "nodeName"]).to_owned();
    let mut on_node: BTreeMap<String, usize> = BTreeMap::new();
    for pod in related
        .iter()
        .filter(|pod| is_pod_active(pod.object.json()))
    {
        *on_node.entry(node(pod)).or_default() += 1;
    }
    let ranked = pods.iter().map(|pod| Ranked {
        rank: on_node.get(&node(pod)).copied().unwrap_or(0),
        pod: pod.clone(),
    });
    ranked.collect()
}
