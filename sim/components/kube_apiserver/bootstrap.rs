//! The bootstrap controller: `pkg/master/controller.go` (v1.16), `pkg/controlplane/controller.go`
//! (v1.20), `pkg/controlplane/controller/kubernetesservice/controller.go` (v1.36).
//!
//! Its Endpoints part is here, its Service in `kubernetes_service`, the system's namespaces in `system_namespaces`.
//! The repair loops are those of the component `services`, the server's identity is a component of its own.

mod kubernetes_service;
mod published;
pub(super) mod reconcilers;
mod system_namespaces;

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::kinds::SERVICES;
use wavetank_api::{Method, Request, Resource};
use wavetank_apiserver::registry::RestStorage;
use wavetank_apiserver::{Config, Hook, HookFuture};
use wavetank_client::wait::{Every, Stop, Turn};
use wavetank_engine::{Cell, Cx, Name, Outcome, RoutineFuture, Rx, Signal, Task, Timer};
use wavetank_etcd::Revision;
use wavetank_version::Defect;

use super::gates;
use super::{BootstrapDefect, Defects};
use crate::identity::controller::{self as identity, IdentityController};
use crate::services::allocators;
use crate::services::repair::ServiceRepair;
use crate::services::{SERVICE_LISTER, ServiceRanges};
use system_namespaces::SystemNamespaces;

pub use published::{AdditionalPort, Published};
pub use reconcilers::{
    MASTER_LEASE_TTL, MASTER_LEASES, RECONCILE_INTERVAL, ReconcileError, Reconciler,
    is_master_lease, master_lease_key,
};

/// `PollImmediateUntil` on the health check.
const POLL: Duration = Duration::from_millis(100);
/// `Controller.Stop` waits this long for the address to be removed: 2 × interval.
pub const SHUTDOWN_LIMIT: Duration = Duration::from_secs(20);

const POLL_HEALTH: Name = Name::new("poll-health");
const RECONCILE: Name = Name::new("reconcile-endpoints");
const REMOVE: Name = Name::new("remove-endpoints");

/// The channel that stops the loop.
static STOP: Stop = Stop::new("bootstrap-stop");
/// `RemoveEndpoints` has returned.
static REMOVED: Signal = Signal::new("endpoints-removed");
/// `Stop` no longer waits for it.
static GAVE_UP: Cell<bool> = Cell::new("removal-given-up");

/// The bootstrap controller of one server.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bootstrap {
    /// The server that it is a part of.
    pub server: Arc<Config>,
    /// `--endpoint-reconciler-type`
    pub reconciler: Reconciler,
    /// `--apiserver-count`
    pub apiserver_count: u32,
    /// Does the server have an identity (`APIServerIdentity`), where its release knows of it?
    pub identity: bool,
    /// What Services are allocated; without ranges they are stored as they come.
    pub services: Option<Arc<ServiceRanges>>,
    /// As what the apiservers are published.
    pub published: Arc<Published>,
    /// The known bugs and fixes of its controllers.
    pub defects: Defects,
}

/// How the removal of the own address at a stop ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RemovalOutcome {
    /// Without an error; the revision of the Endpoints that it last saw or wrote.
    Removed(Revision),
    /// With an error that etcd and the network are not to blame for.
    Failed(ReconcileError),
    /// With an error that they are to blame for.
    Unavailable(ReconcileError),
}

/// A note of the bootstrap controller.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum BootstrapNote {
    /// A stopping server begins to remove its address.
    RemovalStarted {
        /// The address.
        address: Arc<str>,
    },
    /// The Endpoints had changed since the removal read them.
    RemovalConflicted,
    /// A round ended with an error.
    RoundFailed(ReconcileError),
    /// A stopping server has done what it could to remove its address.
    RemovalFinished {
        /// The address.
        address: Arc<str>,
        /// How it ended.
        outcome: RemovalOutcome,
        /// The server no longer waited for it.
        late: bool,
    },
    /// A stopping server no longer waits for the removal.
    RemovalGivenUp {
        /// The address.
        address: Arc<str>,
    },
}

