//! The processes of a [`World`](wavetank_engine::World) on [madsim](https://docs.rs/madsim): a node for each process,
//! a task for whatever is due at it, messages over madsim's `Endpoint`, and faults that are madsim's.
//!
//! - [`Cluster`] is a world whose processes are nodes. It takes from the engine how one process takes one input
//!   (`World::apply`), and what properties say. When anything happens, in which order, whether and when a message
//!   arrives: all of that is madsim's. `cluster.rs` applies, `nodes.rs` begins and ends nodes, `wires.rs` carries
//!   frames.
//! - [`storm`] draws starts, faults and workload from madsim's generator; `strike.rs` says what each fault is there.
//! - [`run_seed`] runs a case of the command `wavetank` so, under a seed.
//! - [`etcd::Client`] and [`api::Client`] are for services of your own that run beside it on the same madsim.
//!
//! `docs/MADSIM.md` is the page to begin with. All of it needs `--cfg madsim` and the feature `executor`; without
//! them this crate is empty.
#![cfg(all(madsim, feature = "executor"))]

pub mod api;
mod cluster;
pub mod etcd;
mod guest;
mod nodes;
mod run;
pub mod storm;
mod strike;
mod wires;

pub use cluster::{Cluster, PORT, address};
pub use run::{Outcome, run_here, run_seed};
