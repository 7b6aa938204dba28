//! How the health of a node is judged (`tryUpdateNodeHealth`).

use std::time::Duration;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{LEASES, NODES};
use wavetank_api::{Method, Object, Reason, Request, Stamp, Stored};
use wavetank_client::Failure;
use wavetank_client::workqueue::Item;
use wavetank_components::nodes::LEASE_NAMESPACE;
use wavetank_engine::{Either, Rx};

use super::controller::{NodeLifecycleController, STATE};
use super::defects::NodeLifecycleDefect;
use super::health::{Condition, NodeHealthData, Renewal, get_node_condition, ready_of, timer_of};
use super::notes::{AsksForLease, MarksUnknown};

/// `retrySleepTime`, and that times `NodeHealthUpdateRetry`.
const RETRY_SLEEP_TIME: Duration = Duration::from_millis(20);
const RETRIES: Duration = Duration::from_millis(100);

/// What a look at a node came to.
#[derive(Debug)]
pub(super) struct Judged {
    /// The node that was judged.
    pub node: Stored,
    /// The status of its condition `Ready`, as it was found.
    pub observed: Item,
    /// The same as it is now; nothing if it has none.
    pub current: Option<Item>,
}

impl Renewal {
    /// That of a Lease; nothing if it says none.
    fn of(lease: &Stored) -> Option<Renewal> {
        let time = json::text(lease.object.json(), &["spec", "renewTime"]);
        (!time.is_empty()).then(|| Renewal {
            time: time.into(),
            revision: lease.resource_version,
        })
    }
}

fn stamp(time: &str) -> Option<i128> {
    Stamp::parse(time).map(Stamp::nanos)
}

impl NodeLifecycleController {
    /// What `updateNodeFunc` tries again for a while (`PollImmediate`); nothing if the node cannot be judged.
    pub(super) async fn poll_node_health(&self, rx: Rx, mut node: Stored) -> Option<Judged> {
        let mut over = Box::pin(rx.sleep(RETRIES));
        let mut is_over = false;
        loop {
            match self.try_update_node_health(rx, &node).await {
                Ok(judged) => return Some(judged),
                Err(_) if is_over => return None,
                Err(_) => {}
            }
            let get = Request::new(Method::Get, NODES.path("", node.object.name()));
            node = self.rest.object(rx, get).await.ok()?;
            let tick = rx.sleep(RETRY_SLEEP_TIME);
            is_over = matches!(rx.select(over.as_mut(), tick).await, Either::Left(()));
        }
    }

