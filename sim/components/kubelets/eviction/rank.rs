//! Whose turn it is to be evicted (`rankMemoryPressure` of `pkg/kubelet/eviction/helpers.go`, v1.36.2), and what is told of that.
//! Pure.

use std::cmp::Reverse;

use wavetank_api::Object;
use wavetank_api::json;

use super::Threshold;
use crate::pod;
use crate::runtime::cri::Stats;

/// What a list of containers asks for, in Mi.
fn requests(pod: &Object, list: &str) -> impl Iterator<Item = (String, i64)> {
    let all = json::list(pod.json(), &["spec", list]).to_vec();
    all.into_iter().map(|own| {
        let name = json::text(&own, &["name"]).to_owned();
        let text = json::text(&own, &["resources", "requests", "memory"]);
        let number = text.strip_suffix("Mi").and_then(|own| own.parse().ok());
        (name, number.unwrap_or(0))
    })
}

/// Upstream's `GetResourceRequestQuantity` of memory: only regular containers ask for any here.
fn request_of(pod: &Object) -> i64 {
    requests(pod, "containers").map(|(_, own)| own).sum()
}

/// `rankMemoryPressure`: those of which nothing is known; those that use more than they ask for; by priority; by how much that
/// is. Go's sort keeps no order among equals, this one does.
pub(super) fn rank_memory_pressure(mut pods: Vec<Object>, stats: &Stats) -> Vec<Object> {
    pods.sort_by_cached_key(|pod| {
        let usage = stats.of_pod(pod.uid());
        let above = usage.map(|own| own - request_of(pod));
        let exceeds = above.is_none_or(|own| own > 0);
        let is_known = usage.is_some();
        (
            is_known,
            !exceeds,
            pod::priority(pod),
            Reverse(above.unwrap_or(0)),
        )
    });
    pods
}

/// `evictionMessage`
pub(super) fn eviction_message(pod: &Object, threshold: Threshold, stats: &Stats) -> String {
    let mut message = format!(
        "The node was low on resource: memory. Threshold quantity: {}Mi, available: {}Mi. ",
        threshold.value, stats.available,
    );
    let specs: Vec<_> = requests(pod, "containers")
        .chain(requests(pod, "initContainers"))
        .collect();
    for (name, usage) in stats.of_containers(pod.uid()) {
        let Some((_, request)) = specs.iter().find(|(spec, _)| **spec == **name) else {
            continue;
        };
        if usage > *request {
            message += &format!(
                "Container {name} was using {usage}Mi, request is {request}Mi, has larger consumption of memory. "
            );
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn pod(uid: &str, request: i64, priority: i64) -> Object {
        let resources = json!({"requests": {"memory": format!("{request}Mi")}});
        let containers = json!([{"name": "main", "resources": resources}]);
        let spec = json!({"priority": priority, "containers": containers});
        Object::new(json!({"metadata": {"uid": uid}, "spec": spec}))
    }

    #[test]
    fn who_uses_more_than_it_asks_for_goes_first() {
        let pods = vec![
            pod("modest", 500, 0),
            pod("critical", 0, 9),
            pod("greedy", 100, 0),
            pod("greediest", 0, 0),
            pod("unknown", 0, 9),
        ];
        let usage = [
            ("modest", 400),
            ("critical", 900),
            ("greedy", 300),
            ("greediest", 301),
        ];
        let usage = usage.map(|(uid, own)| (Arc::from(uid), Arc::from("main"), own));
        let stats = Stats {
            available: 50,
            usage: usage.to_vec(),
        };
        let message = eviction_message(
            &pods[2],
            Threshold {
                value: 100,
                grace_period_seconds: 0,
                min_reclaim: 0,
            },
            &stats,
        );
        let ranked = rank_memory_pressure(pods, &stats);
        let uids: Vec<&str> = ranked.iter().map(Object::uid).collect();
        let expected = ["unknown", "greediest", "greedy", "critical", "modest"];
        assert_eq!(uids, expected);
        assert!(message.ends_with(
            "available: 50Mi. Container main was using 300Mi, request is 100Mi, has larger consumption of memory. "
        ));
    }
}
