//! The controller (`pkg/controller/nodelifecycle/node_lifecycle_controller.go`, v1.36.2): what it is made of, its goroutines, and
//! one look at all nodes. How the health of one is judged is in `judge`, how nodes are tainted in `tainting`, what becomes of
//! their pods in `pods`, what a zone allows in `zones`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use wavetank_api::kinds::{DAEMON_SETS, LEASES, NODES, PODS};
use wavetank_api::{Object, Stored};
use wavetank_client::RestClient;
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_client::leader_election::Leading;
use wavetank_client::wait::{Every, Member, Turn, wait_group};
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Cell, Condition, Cx, Name, NotState, Rx, Timer};
use wavetank_version::Set;

use super::defects::NodeLifecycleDefect;
use super::health::NodeHealthMap;
use super::judge::Judged;
use super::notes::HasLooked;
use super::options::Periods;
use super::zones::{
    RateLimitedTimedQueue, ZoneState, compute_zone_state, get_zone_key, limiter_in_zone,
};
use crate::controller::{Controller, ControllerContext, Work};
use crate::controller_utils::{POD_NODE_NAME_INDEX, pod_key};
use wavetank_components::elected::{DRAIN, process_next_work_item, process_next_work_item_with};

/// Its name in `--controllers`.
pub(super) const CONTROLLER: &str = "node-lifecycle-controller";
/// That of its service account.
pub(super) const ACCOUNT: &str = "node-controller";
/// `nodeUpdateQueue`
pub(super) const NODE_UPDATE_QUEUE: WorkQueue =
    WorkQueue::new(Name::new(CONTROLLER), "node_lifecycle_controller");
/// `podUpdateQueue`
pub(super) const POD_UPDATE_QUEUE: WorkQueue =
    WorkQueue::new(Name::new(CONTROLLER), "node_lifecycle_controller_pods");
/// `nodeUpdateWorkerSize`
const NODE_UPDATE_WORKER_SIZE: u32 = 8;
/// `podUpdateWorkerSize`
const POD_UPDATE_WORKER_SIZE: u32 = 4;
/// `NodeEvictionPeriod`
const NODE_EVICTION_PERIOD: Duration = Duration::from_millis(100);

/// What it remembers.
pub(super) static STATE: Cell<State> = Cell::new("node-lifecycle");
/// The token of the zone with this number is there again.
const TOKEN: Name = Name::new("zone-taint-token");
/// A queue of a zone, or its limiter, has changed.
pub(super) const ZONES_CHANGED: Condition = Condition::new("zone-taint-queues", 0);

/// Upstream's fields of `Controller` that change.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct State {
    /// `knownNodeSet`
    pub known_node_set: BTreeSet<Item>,
    pub node_health_map: NodeHealthMap,
    /// `zoneNoExecuteTainter`
    pub zone_no_execute_tainter: BTreeMap<Item, RateLimitedTimedQueue>,
    pub nodes_to_retry: BTreeSet<Item>,
    pub zone_states: BTreeMap<Item, ZoneState>,
}

/// Upstream's `Controller`
#[derive(Debug)]
pub(super) struct NodeLifecycleController {
    pub(super) rest: RestClient,
    pub(super) pods: Lister,
    pub(super) nodes: Lister,
    pub(super) leases: Lister,
    daemon_sets: Lister,
    pub(super) periods: Periods,
    pub(super) defects: Set<NodeLifecycleDefect>,
}

/// Upstream's `NewNodeLifecycleController`
pub(super) fn new(cx: &mut ControllerContext, periods: Periods) -> Arc<dyn Controller> {
    let mut pods = cx.informers.informer_for(&PODS);
    pods.add_event_handler(HandlerSpec {
        on: NotState(Arc::new(|rx, _, notice| pod_updated(rx, notice))),
        ..HandlerSpec::new(CONTROLLER)
    });
    pods.add_indexers(&[POD_NODE_NAME_INDEX]);
    let pods = pods.lister();
    let mut nodes = cx.informers.informer_for(&NODES);
    nodes.add_event_handler(HandlerSpec {
        on: NotState(Arc::new(|rx, _, notice| node_changed(rx, notice))),
        ..HandlerSpec::new(CONTROLLER)
    });
    let nodes = nodes.lister();
    Arc::new(NodeLifecycleController {
        pods,
        nodes,
        leases: cx.informers.informer_for(&LEASES).lister(),
        daemon_sets: cx.informers.informer_for(&DAEMON_SETS).lister(),
        rest: cx.rest.clone(),
        periods,
        defects: cx.defects.of(),
    })
}

