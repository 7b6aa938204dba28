//! The controller (`pkg/controller/daemon/daemon_controller.go`, v1.36.2): what it is made of, one sync of a set, and one look at
//! a node. Which pods are made and deleted is in `manage`, how a new template is rolled out in `update`, templates that there
//! were in `history`, what is written into the status in `status`, what wakes it up in `events`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::deployments::label_selector_as_selector;
use wavetank_api::kinds::{CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS};
use wavetank_api::selector::LabelSelector;
use wavetank_api::{Object, Stored};
use wavetank_client::RestClient;
use wavetank_client::informer::Lister;
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Cx, Name, Rx, Timer};
use wavetank_version::Set;

use super::backoff;
use super::defects::DaemonSetDefect;
use super::events::Events;
use super::nodes::node_should_run_daemon_pod;
use super::notes::AwaitsDaemons;
use super::util::{
    get_target_node_name, get_template_generation, hash_of, is_pod_updated, is_rolling_update,
    of_status, phase,
};
use crate::controller::{Controller, ControllerContext, Work};
use crate::controller_utils::{
    Claimed, ConsistencyStore, ControllerRef, ControllerRefManager, Expectations,
    POD_NODE_NAME_INDEX, PodOwnerDefect, RealPodControl, SyncError, filter_pods_by_owner,
    get_controller_of, pod_key,
};
use wavetank_components::elected::process_next_work_item;

/// Its name in `--controllers`.
pub(super) const CONTROLLER: &str = "daemonset-controller";
/// That of its service account.
pub(super) const ACCOUNT: &str = "daemon-set-controller";
pub(super) const QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "daemonset");
/// `nodeUpdateQueue`
pub(super) const NODE_UPDATE_QUEUE: WorkQueue =
    WorkQueue::new(Name::new(CONTROLLER), "daemonset-node-updates");
pub(super) const EXPECTATIONS: Expectations = Expectations::new(Name::new(CONTROLLER));

/// `DaemonSetsController`
#[derive(Debug)]
pub(super) struct DaemonSetsController {
    pub(super) rest: RestClient,
    pub(super) pod_control: RealPodControl,
    pub(super) sets: Lister,
    pub(super) pods: Lister,
    pub(super) nodes: Lister,
    pub(super) revisions: Lister,
    pub(super) consistency: ConsistencyStore,
    pub(super) defects: Set<DaemonSetDefect>,
    of_owners: Set<PodOwnerDefect>,
    workers: u32,
}

/// Its `runWorker`.
#[derive(Debug)]
struct Workers(Arc<DaemonSetsController>);

/// Its `runNodeUpdateWorker`.
#[derive(Debug)]
struct NodeUpdateWorkers(Arc<DaemonSetsController>);

/// A set in one sync.
#[derive(Clone, Copy, Debug)]
pub(super) struct Synced<'a> {
    pub key: &'a Item,
    pub set: &'a Object,
    pub selector: &'a LabelSelector,
    pub nodes: &'a [Stored],
    /// Of its newest template.
    pub hash: &'a str,
    pub defects: Set<DaemonSetDefect>,
}

impl Synced<'_> {
    pub fn json(&self) -> &Json {
        self.set.json()
    }

    /// Upstream's `IsPodUpdated`. With the fix numbers of templates count for pods of before there were hashes only: another
    /// set of this name has given its pods the same numbers.
    pub fn is_updated(&self, pod: &Json) -> bool {
        let by_hash = self.defects.has(DaemonSetDefect::FixCompareTemplatesByHash);
        let generation = get_template_generation(self.json());
        let generation = generation.filter(|_| hash_of(pod).is_empty() || !by_hash);
        is_pod_updated(pod, self.hash, generation)
    }
}

/// The pods of a set by the nodes that they are for.
pub(super) type NodesToDaemonPods = BTreeMap<String, Vec<Stored>>;

/// What a set refers to itself with.
pub(super) fn controller_ref(set: &Object) -> ControllerRef<'_> {
    ControllerRef {
        of: &DAEMON_SETS,
        object: set,
    }
}

