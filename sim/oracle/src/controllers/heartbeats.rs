//! Heartbeats of nodes, which recordings leave out: the script renews the Lease of each node that lives, every 1.5 s, and says
//! in its notes who stops and who is back.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::Stamp;
use wavetank_engine::Time;

const EVERY: Duration = Duration::from_millis(1500);
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const NODES: &str = "/api/v1/nodes";
/// What notes say of a node, whose name comes first.
const STOPS: &str = "does not renew its Lease any more";
const IS_BACK: &str = "is back";

/// Who lives, and when they say so next.
#[derive(Debug, Default)]
pub(super) struct Heartbeats {
    live: BTreeSet<String>,
    next: Time,
}

impl Heartbeats {
    /// What a line of the script says of it.
    pub fn learn(&mut self, line: &Json) {
        let request = &line["do"];
        let path = request["path"].as_str().unwrap_or_default();
        let note = line["note"].as_str().unwrap_or_default();
        let noted = note.split(' ').next().unwrap_or_default();
        if note.ends_with(STOPS) {
            self.live.remove(noted);
        } else if note.ends_with(IS_BACK) {
            self.live.insert(noted.to_owned());
        }
        match request["method"].as_str() {
            Some("POST") if path == NODES => {
                let name = request["body"]["metadata"]["name"].as_str();
                self.live.extend(name.map(str::to_owned));
            }
            Some("DELETE") => {
                let name = path.strip_prefix(NODES).unwrap_or_default();
                self.live.remove(name.trim_start_matches('/'));
            }
            _ => {}
        }
    }

    /// When they say so next.
    pub fn next(&self) -> Time {
        self.next
    }

    /// The requests with which they do, where these Leases are stored.
    pub fn beat(&mut self, now: Time, stored: &[Json]) -> Vec<Json> {
        self.next = now + EVERY;
        let time = Stamp::of(now).micros();
        let is_stored = |name: &str| {
            let mut all = stored.iter().map(|own| &own["metadata"]);
            all.any(|own| own["namespace"] == "kube-node-lease" && own["name"] == name)
        };
        let request = |name: &String| match is_stored(name) {
            true => json!({
                "method": "PATCH",
                "path": format!("{LEASES}/{name}"),
                "body": {"spec": {"renewTime": time}},
                "contentType": "application/merge-patch+json",
            }),
            false => json!({
                "method": "POST",
                "path": LEASES,
                "body": {
                    "apiVersion": "coordination.k8s.io/v1",
                    "kind": "Lease",
                    "metadata": {"name": name},
                    "spec": {"holderIdentity": name, "leaseDurationSeconds": 8, "renewTime": time},
                },
                "contentType": "application/json",
            }),
        };
        self.live.iter().map(request).collect()
    }
}
