//! Which replica leads: whoever has written its name into the lease, for as long as it renews it.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client, Error};
use tokio::time::{Instant, sleep, timeout_at};

const NAME: &str = "shop-operator";
/// A leader that has not renewed for so long is none.
const LASTS: Duration = Duration::from_secs(15);
/// It gives up before anybody may take over.
const RENEWED_WITHIN: Duration = Duration::from_secs(10);
const EVERY: Duration = Duration::from_secs(4);

/// Waits until this replica leads.
pub async fn acquire(client: &Client, me: &str) {
    let leases = Api::<Lease>::default_namespaced(client.clone());
    // What was seen last, and when: another's clock is not trusted.
    let mut seen: Option<(LeaseSpec, Instant)> = None;
    loop {
        if let Ok(true) = try_acquire(&leases, me, &mut seen).await {
            return;
        }
        sleep(EVERY).await;
    }
}

/// Returns when it no longer leads.
pub async fn hold(client: &Client, me: &str) {
    let leases = Api::<Lease>::default_namespaced(client.clone());
    let mut seen = None;
    let mut until = Instant::now() + RENEWED_WITHIN;
    loop {
        sleep(EVERY).await;
        let begun = Instant::now();
        match timeout_at(until, try_acquire(&leases, me, &mut seen)).await {
            Ok(Ok(true)) => until = begun + RENEWED_WITHIN,
            Ok(Ok(false)) => return,
            Ok(Err(_)) if Instant::now() < until => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}

async fn try_acquire(
    leases: &Api<Lease>,
    me: &str,
    seen: &mut Option<(LeaseSpec, Instant)>,
) -> Result<bool, Error> {
    let now = Some(MicroTime(Timestamp::now()));
    let mine = LeaseSpec {
        holder_identity: Some(me.to_owned()),
        lease_duration_seconds: Some(LASTS.as_secs() as i32),
        acquire_time: now.clone(),
        renew_time: now,
        ..LeaseSpec::default()
    };
    let Some(mut lease) = leases.get_opt(NAME).await? else {
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some(NAME.to_owned()),
                ..ObjectMeta::default()
            },
            spec: Some(mine),
        };
        leases.create(&PostParams::default(), &lease).await?;
        return Ok(true);
    };
    let spec = lease.spec.clone().unwrap_or_default();
    if spec.holder_identity.as_deref() != Some(me) {
        match seen {
            Some((last, since)) if *last == spec => {
                if since.elapsed() < LASTS {
                    return Ok(false);
                }
            }
            _ => {
                *seen = Some((spec, Instant::now()));
                return Ok(false);
            }
        }
    }
    lease.spec = Some(mine);
    leases.replace(NAME, &PostParams::default(), &lease).await?;
    Ok(true)
}
