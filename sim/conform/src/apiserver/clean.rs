//! Takes away what a run has left, so that the next one on the same server finds it as the first one did: objects in its
//! namespaces, its definitions. The namespaces stay, as nobody runs here that would end them.

use serde_json::{Value as Json, json};

use super::http::Http;
use super::op::Seen;

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
