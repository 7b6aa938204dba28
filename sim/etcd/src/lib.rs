//! An etcd for the simulated world, generic in its value.
//!
//! `api` is what clients ask and what they are answered. `mvcc` is the store, `leases` what members
//! agree on about leases, `state` both together under the operations of the log; `raft` makes
//! members agree; `watch` is the watch side of one member: all free of the engine. `server` puts
//! them behind a listener, `client` is what a routine calls. `quirks` says what differs between
//! versions inside the store. `observed` is what clients tell monitors. `monitors` check what is
//! promised. What a value means does not belong here.

mod api;
pub mod client;
mod defects;
pub mod gates;
mod leases;
pub mod monitors;
mod mvcc;
pub mod observed;
mod quirks;
pub mod raft;
mod server;
mod state;
mod summed;
mod watch;

pub use api::{
    Change, Code, Compare, CompareResult, DeleteRange, DeletedRange, EtcdError, Filters, Key,
    KeyValue, Keys, LeaseId, OpResponse, Order, Put, PutDone, Range, Ranged, Request, Response,
    Revision, SortBy, Target, TimeToLive, Txn, TxnOp, TxnResponse, Value, WatchId, WatchPart,
    WatchRequest, WatchResponse, WatchStart,
};
pub use client::{Client, Connections, ETCD, Endpoints, Purpose, transport_for};
pub use defects::EtcdDefect;
pub use leases::{Lease, Leases, MAX_TTL, MIN_TTL};
pub use mvcc::{Changes, MAX_REQUEST_BYTES, MAX_TXN_OPS, Store, check, route};
pub use quirks::Quirks;
pub use server::{
    Appended, Applied, Committed, Config, Etcd, Installed, Kept, Led, PEER, Peer, Restored, Sizes,
};
pub use state::{Cause, Op, Proposal, State};
pub use watch::{
    Channel, History, Limits, PROGRESS_EVERY, SYNC_EVERY, VICTIMS_EVERY, WatchGroup, WatchQuirks,
    WatchView, Watches,
};
