//! The tests of this crate that use it as others do: one program, so that it is linked once and its tests
//! run side by side.

mod balanced;
mod clients;
mod common;
mod controllers;
mod crashing;
mod etcd;
mod identity;
mod interleaving;
mod leaders;
mod leak;
mod master_count;
mod rollout;
mod searched;
mod startup;
mod steps;
mod stopping;
mod two_locks;