/// `podUpdated`
fn pod_updated(rx: Rx, notice: &Notice) {
    let (old, new) = match notice {
        Notice::Added { new, .. } => (None, new),
        Notice::Updated { old, new } => (Some(old), new),
        Notice::Deleted(_) => return,
    };
    let node = |pod: &Object| super::pods::node_name(pod).to_owned();
    let own = node(&new.object);
    if !own.is_empty() && old.is_none_or(|old| node(&old.object) != own) {
        POD_UPDATE_QUEUE.add(rx, pod_key(&new.object));
    }
}

fn node_changed(rx: Rx, notice: &Notice) {
    match notice {
        Notice::Added { new, .. } | Notice::Updated { new, .. } => {
            NODE_UPDATE_QUEUE.add(rx, new.object.name().into());
        }
        Notice::Deleted(gone) => {
            if let Some(last) = &gone.last {
                let name = last.object.name();
                rx.update(&STATE, |state| state.nodes_to_retry.remove(name));
            }
        }
    }
}

/// The timer that gives the zone with this number its token again.
pub(super) fn token(number: u64) -> Timer {
    Timer::new(TOKEN, number)
}

/// What one of its goroutines does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// `monitorNodeHealth`
    Monitor,
    /// `doNoExecuteTaintingPass`
    Taint,
    /// `doNodeProcessingPassWorker`
    ProcessNodes,
    /// `doPodProcessingWorker`
    ProcessPods,
}

impl NodeLifecycleController {
    fn role(number: u32) -> Role {
        match number {
            number if number < NODE_UPDATE_WORKER_SIZE => Role::ProcessNodes,
            number if number < NODE_UPDATE_WORKER_SIZE + POD_UPDATE_WORKER_SIZE => {
                Role::ProcessPods
            }
            number if number == NODE_UPDATE_WORKER_SIZE + POD_UPDATE_WORKER_SIZE => Role::Taint,
            _ => Role::Monitor,
        }
    }

