//! The tests of this crate that use it as others do: one program, so that it is linked once and its tests
//! run side by side.

mod backlog;
mod common;
mod leases;
mod lessor;
mod minority;
mod raft;
mod reference;
mod requests;
mod retries;
mod store;
mod watch;
