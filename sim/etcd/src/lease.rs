//! The lessor's book: leases, their keys, and which are due (`server/lease/lessor.go`). Time is
//! the engine's: a timer a lease says when it is due.

use std::collections::BTreeMap;

use crate::api::{Change, Key, Value};

/// A lease.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LeaseId(pub u64);

/// The smallest TTL in seconds: ceil(3 × election ticks / 2 × heartbeat), `server.go` `minTTL`.
pub const MIN_TTL: u64 = 2;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Lease {
    ttl: u64,
    /// Sorted, as `LeaseRevoke` deletes them.
    keys: Vec<Key>,
    /// Its time is over; the next pass of the expiry loop revokes it.
    due: bool,
}

/// All leases.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Lessor {
    leases: BTreeMap<LeaseId, Lease>,
    last: u64,
}

impl Lessor {
    /// A new lease, of at least [`MIN_TTL`] seconds. Returns its TTL too.
    pub fn grant(&mut self, ttl: u64) -> (LeaseId, u64) {
        self.last += 1;
        let id = LeaseId(self.last);
        let ttl = ttl.max(MIN_TTL);
        let lease = Lease {
            ttl,
            keys: Vec::new(),
            due: false,
        };
        self.leases.insert(id, lease);
        (id, ttl)
    }

    /// Does it exist?
    pub fn exists(&self, id: LeaseId) -> bool {
        self.leases.contains_key(&id)
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.leases.is_empty()
    }

    /// Renews a lease that is not due; returns its TTL.
    pub fn renew(&mut self, id: LeaseId) -> Option<u64> {
        let lease = self.leases.get(&id).filter(|lease| !lease.due)?;
        Some(lease.ttl)
    }

    /// Its time is over.
    pub fn mark_due(&mut self, id: LeaseId) {
        if let Some(lease) = self.leases.get_mut(&id) {
            lease.due = true;
        }
    }

    /// The leases that are due.
    pub fn due(&self) -> Vec<LeaseId> {
        let due = self.leases.iter().filter(|(_, lease)| lease.due);
        due.map(|(id, _)| *id).collect()
    }

    /// Ends a lease; its keys, in order, are to be deleted.
    pub fn revoke(&mut self, id: LeaseId) -> Option<Vec<Key>> {
        self.leases.remove(&id).map(|lease| lease.keys)
    }

    /// Keeps the book in step with what was written: a key belongs to the lease of its last put.
    pub fn follow<V: Value>(&mut self, changes: &[Change<V>]) {
        for change in changes {
            let before = change.before.as_ref().and_then(|kv| kv.lease);
            let now = change.now.as_ref().and_then(|kv| kv.lease);
            if before == now {
                continue;
            }
            if let Some(lease) = before.and_then(|id| self.leases.get_mut(&id)) {
                lease.keys.retain(|key| *key != change.key);
            }
            if let Some(lease) = now.and_then(|id| self.leases.get_mut(&id)) {
                let at = lease.keys.partition_point(|key| *key < change.key);
                lease.keys.insert(at, change.key.clone());
            }
        }
    }

    /// After a restart the new leader promotes every lease: none is due, each gets its whole TTL
    /// again (`Promote`). Returns them with their TTLs.
    pub fn promote(&mut self) -> Vec<(LeaseId, u64)> {
        self.leases
            .iter_mut()
            .map(|(id, lease)| {
                lease.due = false;
                (*id, lease.ttl)
            })
            .collect()
    }
}
