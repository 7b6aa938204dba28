//! Which pods are made and deleted (`podsShouldBeOnNode`, `manage`, `syncNodes` of `pkg/controller/daemon/daemon_controller.go`).

use std::sync::Arc;

use wavetank_api::json::Json;
use wavetank_api::{Object, Reason, Stamp, Stored};
use wavetank_client::wait::{Member, wait_group};
use wavetank_client::workqueue::Item;
use wavetank_engine::Rx;

use super::backoff;
use super::controller::{
    DaemonSetsController, EXPECTATIONS, NodesToDaemonPods, QUEUE, Synced, controller_ref,
};
use super::defects::DaemonSetDefect;
use super::nodes::node_should_run_daemon_pod;
use super::notes::{DaemonWasGone, MadeDaemon, SyncsNodes};
use super::util::{
    allows_surge, create_pod_template, hash_of, node_name, of_spec, of_status, phase,
    replace_daemon_set_pod_node_name_node_affinity, sort_by_creation_timestamp_and_phase,
};
use crate::controller_utils::{
    SLOW_START_INITIAL_BATCH_SIZE, SyncError, is_pod_available, is_pod_ready, pod_key,
    slow_start_batch,
};

/// `BurstReplicas`
const BURST_REPLICAS: usize = 250;

/// The nodes that need a pod, and the pods that are to go.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Changes {
    pub nodes: Vec<String>,
    pub pods: Vec<Stored>,
}

/// `failedPodsBackoffKey`
fn failed_pods_backoff_key(set: &Object, node: &str) -> Item {
    let generation = of_status(set.json(), "observedGeneration");
    format!("{}/{generation}/{node}", set.uid()).into()
}

/// `getUnscheduledPodsWithoutNode`
fn get_unscheduled_pods_without_node(nodes: &[Stored], pods: &NodesToDaemonPods) -> Vec<Stored> {
    let is_there = |name: &str| nodes.iter().any(|node| node.object.name() == name);
    let lost = pods.iter().filter(|(node, _)| !is_there(node));
    let pods = lost.flat_map(|(_, pods)| pods);
    pods.filter(|pod| node_name(pod.object.json()).is_empty())
        .cloned()
        .collect()
}

/// The pods that count as staying, by their UIDs.
pub(super) fn counted(pods: &NodesToDaemonPods) -> Arc<[Arc<str>]> {
    let all = pods.values().flatten().map(|pod| &pod.object);
    let staying = all.filter(|pod| !pod.is_being_deleted());
    staying.map(|pod| pod.uid().into()).collect()
}

impl DaemonSetsController {
    /// `manage`
    pub(super) async fn manage(&self, rx: Rx, synced: Synced<'_>) -> Result<(), SyncError> {
        let pods = self.get_nodes_to_daemon_pods(rx, synced, false).await?;
        let mut changes = Changes::default();
        for node in synced.nodes {
            self.pods_should_be_on_node(rx, synced, &node.object, &pods, &mut changes);
        }
        let lost = get_unscheduled_pods_without_node(synced.nodes, &pods);
        changes.pods.extend(lost);
        self.sync_nodes(rx, synced, &pods, changes).await
    }

    /// `podsShouldBeOnNode`
    fn pods_should_be_on_node(
        &self,
        rx: Rx,
        synced: Synced<'_>,
        node: &Object,
        pods: &NodesToDaemonPods,
        changes: &mut Changes,
    ) {
        let verdict = node_should_run_daemon_pod(node.json(), synced.json());
        let on_node = pods.get(node.name());
        let own = on_node.map_or(&[][..], Vec::as_slice);
        let in_vain = self.defects.has(DaemonSetDefect::DaemonsAreMadeInVain);
        if (verdict.should_run || in_vain) && on_node.is_none() {
            changes.nodes.push(node.name().to_owned());
        } else if verdict.should_continue_running {
            let running = self.running(rx, synced, node, own, changes);
            match allows_surge(synced.json()) {
                false => changes.pods.extend(running.into_iter().skip(1)),
                true if running.is_empty() && verdict.should_run => {
                    changes.nodes.push(node.name().to_owned());
                }
                true => prune_surge(rx, synced, running, changes),
            }
        } else {
            let staying = own.iter().filter(|pod| !pod.object.is_being_deleted());
            changes.pods.extend(staying.cloned());
        }
    }

    /// The pods of a node that run or will, the oldest first. Those that have ended are to go.
    fn running(
        &self,
        rx: Rx,
        synced: Synced<'_>,
        node: &Object,
        pods: &[Stored],
        changes: &mut Changes,
    ) -> Vec<Stored> {
        let mut running = Vec::new();
        for pod in pods.iter().filter(|pod| !pod.object.is_being_deleted()) {
            match phase(pod.object.json()) {
                // A kubelet that refuses a pod would refuse the next one as well.
                "Failed" => {
                    let key = failed_pods_backoff_key(synced.set, node.name());
                    if let Some(delay) = backoff::in_backoff(rx, &key) {
                        QUEUE.add_after(rx, synced.key.clone(), delay);
                        continue;
                    }
                    backoff::next(rx, &key);
                    changes.pods.push(pod.clone());
                }
                "Succeeded" => changes.pods.push(pod.clone()),
                _ => running.push(pod.clone()),
            }
        }
        sort_by_creation_timestamp_and_phase(&mut running);
        running
    }

