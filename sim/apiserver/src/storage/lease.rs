//! Leases for keys with a TTL (`apiserver/pkg/storage/etcd3/lease_manager.go`): those that are written
//! within a minute of each other share one.

use std::time::Duration;

use wavetank_engine::{Cell, Instant, Lock, Rx, Time, mutant};
use wavetank_etcd::{EtcdError, LeaseId};

use super::Storage;
use wavetank_api::Object;

/// `defaultLeaseReuseDurationSeconds`: a lease lives so much longer than its keys are to live, but no
/// more than a twentieth of that.
const REUSE_SECONDS: u64 = 60;
/// `defaultLeaseMaxObjectCount`, which v1.16 did not have.
const MOST_OBJECTS: u32 = 1000;

/// The lease that was granted last. Upstream has one a kind; kinds are told apart by their TTL here.
const fn previous(ttl: u64) -> Cell<Option<Previous>> {
    Cell::numbered("lease-manager", ttl as u32)
}
const MANAGER: Lock = Lock::new("lease-manager");

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Previous {
    lease: LeaseId,
    ends: Instant,
    objects: u32,
}

impl Previous {
    /// Is it still long enough for a key that is to live so long, and not longer than a new one?
    fn is_good(&self, now: Time, ttl: u64, extra: u64) -> bool {
        let after = |seconds| now + Duration::from_secs(seconds);
        let Instant(ends) = self.ends;
        let lasts = after(ttl) < ends
            || now < ends
                && mutant!(
                    "lease-reused-too-late",
                    "a lease that ends before the object should is given to it"
                );
        lasts && after(ttl + extra) > ends && self.objects <= MOST_OBJECTS
    }
}

impl Storage {
    /// `GetLease`. A TTL below 20 s leaves nothing to share: every call grants.
    pub(super) async fn get_lease(
        self,
        rx: Rx,
        ttl: Option<u64>,
    ) -> Result<Option<LeaseId>, EtcdError> {
        let Some(ttl) = ttl else { return Ok(None) };
        let extra = (ttl / 20).min(REUSE_SECONDS);
        if extra == 0 {
            return Ok(Some(self.etcd.lease_grant::<Object>(rx, ttl).await?));
        }
        let _lock = rx.lock(MANAGER).await;
        let now = rx.clock();
        let reused = rx.update(&previous(ttl), |last| {
            let last = last.as_mut()?;
            last.objects += 1;
            last.is_good(now, ttl, extra).then_some(last.lease)
        });
        if reused.is_some() {
            return Ok(reused);
        }
        let lease = self.etcd.lease_grant::<Object>(rx, ttl + extra).await?;
        let granted = Previous {
            lease,
            ends: Instant(now + Duration::from_secs(ttl + extra)),
            objects: 1,
        };
        rx.update(&previous(ttl), |last| *last = Some(granted));
        Ok(Some(lease))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_shared_for_a_minute_and_a_thousand_keys() {
        let of = |objects| Previous {
            lease: LeaseId(7),
            ends: Instant(Time::from_secs(3660)),
            objects,
        };
        let at = |seconds, objects| of(objects).is_good(Time::from_secs(seconds), 3600, 60);
        assert!(at(1, 2) && at(59, 1000));
        assert!(!at(60, 2), "the key would outlive it");
        assert!(!at(1, 1001));
    }
}
