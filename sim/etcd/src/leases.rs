//! The leases that all members agree on: their TTLs, what a checkpoint said is left of them, their
//! keys (`server/lease/lessor.go`, without its clock). Persistent, so that a copied world shares
//! them. When a lease is over, only the leader knows: `server/lessor.rs`.

use imbl::OrdMap;
use wavetank_engine::{Digest, digest, mutant};

use crate::api::{Change, EtcdError, Key, LeaseId, Value};
use crate::summed::Summed;

/// The smallest TTL in seconds: ceil(3 × election ticks / 2 × heartbeat), `server.go` `minTTL`.
pub const MIN_TTL: u64 = 2;
/// The largest TTL in seconds (`lessor.go` `MaxLeaseTTL`).
pub const MAX_TTL: u64 = 9_000_000_000;

/// A lease.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lease {
    /// What it was granted, in seconds.
    pub ttl: u64,
    /// What was left at the last checkpoint, in seconds; `None` is all of it.
    pub remaining: Option<u64>,
    /// Its keys, in the order in which a revocation deletes them.
    pub keys: Vec<Key>,
}

/// All leases.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Leases {
    leases: Summed<OrdMap<LeaseId, Lease>>,
    /// The sum of the leases' digests: what is hashed.
    digest: Digest,
}

impl Leases {
    /// Does it exist?
    pub fn exists(&self, id: LeaseId) -> bool {
        self.leases.contains_key(&id)
    }

    /// A lease.
    pub fn get(&self, id: LeaseId) -> Option<&Lease> {
        self.leases.get(&id)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (LeaseId, &Lease)> {
        self.leases.iter().map(|(id, lease)| (*id, lease))
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.leases.is_empty()
    }

    fn change<R>(&mut self, id: LeaseId, change: impl FnOnce(&mut Lease) -> R) -> Option<R> {
        let lease = self.leases.get_mut(&id)?;
        self.digest = self.digest.wrapping_sub(digest(&(id, &*lease)));
        let result = change(lease);
        self.digest = self.digest.wrapping_add(digest(&(id, &*lease)));
        Some(result)
    }

    /// A new lease, of at least [`MIN_TTL`] seconds; returns its TTL.
    ///
    /// # Errors
    /// `LeaseTtlTooLarge` or `LeaseExists`.
    pub fn grant(&mut self, id: LeaseId, ttl: u64) -> Result<u64, EtcdError> {
        if ttl > MAX_TTL {
            return Err(EtcdError::LeaseTtlTooLarge);
        }
        if self.exists(id) {
            return Err(EtcdError::LeaseExists);
        }
        let ttl = ttl.max(MIN_TTL);
        let lease = Lease {
            ttl,
            remaining: None,
            keys: Vec::new(),
        };
        self.digest = self.digest.wrapping_add(digest(&(id, &lease)));
        self.leases.insert(id, lease);
        Ok(ttl)
    }

    /// Ends a lease; its keys, in order, are to be deleted.
    ///
    /// # Errors
    /// `LeaseNotFound`.
    pub fn revoke(&mut self, id: LeaseId) -> Result<Vec<Key>, EtcdError> {
        let gone = self.leases.remove(&id).ok_or(EtcdError::LeaseNotFound)?;
        self.digest = self.digest.wrapping_sub(digest(&(id, &gone)));
        let mut keys = gone.keys;
        if !keys.is_empty()
            && mutant!(
                "revoke-leaves-a-key",
                "a revoke leaves one of the lease's keys"
            )
        {
            keys.pop();
        }
        Ok(keys)
    }

    /// So much is left of a lease, should another member become leader.
    pub fn checkpoint(&mut self, id: LeaseId, remaining: Option<u64>) {
        if !mutant!(
            "checkpoint-is-ignored",
            "a checkpoint of a lease is not kept"
        ) {
            self.change(id, |lease| lease.remaining = remaining);
        }
    }

    /// Keeps the book in step with what was written: a key belongs to the lease of its last put.
    pub fn follow<V: Value>(&mut self, changes: &[Change<V>]) {
        for change in changes {
            let before = change.before.as_ref().and_then(|kv| kv.lease);
            let now = change.now.as_ref().and_then(|kv| kv.lease);
            if before == now {
                continue;
            }
            if let Some(id) = before
                && !mutant!(
                    "lease-keeps-moved-key",
                    "a key that is written without its lease stays attached to it"
                )
            {
                self.change(id, |lease| lease.keys.retain(|key| *key != change.key));
            }
            if let Some(id) = now
                && !mutant!("lease-forgets-key", "a key is not attached to its lease")
            {
                self.change(id, |lease| {
                    let at = lease.keys.partition_point(|key| *key < change.key);
                    lease.keys.insert(at, change.key.clone());
                });
            }
        }
    }
}
