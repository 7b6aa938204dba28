//! The Endpoints and EndpointSlice default/kubernetes through the loopback client:
//! `reconcilers/endpointsadapter.go`.

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::views::{self, Port, Subset};
use wavetank_api::{Method, Reason, Request, Resource, Stored, kinds};
use wavetank_client::Failure;
use wavetank_engine::{Rx, mutant};
use wavetank_etcd::Revision;

use super::ReconcileError;
use crate::kube_apiserver::bootstrap::Bootstrap;
use crate::kube_apiserver::gates;

const NAMESPACE: &str = "default";
const NAME: &str = "kubernetes";
const SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The Endpoints as read, to be changed and written back.
#[derive(Clone, Debug)]
pub struct Current {
    object: Json,
    /// Its subsets.
    pub subsets: Vec<Subset>,
    /// The revision at which it was read; 0 if there was none.
    pub resource_version: Revision,
}

impl Current {
    /// There is none yet.
    pub fn absent() -> Current {
        Current {
            object: json!({
                "apiVersion": "v1",
                "kind": "Endpoints",
                "metadata": {"name": NAME, "namespace": NAMESPACE},
            }),
            subsets: Vec::new(),
            resource_version: 0,
        }
    }

    /// `setSkipMirrorTrue`: did it change anything?
    pub fn set_skip_mirror_true(&mut self) -> bool {
        let path = ["metadata", "labels", SKIP_MIRROR];
        if json::text(&self.object, &path) == "true" {
            return false;
        }
        json::set(&mut self.object, &path, "true");
        true
    }

    fn object(&self) -> Json {
        let mut object = self.object.clone();
        views::set_subsets(&mut object, &self.subsets);
        object
    }
}

/// The ports of every apiserver.
pub fn ports(me: &Bootstrap) -> Vec<Port> {
    me.published.endpoint_ports(me.server.release)
}

/// `RepackSubsets`, as far as one subset needs it: no address twice, no subset without addresses.
pub fn repack_subsets(mut subsets: Vec<Subset>) -> Vec<Subset> {
    for subset in &mut subsets {
        subset.addresses.sort();
        subset.addresses.dedup();
        if subset.addresses.len() > 1
            && mutant!(
                "first-address-is-lost",
                "a repacked subset lacks its first address"
            )
        {
            subset.addresses.remove(0);
        }
    }
    subsets.retain(|subset| !subset.addresses.is_empty());
    subsets
}

async fn send(rx: Rx, me: &Bootstrap, request: Request) -> Result<Stored, Failure> {
    me.server.loopback().object(rx, request).await
}

fn of(method: Method, resource: &Resource) -> Request {
    Request::new(method, resource.path(NAMESPACE, NAME))
}

fn post(resource: &Resource, object: Json) -> Request {
    Request::new(Method::Post, resource.path(NAMESPACE, "")).with(object)
}

/// GET
pub async fn get(rx: Rx, me: &Bootstrap) -> Result<Current, Failure> {
    let stored = send(rx, me, of(Method::Get, &kinds::ENDPOINTS)).await?;
    Ok(Current {
        subsets: views::subsets(stored.object.json()),
        resource_version: stored.resource_version,
        object: stored.json(),
    })
}

/// POST. If somebody else was faster that is success, and the slice is left to them.
pub async fn create(rx: Rx, me: &Bootstrap, current: &Current) -> Result<Revision, ReconcileError> {
    match send(rx, me, post(&kinds::ENDPOINTS, current.object())).await {
        Ok(stored) => written(rx, me, current, &stored).await,
        Err(error) if error.is(Reason::AlreadyExists) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// PUT with the resourceVersion that was read.
pub async fn update(rx: Rx, me: &Bootstrap, current: &Current) -> Result<Revision, ReconcileError> {
    let put = of(Method::Put, &kinds::ENDPOINTS).with(current.object());
    let stored = send(rx, me, put).await?;
    written(rx, me, current, &stored).await
}

/// PUT without a resourceVersion, whatever is there.
pub async fn overwrite(
    rx: Rx,
    me: &Bootstrap,
    current: &Current,
) -> Result<Revision, ReconcileError> {
    let mut object = current.object();
    json::remove(&mut object, &["metadata", "resourceVersion"]);
    let stored = send(rx, me, of(Method::Put, &kinds::ENDPOINTS).with(object)).await?;
    written(rx, me, current, &stored).await
}

/// After every successful write the slice follows.
async fn written(
    rx: Rx,
    me: &Bootstrap,
    current: &Current,
    stored: &Stored,
) -> Result<Revision, ReconcileError> {
    ensure_endpoint_slice_from_endpoints(rx, me, &current.subsets).await?;
    Ok(stored.resource_version)
}

/// `EnsureEndpointSliceFromEndpoints` (v1.20, v1.36): from the first subset, unconditionally.
pub async fn ensure_endpoint_slice_from_endpoints(
    rx: Rx,
    me: &Bootstrap,
    subsets: &[Subset],
) -> Result<(), ReconcileError> {
    const SLICES: &Resource = &kinds::ENDPOINT_SLICES;
    if !me.server.release.has(gates::ENDPOINT_SLICES) {
        return Ok(());
    }
    let wanted = slice_of(subsets);
    let current = match send(rx, me, of(Method::Get, SLICES)).await {
        Ok(stored) => stored,
        Err(error) if error.is(Reason::NotFound) => {
            return match send(rx, me, post(SLICES, wanted)).await {
                Err(error) if !error.is(Reason::AlreadyExists) => Err(error.into()),
                _ => Ok(()),
            };
        }
        Err(error) => return Err(error.into()),
    };
    let current = current.object.json();
    if current["addressType"] != wanted["addressType"] {
        let loopback = me.server.loopback();
        loopback.request(rx, of(Method::Delete, SLICES)).await?;
        send(rx, me, post(SLICES, wanted)).await?;
        return Ok(());
    }
    let same = |field: &str| current.get(field) == wanted.get(field);
    let labels = ["metadata", "labels"];
    if (same("endpoints")
        || mutant!(
            "slice-addresses-are-not-compared",
            "a slice that has other addresses is left as it is"
        ))
        && same("ports")
        && json::at(current, &labels) == json::at(&wanted, &labels)
    {
        return Ok(());
    }
    send(rx, me, of(Method::Put, SLICES).with(wanted)).await?;
    Ok(())
}

fn slice_of(subsets: &[Subset]) -> Json {
    let first = subsets.first().cloned().unwrap_or_default();
    let ipv6 = !first.addresses.is_empty() && first.addresses.iter().all(|a| a.contains(':'));
    let ready = |address| json!({"addresses": [address], "conditions": {"ready": true}});
    let endpoints: Vec<Json> = first.addresses.iter().map(|a| ready(&**a)).collect();
    let mut slice = json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": {SERVICE_NAME: NAME}},
        "addressType": if ipv6 { "IPv6" } else { "IPv4" },
        "endpoints": endpoints,
    });
    views::set_ports(&mut slice, &first.ports);
    slice
}
