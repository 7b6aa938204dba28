//! Operators as they are, in the simulated cluster.
//!
//! A hosted operator is the crate that its people wrote, with kube's client and controller, tokio's timers and its hash
//! maps. Nothing in it is changed, and it is not told that it is simulated: each replica is a process of a
//! [`World`](wavetank_engine::World) with a runtime of its own. What it asks of an apiserver crosses the simulated network,
//! its timers go by the time of the world, and its randomness comes of the seed. See `docs/HOST.md`.
//!
//! - [`Operator`] is the component: `wavetank::command().with(Operator::new(…))` makes it stand in scenario files.
//! - [`properties`] are those of every operator, and those over objects as Rust types.
//! - [`wiring`] compares what an operator asks for with what it may.
//! - [`observed`] is what a hosted operator tells.
//!
//! Inside: `life` is a replica's runtime and its turns, `wire` and `http` what stands between its client and the
//! simulated network, `process` the process around it, `carry` who carries its requests, `sieve` what disturbs it, `sys` all
//! that is unsafe.
//!
//! This crate replaces functions of the C library in every program that it is linked into. It must only ever be a
//! dev-dependency of an operator.

#[cfg(not(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
compile_error!(
    "wavetank-host answers for the kernel what a program asks of clocks, of randomness and of futexes, and it knows how \
     to do that on Linux with glibc on x86_64 and aarch64 only: build the tests of your operator there"
);

mod apart;
mod carry;
mod component;
mod http;
mod kind;
mod life;
pub mod observed;
mod process;
pub mod properties;
mod requests;
mod sieve;
mod sys;
mod wire;
pub mod wiring;

pub use component::{Operator, Returns};
pub use kind::{defined, kind};
pub use life::Ended;
pub use requests::requests;
pub use wire::Wire;

/// The crate and command `wavetank`.
pub use wavetank;
