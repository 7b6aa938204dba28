//! The controller (`pkg/controller/tainteviction/taint_eviction.go`, v1.36.2): what wakes it up, and which pods have to go when.
//! How one goes is in `evict`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{NODES, PODS};
use wavetank_api::{Object, Stored};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Cell, Instant, Name, NotState, Rx};
use wavetank_version::Set;

use super::defects::TaintEvictionDefect;
use super::evict::Evictions;
use super::notes::{Cancels, Schedules};
use super::timed_workers::TimedWorkerQueue;
use super::tolerations::{Stays, get_no_execute_taints, stays, tolerations};
use crate::controller::{Controller, ControllerContext, Work};
use crate::controller_utils::{POD_NODE_NAME_INDEX, pod_key, taints};
use wavetank_components::elected::process_next_work_item;

/// Its name in `--controllers`.
pub(super) const CONTROLLER: &str = "taint-eviction-controller";
/// That of its service account.
pub(super) const ACCOUNT: &str = "node-controller";
/// `nodeUpdateQueue`
const NODE_UPDATE_QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "noexec_taint_node");
/// `podUpdateQueue`, of pods with their nodes.
pub(super) const POD_UPDATE_QUEUE: WorkQueue =
    WorkQueue::new(Name::new(CONTROLLER), "noexec_taint_pod");

/// What it remembers.
pub(super) static STATE: Cell<State> = Cell::new("taint-eviction");

/// Upstream's fields of `Controller` that change.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct State {
    /// `taintedNodes`
    pub tainted_nodes: BTreeMap<Item, Vec<Json>>,
    /// When each of these taints was seen first.
    pub seen: BTreeMap<(Item, Item), Instant>,
    /// `taintEvictionQueue`
    pub taint_eviction_queue: TimedWorkerQueue,
}

/// Upstream's `Controller`
#[derive(Debug)]
pub(super) struct TaintEvictionController {
    pub(super) pods: Lister,
    nodes: Lister,
    evictions: Arc<Evictions>,
}

/// Its goroutine that looks at nodes.
#[derive(Debug)]
struct NodeWorkers(Arc<TaintEvictionController>);

/// The one that looks at pods.
#[derive(Debug)]
struct PodWorkers(Arc<TaintEvictionController>);

/// Upstream's `New`
pub(super) fn new(cx: &mut ControllerContext) -> Arc<dyn Controller> {
    let defects: Set<TaintEvictionDefect> = cx.defects.of();
    let mut pods = cx.informers.informer_for(&PODS);
    let heeds_pods = !defects.has(TaintEvictionDefect::NewPodsAreNotEvicted);
    pods.add_event_handler(HandlerSpec {
        on: NotState(Arc::new(move |rx, _, notice| {
            if heeds_pods {
                pod_updated(rx, defects, notice);
            }
        })),
        ..HandlerSpec::new(CONTROLLER)
    });
    pods.add_indexers(&[POD_NODE_NAME_INDEX]);
    let pods = pods.lister();
    let mut nodes = cx.informers.informer_for(&NODES);
    nodes.add_event_handler(HandlerSpec {
        on: NotState(Arc::new(|rx, _, notice| node_updated(rx, notice))),
        ..HandlerSpec::new(CONTROLLER)
    });
    let nodes = nodes.lister();
    Arc::new(NodeWorkers(Arc::new(TaintEvictionController {
        pods,
        nodes,
        evictions: Arc::new(Evictions {
            rest: cx.rest.clone(),
            defects,
        }),
    })))
}

pub(super) fn node_name(pod: &Object) -> &str {
    json::text(pod.json(), &["spec", "nodeName"])
}

/// `podUpdateItem`, as one text.
pub(super) fn pod_update_item(pod: &Object) -> Item {
    format!("{}@{}", pod_key(pod), node_name(pod)).into()
}

/// `PodUpdated`
fn pod_updated(rx: Rx, defects: Set<TaintEvictionDefect>, notice: &Notice) {
    match notice {
        Notice::Added { new, .. } => POD_UPDATE_QUEUE.add(rx, pod_update_item(&new.object)),
        Notice::Updated { old, new } => {
            let (was, is) = (&old.object, &new.object);
            let is_same = tolerations(was.json()) == tolerations(is.json())
                && node_name(was) == node_name(is);
            // Upstream does not look whether it is another pod.
            let is_successor = || {
                was.uid() != is.uid() && defects.has(TaintEvictionDefect::FixSuccessorsAreEvicted)
            };
            if !is_same || is_successor() {
                POD_UPDATE_QUEUE.add(rx, pod_update_item(is));
            }
        }
        Notice::Deleted(gone) => {
            if let Some(last) = &gone.last {
                POD_UPDATE_QUEUE.add(rx, pod_update_item(&last.object));
            }
        }
    }
}

/// `NodeUpdated`
fn node_updated(rx: Rx, notice: &Notice) {
    let of = |node: &Stored| get_no_execute_taints(taints(node.object.json()));
    let name = match notice {
        Notice::Added { new, .. } => new.object.name(),
        Notice::Updated { old, new } if of(old) != of(new) => new.object.name(),
        Notice::Updated { .. } => return,
        Notice::Deleted(gone) => match &gone.last {
            Some(last) => last.object.name(),
            None => return,
        },
    };
    NODE_UPDATE_QUEUE.add(rx, name.into());
}