    /// `tryUpdateNodeHealth`
    async fn try_update_node_health(&self, rx: Rx, node: &Stored) -> Result<Judged, Failure> {
        let name: Item = node.object.name().into();
        let json = node.object.json();
        let ready = ready_of(json);
        let (number, saved) = rx.look(&STATE, |state| {
            let map = &state.node_health_map;
            (map.number(&name), map.get(&name))
        });
        let grace = match ready {
            None => self.periods.node_startup_grace_period,
            Some(_) => self.periods.node_monitor_grace_period,
        };
        let observed: Item = match &ready {
            None => "Unknown".into(),
            Some(ready) => ready.status.clone(),
        };
        let mut is_fresh = false;
        let fresh = |renewed: bool| {
            if renewed {
                rx.arm(timer_of(number), grace);
            }
            NodeHealthData {
                number,
                ready: ready.clone(),
                lease: None,
                is_overdue: false,
            }
        };
        let saved_lease = saved.as_ref().and_then(|saved| saved.lease.clone());
        let mut health = match saved {
            // Of a node whose status nobody wrote the beginning counts, by the clock of whoever stored it.
            None if ready.is_none() => {
                let mut health = fresh(false);
                health.is_overdue = !arm_since_creation(rx, json, number, grace);
                health
            }
            Some(saved) if ready.is_none() => NodeHealthData {
                ready: None,
                ..saved
            },
            Some(saved) if is_same_heartbeat(&saved, &ready) => saved,
            _ => {
                is_fresh = true;
                fresh(true)
            }
        };
        let key = format!("{LEASE_NAMESPACE}/{name}");
        let lease = self.leases.get(rx, &key);
        let lease = lease.and_then(|lease| Renewal::of(&lease));
        if self.is_renewed(saved_lease.as_ref(), lease.as_ref()) {
            health.lease.clone_from(&lease);
            health.is_overdue = false;
            rx.arm(timer_of(number), grace);
        }
        let mut is_overdue = health.is_overdue;
        if self
            .defects
            .has(NodeLifecycleDefect::HeartbeatsByNodeClocks)
        {
            is_overdue = is_overdue_by_node_clock(rx, json, lease.as_ref(), grace);
        }
        if is_overdue && (&*observed != "Unknown" || ready.is_none()) {
            if !self.defects.has(NodeLifecycleDefect::TrustsCachedLeases) {
                let live = self.lease_of(rx, &name).await;
                let live = match live {
                    Ok(live) => live,
                    Err(error) => {
                        save(rx, &name, health);
                        return Err(error);
                    }
                };
                if self.is_renewed(health.lease.as_ref(), live.as_ref()) {
                    health.lease = live;
                    health.is_overdue = false;
                    rx.arm(timer_of(number), grace);
                    save(rx, &name, health);
                    let current = ready.map(|own| own.status);
                    let node = node.clone();
                    return Ok(Judged {
                        node,
                        observed,
                        current,
                    });
                }
            }
            return self
                .mark_unknown(rx, node, health, is_fresh, observed, lease)
                .await;
        }
        save(rx, &name, health);
        Ok(Judged {
            node: node.clone(),
            observed,
            current: ready.map(|own| own.status),
        })
    }

    /// Says that nobody knows how the node is.
    async fn mark_unknown(
        &self,
        rx: Rx,
        node: &Stored,
        mut health: NodeHealthData,
        is_fresh: bool,
        observed: Item,
        lease: Option<Renewal>,
    ) -> Result<Judged, Failure> {
        let name: Item = node.object.name().into();
        let mut marked = node.json();
        set_unknown(&mut marked, &Stamp::of(rx.clock()).seconds());
        let ready = ready_of(&marked);
        rx.note(MarksUnknown {
            node: name.clone(),
            grace: match ready_of(node.object.json()) {
                None => self.periods.node_startup_grace_period,
                Some(_) => self.periods.node_monitor_grace_period,
            },
        });
        let path = NODES.path("", &name);
        let put = Request::new(Method::Put, format!("{path}/status")).with(marked.clone());
        let written = self.rest.object(rx, put).await;
        if is_fresh || written.is_ok() {
            health.ready.clone_from(&ready);
        }
        if written.is_ok() {
            health.lease = lease;
        }
        save(rx, &name, health);
        written?;
        Ok(Judged {
            node: Stored {
                object: Object::new(marked),
                resource_version: node.resource_version,
            },
            observed,
            current: ready.map(|own| own.status),
        })
    }