    /// `monitorNodeHealth`
    async fn monitor_node_health(&self, rx: Rx) {
        let nodes = self.nodes.list(rx);
        let added = self.classify_nodes(rx, &nodes);
        for node in &added {
            self.mark_node_as_reachable(rx, node).await;
        }
        let next = AtomicUsize::new(0);
        let worker = async || {
            let mut judged = Vec::new();
            while let Some(node) = nodes.get(next.fetch_add(1, Ordering::Relaxed)) {
                judged.extend(self.update_node(rx, node).await);
            }
            judged
        };
        // `ParallelizeUntil`
        let count = nodes.len().min(NODE_UPDATE_WORKER_SIZE as usize);
        let workers = (0..count).map(|_| Box::pin(worker()) as Member<'_, Vec<(Item, bool)>>);
        let judged = wait_group(workers.collect()).await;
        let mut zones: BTreeMap<Item, Vec<bool>> = BTreeMap::new();
        for (zone, is_ready) in judged.into_iter().flatten() {
            zones.entry(zone).or_default().push(is_ready);
        }
        self.handle_disruption(rx, &zones, &nodes).await;
    }

    /// `classifyNodes`, and what is done with nodes that are new or gone. Those that are new are given back.
    fn classify_nodes(&self, rx: Rx, nodes: &[Stored]) -> Vec<Stored> {
        let names: BTreeSet<Item> = nodes.iter().map(|own| own.object.name().into()).collect();
        let zones: Vec<Item> = nodes
            .iter()
            .map(|own| get_zone_key(own.object.json()))
            .collect();
        let new: BTreeSet<Item> = rx.update(&STATE, |state| {
            for zone in zones {
                add_pod_evictor_for_new_zone(state, zone);
            }
            let known = std::mem::replace(&mut state.known_node_set, names.clone());
            names.difference(&known).cloned().collect()
        });
        let added = nodes.iter().filter(|own| new.contains(own.object.name()));
        added.cloned().collect()
    }

    /// Upstream's `updateNodeFunc`: the zone of a node that counts there, and whether it is ready.
    async fn update_node(&self, rx: Rx, node: &Stored) -> Option<(Item, bool)> {
        let Judged {
            node,
            observed,
            current,
        } = self.poll_node_health(rx, node.clone()).await?;
        let name: Item = node.object.name().into();
        let json = node.object.json();
        let is_excluded = wavetank_api::json::at(
            json,
            &[
                "metadata",
                "labels",
                "node.kubernetes.io/exclude-disruption",
            ],
        );
        let is_ready = current.as_deref() == Some("True");
        let counts = is_excluded
            .is_none()
            .then(|| (get_zone_key(json), is_ready));
        if let Some(current) = current {
            let pods = self.pods.by_index(rx, &POD_NODE_NAME_INDEX, &name);
            self.process_taint_base_eviction(rx, &node, &current).await;
            let needs_retry = rx.look(&STATE, |state| state.nodes_to_retry.contains(&name));
            let has_gone = &*current != "True" && &*observed == "True";
            let is_left = needs_retry && &*observed != "True";
            let marks_all = !self
                .defects
                .has(NodeLifecycleDefect::PodsAreMarkedOnTransition)
                && &*current == "Unknown";
            if (has_gone || is_left || marks_all)
                && self.mark_pods_not_ready(rx, &pods, &name).await.is_err()
            {
                rx.update(&STATE, |state| state.nodes_to_retry.insert(name.clone()));
                return counts;
            }
        }
        rx.update(&STATE, |state| state.nodes_to_retry.remove(&name));
        counts
    }

    /// `handleDisruption`
    async fn handle_disruption(&self, rx: Rx, zones: &BTreeMap<Item, Vec<bool>>, nodes: &[Stored]) {
        let states: BTreeMap<Item, ZoneState> = zones
            .iter()
            .map(|(zone, ready)| (zone.clone(), compute_zone_state(ready)))
            .collect();
        let is_full = |state: &ZoneState| *state == ZoneState::FullDisruption;
        let all_are_fully_disrupted = states.values().all(is_full);
        let remembers = self
            .defects
            .has(NodeLifecycleDefect::FixRememberZonesThatGo);
        let counts_new_zones = !self
            .defects
            .has(NodeLifecycleDefect::FixNewZonesEndDisruption);
        // A zone is forgotten as well if no node of it could be looked at. It then comes anew, with a limiter that gives tokens.
        let has_nodes = |zone: &Item| {
            let mut all = nodes.iter();
            all.any(|own| get_zone_key(own.object.json()) == *zone)
        };
        let (all_was_fully_disrupted, ends) = rx.update(&STATE, |state| {
            for zone in states.keys() {
                state
                    .zone_states
                    .entry(zone.clone())
                    .or_insert(ZoneState::Initial);
            }
            // Upstream stops to forget zones where it finds one that was not disrupted; which one that is a map decides.
            // One that it forgets does not count as one that was not disrupted; with a fix it does.
            let all_were = state.zone_states.values().all(is_full);
            // One that is new counts as one that was not disrupted, so that limiters of the others stay at 0; with a fix it
            // does not count.
            let mut old = state.zone_states.values();
            let old_were = state.zone_states.values().any(is_full)
                && old.all(|own| is_full(own) || *own == ZoneState::Initial);
            let is_kept = |zone: &Item| states.contains_key(zone) || remembers && has_nodes(zone);
            state.zone_states.retain(|zone, _| is_kept(zone));
            let all_was = match remembers {
                true => all_were,
                false => state.zone_states.values().all(is_full),
            };
            (all_was, if counts_new_zones { all_was } else { old_were })
        });
        let has_mode = !self
            .defects
            .has(NodeLifecycleDefect::NoMasterDisruptionMode);
        if has_mode && all_are_fully_disrupted && !all_was_fully_disrupted {
            for node in nodes {
                self.mark_node_as_reachable(rx, node).await;
            }
            self.enter_full_disruption(rx).await;
        } else if has_mode && ends && !all_are_fully_disrupted {
            self.forget_probes(rx, nodes);
            self.set_states(rx, zones, &states, |_, _| true).await;
        } else if !(has_mode && all_are_fully_disrupted) {
            self.set_states(rx, zones, &states, |was, is| was != is)
                .await;
        }
        rx.note(HasLooked {
            all_fully_disrupted: all_are_fully_disrupted && !states.is_empty(),
        });
    }

    /// No zone gives a token any more.
    async fn enter_full_disruption(&self, rx: Rx) {
        let zones: Vec<Item> = rx.look(&STATE, |state| state.zone_states.keys().cloned().collect());
        for zone in zones {
            self.swap_limiter(rx, &zone, None).await;
            rx.update(&STATE, |state| {
                state
                    .zone_states
                    .insert(zone.clone(), ZoneState::FullDisruption)
            });
        }
    }

    /// Limiters go by the new states, where this says so of the old and the new one.
    async fn set_states(
        &self,
        rx: Rx,
        zones: &BTreeMap<Item, Vec<bool>>,
        states: &BTreeMap<Item, ZoneState>,
        is_set: impl Fn(ZoneState, ZoneState) -> bool,
    ) {
        for (zone, state) in states {
            let was = rx.look(&STATE, |own| own.zone_states.get(zone).copied());
            if was.is_some_and(|was| !is_set(was, *state)) {
                continue;
            }
            let nodes = zones[zone].len();
            let large = self.periods.large_cluster_threshold;
            if let Some(limiter) = limiter_in_zone(nodes, *state, large) {
                self.swap_limiter(rx, zone, limiter).await;
            }
            rx.update(&STATE, |own| own.zone_states.insert(zone.clone(), *state));
        }
    }

    /// Waits until something may be tainted, and tries that.
    async fn taint(&self, rx: Rx) {
        let waits = rx.look(&STATE, |state| {
            let mut all = state.zone_no_execute_tainter.values();
            all.any(RateLimitedTimedQueue::waits)
        });
        match waits {
            true => self.do_no_execute_tainting_pass(rx).await,
            // Looks at queues that are empty or give no token do nothing.
            false => rx.changed(ZONES_CHANGED).await,
        }
    }

    async fn wait_for_cache_sync(&self, rx: Rx) {
        for cache in [self.leases, self.nodes, self.pods, self.daemon_sets] {
            cache.wait_for_cache_sync(rx).await;
        }
    }
}

/// `addPodEvictorForNewZone`
fn add_pod_evictor_for_new_zone(state: &mut State, zone: Item) {
    if !state.zone_states.contains_key(&zone) {
        state.zone_states.insert(zone.clone(), ZoneState::Initial);
        let tainters = &mut state.zone_no_execute_tainter;
        let number = match tainters.get(&zone) {
            Some(own) => own.number,
            None => tainters.len() as u64,
        };
        tainters.insert(zone, RateLimitedTimedQueue::new(number));
    }
}

impl Controller for NodeLifecycleController {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![NODE_UPDATE_QUEUE, POD_UPDATE_QUEUE]
    }

