//! The lease reconciler, `reconcilers/lease.go`, in the forms of v1.16, v1.20 and v1.36.

use std::sync::Arc;

use serde_json::json;
use wavetank_api::json;
use wavetank_api::views::{self, Subset};
use wavetank_api::{Object, Reason, Stored, kinds};
use wavetank_apiserver::options::{ListOptions, Preconditions};
use wavetank_apiserver::{StoreError, Updated};
use wavetank_engine::{Cell, Cx, Either, Name, Rx, Signal, Timer, mutant};
use wavetank_etcd::{Key, Purpose, Revision};
use wavetank_version::{Defect, Gate, Listed};

use super::endpoints::{self, Current, repack_subsets};
use super::{
    MASTER_LEASE_TTL, MASTER_LEASES, RECONCILING_LOCK, ReconcileError, STOP_RECONCILING_CALLED,
    master_lease_key,
};
use crate::kube_apiserver::bootstrap::{Bootstrap, BootstrapNote};
use crate::kube_apiserver::defects::BootstrapDefect;
use crate::kube_apiserver::gates;

/// The storage of the leases has a client of etcd (`NewLeases`).
const LEASES: Purpose = Purpose::new("masterleases");
/// `Destroy` has closed the lease storage: nothing begins on it any more, and what is under way is
/// cancelled.
static LEASES_CLOSED: Cell<bool> = Cell::new("lease-storage-closed");
/// Did another server renew the own lease, not longer ago than it lasts? Then it has the same address.
static SHARED: Cell<bool> = Cell::new("shares-its-address");
/// Has this life renewed it?
static RENEWED: Cell<bool> = Cell::new("renewed-its-lease");
const NOT_SHARED: Timer = Timer::new(Name::new("shares-its-address"), 0);
const CLOSED: Signal = Signal::new("lease-storage-closed");

/// A timer of the process; false if it is none of its own.
pub fn timer(cx: &mut Cx<'_>, timer: Timer) -> bool {
    if timer == NOT_SHARED {
        *cx.cell(&SHARED) = false;
    }
    timer == NOT_SHARED
}

pub(crate) const FIX_STOP_UNDER_LOCK: Defect = Defect::fix(
    "fix-stop-under-lock",
    "FINDINGS.md, 3",
    "a round that had to wait for the lock looks at the stop flag once more",
)
.fits_only(gates::STOP_FLAG_IS_ATOMIC)
.needs("endpoint-reconciler-type", &["lease"]);

/// `ReconcileEndpoints`
pub async fn reconcile_endpoints(rx: Rx, me: &Bootstrap) -> Result<(), ReconcileError> {
    let _guard = match me.server.release.has(gates::STOP_FLAG_IS_ATOMIC) {
        false => {
            let guard = rx.lock(RECONCILING_LOCK).await;
            if rx.read(&STOP_RECONCILING_CALLED) {
                return Ok(());
            }
            guard
        }
        true => {
            if rx.read(&STOP_RECONCILING_CALLED) {
                return Ok(());
            }
            let guard = rx.lock(RECONCILING_LOCK).await;
            // Finding 3: upstream does not read it again under the lock.
            let stopped = rx.read(&STOP_RECONCILING_CALLED);
            if stopped && me.has(BootstrapDefect::FixStopUnderLock) {
                return Ok(());
            }
            guard
        }
    };
    if !mutant!(
        "lease-is-not-renewed",
        "a round does not renew the server's own lease"
    ) {
        update_lease(rx, me).await?;
    }
    do_reconcile(rx, me, false).await?;
    Ok(())
}

/// `StopReconciling`: up to v1.20 it waits for a round in progress.
pub async fn stop_reconciling(rx: Rx, me: &Bootstrap) {
    let _guard = match me.server.release.has(gates::STOP_FLAG_IS_ATOMIC) {
        true => None,
        false => Some(rx.lock(RECONCILING_LOCK).await),
    };
    let goes_on = mutant!(
        "reconciling-goes-on",
        "a server that stops goes on to reconcile"
    );
    rx.update(&STOP_RECONCILING_CALLED, |called| *called = !goes_on);
}

