//! The Endpoints reconcilers of kube-apiserver: `pkg/master/reconcilers` (v1.16),
//! `pkg/controlplane/reconcilers` (v1.20, v1.36). One file each; here is what they share, and
//! which one a server has.

mod endpoints;
pub(in crate::kube_apiserver) mod lease;
mod master_count;

use std::time::Duration;

use thiserror::Error;
use wavetank_api::Reason;
use wavetank_apiserver::StoreError;
use wavetank_client::Failure;
use wavetank_engine::{Cell, Cx, Lock, NetError, Rx, Timer};
use wavetank_etcd::{Key, Revision};
use wavetank_version::Defect;

use super::Bootstrap;
use crate::kube_apiserver::defects::BootstrapDefect;

/// `DefaultEndpointReconcilerInterval`
pub const RECONCILE_INTERVAL: Duration = Duration::from_secs(10);
/// `DefaultEndpointReconcilerTTL`
pub const MASTER_LEASE_TTL: Duration = Duration::from_secs(15);
/// Where master leases are stored.
pub const MASTER_LEASES: &str = "/registry/masterleases/";

/// The key of an address's master lease.
pub fn master_lease_key(address: &str) -> Key {
    format!("{MASTER_LEASES}{address}").into()
}

/// Is it the key of this address's master lease?
pub fn is_master_lease(key: &str, address: &str) -> bool {
    key.strip_prefix(MASTER_LEASES) == Some(address)
}

/// The reconcilers of the kubernetes Endpoints (`--endpoint-reconciler-type`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reconciler {
    /// `lease`
    Lease,
    /// `master-count`
    MasterCount,
    /// `none`
    None,
}

static RECONCILING_LOCK: Lock = Lock::new("reconcilingLock");
static STOP_RECONCILING_CALLED: Cell<bool> = Cell::new("stopReconcilingCalled");

/// Why a round or a removal ended early.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum ReconcileError {
    /// There is no master lease.
    #[error(
        "no master IPs were listed in storage, refusing to erase all endpoints for the kubernetes service"
    )]
    NoLeases,
    /// The own master lease is not there.
    #[error("the master lease was not found")]
    LeaseNotFound,
    /// Another server renews the own master lease, too.
    #[error("the master lease is another's as well")]
    Shared,
    /// The lease storage is closed.
    #[error("the client connection is closing")]
    Closed,
    /// The Endpoints have changed since they were read.
    #[error("the Endpoints have been modified (409)")]
    Conflict,
    /// The server refused otherwise.
    #[error("{:?} ({})", .0, .0.code())]
    Refused(Reason),
    /// The server's listener is closed.
    #[error("the own listener is closed: connection refused")]
    ListenerClosed,
    /// etcd, or the way to it, failed.
    #[error("etcd was not available")]
    Etcd,
    /// The request to the server itself broke off.
    #[error("{0}")]
    Net(NetError),
}

impl ReconcileError {
    /// Are etcd or the network to blame?
    pub fn is_unavailable(self) -> bool {
        match self {
            ReconcileError::Etcd | ReconcileError::Net(_) => true,
            ReconcileError::Refused(reason) => reason.code() >= 500,
            _ => false,
        }
    }
}

impl From<StoreError> for ReconcileError {
    /// Of the lease storage.
    fn from(error: StoreError) -> ReconcileError {
        match error {
            StoreError::NotFound => ReconcileError::LeaseNotFound,
            StoreError::Exists | StoreError::Conflict => ReconcileError::Conflict,
            StoreError::Precondition(_) => ReconcileError::Shared,
            StoreError::Status(status) => ReconcileError::Refused(status.reason),
            StoreError::Etcd(_) => ReconcileError::Etcd,
        }
    }
}

impl From<Failure> for ReconcileError {
    fn from(error: Failure) -> ReconcileError {
        match error {
            Failure::Net(NetError::Refused) => ReconcileError::ListenerClosed,
            Failure::Net(error) => ReconcileError::Net(error),
            Failure::Status(status) => match status.reason {
                Reason::Conflict => ReconcileError::Conflict,
                reason => ReconcileError::Refused(reason),
            },
        }
    }
}

pub(crate) const MASTER_COUNT_KEEPS_CRASHED: Defect = Defect::open(
    "master-count-keeps-crashed",
    "k/k#22609 (never fixed; PR #51698 offers the lease reconciler instead)",
    "the master-count reconciler itself: nobody removes a crashed apiserver. Off: the lease reconciler is used in its place",
)
.needs("endpoint-reconciler-type", &["master-count"]);

/// The reconciler that is in use: with its defect off, master-count gives way to the lease
/// reconciler, our proposal for k/k#22609.
fn in_use(me: &Bootstrap) -> Reconciler {
    match me.reconciler {
        Reconciler::MasterCount if !me.has(BootstrapDefect::MasterCountKeepsCrashed) => {
            Reconciler::Lease
        }
        reconciler => reconciler,
    }
}

/// A timer of the process; false if it is none of a reconciler's.
pub(crate) fn timer(cx: &mut Cx<'_>, timer: Timer) -> bool {
    lease::timer(cx, timer)
}

pub(crate) async fn reconcile_endpoints(rx: Rx, me: &Bootstrap) -> Result<(), ReconcileError> {
    match in_use(me) {
        Reconciler::Lease => lease::reconcile_endpoints(rx, me).await,
        Reconciler::MasterCount => master_count::reconcile_endpoints(rx, me).await,
        Reconciler::None => Ok(()),
    }
}

/// Returns the revision of the Endpoints that it last saw or wrote, 0 if it is not known.
pub(crate) async fn remove_endpoints(rx: Rx, me: &Bootstrap) -> Result<Revision, ReconcileError> {
    match in_use(me) {
        Reconciler::Lease => lease::remove_endpoints(rx, me).await,
        Reconciler::MasterCount => master_count::remove_endpoints(rx, me).await,
        Reconciler::None => Ok(0),
    }
}

pub(crate) async fn stop_reconciling(rx: Rx, me: &Bootstrap) {
    match in_use(me) {
        Reconciler::Lease => lease::stop_reconciling(rx, me).await,
        Reconciler::MasterCount => master_count::stop_reconciling(rx).await,
        Reconciler::None => {}
    }
}

pub(crate) fn destroy(rx: Rx, me: &Bootstrap) {
    if in_use(me) == Reconciler::Lease {
        lease::destroy(rx, me);
    }
}
