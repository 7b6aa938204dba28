//! How nodes are tainted and their labels reconciled (`doNoScheduleTaintingPass`, `doNoExecuteTaintingPass`,
//! `processTaintBaseEviction`, `reconcileNodeLabels`; `pkg/controller/util/node/controller_utils.go`).

use std::sync::LazyLock;

use wavetank_api::json::{self, Json};
use wavetank_api::{Stamp, Stored};
use wavetank_client::Failure;
use wavetank_client::workqueue::Item;
use wavetank_engine::{Lock, Rx};

use super::controller::{NodeLifecycleController, STATE, ZONES_CHANGED, token};
use super::defects::NodeLifecycleDefect;
use super::health::get_node_condition;
use super::notes::{Taints, Why};
use super::zones::{Limiter, RateLimitedTimedQueue, get_zone_key};
use crate::controller_utils::{
    add_or_update_labels_on_node, add_or_update_taint_on_node, remove_taint_off_node, taint,
    taint_exists, taint_set_diff, taints,
};

pub(super) const NOT_READY: &str = "node.kubernetes.io/not-ready";
pub(super) const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
pub(super) const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
const NO_SCHEDULE: &str = "NoSchedule";
const NO_EXECUTE: &str = "NoExecute";

/// `nodeConditionToTaintKeyStatusMap`
const TAINT_OF_CONDITION: [(&str, &str, &str); 6] = [
    ("Ready", "False", NOT_READY),
    ("Ready", "Unknown", UNREACHABLE),
    (
        "MemoryPressure",
        "True",
        "node.kubernetes.io/memory-pressure",
    ),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    (
        "NetworkUnavailable",
        "True",
        "node.kubernetes.io/network-unavailable",
    ),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
];

/// `labelReconcileInfo`
const LABELS: [(&str, &str); 2] = [
    ("kubernetes.io/os", "beta.kubernetes.io/os"),
    ("kubernetes.io/arch", "beta.kubernetes.io/arch"),
];

/// `limiterLock` of the queues of zones; those of the fifth and later ones share one with the first.
const LIMITERS: [Lock; 4] = [
    Lock::new("zone-limiter-0"),
    Lock::new("zone-limiter-1"),
    Lock::new("zone-limiter-2"),
    Lock::new("zone-limiter-3"),
];

/// `NotReadyTaintTemplate`
static NOT_READY_TAINT: LazyLock<Json> = LazyLock::new(|| taint(NOT_READY, NO_EXECUTE));
/// `UnreachableTaintTemplate`
static UNREACHABLE_TAINT: LazyLock<Json> = LazyLock::new(|| taint(UNREACHABLE, NO_EXECUTE));

/// What is to be done with a node that was in a queue.
enum Try {
    /// Nothing: it is gone or ready.
    Over,
    /// Its status says nothing.
    Later,
    /// This taint comes, and that one goes.
    Swap(Json, Json),
}

/// The taints that a node should have, and those that it has, of those that say that nothing is to be scheduled there.
pub(super) fn no_schedule_taints(node: &Json) -> (Vec<Json>, Vec<Json>) {
    let conditions = json::list(node, &["status", "conditions"]);
    let of = |own: &Json| {
        let mut all = TAINT_OF_CONDITION.iter();
        let found = all.find(|(of, status, _)| own["type"] == *of && own["status"] == *status);
        found.map(|(_, _, key)| taint(key, NO_SCHEDULE))
    };
    let mut wanted: Vec<Json> = conditions.iter().filter_map(of).collect();
    if json::at(node, &["spec", "unschedulable"]) == Some(&Json::Bool(true)) {
        wanted.push(taint(UNSCHEDULABLE, NO_SCHEDULE));
    }
    let is_ours = |own: &&Json| {
        let mut keys = TAINT_OF_CONDITION.iter().map(|(_, _, key)| key);
        own["effect"] == NO_SCHEDULE
            && (own["key"] == UNSCHEDULABLE || keys.any(|key| own["key"] == *key))
    };
    let had = taints(node).iter().filter(is_ours).cloned().collect();
    (wanted, had)
}

