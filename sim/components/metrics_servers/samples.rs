//! What pods use. The load on an `app` is spread evenly over its pods that are ready and are not to go. A pod that was not ready
//! yet is busy with itself; all others use nothing. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::quota::milli_value;
use wavetank_api::{Json, Stamp, Stored, json};

/// A pod that begins uses so many times of what it requests.
const BUSY: i64 = 2;
/// Thousandths of a byte in a mebibyte.
pub const MILLI_IN_MEBI: i64 = 1024 * 1024 * 1000;

/// What a pod uses (`PodMetrics`), in thousandths, by the names of resources.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PodMetrics {
    /// The pod.
    pub name: Arc<str>,
    /// When it was measured.
    pub timestamp: Stamp,
    /// For how long.
    pub window: Duration,
    /// What was measured.
    pub usage: BTreeMap<&'static str, i64>,
}

fn is_ready(pod: &Json) -> bool {
    let mut all = json::list(pod, &["status", "conditions"]).iter();
    all.any(|own| own["type"] == "Ready" && own["status"] == "True")
}

/// Does it run?
pub(super) fn runs(pod: &Stored) -> bool {
    json::text(pod.object.json(), &["status", "phase"]) == "Running"
}

/// The load on an app that a ConfigMap says.
pub fn load_of(config_map: &Json, app: &str) -> i64 {
    let text = json::text(config_map, &["data", app]);
    text.parse().unwrap_or(0)
}

fn app(pod: &Json) -> &str {
    json::text(pod, &["metadata", "labels", "app"])
}

/// What a pod requests of the processor.
fn request(pod: &Json) -> i64 {
    let containers = json::list(pod, &["spec", "containers"]).iter();
    let requests = containers.filter_map(|own| {
        let request = json::at(own, &["resources", "requests", "cpu"])?;
        milli_value(request)
    });
    requests.sum()
}

/// What each of these pods uses now, if the load is this, and pods that run are measured that ran the last time.
pub(super) fn measure(
    pods: &[Stored],
    ran: &BTreeSet<Arc<str>>,
    load: &Json,
    now: Stamp,
    window: Duration,
) -> BTreeMap<Arc<str>, PodMetrics> {
    let serves = |pod: &&Stored| is_ready(pod.object.json()) && !pod.object.is_being_deleted();
    let mut serving: BTreeMap<&str, i64> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| runs(pod)).filter(serves) {
        *serving.entry(app(pod.object.json())).or_default() += 1;
    }
    let measured = pods.iter().filter(|pod| runs(pod));
    let measured = measured.filter(|pod| ran.contains(pod.object.uid()));
    let sample = |pod: &Stored| {
        let json = pod.object.json();
        let (cpu, memory) = match serves(&pod) {
            true => {
                let (load, over) = (load_of(load, app(json)), serving[app(json)]);
                (load / over, load.saturating_mul(MILLI_IN_MEBI) / over)
            }
            false if is_beginning(pod) => (BUSY * request(json), 0),
            false => (0, 0),
        };
        let name: Arc<str> = pod.object.name().into();
        let sample = PodMetrics {
            name: name.clone(),
            timestamp: now,
            window,
            usage: BTreeMap::from([("cpu", cpu), ("memory", memory)]),
        };
        (name, sample)
    };
    measured.map(sample).collect()
}

/// Was it never ready?
fn is_beginning(pod: &Stored) -> bool {
    let json = pod.object.json();
    let started = json::text(json, &["status", "startTime"]);
    let mut all = json::list(json, &["status", "conditions"]).iter();
    let is_unready = all.any(|own| {
        let changed = json::text(own, &["lastTransitionTime"]);
        own["type"] == "Ready" && own["status"] == "False" && changed == started
    });
    is_unready && !pod.object.is_being_deleted()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wavetank_api::Object;

    fn pod(name: &str, ready: &str, changed: &str) -> Stored {
        Stored {
            resource_version: 1,
            object: Object::new(json!({
                "metadata": {"name": name, "uid": name, "labels": {"app": "web"}},
                "spec": {"containers": [{"resources": {"requests": {"cpu": "100m"}}}]},
                "status": {
                    "phase": "Running", "startTime": "2026-01-01T00:09:00Z",
                    "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": changed}],
                },
            })),
        }
    }

    #[test]
    fn load_is_spread_over_those_that_serve() {
        let now = Stamp::parse("2026-01-01T00:10:00Z").expect("an instant");
        let (first, later) = ("2026-01-01T00:09:00Z", "2026-01-01T00:09:30Z");
        let pods = [
            pod("a", "True", later),
            pod("b", "True", later),
            pod("c", "False", later),
            pod("d", "False", first),
        ];
        let load = json!({"data": {"web": "300"}});
        let mut ran: BTreeSet<Arc<str>> = ["b", "c", "d"].map(Arc::from).into();
        let window = Duration::from_secs(15);
        let cpu = |ran: &BTreeSet<Arc<str>>| {
            let all = measure(&pods, ran, &load, now, window);
            all.into_values()
                .map(|own| own.usage["cpu"])
                .collect::<Vec<_>>()
        };
        assert_eq!(cpu(&ran), [150, 0, 200], "a pod is measured twice");
        ran.insert("a".into());
        assert_eq!(cpu(&ran), [150, 150, 0, 200]);
    }
}
