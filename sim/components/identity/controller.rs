//! The Lease objects by which apiservers know each other (`APIServerIdentity`, on in v1.36):
//! `component-helpers/apimachinery/lease/controller.go`, `pkg/controlplane/apiserver/server.go`; and their garbage
//! collection, `pkg/controlplane/controller/apiserverleasegc`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::LEASES;
use wavetank_api::{Content, Method, Reason, Request, Response, Stamp, Stored};
use wavetank_apiserver::Config;
use wavetank_client::Failure;
use wavetank_client::wait::{Every, Stop, Turn};
use wavetank_engine::{
    Cell, Either, Lock, Name, NetError, Outcome, RoutineFuture, Rx, Task, mutant,
};
use wavetank_etcd::Key;
use wavetank_version::{Defect, Set};

use super::{IdentityDefect, gates};

/// `metav1.NamespaceSystem`
const NAMESPACE: &str = "kube-system";
/// `IdentityLeaseComponentLabelKey`
const COMPONENT: &str = "apiserver.kubernetes.io/identity";
/// `IdentityLeaseDurationSeconds`
const DURATION: i64 = 3600;
/// `IdentityLeaseRenewIntervalPeriod`, and 4 % at most on top.
const RENEW: Every = Every::jittered(Duration::from_secs(10), 40);
/// `IdentityLeaseGCPeriod`
const COLLECT: Every = Every::period(Duration::from_secs(3600));
/// `maxUpdateRetries`
const ATTEMPTS: u32 = 5;
/// `backoffEnsureLease`: the first wait, and `maxBackoff`.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(7);
/// `shutdownTimeout`: how long a deletion at the start or at the stop may take.
pub const DELETE_LIMIT: Duration = Duration::from_secs(10);

const SYNC: Name = Name::new("renew-identity");
const GC: Name = Name::new("collect-identities");

/// `reconcilingLock`
const LOCK: Lock = Lock::new("identity-lock");
/// `stopCalled`
static STOP_CALLED: Cell<bool> = Cell::new("identity-stop-called");
/// `latestLease`
static LATEST: Cell<Option<Stored>> = Cell::new("identity-lease");
/// The context of the loops: it ends when the server no longer serves, which is the end of the process here.
static NEVER: Stop = Stop::new("identity-context");
/// `stopCh`, since PR #140241.
static STOPPED: Stop = Stop::new("identity-stopped");

/// A note: a stopping server has done with its identity.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct IdentityStopped {
    /// Where its Lease is stored.
    pub key: Key,
    /// Was the Lease deleted, as far as the server knows?
    pub deleted: bool,
}

/// The identity of one server.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct IdentityController {
    server: Arc<Config>,
    defects: Set<IdentityDefect>,
}

pub(crate) const FIX_CANCEL_IDENTITY: Defect = Defect::fix(
    "fix-cancel-identity",
    "FINDINGS.md, 16",
    "a stopping apiserver cancels what the renewal of its identity has asked for before it waits for it",
)
.fits_only(gates::IDENTITY);

pub(crate) const FIX_IDENTITY_UNDER_LOCK: Defect = Defect::fix(
    "fix-identity-under-lock",
    "FINDINGS.md, 17",
    "a renewal of an identity that waited for its lock looks again whether the server stops",
)
.fits_only(gates::IDENTITY);

pub(crate) const IDENTITY_STOP_WAITS: Defect = Defect::known(
    "identity-stop-waits",
    "k/k#140242, PR #140241 (fixed after 1.36)",
    "a stopping apiserver waits until its identity can be renewed, which is tried for ever",
)
.fits_only(gates::IDENTITY);

impl IdentityController {
    /// That of a server whose release has them.
    pub fn of(server: &Arc<Config>, defects: Set<IdentityDefect>) -> Option<IdentityController> {
        let has = server.release.has(gates::IDENTITY);
        has.then(|| IdentityController {
            server: server.clone(),
            defects,
        })
    }

    /// `Start`, and that of the garbage collector.
    pub async fn start(&self, rx: Rx) {
        self.delete(rx).await;
        rx.spawn(Task::new(SYNC, ()));
        rx.spawn(Task::new(GC, ()));
    }

