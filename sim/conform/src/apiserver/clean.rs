//! Takes away what a run has left, so that the next one on the same server finds it as the first one did: objects in its
//! namespaces, its definitions. The namespaces stay, as nobody runs here that would end them.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::http::Http;
use super::op::Seen;
use super::server::Server;

/// The repair of a server takes away what nobody owns once it is a minute old.
const REPAIRED: Duration = Duration::from_secs(100);
const LOOKS_EVERY: Duration = Duration::from_millis(500);

/// The collections in a namespace that operations fill.
pub(crate) const COLLECTIONS: [&str; 11] = [
    "/api/v1/namespaces/{ns}/configmaps",
    "/api/v1/namespaces/{ns}/services",
    "/api/v1/namespaces/{ns}/pods",
    "/api/v1/namespaces/{ns}/secrets",
    "/api/v1/namespaces/{ns}/serviceaccounts",
    "/api/v1/namespaces/{ns}/endpoints",
    "/apis/apps/v1/namespaces/{ns}/deployments",
    "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
    "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
    "/apis/batch/v1/namespaces/{ns}/jobs",
    "/apis/{run}.example/v1/namespaces/{ns}/widgets",
];

/// Deletes until nothing is left.
pub(crate) fn up(http: &Http, seen: &Seen) -> Result<(), String> {
    for namespace in ["{a}", "{b}"] {
        for collection in COLLECTIONS {
            let path = seen.named(&collection.replace("{ns}", namespace));
            empty(http, &path)?;
        }
    }
    let definition =
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{run}.example";
    delete(http, &seen.named(definition)).map(|_| ())
}

/// Waits for the repair if an IPAddress is left that no Service has, so that the next run does not meet it; what that was,
/// and what the server says of it. The repair makes some of them itself: those of Services whose change it sees late.
pub(crate) fn wait_for_repair(server: &Server) -> Result<Option<String>, String> {
    let begin = Instant::now();
    let mut first: Option<String> = None;
    loop {
        let left: Vec<String> = server
            .gateway
            .range("/registry/ipaddresses/")?
            .into_iter()
            .filter(|(_, address)| address["spec"]["parentRef"]["name"] != "kubernetes")
            .map(|(_, address)| {
                address["metadata"]["name"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect();
        let since = begin.elapsed();
        if left.is_empty() || since > REPAIRED {
            let told = first.map(|told| format!("{} s: {told}", since.as_secs()));
            return Ok(told);
        }
        if first.is_none() {
            let said: Vec<String> = left
                .iter()
                .flat_map(|address| server.log_about(address))
                .collect();
            first = Some(format!("{}\n    {}", left.join(", "), said.join("\n    ")));
        }
        thread::sleep(LOOKS_EVERY);
    }
}

fn empty(http: &Http, collection: &str) -> Result<(), String> {
    let list = http.send(&json!({"method": "GET", "path": collection}))?;
    for object in list["body"]["items"].as_array().into_iter().flatten() {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!("{collection}/{name}");
        if !object["metadata"]["finalizers"].is_null() {
            http.send(&json!({
                "method": "PATCH", "path": path, "contentType": "application/merge-patch+json",
                "body": {"metadata": {"finalizers": null}},
            }))?;
        }
        delete(http, &path)?;
    }
    Ok(())
}

/// At once, and without those that wait for others.
fn delete(http: &Http, path: &str) -> Result<Json, String> {
    http.send(&json!({
        "method": "DELETE", "path": path, "contentType": "application/json",
        "body": {
            "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "propagationPolicy": "Background",
        },
    }))
}