/// The taint of a node that is not ready, and the one that it must not have then; nothing of one that is.
pub(super) fn no_execute_taints(ready: &str) -> Option<(&'static Json, &'static Json)> {
    match ready {
        "False" => Some((&NOT_READY_TAINT, &UNREACHABLE_TAINT)),
        "Unknown" => Some((&UNREACHABLE_TAINT, &NOT_READY_TAINT)),
        _ => None,
    }
}

impl NodeLifecycleController {
    /// Upstream's `doNodeProcessingPassWorker`, of one node. What fails is not tried again by upstream.
    pub(super) async fn process_node(&self, rx: Rx, name: &Item) -> Result<(), ()> {
        let tainted = self.do_no_schedule_tainting_pass(rx, name).await;
        let labelled = self.reconcile_node_labels(rx, name).await;
        let forgets = NodeLifecycleDefect::FailedTaintsAreForgotten;
        match tainted && labelled || self.defects.has(forgets) {
            true => Ok(()),
            false => Err(()),
        }
    }

    /// `doNoScheduleTaintingPass`: was it done?
    async fn do_no_schedule_tainting_pass(&self, rx: Rx, name: &Item) -> bool {
        let Some(node) = self.nodes.get(rx, name) else {
            return true;
        };
        let (wanted, had) = no_schedule_taints(node.object.json());
        let (add, remove) = taint_set_diff(&wanted, &had);
        let why = Why::Conditions;
        add.is_empty() && remove.is_empty()
            || self
                .swap_node_controller_taint(rx, add, &remove, &node, why)
                .await
    }

    /// `SwapNodeControllerTaint`: was it done?
    async fn swap_node_controller_taint(
        &self,
        rx: Rx,
        mut add: Vec<Json>,
        remove: &[Json],
        node: &Stored,
        why: Why,
    ) -> bool {
        let name = node.object.name();
        let now = Stamp::of(rx.clock()).seconds();
        for own in &mut add {
            own["timeAdded"] = now.as_str().into();
        }
        rx.note(Taints {
            node: name.into(),
            why,
        });
        let added = add_or_update_taint_on_node(rx, &self.rest, name, &add).await;
        added.is_ok()
            && remove_taint_off_node(rx, &self.rest, node, remove)
                .await
                .is_ok()
    }

    /// `doNoExecuteTaintingPass`
    pub(super) async fn do_no_execute_tainting_pass(&self, rx: Rx) {
        let zones: Vec<Item> = rx.look(&STATE, |state| {
            state.zone_no_execute_tainter.keys().cloned().collect()
        });
        for zone in zones {
            self.try_zone(rx, &zone).await;
        }
    }

    /// Upstream's `RateLimitedTimedQueue.Try`
    async fn try_zone(&self, rx: Rx, zone: &Item) {
        let mut head = self.queue(rx, zone, |queue| queue.head());
        if head.is_none() {
            return;
        }
        let _limiter = rx.lock(self.limiter_of(rx, zone)).await;
        while let Some(name) = head {
            let (number, accepted) =
                self.queue(rx, zone, |queue| (queue.number, queue.try_accept()));
            let Some(every) = accepted else { return };
            rx.arm(token(number), every);
            let is_done = self.try_node(rx, &name).await;
            head = self.queue(rx, zone, |queue| {
                match is_done {
                    true => queue.remove_from_queue(&name),
                    false => queue.replace(&name),
                }
                queue.head()
            });
        }
    }

    /// What the pass does with one node: is it done?
    async fn try_node(&self, rx: Rx, name: &Item) -> bool {
        let node = self.nodes.get(rx, name);
        let wanted = match &node {
            None => Try::Over,
            Some(node) => match get_node_condition(node.object.json(), "Ready") {
                None => Try::Later,
                Some(ready) => match no_execute_taints(json::text(ready, &["status"])) {
                    None => Try::Over,
                    Some((add, remove)) => Try::Swap(add.clone(), remove.clone()),
                },
            },
        };
        match (wanted, node) {
            (Try::Swap(add, remove), Some(node)) => {
                self.swap_node_controller_taint(rx, vec![add], &[remove], &node, Why::Queue)
                    .await
            }
            (Try::Later, _) => false,
            _ => true,
        }
    }

