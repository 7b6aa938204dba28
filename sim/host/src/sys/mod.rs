//! All that is unsafe: what a hosted program asks of the C library is answered by the simulation, on the threads on which
//! it runs; and a simulation gets a process of its own.
//!
//! Six functions of the C library are defined here once more (`interpose.rs`), so that the linker takes these for the
//! whole program. On every thread that has not asked for it ([`simulated`]) they do what the C library's do, by the same
//! system call, or call it. On a simulated one they answer of what `entropy.rs` keeps for the thread, and touch nothing
//! else; of a thread that is started they only take note.
//!
//! What is asked for once in a process or on a thread, whoever is first, is asked for by `thread.rs` before all others.
//! `keys.rs` knows where hash maps have their order from.

mod entropy;
mod fork;
mod interpose;
pub(crate) mod keys;
mod pulse;
mod raw;
mod thread;

pub(crate) use entropy::{Clocks, begin_park, end_park, enter, leave, take_parked, take_threads};
pub(crate) use fork::in_child;
pub(crate) use thread::simulated;