pub(crate) const FIX_RETRY_REMOVE_ENDPOINTS: Defect = Defect::fix(
    "fix-retry-remove-endpoints",
    "FINDINGS.md, 1",
    "RemoveEndpoints reconciles again after a conflict, up to its bound",
)
.needs("endpoint-reconciler-type", &["lease"]);

pub(crate) const FIX_REMOVE_ABSENT_LEASE: Defect = Defect::fix(
    "fix-remove-absent-lease",
    "FINDINGS.md, 2",
    "a master lease that has expired counts as removed, and RemoveEndpoints goes on",
)
.needs("endpoint-reconciler-type", &["lease"]);

/// `RemoveEndpoints`
pub async fn remove_endpoints(rx: Rx, me: &Bootstrap) -> Result<Revision, ReconcileError> {
    let _guard = match me.server.release.has(gates::STOP_FLAG_IS_ATOMIC) {
        true => Some(rx.lock(RECONCILING_LOCK).await),
        false => None,
    };
    match remove_lease(rx, me).await {
        Ok(()) => {}
        // Finding 15: upstream does not look whose the lease is.
        Err(ReconcileError::Shared) => return Ok(0),
        // Finding 2: upstream returns here too, and leaves the address listed.
        Err(ReconcileError::LeaseNotFound)
            if rx.read(&STOP_RECONCILING_CALLED)
                && me.has(BootstrapDefect::FixRemoveAbsentLease) => {}
        Err(error) => return Err(error),
    }
    loop {
        match do_reconcile(rx, me, true).await {
            // Finding 1: upstream returns the conflict, which is only logged.
            Err(ReconcileError::Conflict) => {
                rx.note(BootstrapNote::RemovalConflicted);
                if !me.has(BootstrapDefect::FixRetryRemoveEndpoints) {
                    return Err(ReconcileError::Conflict);
                }
            }
            result => return result,
        }
    }
}

/// `Destroy` (v1.36): closes the lease storage.
pub fn destroy(rx: Rx, me: &Bootstrap) {
    if me.server.release.has(gates::LEASE_STORAGE_IS_CLOSED) {
        rx.update(&LEASES_CLOSED, |closed| *closed = true);
        rx.raise(CLOSED);
    }
}