pub(crate) const LISTED_BEFORE_READY: Defect = Defect::known(
    "listed-before-ready",
    "k/k PR #74668 (1.14)",
    "an apiserver that starts lists itself before it is ready, and leaves what its former life has listed",
)
.until(gates::LISTED_ONCE_HEALTHY)
.shows_with("endpoint-reconciler-type", &["lease", "master-count"]);

impl Hook for Bootstrap {
    fn boot(&self, cx: &mut Cx<'_>) {
        self.repair().boot(cx);
    }

    fn timer(&self, cx: &mut Cx<'_>, timer: Timer) -> bool {
        reconcilers::timer(cx, timer) || self.repair().timer(cx, timer)
    }

    /// `Start`. An error of the removal is only logged.
    fn post_start(&self, rx: Rx) -> HookFuture {
        let me = self.clone();
        Box::pin(async move {
            let early = me.has(BootstrapDefect::ListedBeforeReady);
            if me.services.is_some() && me.server.release.has(gates::KUBERNETES_SERVICE_IS_LISTED) {
                SERVICE_LISTER.wait_for_cache_sync(rx).await;
            }
            if !early {
                // Of a previous life, if its lease is still there.
                let _ = reconcilers::remove_endpoints(rx, &me).await;
            }
            // Hooks of their own, later; before that its loops start when the repairs have run once.
            let start_namespaces = || {
                SystemNamespaces::of(&me.server).inspect(|namespaces| namespaces.start(rx));
            };
            let apart = me.server.release.has(gates::SYSTEM_NAMESPACES_APART);
            if apart {
                start_namespaces();
            }
            me.repair().start(rx).await;
            if !apart {
                start_namespaces();
            }
            if early {
                update_kubernetes_service(rx, &me).await;
            }
            rx.spawn(Task::new(POLL_HEALTH, ()));
            if let Some(identity) = me.identity() {
                identity.start(rx).await;
            }
        })
    }

    /// `Stop`, and that of the identity before or after it: the order of hooks is that of a Go map.
    fn pre_shutdown(&self, rx: Rx) -> HookFuture {
        let me = self.clone();
        Box::pin(async move {
            let Some(identity) = me.identity() else {
                return me.stop(rx).await;
            };
            if rx.choose(2).await == 0 {
                me.stop(rx).await;
                identity.stop(rx).await;
            } else {
                identity.stop(rx).await;
                me.stop(rx).await;
            }
        })
    }

    fn shutdown_limit(&self) -> Duration {
        match self.identity() {
            None => SHUTDOWN_LIMIT,
            Some(_) => SHUTDOWN_LIMIT + identity::DELETE_LIMIT,
        }
    }

    fn rest_storage(
        &self,
        rx: Rx,
        server: &Config,
        resource: &Resource,
    ) -> Option<Arc<dyn RestStorage>> {
        let ranges = self.services.as_deref()?;
        match *resource == SERVICES {
            true => allocators::rest_storage(rx, server, ranges, self.defects.services),
            false => None,
        }
    }

    /// What a Service was to be allocated.
    fn gives_back(&self) -> bool {
        self.services.is_some()
    }

    fn routine(&self, task: &Task) -> Option<RoutineFuture> {
        let (rx, me) = (Rx::new(), self.clone());
        if task.kind() == POLL_HEALTH {
            return Some(Box::pin(run_kubernetes_service(rx, me)));
        }
        if task.kind() == RECONCILE {
            return Some(Box::pin(reconcile(rx, me)));
        }
        if task.kind() == REMOVE {
            return Some(Box::pin(remove(rx, me)));
        }
        let own = self.identity().and_then(|own| own.routine(task));
        let own = own.or_else(|| allocators::routine(task));
        let repair = own.or_else(|| self.repair().routine(task));
        repair.or_else(|| SystemNamespaces::of(&self.server)?.routine(task))
    }
}

pub(crate) const REMOVE_ENDPOINTS_UNBOUNDED: Defect = Defect::known(
    "remove-endpoints-unbounded",
    "k/k#57617, PR #63383 (1.11)",
    "a stopping apiserver waits for RemoveEndpoints without a bound",
)
.until(gates::REMOVAL_IS_BOUNDED)
.shows_with("endpoint-reconciler-type", &["lease", "master-count"]);

