//! An etcd for the simulated world.

mod api;
pub mod raft;

pub use api::*;
