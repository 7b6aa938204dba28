//! Which pods go first when there are too many (`ActivePodsWithRanks` of `pkg/controller/controller_utils.go`).

use std::cmp::Ordering;

use wavetank_api::json::{self, Json};
use wavetank_api::{Stamp, Stored};

use super::pods::is_pod_ready;

const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// A pod, and how many others of the same owner are on its node.
#[derive(Clone, Debug)]
pub struct Ranked {
    /// The pod.
    pub pod: Stored,
    /// The others.
    pub rank: usize,
}

/// Sorts pods: those that are to be deleted first come first. The order is not transitive where times are alike but in
/// their logarithms, so it is sorted as Go sorts up to twelve: by insertion.
pub fn sort_by_deletion(pods: &mut [Ranked], now: Stamp) {
    for sorted in 1..pods.len() {
        let mut at = sorted;
        while at > 0 && less(&pods[at], &pods[at - 1], now) {
            pods.swap(at, at - 1);
            at -= 1;
        }
    }
}

/// `ActivePodsWithRanks.Less`
fn less(first: &Ranked, second: &Ranked, now: Stamp) -> bool {
    compare(first, second, now) == Ordering::Less
}

fn compare(first: &Ranked, second: &Ranked, now: Stamp) -> Ordering {
    let (a, b) = (first.pod.object.json(), second.pod.object.json());
    let assigned = |pod| !json::text(pod, &["spec", "nodeName"]).is_empty();
    let ready = |pod| is_pod_ready(pod).is_some();
    let order = assigned(a).cmp(&assigned(b));
    let order = order.then_with(|| phase_ordinal(a).cmp(&phase_ordinal(b)));
    let order = order.then_with(|| ready(a).cmp(&ready(b)));
    let order = order.then_with(|| deletion_cost(a).cmp(&deletion_cost(b)));
    let order = order.then_with(|| second.rank.cmp(&first.rank));
    let since = |pod| is_pod_ready(pod).and_then(|ready| ready.since);
    let order = order.then_with(|| match ready(a) && ready(b) {
        true => by_age(a, since(a), b, since(b), now),
        false => Ordering::Equal,
    });
    let order = order.then_with(|| container_restarts(b).cmp(&container_restarts(a)));
    let created = |pod| Stamp::parse(json::text(pod, &["metadata", "creationTimestamp"]));
    order.then_with(|| by_age(a, created(a), b, created(b), now))
}

/// Upstream's `podPhaseToOrdinal`
fn phase_ordinal(pod: &Json) -> u8 {
    match json::text(pod, &["status", "phase"]) {
        "Unknown" => 1,
        "Running" => 2,
        _ => 0,
    }
}

/// Upstream's `GetDeletionCostFromPodAnnotations`; 0 if it is none.
fn deletion_cost(pod: &Json) -> i32 {
    let cost = json::text(pod, &["metadata", "annotations", DELETION_COST]);
    let is_odd = cost.starts_with('+') || cost.len() > 1 && cost.starts_with('0');
    cost.parse().ok().filter(|_| !is_odd).unwrap_or(0)
}

/// Upstream's `maxContainerRestarts`: of containers, then of those that run beside them.
fn container_restarts(pod: &Json) -> (i64, i64) {
    let restarts = |status: &Json| json::number(status, &["restartCount"]).unwrap_or(0);
    let regular = json::list(pod, &["status", "containerStatuses"]).iter();
    let beside = json::list(pod, &["spec", "initContainers"]).iter();
    let beside: Vec<&str> = beside
        .filter(|own| own["restartPolicy"] == "Always")
        .map(|own| json::text(own, &["name"]))
        .collect();
    let sidecars = json::list(pod, &["status", "initContainerStatuses"]).iter();
    let sidecars = sidecars.filter(|own| beside.contains(&json::text(own, &["name"])));
    (
        regular.map(restarts).max().unwrap_or(0),
        sidecars.map(restarts).max().unwrap_or(0),
    )
}

