//! Two electors, each as its documentation runs it: `kube-leader-election` 0.44.0 (kube 4.0), and the one of `kubert`
//! 0.25.0 (kube 1.1), with which Linkerd's controllers elect.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi_25::api::coordination::v1::Lease as KubertLease;
use kube::ResourceExt;
use kube_leader_election::{LeaseLock, LeaseLockParams};
use kubert::lease::{ClaimParams, LeaseManager};
use wavetank_host::properties::{Breach, on_change};
use wavetank_host::wavetank::prelude::{Json, PropertyInfo, json};
use wavetank_host::{Operator, Wire};

const LEASE: &str = "leader";
/// As in the examples of `kube-leader-election`: a lease of 15 s, that is asked for every 5 s.
const TTL: Duration = Duration::from_secs(15);
const AGAIN: Duration = Duration::from_secs(5);
/// Before a program that could not begin tries again.
const SOON: Duration = Duration::from_secs(1);

fn holder(spec: &LeaseSpec) -> Option<&str> {
    let holder = spec.holder_identity.as_deref()?;
    (!holder.is_empty()).then_some(holder)
}

/// A lease that its holder has renewed is nobody else's until it expires. Clocks agree in these scenarios.
fn held_leases_are_not_taken() -> PropertyInfo {
    let about = "who takes a lease of another does so once it has expired";
    on_change::<Lease>("held-leases-are-not-taken", about, |change, _| {
        let (Some(before), Some(now)) = (&change.before, &change.now) else {
            return Ok(());
        };
        let (Some(was), Some(is)) = (&before.spec, &now.spec) else {
            return Ok(());
        };
        let (Some(old), Some(new)) = (holder(was), holder(is)) else {
            return Ok(());
        };
        let (Some(renewed), Some(taken)) = (&was.renew_time, &is.renew_time) else {
            return Ok(());
        };
        let lasts = i64::from(was.lease_duration_seconds.unwrap_or(0));
        let held = taken.0.duration_since(renewed.0).as_secs() < lasts;
        match old != new && held {
            false => Ok(()),
            true => {
                let message = format!(
                    "{old} has held the lease since {} for {lasts} s, and {new} takes it at {}",
                    renewed.0, taken.0
                );
                Err(Breach::of(format!("default/{}", now.name_any()), message))
            }
        }
    })
}

/// Who wrote the time of a lease last, as the server remembers it.
fn renewed_by(lease: &Lease) -> Option<&str> {
    let mut all = lease.metadata.managed_fields.iter().flatten();
    let owns = |fields: &Json| fields["f:spec"].get("f:renewTime").is_some();
    let own = all.find(|entry| {
        entry
            .fields_v1
            .as_ref()
            .is_some_and(|fields| owns(&fields.0))
    })?;
    own.manager.as_deref()
}

/// `kube-leader-election` writes as its holder. Who believes to have renewed a lease believes to lead.
fn leases_are_renewed_by_their_holders() -> PropertyInfo {
    let about = "nobody renews the lease of another and believes to lead";
    on_change::<Lease>("holders-renew-their-leases", about, |change, _| {
        let (Some(before), Some(now)) = (&change.before, &change.now) else {
            return Ok(());
        };
        let time = |lease: &Lease| Some(lease.spec.as_ref()?.renew_time.clone()?.0);
        if time(before) == time(now) {
            return Ok(());
        }
        let holder = now.spec.as_ref().and_then(holder);
        match (holder, renewed_by(now)) {
            (Some(holder), Some(other)) if holder != other => Err(Breach::of(
                format!("default/{}", now.name_any()),
                format!("{other} renews the lease that {holder} holds"),
            )),
            _ => Ok(()),
        }
    })
}

pub fn of_kube_leader_election() -> Operator {
    let about = "programs that elect with kube-leader-election 0.44.0";
    let run = |wire: Wire, namespace: &'static str, pod: String| async move {
        let client = kube_4::Client::new(wire, namespace);
        let params = LeaseLockParams {
            holder_id: pod,
            lease_name: LEASE.to_owned(),
            lease_ttl: TTL,
        };
        let lock = LeaseLock::new(client, namespace, params);
        loop {
            // Leads until the next time if it is `Acquired`.
            let _ = lock.try_acquire_or_renew().await;
            tokio::time::sleep(AGAIN).await;
        }
    };
    Operator::with_wire::<_, ()>("kube-leader-electors", "el", about, run)
        .uses::<Lease>()
        .settles_within(Duration::from_secs(330))
        .promises(held_leases_are_not_taken())
        .promises(leases_are_renewed_by_their_holders())
}

/// As `LeaseManager` wants it: the lease is there, and nobody has it.
fn unclaimed() -> KubertLease {
    let lease = json!({"metadata": {"name": LEASE}, "spec": {}});
    serde_json::from_value(lease).expect("a lease")
}

pub fn of_kubert() -> Operator {
    let about = "programs that elect with kubert 0.25.0";
    let run = |wire: Wire, namespace: &'static str, pod: String| async move {
        let client = kube_1::Client::new(wire, namespace);
        let leases = kube_1::Api::<KubertLease>::default_namespaced(client);
        loop {
            // Refused if it is there.
            let _ = leases.create(&Default::default(), &unclaimed()).await;
            let Ok(manager) = LeaseManager::init(leases.clone(), LEASE).await else {
                tokio::time::sleep(SOON).await;
                continue;
            };
            let params = ClaimParams {
                lease_duration: TTL,
                renew_grace_period: AGAIN,
            };
            let Ok((claims, task)) = manager.spawn(&pod, params).await else {
                tokio::time::sleep(SOON).await;
                continue;
            };
            // Leads while the claim that it sees is its own and current.
            let _ = task.await;
            drop(claims);
        }
    };
    Operator::with_wire::<_, ()>("kubert-electors", "ku", about, run)
        .uses::<Lease>()
        .settles_within(Duration::from_secs(330))
}