    fn workers(&self) -> u32 {
        NODE_UPDATE_WORKER_SIZE + POD_UPDATE_WORKER_SIZE + 2
    }

    fn timer(&self, cx: &mut Cx<'_>, timer: Timer) -> bool {
        if timer.tag != TOKEN {
            return cx.cell(&STATE).node_health_map.timer(timer);
        }
        for queue in cx.cell(&STATE).zone_no_execute_tainter.values_mut() {
            queue.is_full |= queue.number == timer.arg;
        }
        cx.broadcast(ZONES_CHANGED);
        true
    }

    fn work_of<'a>(&'a self, rx: Rx, leading: &'a Leading, number: u32) -> Work<'a> {
        Box::pin(async move {
            self.wait_for_cache_sync(rx).await;
            let leadership = leading.leadership();
            let again = |rx| match leadership.is_closed(rx) {
                true => Turn::Over,
                false => Turn::Again,
            };
            match Self::role(number) {
                Role::Monitor => {
                    let turn = Every::period(self.periods.node_monitor_period).sliding(
                        rx,
                        &DRAIN,
                        async {
                            let look = self.monitor_node_health(rx);
                            rx.select(leadership.closed(rx), look).await;
                            again(rx)
                        },
                    );
                    turn.await
                }
                Role::Taint => {
                    let turn = Every::period(NODE_EVICTION_PERIOD).sliding(rx, &DRAIN, async {
                        let stopped = rx.select(DRAIN.closed(rx), leadership.closed(rx));
                        rx.select(stopped, self.taint(rx)).await;
                        again(rx)
                    });
                    turn.await
                }
                Role::ProcessNodes => {
                    let process = |node| async move { self.process_node(rx, &node).await };
                    process_next_work_item(rx, leading, NODE_UPDATE_QUEUE, process).await
                }
                Role::ProcessPods => {
                    let process = |pod: Item| self.process_pod(rx, pod);
                    let done = |pod: &Item, processed: Result<(), ()>| {
                        if processed.is_err() {
                            POD_UPDATE_QUEUE.add_rate_limited(rx, pod.clone());
                        }
                    };
                    process_next_work_item_with(rx, leading, POD_UPDATE_QUEUE, process, done).await
                }
            }
        })
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        self.work_of(rx, leading, 0)
    }
}