/// A taint as one text: one that was taken away and came again is another.
pub(super) fn identity(taint: &Json) -> Item {
    let text = |field| json::text(taint, &[field]);
    format!("{}={}@{}", text("key"), text("value"), text("timeAdded")).into()
}

impl TaintEvictionController {
    /// `cancelWorkWithEvent`, without the Event.
    fn cancel_work_with_event(&self, rx: Rx, pod: &Item) {
        if rx.update(&STATE, |state| state.taint_eviction_queue.cancel_work(pod)) {
            rx.note(Cancels(pod.clone()));
        }
    }

    /// `processPodOnNode`
    fn process_pod_on_node(&self, rx: Rx, pod: &Stored, taints: &[Json]) {
        let (key, uid): (Item, Item) = (pod_key(&pod.object), pod.object.uid().into());
        if taints.is_empty() {
            self.cancel_work_with_event(rx, &key);
        }
        match stays(taints, tolerations(pod.object.json())) {
            Stays::Not => {
                self.cancel_work_with_event(rx, &key);
                self.evictions.add_work(rx, &key, uid, Duration::ZERO);
            }
            Stays::ForEver => self.cancel_work_with_event(rx, &key),
            Stays::For(time) => {
                let waits = rx.look(&STATE, |state| {
                    let queue = &state.taint_eviction_queue;
                    queue.get_worker_unsafe(&key).cloned()
                });
                match waits {
                    // Upstream compares when the one that waits was made with now: that is always earlier, so it stays as it is.
                    Some(worker) => self.evictions.advance(rx, &key, worker, time),
                    None => {
                        self.evictions.add_work(rx, &key, uid, time);
                        if !time.is_zero() {
                            rx.note(Schedules(key));
                        }
                    }
                }
            }
        }
    }

    /// `handlePodUpdate`
    fn handle_pod_update(&self, rx: Rx, item: &Item) {
        let (key, node) = item.split_once('@').unwrap_or((item, ""));
        let Some(pod) = self.pods.get(rx, key) else {
            return self.cancel_work_with_event(rx, &key.into());
        };
        if node_name(&pod.object) != node || node.is_empty() {
            return;
        }
        let taints = rx.look(&STATE, |state| state.tainted_nodes.get(node).cloned());
        if let Some(taints) = taints {
            self.process_pod_on_node(rx, &pod, &taints);
        }
    }

    /// `handleNodeUpdate`
    fn handle_node_update(&self, rx: Rx, name: &Item) {
        let Some(node) = self.nodes.get(rx, name) else {
            rx.update(&STATE, |state| {
                state.tainted_nodes.remove(name);
                state.seen.retain(|(node, _), _| node != name);
            });
            return;
        };
        let all = get_no_execute_taints(taints(node.object.json()));
        rx.update_at(&STATE, |state, now| {
            let own: Vec<Item> = all.iter().map(identity).collect();
            let is_there = |node: &Item, taint: &Item| node != name || own.contains(taint);
            state.seen.retain(|(node, taint), _| is_there(node, taint));
            for taint in own {
                let key = (name.clone(), taint);
                state.seen.entry(key).or_insert(Instant(now));
            }
            match all.is_empty() {
                true => state.tainted_nodes.remove(name),
                false => state.tainted_nodes.insert(name.clone(), all.clone()),
            };
        });
        for pod in self.pods.by_index(rx, &POD_NODE_NAME_INDEX, name) {
            match all.is_empty() {
                true => self.cancel_work_with_event(rx, &pod_key(&pod.object)),
                false => self.process_pod_on_node(rx, &pod, &all),
            }
        }
    }

    async fn wait_for_cache_sync(&self, rx: Rx) {
        for cache in [self.pods, self.nodes] {
            cache.wait_for_cache_sync(rx).await;
        }
    }

    /// Nodes that wait come before a pod (`worker`).
    async fn empty_node_queue(&self, rx: Rx) {
        while !NODE_UPDATE_QUEUE.is_empty(rx) {
            let node = NODE_UPDATE_QUEUE.get(rx).await;
            self.handle_node_update(rx, &node);
            NODE_UPDATE_QUEUE.done(rx, &node);
        }
    }
}

impl Controller for NodeWorkers {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![NODE_UPDATE_QUEUE, POD_UPDATE_QUEUE]
    }

    fn beside(&self) -> Vec<Arc<dyn Controller>> {
        let evictions = self.0.evictions.clone();
        vec![Arc::new(PodWorkers(self.0.clone())), evictions]
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.0.wait_for_cache_sync(rx).await;
            let handle = |node| async move {
                self.0.handle_node_update(rx, &node);
                Ok::<(), ()>(())
            };
            process_next_work_item(rx, leading, NODE_UPDATE_QUEUE, handle).await
        })
    }
}

impl Controller for PodWorkers {
    fn name(&self) -> &'static str {
        "taint-eviction-pods"
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.0.wait_for_cache_sync(rx).await;
            let handle = |pod| async move {
                self.0.empty_node_queue(rx).await;
                self.0.handle_pod_update(rx, &pod);
                Ok::<(), ()>(())
            };
            process_next_work_item(rx, leading, POD_UPDATE_QUEUE, handle).await
        })
    }
}
