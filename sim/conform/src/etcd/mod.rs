//! The simulated etcd against the real one: random sequences of operations are run on both.
//!
//! - `op` and `strategy`: what is done;
//! - `run`, `rest`, `campaign`, `shrink`, `figures`, `render`: one sequence, many, the smallest one, the
//!   score, and how a difference is told;
//! - `side`: what is compared; `real` (with `grpc`, `translate`, `wire`): the real one;
//!   `ours` (with `puppet`, `naming`): the simulated one; `against`: one against the other;
//! - `expiry`: the suite of what depends on time;
//! - `mutated`: a side that lies, as a test of the comparison.

#[cfg(feature = "real-etcd")]
mod against;
mod campaign;
pub mod expiry;
mod figures;
#[cfg(feature = "real-etcd")]
mod grpc;
mod mutated;
mod naming;
pub mod op;
mod ours;
mod puppet;
#[cfg(feature = "real-etcd")]
mod real;
mod render;
mod rest;
mod run;
mod shrink;
pub mod side;
pub mod strategy;
#[cfg(feature = "real-etcd")]
mod translate;
#[cfg(feature = "real-etcd")]
mod wire;

#[cfg(feature = "real-etcd")]
pub use against::{against_real, keys, release_of};
pub use campaign::{Difference, Plan, Report, compare};
pub use figures::Figures;
pub use mutated::{Mutated, Mutation};
pub use ours::Ours;
#[cfg(feature = "real-etcd")]
pub use real::Real;
pub use run::{Differ, Done, Sequence, Stop, What, run};
