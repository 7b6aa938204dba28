//! The MVCC store (`server/storage/mvcc`) and what is done to it when a request is applied
//! (`server/etcdserver/txn`).
//!
//! `store` holds the keys and their history; `range`, `write`, `txn` and `compact` are what
//! requests do to them; `check` refuses requests by their form, `route` says which need consensus.
//! Pure functions of state and request: no time, no network, no watchers, no leases but to ask
//! whether one exists.

pub mod check;
pub(crate) mod compact;
mod range;
pub mod route;
mod store;
mod txn;
mod write;

pub use check::{MAX_REQUEST_BYTES, MAX_TXN_OPS};
pub use store::{Changes, Store};
