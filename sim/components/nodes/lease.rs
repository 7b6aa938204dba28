//! The Lease of a node (`component-helpers/apimachinery/lease/controller.go`, v1.36.2, as `pkg/kubelet/kubelet.go` makes it):
//! renewed every 10 s, valid for 40 s.

use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::json;
use wavetank_api::kinds::{LEASES, NODES};
use wavetank_api::{Method, Reason, Request, Stamp, Stored};
use wavetank_client::Failure;
use wavetank_client::wait::{Every, Stop, Turn};
use wavetank_engine::{Cell, Rx};

use super::node::{HEARTBEAT_TIMEOUT, Node, is_lost};

/// `NamespaceNodeLease`
pub const NAMESPACE: &str = "kube-node-lease";
/// `nodeLeaseDurationSeconds`
const LEASE_DURATION_SECONDS: i64 = 40;
/// `nodeLeaseRenewIntervalFraction` of it.
const RENEW_INTERVAL: Duration = Duration::from_secs(10);
/// The jitter of `Run`, in thousandths.
const JITTER: u32 = 40;
/// `maxUpdateRetries`
const MAX_UPDATE_RETRIES: u32 = 5;
/// The first wait of `backoffEnsureLease`, half of it, and `maxBackoff`.
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(7);

/// `latestLease`
static LATEST_LEASE: Cell<Option<Stored>> = Cell::new("latest-lease");
/// Nobody stops it but the end of the process.
static NEVER: Stop = Stop::new("lease-controller");

/// What a kubelet that begins anew knows of its Lease: nothing.
pub(super) fn forget(rx: Rx) {
    rx.update(&LATEST_LEASE, |own| *own = None);
}

/// One turn of `Run`.
pub(super) async fn run(rx: Rx, node: &Node) {
    let turn = Every::jittered(RENEW_INTERVAL, JITTER).sliding(rx, &NEVER, async {
        if !is_lost(rx) {
            sync(rx, node).await;
        }
        Turn::Again
    });
    turn.await;
}

/// `sync`
async fn sync(rx: Rx, node: &Node) {
    if let Some(latest) = rx.read(&LATEST_LEASE)
        && retry_update_lease(rx, node, latest).await
    {
        return;
    }
    let (lease, created) = backoff_ensure_lease(rx, node).await;
    rx.update(&LATEST_LEASE, |own| *own = lease.clone());
    if let Some(lease) = lease
        && !created
    {
        retry_update_lease(rx, node, lease).await;
    }
}

/// `backoffEnsureLease`: the Lease, and whether it was made here. A node that is lost meanwhile asks no more.
async fn backoff_ensure_lease(rx: Rx, node: &Node) -> (Option<Stored>, bool) {
    let mut sleep = FIRST_BACKOFF;
    loop {
        if is_lost(rx) {
            return (None, false);
        }
        if let Ok(ensured) = ensure_lease(rx, node).await {
            return ensured;
        }
        sleep = (sleep * 2).min(MAX_BACKOFF);
        rx.sleep(sleep).await;
    }
}

/// `ensureLease`
async fn ensure_lease(rx: Rx, node: &Node) -> Result<(Option<Stored>, bool), Failure> {
    let get = Request::new(Method::Get, LEASES.path(NAMESPACE, &node.name));
    match node.rest.object_within(rx, get, HEARTBEAT_TIMEOUT).await {
        Err(error) if error.is(Reason::NotFound) => {
            let Some(lease) = new_lease(rx, node, None).await else {
                return Ok((None, false));
            };
            let post = Request::new(Method::Post, LEASES.path(NAMESPACE, "")).with(lease);
            let made = node.rest.object_within(rx, post, HEARTBEAT_TIMEOUT).await?;
            Ok((Some(made), true))
        }
        read => Ok((Some(read?), false)),
    }
}

/// `retryUpdateLease`: was it renewed? What upstream does after several failures, it closes all connections, is left out.
async fn retry_update_lease(rx: Rx, node: &Node, mut base: Stored) -> bool {
    for _ in 0..MAX_UPDATE_RETRIES {
        if is_lost(rx) {
            return false;
        }
        let Some(lease) = new_lease(rx, node, Some(&base)).await else {
            continue;
        };
        let path = LEASES.path(NAMESPACE, &node.name);
        let put = Request::new(Method::Put, path).with(lease);
        match node.rest.object_within(rx, put, HEARTBEAT_TIMEOUT).await {
            Ok(stored) => {
                rx.update(&LATEST_LEASE, |own| *own = Some(stored));
                return true;
            }
            Err(error) if error.is(Reason::Conflict) => {
                match backoff_ensure_lease(rx, node).await.0 {
                    Some(fresh) => base = fresh,
                    None => return false,
                }
            }
            Err(_) => {}
        }
    }
    false
}

/// `newLease`; nothing where its owner cannot be found.
async fn new_lease(rx: Rx, node: &Node, base: Option<&Stored>) -> Option<Json> {
    let mut lease = match base {
        None => json!({
            "apiVersion": LEASES.api_version(),
            "kind": LEASES.kind,
            "metadata": {"name": *node.name, "namespace": NAMESPACE},
            "spec": {"holderIdentity": *node.name},
        }),
        Some(base) => base.json(),
    };
    lease["spec"]["leaseDurationSeconds"] = LEASE_DURATION_SECONDS.into();
    set_node_owner(rx, node, &mut lease).await.ok()?;
    lease["spec"]["renewTime"] = Stamp::of(rx.clock()).micros().into();
    Some(lease)
}

/// Upstream's `SetNodeOwnerFunc` of `pkg/kubelet/util`
async fn set_node_owner(rx: Rx, node: &Node, lease: &mut Json) -> Result<(), Failure> {
    if !json::list(lease, &["metadata", "ownerReferences"]).is_empty() {
        return Ok(());
    }
    let get = Request::new(Method::Get, NODES.path("", &node.name));
    let own = node.rest.object_within(rx, get, HEARTBEAT_TIMEOUT).await?;
    lease["metadata"]["ownerReferences"] = json!([{
        "apiVersion": NODES.api_version(),
        "kind": NODES.kind,
        "name": *node.name,
        "uid": own.object.uid(),
    }]);
    Ok(())
}
