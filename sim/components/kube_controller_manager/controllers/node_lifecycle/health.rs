//! What is known of the health of nodes (`nodeHealthMap`): what their status and their Lease were when somebody looked last, and
//! whether a heartbeat is overdue. When it is is a timer, where upstream compares times when it looks.

use std::collections::BTreeMap;

use wavetank_api::json::{self, Json};
use wavetank_client::workqueue::Item;
use wavetank_engine::{Name, Timer};
use wavetank_etcd::Revision;

/// The heartbeat of the node with this number is overdue.
const OVERDUE: Name = Name::new("node-heartbeat-is-overdue");

/// A condition, as far as it matters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Condition {
    pub status: Item,
    pub last_heartbeat_time: Item,
}

/// A renewal of a Lease.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Renewal {
    /// `renewTime`
    pub time: Item,
    /// The version of the Lease.
    pub revision: Revision,
}

/// `nodeHealthData`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct NodeHealthData {
    /// The number of the node: that of its timer.
    pub number: u64,
    /// `status`: its condition `Ready`.
    pub ready: Option<Condition>,
    /// `lease`: its newest renewal that counted.
    pub lease: Option<Renewal>,
    /// Has the grace period passed since `probeTimestamp`?
    pub is_overdue: bool,
}

/// `nodeHealthMap`
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct NodeHealthMap(BTreeMap<Item, NodeHealthData>);

pub(super) fn timer_of(number: u64) -> Timer {
    Timer::new(OVERDUE, number)
}

/// Upstream's `GetNodeCondition`, of the status of a node.
pub(super) fn get_node_condition<'a>(node: &'a Json, of: &str) -> Option<&'a Json> {
    let conditions = json::list(node, &["status", "conditions"]);
    conditions.iter().find(|own| own["type"] == of)
}

/// The same of `Ready`, as far as it matters.
pub(super) fn ready_of(node: &Json) -> Option<Condition> {
    let ready = get_node_condition(node, "Ready")?;
    let text = |field| json::text(ready, &[field]).into();
    Some(Condition {
        status: text("status"),
        last_heartbeat_time: text("lastHeartbeatTime"),
    })
}

impl NodeHealthMap {
    /// Upstream's `getDeepCopy`
    pub fn get(&self, node: &str) -> Option<NodeHealthData> {
        self.0.get(node).cloned()
    }

    /// `set`. What the timer said meanwhile stands, unless it was armed anew.
    pub fn set(&mut self, node: &Item, data: NodeHealthData) {
        self.0.insert(node.clone(), data);
    }

    /// A number that no other node has: a node keeps its own.
    pub fn number(&self, node: &str) -> u64 {
        let own = self.0.get(node).map(|data| data.number);
        own.unwrap_or(self.0.len() as u64)
    }

    /// A timer of the process; false if it is none of these.
    pub fn timer(&mut self, timer: Timer) -> bool {
        if timer.tag != OVERDUE {
            return false;
        }
        for data in self.0.values_mut() {
            data.is_overdue |= data.number == timer.arg;
        }
        true
    }
}
