//! The tests of this crate that use it as others do: one program, so that it is linked once and its tests
//! run side by side.

mod audited;
mod linearizability;
mod small;
mod soundness;
mod stuck;
mod verdicts;
mod worlds;
