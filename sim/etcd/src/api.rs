//! What clients ask of etcd and what it answers: `rpc.proto` and `kv.proto`, as Rust types.
//!
//! Here are keys, values and what is stored; requests are in `api/request.rs`, answers in
//! `api/response.rs`, errors in `api/error.rs`. What etcd does with a request does not belong here.

mod error;
mod request;
mod response;

use std::cmp::Ordering;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

pub use error::{Code, EtcdError};
pub use request::{
    Compare, CompareResult, DeleteRange, Filters, Order, Put, Range, Request, SortBy, Target, Txn,
    TxnOp, WatchId, WatchRequest, WatchStart,
};
pub use response::{
    DeletedRange, OpResponse, PutDone, Ranged, Response, TimeToLive, TxnResponse, WatchPart,
    WatchResponse,
};

/// What the store holds: objects in the simulated world, bytes in tests and at a real socket.
pub trait Value: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static {
    /// No bytes: what a range with `keys_only` shows in place of a value.
    fn empty() -> Self;

    /// Its length in bytes, or an estimate: only limits on sizes depend on it.
    fn size(&self) -> usize;

    /// As `bytes.Compare` of what is stored. Only comparisons and sorting by value depend on it.
    fn order(&self, other: &Self) -> Ordering;
}

impl Value for Arc<[u8]> {
    fn empty() -> Self {
        Arc::new([])
    }
    fn size(&self) -> usize {
        self.len()
    }
    fn order(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }
}

/// A revision of the whole store. An empty store is at 1, its first write is 2.
pub type Revision = u64;

/// A key. Cloning copies a pointer. Kubernetes' keys are text; order is that of the bytes.
pub type Key = Arc<str>;

/// The number of a lease.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LeaseId(pub u64);

/// Which keys: `key` and `range_end` of a request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Keys {
    /// This one: no `range_end`.
    One(Key),
    /// All that begin with this: `range_end` is the prefix plus one.
    Prefix(Key),
    /// From the first up to, without, the second; none if that is not after the first.
    Between(Key, Key),
    /// This one and all after it: `range_end` is `\0`.
    From(Key),
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

    /// All keys.
    pub fn all() -> Keys {
        Keys::From("\0".into())
    }

    /// Is `key` one of them?
    pub fn contains(&self, key: &str) -> bool {
        match self {
            Keys::One(one) => **one == *key,
            Keys::Prefix(prefix) => key.starts_with(&**prefix),
            Keys::Between(first, end) => **first <= *key && *key < **end,
            Keys::From(first) => **first <= *key,
        }
    }

    /// None of them is before this.
    pub fn start(&self) -> &Key {
        match self {
            Keys::One(key) | Keys::Prefix(key) | Keys::Between(key, _) | Keys::From(key) => key,
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

/// A change of one key: an event of a watch, with `before` only where `prev_kv` was asked for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Change<V> {
    /// The key.
    pub key: Key,
    /// The revision that changed it.
    pub revision: Revision,
    /// What it is now; `None` if it was deleted.
    pub now: Option<KeyValue<V>>,
    /// What it was; `None` if it was not there.
    pub before: Option<KeyValue<V>>,
}

impl<V> Change<V> {
    /// Did it create the key? (`IsCreate` of client/v3.)
    pub fn is_create(&self) -> bool {
        let created = |kv: &KeyValue<V>| kv.create_revision == kv.mod_revision;
        self.now.as_ref().is_some_and(created)
    }
}
