//! `kube-leader-election`, used as its README says: every five seconds, with a lease of fifteen.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube_leader_election::{LeaseLock, LeaseLockParams};
use kube_of_election::Client;
use wavetank_host::properties::{Breach, on_change};
use wavetank_host::wavetank::component::PropertyInfo;
use wavetank_host::wavetank::{self, Command};
use wavetank_host::{Operator, Wire};

const LASTS: Duration = Duration::from_secs(15);
const EVERY: Duration = Duration::from_secs(5);

async fn run(wire: Wire, namespace: &'static str, pod: String) {
    let params = LeaseLockParams {
        lease_name: "some-operator-lock".to_owned(),
        holder_id: pod,
        lease_ttl: LASTS,
    };
    let lock = LeaseLock::new(Client::new(wire, namespace), namespace, params);
    loop {
        // What came of it is in the log of requests.
        let _ = lock.try_acquire_or_renew().await;
        tokio::time::sleep(EVERY).await;
    }
}

/// Nobody takes a lease that another has taken or renewed within its time.
fn leases_are_not_stolen() -> PropertyInfo {
    let about = "nobody takes a lease that another has renewed within its time";
    on_change::<Lease>("leases-are-not-stolen", about, |change, _| {
        let spec = |lease: &Option<Lease>| lease.as_ref().and_then(|lease| lease.spec.clone());
        let (Some(before), Some(now)) = (spec(&change.before), spec(&change.now)) else {
            return Ok(());
        };
        if before.holder_identity == now.holder_identity {
            return Ok(());
        }
        let (Some(renewed), Some(taken)) = (&before.renew_time, &now.acquire_time) else {
            return Ok(());
        };
        let passed = taken.0.duration_since(renewed.0).as_secs_f64();
        if passed >= LASTS.as_secs_f64() {
            return Ok(());
        }
        let holder = |spec: &LeaseSpec| spec.holder_identity.clone().unwrap_or_default();
        let (loser, winner) = (holder(&before), holder(&now));
        Err(Breach::of(
            "default/some-operator-lock",
            format!(
                "{winner} takes the lease {passed:.3} s after {loser} has: both were told that they lead"
            ),
        ))
    })
}

pub fn command() -> Command {
    let about = "programs that elect with kube-leader-election";
    let operator = Operator::with_wire("electors", "el", about, run)
        .uses::<Lease>()
        .settles_within(Duration::from_secs(330))
        .promises(leases_are_not_stolen());
    wavetank::command().with(operator)
}
