//! What clients ask of etcd and what it answers: the parts of `rpc.proto` that Kubernetes uses.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use crate::lease::LeaseId;

/// What the store holds.
pub trait Value: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static {}
impl<T: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static> Value for T {}

/// A revision of the whole store.
pub type Revision = u64;

/// A key. Cloning copies a pointer.
pub type Key = Arc<str>;

/// Which keys.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Keys {
    /// This one.
    One(Key),
    /// All that begin with this.
    Prefix(Key),
}

impl Keys {
    /// One key.
    pub fn one(key: impl Into<Key>) -> Keys {
        Keys::One(key.into())
    }

    /// All keys that begin with `prefix`.
    pub fn prefix(prefix: impl Into<Key>) -> Keys {
        Keys::Prefix(prefix.into())
    }

    /// Is `key` one of them?
    pub fn contains(&self, key: &Key) -> bool {
        match self {
            Keys::One(one) => one == key,
            Keys::Prefix(prefix) => key.starts_with(&**prefix),
        }
    }

    /// None of them is before this.
    pub fn start(&self) -> &Key {
        match self {
            Keys::One(key) | Keys::Prefix(key) => key,
        }
    }
}

/// A key with its value, as of some revision.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KeyValue<V> {
    /// The key.
    pub key: Key,
    /// The value.
    pub value: V,
    /// The revision that created it.
    pub create_revision: Revision,
    /// The revision that wrote it last.
    pub mod_revision: Revision,
    /// How often it was written since it was created.
    pub version: u64,
    /// The lease it is attached to.
    pub lease: Option<LeaseId>,
}

/// A change of one key.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Change<V> {
    /// The key.
    pub key: Key,
    /// What it is now; `None` if it was deleted.
    pub now: Option<KeyValue<V>>,
    /// What it was; `None` if it was not there.
    pub before: Option<KeyValue<V>>,
}

/// A condition of a transaction. A key that is not there has 0 everywhere.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Compare {
    /// Its mod revision is this.
    ModRevision(Key, Revision),
    /// Its create revision is this.
    CreateRevision(Key, Revision),
    /// Its version is this.
    Version(Key, u64),
}

/// An operation of a transaction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TxnOp<V> {
    /// Writes a key, under a lease or none.
    Put(Key, V, Option<LeaseId>),
    /// Deletes keys.
    Delete(Keys),
    /// Reads keys.
    Range(Keys),
}

/// A transaction: if all conditions hold `success`, else `failure`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Txn<V> {
    /// The conditions.
    pub compare: Vec<Compare>,
    /// What is done if they hold.
    pub success: Vec<TxnOp<V>>,
    /// What is done if they do not.
    pub failure: Vec<TxnOp<V>>,
}

/// A request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request<V> {
    /// Reads keys at a revision (0: now), at most `limit` of them (0: all).
    Range {
        /// Which.
        keys: Keys,
        /// When.
        revision: Revision,
        /// How many.
        limit: u64,
    },
    /// Runs a transaction.
    Txn(Txn<V>),
    /// Makes a lease of so many seconds.
    LeaseGrant(u64),
    /// Ends a lease and deletes its keys.
    LeaseRevoke(LeaseId),
    /// Gives a lease its whole TTL again.
    LeaseKeepAlive(LeaseId),
    /// Forgets history below a revision.
    Compact(Revision),
    /// Follows keys from a revision on (0: from now on). The answer is a stream of [`WatchPart`]s.
    Watch {
        /// Which.
        keys: Keys,
        /// The first revision that is wanted.
        start: Revision,
    },
}

/// What a range found.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ranged<V> {
    /// The newest revision of the store.
    pub revision: Revision,
    /// The keys, in order.
    pub kvs: Vec<KeyValue<V>>,
    /// How many there are without the limit.
    pub count: u64,
}

/// What a transaction did.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TxnResponse<V> {
    /// The newest revision of the store.
    pub revision: Revision,
    /// Did all conditions hold?
    pub succeeded: bool,
    /// What each [`TxnOp::Range`] found.
    pub ranges: Vec<Vec<KeyValue<V>>>,
    /// How many keys were deleted.
    pub deleted: u64,
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Response<V> {
    /// To a range.
    Range(Ranged<V>),
    /// To a transaction.
    Txn(TxnResponse<V>),
    /// To a grant or a keep-alive: the lease and its TTL in seconds.
    Lease(LeaseId, u64),
    /// To all else: the newest revision of the store.
    Done(Revision),
    /// It failed.
    Error(EtcdError),
}

/// A part of the answer to a watch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum WatchPart<V> {
    /// The watch stands; the newest revision of the store.
    Created(Revision),
    /// All changes of one revision that concern the watch.
    Events(Revision, Vec<Change<V>>),
    /// The start revision is at or below this compact revision. The last part.
    Compacted(Revision),
}

/// Why a request failed (`api/v3rpc/rpctypes/error.go`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EtcdError {
    /// The revision is below the compact revision.
    Compacted,
    /// The revision has not been reached.
    FutureRevision,
    /// No such lease.
    LeaseNotFound,
    /// A transaction writes a key twice.
    DuplicateKey,
    /// The connection broke: the outcome of a write is unknown.
    Unavailable,
    /// The caller's context ended: the outcome of a write is unknown.
    Cancelled,
}

impl EtcdError {
    /// May the request have had an effect all the same?
    pub fn is_unknown(self) -> bool {
        matches!(self, EtcdError::Unavailable | EtcdError::Cancelled)
    }

    /// Is it certain that it had none?
    pub fn is_definite(self) -> bool {
        !self.is_unknown()
    }
}

impl fmt::Display for EtcdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EtcdError::Compacted => "etcdserver: mvcc: required revision has been compacted",
            EtcdError::FutureRevision => "etcdserver: mvcc: required revision is a future revision",
            EtcdError::LeaseNotFound => "etcdserver: requested lease not found",
            EtcdError::DuplicateKey => "etcdserver: duplicate key given in txn request",
            EtcdError::Unavailable => "rpc error: code = Unavailable desc = transport is closing",
            EtcdError::Cancelled => "context canceled",
        })
    }
}
impl std::error::Error for EtcdError {}
