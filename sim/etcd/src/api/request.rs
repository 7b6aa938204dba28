//! Requests, in the shape of `rpc.proto`.

use super::{Key, Keys, LeaseId, Revision};

/// Reads keys.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Range {
    /// Which.
    pub keys: Keys,
    /// When; 0: now.
    pub revision: Revision,
    /// How many; 0: all.
    pub limit: u64,
    /// In which order; `None` is the order of keys, for another `by` ascending.
    pub order: Option<Order>,
    /// By what.
    pub by: SortBy,
    /// From this member as it is, without asking the others.
    pub serializable: bool,
    /// Without values.
    pub keys_only: bool,
    /// Without keys and values.
    pub count_only: bool,
    /// Only keys written at this revision or later; 0: any.
    pub min_mod: Revision,
    /// Only keys written at this revision or before; 0: any.
    pub max_mod: Revision,
    /// Only keys created at this revision or later; 0: any.
    pub min_create: Revision,
    /// Only keys created at this revision or before; 0: any.
    pub max_create: Revision,
}

impl Range {
    /// All of these keys, now, linearizable.
    pub fn of(keys: Keys) -> Range {
        Range {
            keys,
            revision: 0,
            limit: 0,
            order: None,
            by: SortBy::Key,
            serializable: false,
            keys_only: false,
            count_only: false,
            min_mod: 0,
            max_mod: 0,
            min_create: 0,
            max_create: 0,
        }
    }
}

/// `RangeRequest.SortOrder`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// `ASCEND`
    Ascend,
    /// `DESCEND`
    Descend,
}

/// `RangeRequest.SortTarget`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum SortBy {
    Key,
    Version,
    Create,
    Mod,
    Value,
}

/// Writes a key.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Put<V> {
    /// Which.
    pub key: Key,
    /// What.
    pub value: V,
    /// Under which lease.
    pub lease: Option<LeaseId>,
    /// Answer what it was before.
    pub prev_kv: bool,
    /// Keep the value that it has; `value` must be empty.
    pub ignore_value: bool,
    /// Keep the lease that it has; `lease` must be none.
    pub ignore_lease: bool,
}

impl<V> Put<V> {
    /// `key = value`, without a lease.
    pub fn new(key: impl Into<Key>, value: V) -> Put<V> {
        Put {
            key: key.into(),
            value,
            lease: None,
            prev_kv: false,
            ignore_value: false,
            ignore_lease: false,
        }
    }
}

/// Deletes keys.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeleteRange {
    /// Which.
    pub keys: Keys,
    /// Answer what they were before.
    pub prev_kv: bool,
}

/// A condition of a transaction, for all of its keys.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Compare<V> {
    /// Whose.
    pub keys: Keys,
    /// What must stand in this relation to the one given.
    pub result: CompareResult,
    /// What is compared, with what.
    pub target: Target<V>,
}

/// `Compare.CompareResult`: how the key's is to the one given.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum CompareResult {
    Equal,
    NotEqual,
    Greater,
    Less,
}

/// What a condition compares. A key that is not there has 0 everywhere, and no value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Target<V> {
    Version(u64),
    Create(Revision),
    Mod(Revision),
    Value(V),
    Lease(Option<LeaseId>),
}

impl<V> Compare<V> {
    /// The key was written last at this revision; 0: it is not there.
    pub fn mod_revision(key: impl Into<Key>, revision: Revision) -> Compare<V> {
        Compare {
            keys: Keys::One(key.into()),
            result: CompareResult::Equal,
            target: Target::Mod(revision),
        }
    }
}

/// An operation of a transaction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum TxnOp<V> {
    Range(Range),
    Put(Put<V>),
    DeleteRange(DeleteRange),
    Txn(Txn<V>),
}

/// A transaction: if all conditions hold `success`, else `failure`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Txn<V> {
    /// The conditions.
    pub compare: Vec<Compare<V>>,
    /// What is done if they hold.
    pub success: Vec<TxnOp<V>>,
    /// What is done if they do not.
    pub failure: Vec<TxnOp<V>>,
}

/// A request with one answer, or that opens a stream of answers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request<V> {
    /// `KV.Range`
    Range(Range),
    /// `KV.Put`
    Put(Put<V>),
    /// `KV.DeleteRange`
    DeleteRange(DeleteRange),
    /// `KV.Txn`
    Txn(Txn<V>),
    /// `KV.Compact`: forgets history below the revision.
    Compact {
        /// The revision that stays readable.
        revision: Revision,
        /// Answer only when the space is free.
        physical: bool,
    },
    /// `Lease.LeaseGrant`
    LeaseGrant {
        /// The number that is wanted.
        id: Option<LeaseId>,
        /// In seconds.
        ttl: u64,
    },
    /// `Lease.LeaseRevoke`: ends a lease and deletes its keys.
    LeaseRevoke(LeaseId),
    /// One round of `Lease.LeaseKeepAlive`: gives a lease its whole TTL again.
    LeaseKeepAlive(LeaseId),
    /// `Lease.LeaseTimeToLive`
    LeaseTimeToLive {
        /// Which.
        id: LeaseId,
        /// Tell its keys too.
        keys: bool,
    },
    /// `Lease.LeaseLeases`
    Leases,
    /// `Watch.Watch`: the answers are [`WatchResponse`](super::WatchResponse)s, and
    /// [`WatchRequest`]s go to it.
    Watch {
        /// End the stream when there is no leader (`hasleader` in the metadata).
        require_leader: bool,
    },
}

/// The number of a watch on its stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WatchId(pub u32);

/// What a client sends on a watch stream.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum WatchRequest {
    /// `WatchCreateRequest`
    Create(WatchStart),
    /// `WatchCancelRequest`
    Cancel(WatchId),
    /// `WatchProgressRequest`, for all watches of the stream.
    Progress,
}

/// How a watch begins.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WatchStart {
    /// Which keys.
    pub keys: Keys,
    /// The first revision that is wanted; 0: from now on.
    pub revision: Revision,
    /// The number that is wanted.
    pub id: Option<WatchId>,
    /// Tell what keys were before.
    pub prev_kv: bool,
    /// Tell from time to time how far the watch is.
    pub progress_notify: bool,
    /// Split large answers.
    pub fragment: bool,
    /// What is left out.
    pub filters: Filters,
}

impl WatchStart {
    /// These keys from a revision on (0: from now on), with all else off.
    pub fn of(keys: Keys, revision: Revision) -> WatchStart {
        WatchStart {
            keys,
            revision,
            id: None,
            prev_kv: false,
            progress_notify: false,
            fragment: false,
            filters: Filters::default(),
        }
    }
}

/// `WatchCreateRequest.FilterType`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Filters {
    /// Leave puts out.
    pub no_put: bool,
    /// Leave deletes out.
    pub no_delete: bool,
}
