//! The kinds of Jobs that are made in a scenario, by their names: what each says beside its template.

use serde_json::{Value as Json, json};

use wavetank_components::pod_runners::{FAILING_TASK, TASK};
use wavetank_components::users::containers;

/// A kind of Job.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Shape {
    Single,
    Parallel,
    WorkQueue,
    Indexed,
    PerIndex,
    Policy,
    ReplacesFailed,
    SuccessPolicy,
    Deadline,
    Failing,
    Suspended,
    Manual,
}

/// All of them.
pub(super) const SHAPES: [(&str, Shape); 12] = [
    ("single", Shape::Single),
    ("parallel", Shape::Parallel),
    ("work-queue", Shape::WorkQueue),
    ("indexed", Shape::Indexed),
    ("per-index", Shape::PerIndex),
    ("policy", Shape::Policy),
    ("replaces-failed", Shape::ReplacesFailed),
    ("success-policy", Shape::SuccessPolicy),
    ("deadline", Shape::Deadline),
    ("failing", Shape::Failing),
    ("suspended", Shape::Suspended),
    ("manual", Shape::Manual),
];

fn policy() -> Json {
    let disrupted = json!([{"type": "DisruptionTarget", "status": "True"}]);
    let codes = |values: Json| json!({"operator": "In", "values": values});
    json!({"rules": [
        {"action": "Ignore", "onPodConditions": disrupted},
        {"action": "FailJob", "onExitCodes": codes(json!([42]))},
        {"action": "Count", "onExitCodes": codes(json!([3]))},
    ]})
}

/// The spec of one with this name, without its template.
fn spec(shape: Shape, name: &str) -> Json {
    match shape {
        Shape::Single => json!({"backoffLimit": 3}),
        Shape::Parallel => json!({"completions": 4, "parallelism": 2, "backoffLimit": 3}),
        Shape::WorkQueue => json!({"parallelism": 2, "backoffLimit": 3}),
        Shape::Indexed => json!({
            "completionMode": "Indexed", "completions": 4, "parallelism": 2, "backoffLimit": 3,
        }),
        Shape::PerIndex => json!({
            "completionMode": "Indexed", "completions": 3, "parallelism": 2,
            "backoffLimitPerIndex": 1, "maxFailedIndexes": 1, "podFailurePolicy": {"rules": [
                {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [42]}},
            ]},
        }),
        Shape::Policy => json!({
            "completions": 3, "parallelism": 2, "backoffLimit": 3, "podFailurePolicy": policy(),
        }),
        Shape::ReplacesFailed => json!({
            "completions": 3, "parallelism": 2, "backoffLimit": 4, "podReplacementPolicy": "Failed",
        }),
        Shape::SuccessPolicy => json!({
            "completionMode": "Indexed", "completions": 4, "parallelism": 3, "backoffLimit": 3,
            "successPolicy": {"rules": [{"succeededIndexes": "0,2-3", "succeededCount": 2}]},
        }),
        Shape::Deadline => json!({
            "completions": 6, "parallelism": 1, "backoffLimit": 3, "activeDeadlineSeconds": 20,
        }),
        Shape::Failing => json!({"completions": 2, "parallelism": 2, "backoffLimit": 2}),
        Shape::Suspended => json!({
            "completions": 3, "parallelism": 2, "backoffLimit": 3, "suspend": true,
        }),
        Shape::Manual => json!({
            "completions": 3, "parallelism": 2, "backoffLimit": 3, "manualSelector": true,
            "selector": {"matchLabels": {"app": name}},
        }),
    }
}

/// The spec of one with this name.
pub(super) fn spec_of(shape: Shape, name: &str) -> Json {
    let image = match shape {
        Shape::Failing => FAILING_TASK,
        _ => TASK,
    };
    let mut spec = spec(shape, name);
    spec["template"] = json!({
        "metadata": {"labels": {"app": name}},
        "spec": {"restartPolicy": "Never", "containers": containers(image)},
    });
    spec
}