    /// `Stop`: nothing bounds how long it waits for a renewal that is under way. (v1.36 has a flag besides, and no
    /// channel.)
    pub async fn stop(&self, rx: Rx) {
        rx.update(&STOP_CALLED, |called| *called = true);
        STOPPED.close(rx);
        if mutant!("identity-stays", "a server that stops leaves its identity") {
            return;
        }
        let _guard = rx.lock(LOCK).await;
        let deleted = self.delete(rx).await;
        let key = self.key();
        rx.note(IdentityStopped { key, deleted });
    }

    pub fn routine(&self, task: &Task) -> Option<RoutineFuture> {
        let rx = Rx::new();
        if task.kind() == SYNC {
            return Some(Box::pin(self.clone().renew(rx)));
        }
        let collects = task.kind() == GC;
        collects.then(|| Box::pin(self.clone().collect(rx)) as RoutineFuture)
    }

    /// The name of the Lease: the same after a restart. Really a hash of the host's name.
    fn name(&self) -> String {
        format!("apiserver-{}", self.server.number)
    }

    fn key(&self) -> Key {
        LEASES.key(NAMESPACE, &self.name())
    }

    fn request(&self, method: Method) -> Request {
        Request::new(method, LEASES.path(NAMESPACE, &self.name()))
    }

    async fn delete(&self, rx: Rx) -> bool {
        let delete = self.server.loopback();
        let delete = delete.request(rx, self.request(Method::Delete));
        match rx.timeout(DELETE_LIMIT, delete).await {
            Some(Ok(_)) => true,
            Some(Err(error)) => error.is(Reason::NotFound),
            None => false,
        }
    }

    /// One turn of `JitterUntilWithContext`.
    async fn renew(self, rx: Rx) -> Outcome {
        let turn = RENEW.sliding(rx, &NEVER, async {
            self.sync(rx).await;
            Turn::Again
        });
        match turn.await {
            Turn::Over => Outcome::Done,
            Turn::Again => Outcome::Become(Task::new(SYNC, ())),
        }
    }

    /// `sync`
    async fn sync(&self, rx: Rx) {
        if rx.read(&STOP_CALLED) {
            return;
        }
        let _guard = rx.lock(LOCK).await;
        // Finding 17: upstream does not read it again under the lock.
        if rx.read(&STOP_CALLED) && self.defects.has(IdentityDefect::FixIdentityUnderLock) {
            return;
        }
        if let Some(latest) = rx.read(&LATEST)
            && self.retry_update_lease(rx, latest).await
        {
            return;
        }
        let ensured = self.backoff_ensure_lease(rx).await;
        let lease = ensured.as_ref().map(|(lease, _)| lease.clone());
        rx.update(&LATEST, |latest| *latest = lease);
        if let Some((lease, false)) = ensured {
            self.retry_update_lease(rx, lease).await;
        }
    }

    /// A request of a renewal. Finding 16: upstream lets it go on while `Stop` waits, as long as the server allows.
    async fn ask(&self, rx: Rx, request: Request) -> Result<Stored, Failure> {
        let loopback = self.server.loopback();
        let answer = loopback.object(rx, request);
        if !self.defects.has(IdentityDefect::FixCancelIdentity) {
            return answer.await;
        }
        match rx.select(STOPPED.closed(rx), answer).await {
            Either::Left(()) => Err(Failure::Net(NetError::Cancelled)),
            Either::Right(answer) => answer,
        }
    }

    /// `retryUpdateLease`
    async fn retry_update_lease(&self, rx: Rx, mut base: Stored) -> bool {
        for _ in 0..ATTEMPTS {
            let mut object = base.json();
            self.refresh(rx, &mut object);
            let put = self.request(Method::Put).with(object);
            match self.ask(rx, put).await {
                Ok(stored) => {
                    rx.update(&LATEST, |latest| *latest = Some(stored));
                    return true;
                }
                Err(error)
                    if error.is(Reason::Conflict)
                        && mutant!(
                            "identity-conflict-is-final",
                            "a renewal of an identity that meets another write gives up"
                        ) =>
                {
                    return true;
                }
                Err(error) if error.is(Reason::Conflict) => {
                    match self.backoff_ensure_lease(rx).await {
                        Some((lease, _)) => base = lease,
                        None => return false,
                    }
                }
                Err(_) => {}
            }
        }
        false
    }

