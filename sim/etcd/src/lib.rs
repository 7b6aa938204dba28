//! An etcd for the simulated world: one member, generic in its value.
//!
//! `store` is the MVCC store and `lease` the lessor's book, both free of the engine; `process`
//! puts them behind a listener; `client` is what a routine calls. What a value means does not
//! belong here. Consensus, several members and the watch's slow paths come with their own issue.

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
pub use lease::LeaseId;
pub use process::{Cause, Committed, Etcd};
pub use store::{Commits, Store};
