//! The tests of this crate that use it as others do: one program, so that it is linked once and its tests
//! run side by side.

mod causes;
mod channels;
mod common;
mod determinism;
mod identity;
mod known;
mod lives;
mod network;
mod numbers;
mod purity;
mod refused;
mod streams;
mod stuck;
