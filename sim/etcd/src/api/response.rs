//! Answers, in the shape of `rpc.proto`. `revision` is that of the header.

use super::{Change, EtcdError, Key, KeyValue, LeaseId, Revision, WatchId};

/// What a range found.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ranged<V> {
    /// The newest revision of the store, also when an older one was asked for.
    pub revision: Revision,
    /// The keys.
    pub kvs: Vec<KeyValue<V>>,
    /// The limit cut some off.
    pub more: bool,
    /// How many there are without the limit and the bounds on revisions.
    pub count: u64,
}

/// What a put did.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PutDone<V> {
    /// Its revision.
    pub revision: Revision,
    /// What was there, if that was asked for.
    pub prev: Option<KeyValue<V>>,
}

/// What a deletion did.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeletedRange<V> {
    /// Its revision, or the newest one if nothing was there.
    pub revision: Revision,
    /// How many keys.
    pub deleted: u64,
    /// What they were, if that was asked for.
    pub prev: Vec<KeyValue<V>>,
}

/// What a transaction did.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TxnResponse<V> {
    /// Its revision, or the newest one if it wrote nothing; 0 inside another transaction.
    pub revision: Revision,
    /// Did all conditions hold?
    pub succeeded: bool,
    /// What each operation did.
    pub responses: Vec<OpResponse<V>>,
}

/// What an operation of a transaction did.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum OpResponse<V> {
    Range(Ranged<V>),
    Put(PutDone<V>),
    DeleteRange(DeletedRange<V>),
    Txn(TxnResponse<V>),
}

/// How long a lease has.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TimeToLive {
    /// The newest revision of the store.
    pub revision: Revision,
    /// Whole seconds that are left; -1 if there is no such lease.
    pub ttl: i64,
    /// The TTL that it was granted; 0 if there is no such lease.
    pub granted: u64,
    /// Its keys, in order, if they were asked for.
    pub keys: Vec<Key>,
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "each answers the request of its name")]
pub enum Response<V> {
    Range(Ranged<V>),
    Put(PutDone<V>),
    DeleteRange(DeletedRange<V>),
    Txn(TxnResponse<V>),
    /// The newest revision of the store.
    Compact(Revision),
    LeaseGrant {
        revision: Revision,
        id: LeaseId,
        /// In seconds; the least is 2.
        ttl: u64,
    },
    LeaseRevoke(Revision),
    LeaseKeepAlive {
        revision: Revision,
        /// In seconds; 0 if there is no such lease.
        ttl: u64,
    },
    LeaseTimeToLive(TimeToLive),
    Leases {
        revision: Revision,
        leases: Vec<LeaseId>,
    },
    /// It failed.
    Error(EtcdError),
}

/// One message of a watch stream.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WatchResponse<V> {
    /// Whose; `None` (-1 on the wire): of all watches of the stream, or of one that was refused.
    pub id: Option<WatchId>,
    /// How far the store was; 0 in the cancellation for a compaction.
    pub revision: Revision,
    /// The watch stands.
    pub created: bool,
    /// The watch is over.
    pub canceled: bool,
    /// It is over because its history is compacted up to here; else 0.
    pub compact_revision: Revision,
    /// Why it is over; empty for a compaction and at the client's own wish.
    pub cancel_reason: &'static str,
    /// More of the same answer follows.
    pub fragment: bool,
    /// What happened, in the order of revisions. With nothing above set, none is a progress
    /// notification.
    pub events: Vec<Change<V>>,
}

impl<V> WatchResponse<V> {
    /// A message without events.
    pub fn bare(id: Option<WatchId>, revision: Revision) -> WatchResponse<V> {
        WatchResponse {
            id,
            revision,
            created: false,
            canceled: false,
            compact_revision: 0,
            cancel_reason: "",
            fragment: false,
            events: Vec::new(),
        }
    }

    /// Does it tell how far the watch is, and nothing else?
    pub fn is_progress(&self) -> bool {
        self.events.is_empty() && !self.created && !self.canceled
    }
}

/// A part of the answer to [`Request::Watch`](super::Request::Watch).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum WatchPart<V> {
    /// A message.
    Message(WatchResponse<V>),
    /// The stream has failed. The last part.
    Failed(EtcdError),
}