    /// `processTaintBaseEviction`
    pub(super) async fn process_taint_base_eviction(&self, rx: Rx, node: &Stored, current: &str) {
        let Some((own, opposite)) = no_execute_taints(current) else {
            match self.defects.has(NodeLifecycleDefect::TaintsAreRemovedOnce) {
                true => self.mark_once(rx, node).await,
                false => self.mark_node_as_reachable(rx, node).await,
            }
            return;
        };
        match taint_exists(taints(node.object.json()), opposite) {
            true => {
                let remove = std::slice::from_ref(opposite);
                self.swap_node_controller_taint(rx, vec![own.clone()], remove, node, Why::Swap)
                    .await;
            }
            false => self.mark_node_for_tainting(rx, node, own),
        }
    }

    /// A mistake: a node that was queued or tainted is cleared once, whatever comes of it.
    async fn mark_once(&self, rx: Rx, node: &Stored) {
        let zone = get_zone_key(node.object.json());
        let name = node.object.name().to_owned();
        if self.queue(rx, &zone, |queue| queue.remove(&name)) {
            self.mark_node_as_reachable(rx, node).await;
        }
    }

    /// `markNodeForTainting`
    fn mark_node_for_tainting(&self, rx: Rx, node: &Stored, own: &Json) {
        let is_tainted = taint_exists(taints(node.object.json()), own);
        let zone = get_zone_key(node.object.json());
        let name: Item = node.object.name().into();
        let is_new = self.queue(rx, &zone, |queue| {
            if !is_tainted {
                queue.remove(&name);
            }
            queue.add(name.clone())
        });
        if is_new {
            rx.broadcast(ZONES_CHANGED);
        }
    }

    /// `markNodeAsReachable`
    pub(super) async fn mark_node_as_reachable(&self, rx: Rx, node: &Stored) {
        for own in [&*UNREACHABLE_TAINT, &*NOT_READY_TAINT] {
            if self.remove_taint(rx, node, own).await.is_err() {
                return;
            }
        }
        let zone = get_zone_key(node.object.json());
        let name = node.object.name().to_owned();
        self.queue(rx, &zone, |queue| queue.remove(&name));
    }

    async fn remove_taint(&self, rx: Rx, node: &Stored, own: &Json) -> Result<(), Failure> {
        if taint_exists(taints(node.object.json()), own) {
            rx.note(Taints {
                node: node.object.name().into(),
                why: Why::Reachable,
            });
        }
        remove_taint_off_node(rx, &self.rest, node, std::slice::from_ref(own)).await
    }

    /// `SwapLimiter`, of a zone.
    pub(super) async fn swap_limiter(&self, rx: Rx, zone: &Item, limiter: Limiter) {
        let _limiter = rx.lock(self.limiter_of(rx, zone)).await;
        let (number, swapped) = self.queue(rx, zone, |queue| {
            (queue.number, queue.swap_limiter(limiter))
        });
        match swapped {
            None => return,
            Some(None) => rx.disarm(token(number)),
            Some(Some(every)) => rx.arm(token(number), every),
        }
        rx.broadcast(ZONES_CHANGED);
    }

    fn limiter_of(&self, rx: Rx, zone: &Item) -> Lock {
        let number = self.queue(rx, zone, |queue| queue.number);
        LIMITERS[number as usize % LIMITERS.len()]
    }

    /// The queue of a zone that is known.
    fn queue<R: wavetank_engine::Message + Clone + Eq + std::hash::Hash>(
        &self,
        rx: Rx,
        zone: &Item,
        work: impl FnOnce(&mut RateLimitedTimedQueue) -> R,
    ) -> R {
        rx.update(&STATE, |state| {
            let queue = state.zone_no_execute_tainter.get_mut(zone);
            work(queue.expect("zones of nodes have queues"))
        })
    }

    /// `reconcileNodeLabels`: was it done?
    async fn reconcile_node_labels(&self, rx: Rx, name: &Item) -> bool {
        let Some(node) = self.nodes.get(rx, name) else {
            return true;
        };
        let label = |key: &str| json::at(node.object.json(), &["metadata", "labels", key]).cloned();
        let wanted = LABELS.iter().filter_map(|(primary, secondary)| {
            let value = label(primary)?;
            (label(secondary).as_ref() != Some(&value)).then(|| ((*secondary).to_owned(), value))
        });
        let wanted: json::Map = wanted.collect();
        wanted.is_empty()
            || add_or_update_labels_on_node(rx, &self.rest, name, &wanted)
                .await
                .is_ok()
    }
}
