//! The Service `kubernetes`, which each round of the bootstrap controller puts right
//! (`UpdateKubernetesService`, `CreateOrUpdateMasterServiceIfNeeded`).

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::SERVICES;
use wavetank_api::{Method, Reason, Request};
use wavetank_apiserver::{Config, LoopbackError};
use wavetank_engine::Rx;
use wavetank_release::Release;

use crate::system_namespaces;

const NAMESPACE: &str = "default";
const NAME: &str = "kubernetes";

/// Makes the Service where it is not there, up to v1.20 its namespace too, and sets the Service's ports
/// and type right. Nothing on a server without ranges for Services.
pub async fn ensure(rx: Rx, server: &Config) -> Result<(), LoopbackError> {
    let ranges = server.services.as_ref();
    let Some(first) = ranges.and_then(|ranges| ranges.first_address(server.release)) else {
        return Ok(());
    };
    if server.release < Release::V1_36 {
        system_namespaces::ensure(rx, server, NAMESPACE).await?;
    }
    loop {
        let get = Request::new(Method::Get, SERVICES.path(NAMESPACE, NAME));
        if let Ok(found) = server.loopback().object(rx, get).await {
            return put_right(rx, server, found.json()).await;
        }
        let post = Request::new(Method::Post, SERVICES.path(NAMESPACE, ""));
        let post = post.with(service(server.release, &first));
        match server.loopback().request(rx, post).await {
            Err(error) if error.is(Reason::AlreadyExists) => {}
            made => return made.map(|_| ()),
        }
    }
}

fn ports() -> Json {
    json!([{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}])
}

fn service(release: Release, first: &str) -> Json {
    let mut service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": NAME,
            "namespace": NAMESPACE,
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": first,
            "ports": ports(),
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
    });
    if release >= Release::V1_20 {
        json::set(&mut service, &["spec", "ipFamilyPolicy"], "SingleStack");
    }
    service
}

/// `GetMasterServiceUpdateIfNeeded`
async fn put_right(rx: Rx, server: &Config, mut found: Json) -> Result<(), LoopbackError> {
    let is_right = json::at(&found, &["spec", "ports"]) == Some(&ports())
        && json::text(&found, &["spec", "type"]) == "ClusterIP";
    if is_right {
        return Ok(());
    }
    json::set(&mut found, &["spec", "ports"], ports());
    json::set(&mut found, &["spec", "type"], "ClusterIP");
    let put = Request::new(Method::Put, SERVICES.path(NAMESPACE, NAME)).with(found);
    server.loopback().request(rx, put).await.map(|_| ())
}