/// Work on the lease storage, for as long as it is open.
async fn while_open<T>(
    rx: Rx,
    me: &Bootstrap,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, ReconcileError> {
    if !me.server.release.has(gates::LEASE_STORAGE_IS_CLOSED) {
        return Ok(work.await?);
    }
    if rx.read(&LEASES_CLOSED) {
        return Err(ReconcileError::Closed);
    }
    match rx.select(rx.wait(CLOSED), work).await {
        Either::Left(()) => Err(ReconcileError::Closed),
        Either::Right(done) => Ok(done?),
    }
}

pub(crate) const MASTER_LEASE_TOO_LONG: Defect = Defect::known(
    "master-lease-too-long",
    "k/k#53803 (1.9 development)",
    "master leases are granted with the TTL in the wrong unit: minutes for seconds",
)
.ships(Gate::NEVER)
.needs("endpoint-reconciler-type", &["lease"]);

pub(crate) const FIX_LEAVE_SHARED_LEASE: Defect = Defect::fix(
    "fix-leave-shared-lease",
    "FINDINGS.md, 15",
    "a stopping apiserver leaves the master lease of an address that another one advertises, too",
)
.needs("endpoint-reconciler-type", &["lease"]);

/// `UpdateLease`: generation counts the renewals, so that every one is a write.
async fn update_lease(rx: Rx, me: &Bootstrap) -> Result<(), ReconcileError> {
    let address = me.server.address.clone();
    let mut ttl = MASTER_LEASE_TTL.as_secs();
    if me.has(BootstrapDefect::MasterLeaseTooLong) {
        ttl *= 60;
    }
    let key = master_lease_key(&address);
    // What it does when the lease is shared is the place of the fix.
    let is_ours = me
        .defects
        .bootstrap
        .contains(BootstrapDefect::FixLeaveSharedLease);
    let change = |current: Option<&Stored>| {
        let count =
            |stored: &Stored| json::number(stored.object.json(), &["metadata", "generation"]);
        let mut object = json!({
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {
                "generation": current.and_then(count).unwrap_or(0) + 1,
            },
            "subsets": [{"addresses": [{"ip": *address}]}],
        });
        if is_ours {
            let first = !rx.update(&RENEWED, |renewed| std::mem::replace(renewed, true));
            let inherits = |stored: &Stored| first && is_marked(stored);
            if current.is_some_and(|stored| is_of_another(me, stored) || inherits(stored)) {
                BootstrapDefect::FixLeaveSharedLease.passed(is_ours);
                rx.update(&SHARED, |shared| *shared = true);
                rx.arm(NOT_SHARED, MASTER_LEASE_TTL);
            }
            json::set(&mut object, &HOLDER, &*holder(me));
            if rx.read(&SHARED) {
                json::set(&mut object, &MARK, "true");
            }
        }
        Ok(Updated {
            object: Object::new(object),
            ttl: Some(ttl),
        })
    };
    let storage = me.server.storage_for(LEASES);
    let always = Preconditions::default();
    let update = storage.guaranteed_update(rx, key, true, &always, change);
    while_open(rx, me, update).await?;
    Ok(())
}

pub(crate) const MASTER_LEASE_DOUBLE_SLASH: Defect = Defect::known(
    "master-lease-double-slash",
    "k/k#114049, PR #114122 (1.26 pre-releases)",
    "RemoveLease looks under `/masterleases//IP`, finds nothing and returns early",
)
.ships(Gate::NEVER)
.needs("endpoint-reconciler-type", &["lease"]);

/// `RemoveLease`. The etcd lease itself is not revoked.
async fn remove_lease(rx: Rx, me: &Bootstrap) -> Result<(), ReconcileError> {
    let key: Key = match me.has(BootstrapDefect::MasterLeaseDoubleSlash) {
        true => format!("{MASTER_LEASES}/{}", me.server.address).into(),
        false => master_lease_key(&me.server.address),
    };
    if rx.read(&SHARED) {
        return Err(ReconcileError::Shared);
    }
    let storage = me.server.storage_for(LEASES);
    let always = Preconditions::default();
    // An earlier life has left it as it is.
    let of_others = |stored: &Stored| is_of_another(me, stored) || is_marked(stored);
    let looks = || me.has(BootstrapDefect::FixLeaveSharedLease);
    let own = |stored: &Stored| match of_others(stored) && looks() {
        true => Err(StoreError::Precondition(SHARED_LEASE.to_owned())),
        false => Ok(()),
    };
    if mutant!(
        "lease-is-not-removed",
        "a server that stops leaves its lease"
    ) {
        return Ok(());
    }
    let delete = storage.delete(rx, key, &always, own, None);
    while_open(rx, me, delete).await?;
    Ok(())
}

/// Where our proposal keeps who renewed a lease last.
const HOLDER: [&str; 3] = [
    "metadata",
    "annotations",
    "apiserver.kubernetes.io/identity",
];
/// Where it says that it knows of others who do.
const MARK: [&str; 3] = ["metadata", "annotations", "apiserver.kubernetes.io/shared"];
const SHARED_LEASE: &str = "another server has renewed the lease";

fn holder(me: &Bootstrap) -> String {
    format!("apiserver-{}", me.server.number)
}

/// Did who renewed it last know of others?
fn is_marked(lease: &Stored) -> bool {
    !json::text(lease.object.json(), &MARK).is_empty()
}

/// Was a lease last renewed by another server?
fn is_of_another(me: &Bootstrap, lease: &Stored) -> bool {
    let last = json::text(lease.object.json(), &HOLDER);
    !last.is_empty() && last != holder(me)
}

/// `ListLeases`: straight from etcd, so linearizable.
async fn list_leases(rx: Rx, me: &Bootstrap) -> Result<Vec<Arc<str>>, ReconcileError> {
    let storage = me.server.storage_for(LEASES);
    let all = ListOptions::default();
    let list = storage.get_list(rx, MASTER_LEASES.into(), &all, &kinds::ENDPOINTS);
    let leases = while_open(rx, me, list).await?.items;
    let first = |lease: &Stored| views::addresses(lease.object.json()).into_iter().next();
    Ok(leases.iter().filter_map(first).collect())
}

pub(crate) const LAST_APISERVER_KEEPS_ADDRESS: Defect = Defect::known(
    "last-apiserver-keeps-address",
    "k/k#115804, PR #116685 (1.27)",
    "a stopping apiserver that finds no other lease refuses to empty the Endpoints",
)
.until(gates::STOP_FLAG_IS_ATOMIC)
.needs("endpoint-reconciler-type", &["lease"]);

/// `doReconcile`
///
/// Returns the revision of the Endpoints that it last saw or wrote, 0 if it is not known.
async fn do_reconcile(
    rx: Rx,
    me: &Bootstrap,
    reconcile_ports: bool,
) -> Result<Revision, ReconcileError> {
    let config = &me.server;
    // k/k#115804: the last one to stop finds no lease, its own being gone already. PR #116685 lets
    // it go on.
    let may_empty =
        || rx.read(&STOP_RECONCILING_CALLED) && !me.has(BootstrapDefect::LastApiserverKeepsAddress);
    let (mut current, absent) = match endpoints::get(rx, me).await {
        Ok(current) => (current, false),
        Err(error) if error.is(Reason::NotFound) => {
            if may_empty() {
                return Ok(0);
            }
            (Current::absent(), true)
        }
        Err(error) => return Err(error.into()),
    };
    let leases = list_leases(rx, me).await?;
    if leases.is_empty()
        && !may_empty()
        && !mutant!(
            "no-lease-empties",
            "a server that finds no lease empties the Endpoints"
        )
    {
        return Err(ReconcileError::NoLeases);
    }
    let labelled = config.release.has(gates::ENDPOINT_SLICES) && current.set_skip_mirror_true();
    let format_right = current.subsets.len() == 1;
    let addresses_right = format_right
        && check_endpoint_subset_format_with_lease(&current.subsets[0].addresses, &leases);
    let ports = endpoints::ports(me);
    let ports_right = format_right && (!reconcile_ports || current.subsets[0].ports == ports);
    if format_right && addresses_right && ports_right && !labelled {
        if !mutant!(
            "slice-is-left-alone",
            "a round that changes no Endpoints does not put the slice right"
        ) {
            endpoints::ensure_endpoint_slice_from_endpoints(rx, me, &current.subsets).await?;
        }
        return Ok(current.resource_version);
    }
    if !format_right {
        current.subsets = vec![Subset {
            addresses: Vec::new(),
            ports: ports.clone(),
        }];
    }
    if !format_right || !addresses_right {
        current.subsets[0].addresses = leases;
        current.subsets = repack_subsets(current.subsets);
    }
    if !ports_right && let Some(subset) = current.subsets.first_mut() {
        subset.ports = ports;
    }
    match absent {
        true => endpoints::create(rx, me, &current).await,
        false => endpoints::update(rx, me, &current).await,
    }
}

/// `checkEndpointSubsetFormatWithLease`: as many, each expected, none twice.
fn check_endpoint_subset_format_with_lease(addresses: &[Arc<str>], expected: &[Arc<str>]) -> bool {
    let mut seen: Vec<&Arc<str>> = addresses.iter().filter(|a| expected.contains(a)).collect();
    seen.sort();
    seen.dedup();
    let as_many = addresses.len() == expected.len()
        || mutant!(
            "surplus-addresses-stay",
            "addresses without a lease stay in the Endpoints"
        );
    as_many && seen.len() == expected.len()
}