/// Upstream's `NewDaemonSetsController`
pub(super) fn new(cx: &mut ControllerContext, workers: u32) -> Arc<dyn Controller> {
    let sets = cx.informers.informer_for(&DAEMON_SETS).lister();
    let pods = cx.informers.informer_for(&PODS).lister();
    let nodes = cx.informers.informer_for(&NODES).lister();
    let revisions = cx.informers.informer_for(&CONTROLLER_REVISIONS).lister();
    let stores = vec![(&PODS, pods), (&DAEMON_SETS, sets)];
    let consistency = ConsistencyStore::new(Name::new(CONTROLLER), stores);
    let events = Events {
        sets,
        consistency: consistency.clone(),
    };
    events.add_event_handlers(cx);
    Arc::new(Workers(Arc::new(DaemonSetsController {
        rest: cx.rest.clone(),
        pod_control: RealPodControl {
            rest: cx.rest.clone(),
            on_write: consistency.clone(),
        },
        sets,
        pods,
        nodes,
        revisions,
        consistency,
        defects: cx.defects.of(),
        of_owners: cx.defects.of(),
        workers,
    })))
}

impl DaemonSetsController {
    async fn wait_for_caches(&self, rx: Rx) {
        for cache in [self.pods, self.nodes, self.revisions, self.sets] {
            cache.wait_for_cache_sync(rx).await;
        }
    }

    /// `syncDaemonSet`
    async fn sync_daemon_set(&self, rx: Rx, key: Item) -> Result<(), SyncError> {
        self.consistency.ensure_ready(rx, &key)?;
        let Some(set) = self.sets.get(rx, &key) else {
            EXPECTATIONS.delete_expectations(rx, &key);
            self.consistency.clear(rx, &key, None);
            return Ok(());
        };
        let nodes = self.nodes.list(rx);
        let selector = json::at(set.object.json(), &["spec", "selector"]);
        // One that selects all pods is left alone, as is one whose selector cannot be read.
        let Some(selector) = selector
            .filter(|own| **own != json!({}))
            .and_then(label_selector_as_selector)
        else {
            return Ok(());
        };
        // Whether revisions of a set that goes are there still is not known, and so its status is not.
        if set.object.is_being_deleted() {
            return Ok(());
        }
        let (current, old) = self
            .construct_history(rx, &set.object, &selector)
            .await
            .map_err(|error| {
                SyncError::Worded(format!(
                    "failed to construct revisions of DaemonSet: {error}"
                ))
            })?;
        let synced = Synced {
            key: &key,
            set: &set.object,
            selector: &selector,
            nodes: &nodes,
            hash: hash_of(&current),
            defects: self.defects,
        };
        let synced = self.act(rx, synced, &old).await;
        let wakes = || self.defects.has(DaemonSetDefect::FixWakeDaemonsWhenExpired);
        EXPECTATIONS.wake_when_expired(rx, QUEUE, key, wakes);
        synced
    }

    /// What a sync does once it is known which templates there are: only the status is written while something is expected.
    async fn act(&self, rx: Rx, synced: Synced<'_>, old: &[Json]) -> Result<(), SyncError> {
        let key = synced.key;
        if !EXPECTATIONS.satisfied_expectations(rx, key) {
            rx.note(AwaitsDaemons {
                set: key.clone(),
                deletions: EXPECTATIONS.awaited(rx, key).1,
            });
            if !self.defects.has(DaemonSetDefect::DaemonsAreNotExpected) {
                return self.update_daemon_set_status(rx, synced, false).await;
            }
        }
        let updated = self.update_daemon_set(rx, synced, old).await;
        let status = self.update_daemon_set_status(rx, synced, true).await;
        updated?;
        status
    }

    /// `updateDaemonSet`
    async fn update_daemon_set(
        &self,
        rx: Rx,
        synced: Synced<'_>,
        old: &[Json],
    ) -> Result<(), SyncError> {
        self.manage(rx, synced).await?;
        let is_satisfied = EXPECTATIONS.satisfied_expectations(rx, synced.key)
            || self.defects.has(DaemonSetDefect::DaemonsAreNotExpected);
        if is_satisfied && is_rolling_update(synced.json()) {
            self.rolling_update(rx, synced).await?;
        }
        self.cleanup_history(rx, synced, old)
            .await
            .map_err(|error| {
                let why = format!("failed to clean up revisions of DaemonSet: {error}");
                SyncError::Worded(why)
            })
    }

    /// `getDaemonPods`
    pub(super) async fn get_daemon_pods(
        &self,
        rx: Rx,
        set: &Object,
        selector: &LabelSelector,
    ) -> Result<Vec<Stored>, SyncError> {
        let pods = filter_pods_by_owner(rx, self.pods, set, DAEMON_SETS.kind, true);
        let mut manager = self.ref_manager(set, selector, Claimed::Pods(&self.pod_control));
        manager.claim(rx, pods).await
    }

