//! A simulated etcd, generic in its value: revisions, transactions, leases, watches, compaction;
//! one member. What the values mean must not be known here.

mod api;
mod client;
mod lease;
mod process;
mod store;

pub use api::{
    Change, Compare, EtcdError, Key, KeyValue, Keys, Ranged, Request, Response, Revision, Txn,
    TxnOp, TxnResponse, Value, WatchPart,
};
pub use client::{Client, ETCD};
pub use lease::{LeaseId, Lessor, MIN_TTL};
pub use process::{Cause, Committed, Etcd};
pub use store::Store;
