//! What the pods of users and the manifests on disks are like: one regular container, and before it init containers of a few
//! shapes.

use serde_json::{Value as Json, json};
use wavetank_components::pod_runners::FAILING_TASK;
use wavetank_components::users::Client;

use crate::runtime::{FLAKY_INIT, INIT, STUBBORN};

/// Which init containers a pod has: nothing; one that succeeds; one after that which fails at first; one that fails again and
/// again; a sidecar; two; one of them between two others, and it has to start up; one before another; the same that does not heed
/// SIGTERM.
pub(crate) const INITS: [&str; 10] = [
    "none",
    "one",
    "flaky",
    "fails",
    "sidecar",
    "two",
    "both",
    "both",
    "on-and-once",
    "stubborn",
];

/// A pod, as far as it is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Shape {
    pub image: String,
    pub policy: String,
    pub grace: i64,
    pub probes: String,
    pub init: String,
}

fn probe(failures: i64) -> Json {
    json!({"tcpSocket": {"port": 80}, "periodSeconds": 5, "failureThreshold": failures})
}

/// Those of this shape.
fn init_containers(shape: &str) -> Vec<Json> {
    let once = |name: &str, image: &str| json!({"name": name, "image": image});
    let sidecar =
        |name: &str, image: &str| json!({"name": name, "image": image, "restartPolicy": "Always"});
    match shape {
        "one" => vec![once("init-0", INIT)],
        "flaky" => vec![once("init-0", INIT), once("init-1", FLAKY_INIT)],
        "fails" => vec![once("init-0", FAILING_TASK)],
        "sidecar" => vec![sidecar("side-0", "image:1")],
        "two" => vec![sidecar("side-0", "image:1"), sidecar("side-1", "image:2")],
        "both" => {
            let mut side = sidecar("side-1", "image:1");
            side["startupProbe"] = probe(12);
            side["livenessProbe"] = probe(2);
            vec![once("init-0", INIT), side, once("init-2", INIT)]
        }
        "on-and-once" => vec![sidecar("side-0", "image:1"), once("init-1", INIT)],
        "stubborn" => vec![sidecar("side-0", STUBBORN), once("init-1", INIT)],
        _ => Vec::new(),
    }
}

impl Shape {
    /// The spec, of no node yet.
    pub(crate) fn spec(&self) -> Json {
        let mut container = json!({"name": "main", "image": self.image});
        let probes = &*self.probes;
        if probes != "none" {
            container["readinessProbe"] = probe(2);
        }
        if probes == "liveness" || probes == "startup" {
            container["livenessProbe"] = probe(2);
        }
        if probes == "startup" {
            container["startupProbe"] = probe(12);
        }
        let mut spec = json!({
            "restartPolicy": self.policy,
            "terminationGracePeriodSeconds": self.grace,
            "containers": [container],
        });
        let init = init_containers(&self.init);
        if !init.is_empty() {
            spec["initContainers"] = init.into();
        }
        spec
    }
}

/// One of these, unless it was said which.
pub(crate) async fn one_of(client: &Client, asked: Option<&String>, all: &[&str]) -> String {
    match asked {
        Some(asked) => asked.clone(),
        None => client.one_of(all).await.to_owned(),
    }
}
