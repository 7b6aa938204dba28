//! A system of one's own under Wavetank: a vault that hands out a lock for a few seconds, and
//! writers that believe in it.
//!
//! A writer that takes the lock, is held up for longer than the lock lasts (a paused process, a
//! descheduled thread, a slow link, a wall clock that jumps) and then writes all the same, destroys
//! the work of whoever has the lock by then. Fencing tokens prevent that (M. Kleppmann, "How to do
//! distributed locking", 2016): the vault numbers its locks and refuses a write under an older one
//! than it has seen. The *defect* `no-fencing` takes that look at the number away.
//!
//! To be read in this order:
//!
//! 1. [`vault`]: a process that is a plain state machine. What it keeps, how it answers, what is
//!    lost in a crash, what it tells.
//! 2. [`writer`]: a process whose work has several steps. They are one routine, an `async fn` in
//!    which everything else may happen at each await.
//! 3. [`properties`]: what must always hold, what must hold in the end, and what should happen
//!    somewhere so that the others mean something.
//! 4. [`case`]: all of it put together as something that can be simulated under seeds: the world,
//!    the faults it is put through, and the defect, which a violation can be blamed on.
//!
//! `tests/seeds.rs` is the line that a project adds to its tests; `tests/defect.rs` follows a
//! violation from the sweep that finds it to the smallest trace that shows it.

pub mod case;
pub mod properties;
pub mod vault;
pub mod writer;

pub use case::Vaults;
