//! What consensus decides on, and the state that every member makes of it: the store and the
//! leases, by the entries of the log one after another (`server/etcdserver/apply.go`).

use wavetank_engine::ProcId;

use crate::api::{
    Change, DeleteRange, EtcdError, Key, KeyValue, LeaseId, Put, Response, Revision, Txn, Value,
};
use crate::leases::Leases;
use crate::mvcc::{Changes, Store};
use crate::quirks::Quirks;
use crate::raft::MemberId;
use crate::watch::History;

/// What an entry of the log says.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op<V> {
    /// A put by itself.
    Put(Put<V>),
    /// A deletion by itself.
    DeleteRange(DeleteRange),
    /// A transaction that may write.
    Txn(Txn<V>),
    /// Forgets history below the revision.
    Compact(Revision),
    /// A new lease.
    LeaseGrant(LeaseId, u64),
    /// Ends a lease.
    LeaseRevoke(LeaseId),
    /// What is left of leases.
    LeaseCheckpoint(Vec<(LeaseId, Option<u64>)>),
}

/// A proposal: what, and who waits for it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Proposal<V> {
    /// The member that proposed it.
    pub member: MemberId,
    /// In which of its lives.
    pub life: u32,
    /// Its number there.
    pub number: u64,
    /// Why.
    pub cause: Cause,
    /// What.
    pub op: Op<V>,
}

/// Why something was written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cause {
    /// A client asked for it.
    Client(ProcId),
    /// A lease ran out.
    Expiry(LeaseId),
    /// etcd itself, for its own ends.
    Internal,
}

/// What members agree on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State<V: Value> {
    /// The last entry of the log that is in it.
    pub index: u64,
    /// Keys and their history.
    pub store: Store<V>,
    /// Leases.
    pub leases: Leases,
}

impl<V: Value> Default for State<V> {
    fn default() -> Self {
        State {
            index: 0,
            store: Store::default(),
            leases: Leases::default(),
        }
    }
}

impl<V: Value> State<V> {
    /// Applies what an entry says. Returns what changed beside the answer.
    ///
    /// # Errors
    /// Whatever the operation is refused with; it has then changed nothing.
    pub fn apply(
        &mut self,
        op: &Op<V>,
        quirks: Quirks,
    ) -> Result<(Response<V>, Changes<V>), EtcdError> {
        let (response, changes) = match op {
            Op::Put(put) => {
                let (done, changes) = self.store.put(put, &self.leases)?;
                (Response::Put(done), changes)
            }
            Op::DeleteRange(delete) => {
                let (done, changes) = self.store.delete_range(delete);
                (Response::DeleteRange(done), changes)
            }
            Op::Txn(txn) => {
                let (done, changes) = self.store.txn(txn, &self.leases, quirks)?;
                (Response::Txn(done), changes)
            }
            Op::Compact(revision) => {
                self.store.compact(*revision, quirks)?;
                (Response::Compact(self.store.revision()), Changes::default())
            }
            Op::LeaseGrant(id, ttl) => {
                let ttl = self.leases.grant(*id, *ttl)?;
                let (id, revision) = (*id, self.store.revision());
                (
                    Response::LeaseGrant { revision, id, ttl },
                    Changes::default(),
                )
            }
            Op::LeaseRevoke(id) => {
                let keys = self.leases.revoke(*id)?;
                let changes = self.store.delete_all(&keys);
                (Response::LeaseRevoke(self.store.revision()), changes)
            }
            Op::LeaseCheckpoint(leases) => {
                for (id, remaining) in leases {
                    self.leases.checkpoint(*id, *remaining);
                }
                (
                    Response::LeaseRevoke(self.store.revision()),
                    Changes::default(),
                )
            }
        };
        self.leases.follow(&changes);
        Ok((response, changes))
    }
}

impl<V: Value> History<V> for Store<V> {
    fn revision(&self) -> Revision {
        Store::revision(self)
    }
    fn compacted(&self) -> Revision {
        Store::compacted(self)
    }
    fn since(&self, start: Revision) -> impl Iterator<Item = (Revision, &[Change<V>])> {
        Store::since(self, start).expect("a watch below the compact revision is cancelled instead")
    }
    fn at(&self, key: &Key, revision: Revision) -> Result<Option<KeyValue<V>>, EtcdError> {
        Store::at(self, key, revision).map(|kv| kv.cloned())
    }
}
