//! The master-count reconciler, `reconcilers/mastercount.go` (later `instancecount.go`): every
//! server sees to its own address and believes in a number of servers.

use std::time::Duration;

use wavetank_api::Reason;
use wavetank_api::views::Subset;
use wavetank_engine::{Rx, mutant};
use wavetank_etcd::Revision;

use super::endpoints::{self, Current, ports, repack_subsets};
use super::{RECONCILING_LOCK, ReconcileError, STOP_RECONCILING_CALLED};
use crate::kube_apiserver::bootstrap::Bootstrap;
use crate::kube_apiserver::gates;

/// `retry.DefaultBackoff`: 4 attempts, 10 ms × 5 (jitter left out).
const ATTEMPTS: u32 = 4;
const BACKOFF: Duration = Duration::from_millis(10);

/// `ReconcileEndpoints`
pub async fn reconcile_endpoints(rx: Rx, me: &Bootstrap) -> Result<(), ReconcileError> {
    let _guard = rx.lock(RECONCILING_LOCK).await;
    if rx.read(&STOP_RECONCILING_CALLED) {
        return Ok(());
    }
    let own = me.server.address.clone();
    let got = endpoints::get(rx, me).await;
    let absent = matches!(&got, Err(error) if error.is(Reason::NotFound));
    let failed = got.is_err() && !absent;
    let mut current = got.unwrap_or_else(|_| Current::absent());
    let labelled = me.server.release.has(gates::ENDPOINT_SLICES) && current.set_skip_mirror_true();
    let alone = || {
        vec![Subset {
            addresses: vec![own.clone()],
            ports: ports(me),
        }]
    };
    if absent {
        current.subsets = alone();
        endpoints::create(rx, me, &current).await?;
        return Ok(());
    }
    if current.subsets.len() != 1 {
        current.subsets = alone();
        // After a failed GET there is no resourceVersion: the PUT is unconditional.
        match failed {
            true => endpoints::overwrite(rx, me, &current).await?,
            false => endpoints::update(rx, me, &current).await?,
        };
        return Ok(());
    }
    let count = me.apiserver_count as usize;
    let subset = &current.subsets[0];
    if subset.addresses.contains(&own) && subset.addresses.len() <= count && !labelled {
        return endpoints::ensure_endpoint_slice_from_endpoints(rx, me, &current.subsets).await;
    }
    current.subsets[0].addresses.push(own.clone());
    current.subsets = repack_subsets(current.subsets);
    let addresses = &mut current.subsets[0].addresses;
    // Too many: away with the one that follows the own one.
    while addresses.len() > count
        && !mutant!(
            "too-many-masters",
            "more addresses than there are apiservers stay"
        )
    {
        let mine = addresses.iter().position(|a| *a == own).unwrap_or(0);
        addresses.remove((mine + 1) % addresses.len());
    }
    endpoints::update(rx, me, &current).await?;
    Ok(())
}

/// `RemoveEndpoints`: a conflict is tried again with the same object, which conflicts again.
pub async fn remove_endpoints(rx: Rx, me: &Bootstrap) -> Result<Revision, ReconcileError> {
    let _guard = rx.lock(RECONCILING_LOCK).await;
    let mut current = match endpoints::get(rx, me).await {
        Ok(current) => current,
        Err(error) if error.is(Reason::NotFound) => return Ok(0),
        Err(error) => return Err(error.into()),
    };
    let Some(subset) = current.subsets.first_mut() else {
        return Ok(current.resource_version);
    };
    subset.addresses.retain(|a| *a != me.server.address);
    current.subsets = repack_subsets(current.subsets);
    let mut pause = BACKOFF;
    for _ in 1..ATTEMPTS {
        match endpoints::update(rx, me, &current).await {
            Err(ReconcileError::Conflict) => rx.sleep(pause).await,
            result => return result,
        }
        pause *= 5;
    }
    endpoints::update(rx, me, &current).await
}

/// `StopReconciling`: waits for a round in progress in all releases.
pub async fn stop_reconciling(rx: Rx) {
    let _guard = rx.lock(RECONCILING_LOCK).await;
    rx.update(&STOP_RECONCILING_CALLED, |called| *called = true);
}