impl Bootstrap {
    /// Is it on? Asked after all other conditions.
    pub(crate) fn has(&self, defect: BootstrapDefect) -> bool {
        self.defects.bootstrap.has(defect)
    }

    fn identity(&self) -> Option<IdentityController> {
        IdentityController::of(&self.server, self.defects.identity).filter(|_| self.identity)
    }

    /// `Stop`.
    async fn stop(&self, rx: Rx) {
        STOP.close(rx);
        ServiceRepair::stop(rx);
        SystemNamespaces::of(&self.server).inspect(|namespaces| namespaces.stop(rx));
        rx.spawn(Task::new(REMOVE, ()));
        if rx.timeout(SHUTDOWN_LIMIT, rx.wait(REMOVED)).await.is_none() {
            if self.has(BootstrapDefect::RemoveEndpointsUnbounded) {
                return rx.wait(REMOVED).await;
            }
            rx.update(&GAVE_UP, |gave_up| *gave_up = true);
            let address = self.server.address.clone();
            rx.note(BootstrapNote::RemovalGivenUp { address });
        }
    }

    /// The repair loops, which are a hook of their own in v1.36.
    fn repair(&self) -> ServiceRepair {
        ServiceRepair {
            server: self.server.clone(),
            ranges: self.services.clone(),
            defects: self.defects.repair,
            allocators: self.defects.services,
            informers: self.defects.informers,
        }
    }
}

/// `RunKubernetesService` begins when the server is healthy, looked at every 100 ms; only a 200
/// counts.
async fn run_kubernetes_service(rx: Rx, me: Bootstrap) -> Outcome {
    let probe = match me.server.release.has(gates::BEGINS_WHEN_READY) {
        true => "/readyz",
        false => "/healthz",
    };
    let answer = me
        .server
        .loopback()
        .request(rx, Request::new(Method::Get, probe))
        .await;
    if answer.is_ok() {
        return Outcome::Become(Task::new(RECONCILE, ()));
    }
    match rx.timeout(POLL, STOP.closed(rx)).await {
        Some(()) => Outcome::Done,
        None => Outcome::Become(Task::new(POLL_HEALTH, ())),
    }
}

/// `UpdateKubernetesService`: an error ends the round and is logged.
async fn update_kubernetes_service(rx: Rx, me: &Bootstrap) {
    let done = async {
        kubernetes_service::ensure(rx, me).await?;
        reconcilers::reconcile_endpoints(rx, me).await
    };
    if let Err(error) = done.await {
        rx.note(BootstrapNote::RoundFailed(error));
    }
}

/// One turn of `NonSlidingUntil`.
async fn reconcile(rx: Rx, me: Bootstrap) -> Outcome {
    let every = Every::period(RECONCILE_INTERVAL);
    // In a box: it is large, and the turn is moved.
    let update = Box::pin(update_kubernetes_service(rx, &me));
    match every.non_sliding(rx, &STOP, update).await {
        Turn::Over => Outcome::Done,
        Turn::Again => Outcome::Become(Task::new(RECONCILE, ())),
    }
}

/// The goroutine that `Stop` starts.
async fn remove(rx: Rx, me: Bootstrap) -> Outcome {
    reconcilers::stop_reconciling(rx, &me).await;
    rx.note(BootstrapNote::RemovalStarted {
        address: me.server.address.clone(),
    });
    let outcome = match reconcilers::remove_endpoints(rx, &me).await {
        Ok(seen) => RemovalOutcome::Removed(seen),
        Err(error) if error.is_unavailable() => RemovalOutcome::Unavailable(error),
        Err(error) => RemovalOutcome::Failed(error),
    };
    if me.server.release.has(gates::LEASE_STORAGE_IS_CLOSED) {
        // The lock is free again, and this goroutine may be held up before it closes the storage.
        rx.sleep(Duration::ZERO).await;
    }
    reconcilers::destroy(rx, &me);
    rx.note(BootstrapNote::RemovalFinished {
        address: me.server.address.clone(),
        outcome,
        late: rx.read(&GAVE_UP),
    });
    rx.raise(REMOVED);
    Outcome::Done
}