    /// `syncNodes`
    pub(super) async fn sync_nodes(
        &self,
        rx: Rx,
        synced: Synced<'_>,
        pods: &NodesToDaemonPods,
        mut changes: Changes,
    ) -> Result<(), SyncError> {
        changes.nodes.truncate(BURST_REPLICAS);
        changes.pods.truncate(BURST_REPLICAS);
        let Changes { nodes, pods: going } = changes;
        EXPECTATIONS.expect(rx, synced.key, nodes.len(), going.len());
        if nodes.is_empty() && going.is_empty() {
            return Ok(());
        }
        rx.note(SyncsNodes {
            set: synced.key.clone(),
            uid: synced.set.uid().into(),
            counted: counted(pods),
            nodes: nodes.iter().map(|node| node.as_str().into()).collect(),
            deletes: going.iter().map(|pod| pod_key(&pod.object)).collect(),
        });
        let made = self.create(rx, synced, &nodes).await;
        let all = going.iter().map(|pod| {
            let one = self.delete_one(rx, synced, &pod.object);
            Box::pin(one) as Member<'_, Result<(), SyncError>>
        });
        let deleted = wait_group(all.collect()).await;
        made?;
        deleted.into_iter().find(Result::is_err).unwrap_or(Ok(()))
    }

    /// Makes a pod for each of these nodes.
    async fn create(&self, rx: Rx, synced: Synced<'_>, nodes: &[String]) -> Result<(), SyncError> {
        let template = create_pod_template(synced.json(), synced.hash);
        let mut tried = 0;
        let batches = {
            let one = || {
                let node = &nodes[tried];
                tried += 1;
                let one = self.create_one(rx, synced, &template, node);
                Box::pin(one) as Member<'_, Result<(), SyncError>>
            };
            slow_start_batch(nodes.len(), SLOW_START_INITIAL_BATCH_SIZE, one).await
        };
        // Those that were not tried are not expected.
        for _ in tried..nodes.len() {
            EXPECTATIONS.creation_observed(rx, synced.key);
        }
        batches.1
    }

    async fn create_one(
        &self,
        rx: Rx,
        synced: Synced<'_>,
        template: &Json,
        node: &str,
    ) -> Result<(), SyncError> {
        let mut template = template.clone();
        replace_daemon_set_pod_node_name_node_affinity(&mut template, node);
        let of = controller_ref(synced.set);
        match self.pod_control.create_pods(rx, &template, of).await {
            Ok(made) => rx.note(MadeDaemon {
                set: synced.set.uid().into(),
                pod: pod_key(&made.object),
                uid: made.object.uid().into(),
            }),
            // No other will be made either; upstream goes on to expect this one.
            Err(error) if error.is_of_a_namespace_that_ends() => {}
            Err(error) => {
                EXPECTATIONS.creation_observed(rx, synced.key);
                return Err(error);
            }
        }
        Ok(())
    }

    async fn delete_one(&self, rx: Rx, synced: Synced<'_>, pod: &Object) -> Result<(), SyncError> {
        let Err(error) = self.pod_control.delete_pod(rx, pod).await else {
            return Ok(());
        };
        if error.is(Reason::NotFound) {
            let set = synced.key.clone();
            rx.note(DaemonWasGone { set });
            if !self.defects.has(DaemonSetDefect::GoneDaemonsAreAwaited) {
                EXPECTATIONS.lower_deletions(rx, synced.key);
            }
            return Ok(());
        }
        EXPECTATIONS.lower_deletions(rx, synced.key);
        Err(error)
    }
}

/// Where two pods may run on a node: one of the old template that is ready, and one of the new that is not yet. All others
/// are to go.
fn prune_surge(rx: Rx, synced: Synced<'_>, running: Vec<Stored>, changes: &mut Changes) {
    if running.len() <= 1 {
        return;
    }
    let (mut new, mut old) = (None, None);
    for pod in running {
        let of = match hash_of(pod.object.json()) == synced.hash {
            true => &mut new,
            false => &mut old,
        };
        match of {
            None => *of = Some(pod),
            Some(_) => changes.pods.push(pod),
        }
    }
    let (Some(new), Some(old)) = (new, old) else {
        return;
    };
    let min_ready = of_spec(synced.json(), "minReadySeconds");
    // Nobody asks for the time where nothing depends on it.
    let now = (min_ready > 0).then(|| Stamp::of(rx.clock()));
    let is_replaced = is_pod_available(new.object.json(), min_ready, now);
    if is_pod_ready(old.object.json()).is_none() || is_replaced {
        changes.pods.push(old);
    }
}