    /// Who claims what is the set's.
    pub(super) fn ref_manager<'a>(
        &self,
        set: &'a Object,
        selector: &'a LabelSelector,
        claimed: Claimed<'a>,
    ) -> ControllerRefManager<'a> {
        ControllerRefManager {
            controller: controller_ref(set),
            selector,
            claimed,
            filter: |_, _| true,
            finalizers: &[],
            defects: self.of_owners,
            can_adopt: None,
        }
    }

    /// `getNodesToDaemonPods`
    pub(super) async fn get_nodes_to_daemon_pods(
        &self,
        rx: Rx,
        synced: Synced<'_>,
        include_deleted_terminal: bool,
    ) -> Result<NodesToDaemonPods, SyncError> {
        let mut by_node = NodesToDaemonPods::new();
        for pod in self
            .get_daemon_pods(rx, synced.set, synced.selector)
            .await?
        {
            let is_terminal = matches!(phase(pod.object.json()), "Failed" | "Succeeded");
            // Its kubelet, or who collects pods, takes it.
            let is_passed = is_terminal && pod.object.is_being_deleted();
            if is_passed && !include_deleted_terminal {
                continue;
            }
            if let Some(node) = get_target_node_name(pod.object.json()).map(str::to_owned) {
                by_node.entry(node).or_default().push(pod);
            }
        }
        Ok(by_node)
    }

    /// `syncNodeUpdate`
    fn sync_node_update(&self, rx: Rx, name: &Item) {
        let Some(node) = self.nodes.get(rx, name) else {
            return;
        };
        let pods = self.pods.by_index(rx, &POD_NODE_NAME_INDEX, name);
        let is_on_node = |set: &Object| {
            pods.iter().any(|pod| {
                let reference = get_controller_of(pod.object.json());
                // A set that had this name before may still have a pod here.
                let is_of = |own: &Json| {
                    own["kind"] == *DAEMON_SETS.kind
                        && own["name"] == *set.name()
                        && (own["uid"] == *set.uid()
                            || !self.defects.has(DaemonSetDefect::FixDaemonsCountByUid))
                };
                pod.object.namespace() == set.namespace() && reference.is_some_and(is_of)
            })
        };
        for set in self.sets.list(rx) {
            let verdict = node_should_run_daemon_pod(node.object.json(), set.object.json());
            let scheduled = is_on_node(&set.object);
            let is_misscheduled = scheduled && !verdict.should_continue_running;
            let counts_any = of_status(set.object.json(), "numberMisscheduled") > 0;
            // Upstream does not look at one that becomes misscheduled and may go on.
            let becomes = || {
                scheduled
                    && !verdict.should_run
                    && self
                        .defects
                        .has(DaemonSetDefect::FixTaintedDaemonsAreCounted)
            };
            let lacks = verdict.should_run && !scheduled;
            if lacks || is_misscheduled || (scheduled && counts_any) || becomes() {
                QUEUE.add(rx, pod_key(&set.object));
            }
        }
    }
}

impl Controller for Workers {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![QUEUE, NODE_UPDATE_QUEUE]
    }

    fn workers(&self) -> u32 {
        self.0.workers
    }

    fn beside(&self) -> Vec<Arc<dyn Controller>> {
        vec![Arc::new(NodeUpdateWorkers(self.0.clone()))]
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.0.wait_for_caches(rx).await;
            process_next_work_item(rx, leading, QUEUE, |key| self.0.sync_daemon_set(rx, key)).await
        })
    }

    fn timer(&self, cx: &mut Cx<'_>, timer: Timer) -> bool {
        Expectations::timer(cx, timer) || backoff::timer(cx, timer)
    }
}

impl Controller for NodeUpdateWorkers {
    fn name(&self) -> &'static str {
        "daemonset-controller-node-updates"
    }

    fn workers(&self) -> u32 {
        self.0.workers
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.0.wait_for_caches(rx).await;
            let sync = |name: Item| async move {
                self.0.sync_node_update(rx, &name);
                Ok::<_, SyncError>(())
            };
            process_next_work_item(rx, leading, NODE_UPDATE_QUEUE, sync).await
        })
    }
}
