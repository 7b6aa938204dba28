//! A kube-apiserver for the simulated world.
//!
//! `storage` is what upstream calls etcd3: objects in etcd, each call an await. `rest` is the front
//! door, typed for now (JSON on the wire, discovery and admission come with their own issue);
//! `handlers` serves it. `server` is the life of the process: hooks, readiness, shutdown. What a
//! hook does (the bootstrap controller) belongs to the layers above.

pub mod cacher;
mod handlers;
mod object;
pub mod options;
mod rest;
mod server;
mod storage;

pub use object::{Body, EndpointSlice, Endpoints, Meta, Object, Port, Stored, Subset};
pub use rest::{
    Answer, Code, Loopback, LoopbackError, Probe, Reason, Reply, Request, Resource, Status, Verb,
};
pub use server::{ApiServer, Config, FRONT_DOOR, Hook, HookFuture, STOP_BEGUN, ServerNote};
pub use storage::{Storage, StorageError};