    /// `backoffEnsureLease`, and whether it made the Lease; nothing if the controller is stopped meanwhile.
    async fn backoff_ensure_lease(&self, rx: Rx) -> Option<(Stored, bool)> {
        let mut wait = FIRST_WAIT;
        loop {
            if let Ok(ensured) = self.ensure_lease(rx).await {
                return Some(ensured);
            }
            match self.defects.has(IdentityDefect::IdentityStopWaits) {
                true => rx.sleep(wait).await,
                false if rx.timeout(wait, STOPPED.closed(rx)).await.is_some() => return None,
                false => {}
            }
            wait = LONGEST_WAIT.min(wait * 2);
        }
    }

    /// `ensureLease`
    async fn ensure_lease(&self, rx: Rx) -> Result<(Stored, bool), Failure> {
        match self.ask(rx, self.request(Method::Get)).await {
            Ok(stored) => Ok((stored, false)),
            Err(error) if error.is(Reason::NotFound) => {
                let post = Request::new(Method::Post, LEASES.path(NAMESPACE, ""));
                let made = self.ask(rx, post.with(self.new_lease(rx))).await?;
                Ok((made, true))
            }
            Err(error) => Err(error),
        }
    }

    /// `newLease`
    fn new_lease(&self, rx: Rx) -> Json {
        let name = self.name();
        let mut lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "holderIdentity": format!("{name}_{}", self.server.address),
                "leaseDurationSeconds": DURATION,
            },
        });
        self.refresh(rx, &mut lease);
        lease
    }

    /// What is set at each renewal; `labelAPIServerHeartbeatFunc`.
    fn refresh(&self, rx: Rx, lease: &mut Json) {
        let now = Stamp::of(rx.clock());
        json::set(lease, &["spec", "renewTime"], now.micros());
        json::set(lease, &["metadata", "labels", COMPONENT], "kube-apiserver");
    }

    /// One turn of the garbage collector. It lists by asking the server, really in its informer.
    async fn collect(self, rx: Rx) -> Outcome {
        let turn = COLLECT.sliding(rx, &NEVER, async {
            self.collect_expired(rx).await;
            Turn::Again
        });
        match turn.await {
            Turn::Over => Outcome::Done,
            Turn::Again => Outcome::Become(Task::new(GC, ())),
        }
    }

    /// `gc`
    async fn collect_expired(&self, rx: Rx) {
        let loopback = self.server.loopback();
        let selector = format!("{COMPONENT}=kube-apiserver");
        let list = Request::new(Method::Get, LEASES.path(NAMESPACE, ""));
        let list = list.ask(&[("labelSelector", &selector)]);
        let Ok(Response {
            content: Content::List(leases),
            ..
        }) = loopback.request(rx, list).await
        else {
            return;
        };
        for lease in leases
            .items
            .iter()
            .filter(|lease| is_lease_expired(rx, lease))
        {
            let name = json::text(lease.object.json(), &["metadata", "name"]);
            let path = LEASES.path(NAMESPACE, name);
            let latest = Request::new(Method::Get, path.clone());
            let latest = loopback.object(rx, latest).await;
            if latest.is_ok_and(|latest| is_lease_expired(rx, &latest)) {
                let _ = loopback
                    .request(rx, Request::new(Method::Delete, path))
                    .await;
            }
        }
    }
}

/// `isLeaseExpired`
fn is_lease_expired(rx: Rx, lease: &Stored) -> bool {
    let lease = lease.object.json();
    let renewed = Stamp::parse(json::text(lease, &["spec", "renewTime"]));
    let duration = json::number(lease, &["spec", "leaseDurationSeconds"]);
    match (renewed, duration) {
        (Some(renewed), Some(duration)) => renewed.plus_seconds(duration) < Stamp::of(rx.clock()),
        _ => true,
    }
}