/// Upstream's `ActivePods`: sorts pods, those that are to be deleted first come first. Neither costs nor other pods on a node count,
/// and times count as they are.
pub fn sort_active_pods(pods: &mut [Stored]) {
    pods.sort_by(|first, second| {
        let (a, b) = (first.object.json(), second.object.json());
        let assigned = |pod| !json::text(pod, &["spec", "nodeName"]).is_empty();
        let ready = |pod| is_pod_ready(pod).is_some();
        let since = |pod| is_pod_ready(pod).and_then(|ready| ready.since);
        let created = |pod| Stamp::parse(json::text(pod, &["metadata", "creationTimestamp"]));
        let order = assigned(a).cmp(&assigned(b));
        let order = order.then_with(|| phase_ordinal(a).cmp(&phase_ordinal(b)));
        let order = order.then_with(|| ready(a).cmp(&ready(b)));
        let order = order.then_with(|| after_or_zero(since(a), since(b)));
        let order = order.then_with(|| container_restarts(b).cmp(&container_restarts(a)));
        order.then_with(|| after_or_zero(created(a), created(b)))
    });
}

/// `afterOrZero`, as an order: no time comes first, then the later one.
fn after_or_zero(a: Option<Stamp>, b: Option<Stamp>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => b.cmp(&a),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

/// The younger one first: by the logarithm of the age, and where that is the same by their UIDs. No time is youngest.
fn by_age(a: &Json, at: Option<Stamp>, b: &Json, bt: Option<Stamp>, now: Stamp) -> Ordering {
    if at == bt {
        return Ordering::Equal;
    }
    let (Some(at), Some(bt)) = (at, bt) else {
        // `afterOrZero`
        return at.is_some().cmp(&bt.is_some());
    };
    let uid = |pod| json::text(pod, &["metadata", "uid"]).to_owned();
    let order = logarithm(at, now).cmp(&logarithm(bt, now));
    order.then_with(|| uid(a).cmp(&uid(b)))
}

/// Of the age in nanoseconds, of `logarithmicRankDiff`.
fn logarithm(at: Stamp, now: Stamp) -> i64 {
    let age = u128::try_from(now.nanos() - at.nanos()).unwrap_or(0);
    age.checked_ilog2().map_or(-1, i64::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wavetank_api::Object;

    fn pod(name: &str, node: &str, ready: Option<&str>, rank: usize) -> Ranked {
        let phase = if node.is_empty() {
            "Pending"
        } else {
            "Running"
        };
        let conditions = ready
            .map(|since| json!([{"type": "Ready", "status": "True", "lastTransitionTime": since}]));
        let object = Object::new(json!({
            "metadata": {"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"nodeName": node},
            "status": {"phase": phase, "conditions": conditions},
        }));
        let pod = Stored {
            object,
            resource_version: 1,
        };
        Ranked { pod, rank }
    }

    fn sorted(mut pods: Vec<Ranked>) -> Vec<String> {
        let now = Stamp::parse("2026-01-01T01:00:00Z").expect("an instant");
        sort_by_deletion(&mut pods, now);
        let names = pods.iter().map(|own| own.pod.object.name().to_owned());
        names.collect()
    }

    #[test]
    fn those_that_serve_least_go_first() {
        let (long, short) = (Some("2026-01-01T00:10:00Z"), Some("2026-01-01T00:59:00Z"));
        let pods = vec![
            pod("long", "n1", long, 1),
            pod("short", "n1", short, 1),
            pod("doubled", "n2", long, 2),
            pod("unready", "n1", None, 1),
            pod("unbound", "", None, 0),
        ];
        let order = ["unbound", "unready", "doubled", "short", "long"];
        assert_eq!(sorted(pods), order);
    }

    #[test]
    fn those_that_have_been_ready_for_about_as_long_go_by_their_uids() {
        let pods = |a, b| vec![pod("b", "n1", Some(b), 1), pod("a", "n2", Some(a), 1)];
        let alike = pods("2026-01-01T00:10:00Z", "2026-01-01T00:10:05Z");
        assert_eq!(sorted(alike), ["a", "b"]);
        let apart = pods("2026-01-01T00:10:00Z", "2026-01-01T00:59:55Z");
        assert_eq!(sorted(apart), ["b", "a"]);
    }
}
