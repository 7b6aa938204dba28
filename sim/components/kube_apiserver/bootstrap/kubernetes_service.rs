//! The Service `kubernetes`, which each round of the bootstrap controller makes where it is not there
//! (`UpdateKubernetesService`, `CreateOrUpdateMasterServiceIfNeeded`). One that is there is left as it is: the
//! branch that puts ports and type right is never taken, its callers pass `reconcile` as false.

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::SERVICES;
use wavetank_api::{Method, Reason, Request};
use wavetank_client::Failure;
use wavetank_engine::Rx;

use super::{Bootstrap, system_namespaces};
use crate::kube_apiserver::gates;
use crate::services::SERVICE_LISTER;

const NAMESPACE: &str = "default";
const NAME: &str = "kubernetes";

/// Makes the Service where it is not there, up to v1.20 its namespace too. Nothing on a server without
/// ranges for Services.
pub async fn ensure(rx: Rx, me: &Bootstrap) -> Result<(), Failure> {
    let server = &me.server;
    let ranges = me.services.as_deref();
    let Some(first) = ranges.and_then(|ranges| ranges.first_address()) else {
        return Ok(());
    };
    if !server.release.has(gates::SYSTEM_NAMESPACES_APART) {
        system_namespaces::create_namespace_if_needed(rx, server, NAMESPACE).await?;
    }
    loop {
        if is_there(rx, me).await {
            return Ok(());
        }
        let post = Request::new(Method::Post, SERVICES.path(NAMESPACE, ""));
        let post = post.with(service(me, &first));
        match server.loopback().request(rx, post).await {
            Err(error) if error.is(Reason::AlreadyExists) => {}
            made => return made.map(|_| ()),
        }
    }
}

/// v1.36 asks its informer, earlier ones the server.
async fn is_there(rx: Rx, me: &Bootstrap) -> bool {
    if me.server.release.has(gates::KUBERNETES_SERVICE_IS_LISTED) {
        return SERVICE_LISTER
            .get(rx, &format!("{NAMESPACE}/{NAME}"))
            .is_some();
    }
    let get = Request::new(Method::Get, SERVICES.path(NAMESPACE, NAME));
    me.server.loopback().object(rx, get).await.is_ok()
}

fn service(me: &Bootstrap, first: &str) -> Json {
    let release = me.server.release;
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
            "ports": me.published.service_ports(release),
            "sessionAffinity": "None",
            "type": me.published.kind(),
        },
    });
    if release.has(gates::CLUSTER_IPS) {
        json::set(&mut service, &["spec", "ipFamilyPolicy"], "SingleStack");
    }
    service
}