    /// Is this Lease newer than that one? Upstream goes by its time, which is that of the node's
    /// clock; here its version counts.
    fn is_renewed(&self, saved: Option<&Renewal>, observed: Option<&Renewal>) -> bool {
        match (saved, observed) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(saved), Some(observed)) => {
                match self.defects.has(NodeLifecycleDefect::RenewalsByNodeClocks) {
                    true => stamp(&saved.time) < stamp(&observed.time),
                    false => saved.revision < observed.revision,
                }
            }
        }
    }

    /// When the Lease of a node was renewed, as an apiserver stores it (PR #138698).
    async fn lease_of(&self, rx: Rx, node: &Item) -> Result<Option<Renewal>, Failure> {
        rx.note(AsksForLease(node.clone()));
        let get = Request::new(Method::Get, LEASES.path(LEASE_NAMESPACE, node));
        match self.rest.object(rx, get).await {
            Ok(lease) => Ok(Renewal::of(&lease)),
            Err(error) if error.is(Reason::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Upstream's `handleDisruption`, when some node is ready again: all have another grace period.
    pub(super) fn forget_probes(&self, rx: Rx, nodes: &[Stored]) {
        for node in nodes {
            let name: Item = node.object.name().into();
            let Some(mut health) = rx.look(&STATE, |state| state.node_health_map.get(&name)) else {
                continue;
            };
            health.is_overdue = false;
            let grace = match health.ready {
                None => self.periods.node_startup_grace_period,
                Some(_) => self.periods.node_monitor_grace_period,
            };
            rx.arm(timer_of(health.number), grace);
            save(rx, &name, health);
        }
    }
}

fn save(rx: Rx, name: &Item, health: NodeHealthData) {
    rx.update(&STATE, |state| state.node_health_map.set(name, health));
}

/// Was this status known before? One that has a condition where there was none is not.
fn is_same_heartbeat(saved: &NodeHealthData, ready: &Option<Condition>) -> bool {
    match (&saved.ready, ready) {
        (Some(saved), Some(own)) => saved.last_heartbeat_time == own.last_heartbeat_time,
        _ => false,
    }
}

/// Arms the timer of a node whose status nobody wrote; false if its time is over.
fn arm_since_creation(rx: Rx, node: &Json, number: u64, grace: Duration) -> bool {
    let created = stamp(json::text(node, &["metadata", "creationTimestamp"]));
    let now = Stamp::of(rx.clock()).nanos();
    let left = created.unwrap_or(now) + grace.as_nanos() as i128 - now;
    match u64::try_from(left) {
        Ok(left) if left > 0 => {
            rx.arm(timer_of(number), Duration::from_nanos(left));
            true
        }
        _ => false,
    }
}

/// A mistake: compares what the node's clock said with what the controller's says.
fn is_overdue_by_node_clock(rx: Rx, node: &Json, lease: Option<&Renewal>, grace: Duration) -> bool {
    let heartbeat = get_node_condition(node, "Ready");
    let heartbeat = heartbeat.map(|own| json::text(own, &["lastHeartbeatTime"]));
    let lease = lease.map(|lease| &*lease.time);
    let newest = heartbeat.into_iter().chain(lease).filter_map(stamp).max();
    let now = Stamp::of(rx.clock()).nanos();
    newest.is_some_and(|newest| now - newest > grace.as_nanos() as i128)
}

/// The conditions of a node that is not heard of, but for that of its network.
fn set_unknown(node: &mut Json, now: &str) {
    let created = json::text(node, &["metadata", "creationTimestamp"]).to_owned();
    let mut conditions = json::list(node, &["status", "conditions"]).to_vec();
    for of in ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"] {
        match conditions.iter_mut().find(|own| own["type"] == of) {
            None => conditions.push(json!({
                "type": of,
                "status": "Unknown",
                "lastHeartbeatTime": created,
                "lastTransitionTime": now,
                "reason": "NodeStatusNeverUpdated",
                "message": "Kubelet never posted node status.",
            })),
            Some(own) if own["status"] == "Unknown" => {}
            Some(own) => {
                own["status"] = "Unknown".into();
                own["reason"] = "NodeStatusUnknown".into();
                own["message"] = "Kubelet stopped posting node status.".into();
                own["lastTransitionTime"] = now.into();
            }
        }
    }
    json::set(node, &["status", "conditions"], conditions);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_heard_of_is_unknown_in_all_conditions_but_one() {
        let mut node = json!({
            "metadata": {"creationTimestamp": "then"},
            "status": {"conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "then"},
                {"type": "NetworkUnavailable", "status": "False"},
            ]},
        });
        set_unknown(&mut node, "now");
        let of = |name: &str| {
            get_node_condition(&node, name)
                .cloned()
                .expect("it is there")
        };
        assert_eq!(of("Ready")["reason"], "NodeStatusUnknown");
        assert_eq!(of("Ready")["lastTransitionTime"], "now");
        assert_eq!(of("PIDPressure")["lastHeartbeatTime"], "then");
        assert_eq!(of("NetworkUnavailable")["status"], "False");
    }
}
