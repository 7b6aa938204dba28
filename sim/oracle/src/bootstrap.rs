//! What a real server writes when it starts beside what is simulated, and lists show: the classes of system priorities
//! (`kubernetes/pkg/apis/scheduling`), and the configuration of priority and fairness, as far as it was recorded
//! (`apiserver/pkg/apis/flowcontrol/bootstrap`).

use serde_json::{Value as Json, json};
use wavetank_api::{Resource, kinds};

/// An instant before the recording.
const START: &str = "2026-01-01T00:00:00Z";

/// All of it, with the keys.
pub(crate) fn objects() -> Vec<(String, Json)> {
    let mut all = priority_classes();
    all.extend(priority_levels());
    all.extend(flow_schemas());
    let with_uid = |(at, (key, mut object)): (usize, (String, Json))| {
        object["metadata"]["uid"] = format!("00000000-0000-4000-8000-{at:012}").into();
        object["metadata"]["creationTimestamp"] = START.into();
        (key, object)
    };
    all.into_iter().enumerate().map(with_uid).collect()
}

fn of(resource: &Resource, name: &str, rest: Json) -> (String, Json) {
    let mut object = rest;
    object["apiVersion"] = resource.api_version().into();
    object["kind"] = resource.kind.into();
    object["metadata"]["name"] = name.into();
    (resource.key("", name).to_string(), object)
}

fn priority_classes() -> Vec<(String, Json)> {
    let class = |(name, value, description): (&str, i64, &str)| {
        let rest = json!({
            "metadata": {"generation": 1}, "value": value, "preemptionPolicy": "PreemptLowerPriority",
            "description": description,
        });
        of(&kinds::PRIORITY_CLASSES, name, rest)
    };
    let system = [
        (
            "system-cluster-critical",
            2_000_000_000,
            "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
        ),
        (
            "system-node-critical",
            2_000_001_000,
            "Used for system critical pods that must not be moved from their current node.",
        ),
    ];
    system.map(class).to_vec()
}

fn configured(spec: Json) -> Json {
    let annotations = json!({"apf.kubernetes.io/autoupdate-spec": "true"});
    json!({
        "metadata": {"generation": 1, "annotations": annotations}, "spec": spec, "status": {},
    })
}

fn priority_levels() -> Vec<(String, Json)> {
    let level = |name, spec| {
        of(
            &kinds::PRIORITY_LEVEL_CONFIGURATIONS,
            name,
            configured(spec),
        )
    };
    let exempt = json!({
        "type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0},
    });
    let limited = |shares: i64, lendable: i64, queues: Option<[i64; 2]>| {
        let response = match queues {
            None => json!({"type": "Reject"}),
            Some([queues, hand]) => json!({"type": "Queue", "queuing": {
                "queues": queues, "handSize": hand, "queueLengthLimit": 50,
            }}),
        };
        json!({"type": "Limited", "limited": {
            "nominalConcurrencyShares": shares,
            "limitResponse": response,
            "lendablePercent": lendable,
        }})
    };
    vec![
        level("catch-all", limited(5, 0, None)),
        level("exempt", exempt),
        level("global-default", limited(20, 50, Some([128, 6]))),
        level("leader-election", limited(10, 0, Some([16, 4]))),
        level("node-high", limited(40, 25, Some([64, 6]))),
        level("system", limited(30, 33, Some([64, 6]))),
        level("workload-high", limited(40, 50, Some([128, 6]))),
        level("workload-low", limited(100, 90, Some([128, 6]))),
    ]
}

/// Without their rules, which no recording shows.
fn flow_schemas() -> Vec<(String, Json)> {
    const ALL: [(&str, &str, i64, &str); 11] = [
        ("catch-all", "catch-all", 10_000, "ByUser"),
        ("exempt", "exempt", 1, ""),
        ("global-default", "global-default", 9_900, "ByUser"),
        (
            "kube-controller-manager",
            "workload-high",
            800,
            "ByNamespace",
        ),
        ("kube-scheduler", "workload-high", 800, "ByNamespace"),
        (
            "kube-system-service-accounts",
            "workload-high",
            900,
            "ByNamespace",
        ),
        ("probes", "exempt", 2, ""),
        ("service-accounts", "workload-low", 9_000, "ByUser"),
        ("system-leader-election", "leader-election", 100, "ByUser"),
        ("system-node-high", "node-high", 400, "ByUser"),
        ("system-nodes", "system", 500, "ByUser"),
    ];
    let schema = |(name, level, precedence, by): (&str, &str, i64, &str)| {
        let mut spec = json!({
            "priorityLevelConfiguration": {"name": level}, "matchingPrecedence": precedence,
        });
        if !by.is_empty() {
            spec["distinguisherMethod"] = json!({"type": by});
        }
        of(&kinds::FLOW_SCHEMAS, name, configured(spec))
    };
    ALL.into_iter().map(schema).collect()
}
