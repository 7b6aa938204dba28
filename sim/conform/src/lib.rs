//! The differential tests of the simulated etcd and of the simulated kube-apiserver: random operations are run on each and
//! on the real server, and every answer, error and watch event is compared.
//!
//! - `etcd`: that of etcd;
//! - `apiserver`: that of the kube-apiserver, over its etcd;
//! - `server`: a real etcd as a child process; `cut`: a sequence is made smaller.
//!
//! What speaks to a real etcd is there with the feature `real-etcd`, and all of `apiserver` with `real-apiserver`. Without,
//! the comparison of etcds is left, of simulated ones with each other.
//!
//! What real servers do is not known here: they know it. This crate talks to the real world,
//! so clocks, threads and sockets are as usual in it; nothing of it may reach the simulated one.
#![cfg_attr(
    not(feature = "real-etcd"),
    allow(dead_code, reason = "what only the real server's side uses")
)]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a real server runs in real time"
)]

#[cfg(feature = "real-apiserver")]
pub mod apiserver;
mod cut;
pub mod etcd;
#[cfg(any(feature = "real-etcd", feature = "real-apiserver"))]
mod server;

#[cfg(any(feature = "real-etcd", feature = "real-apiserver"))]
pub use server::{Program, Server, Ticks};
