//! The engine: one deterministic world of processes, routines, links, clocks and faults.
//!
//! What lives here is everything that would be true of *any* distributed system: a [`World`] that
//! is stepped by [`World::apply`], can be cloned, compared and hashed anywhere, holds no randomness
//! and makes no choice; the drivers that choose ([`drive`]); traces; properties.
//! What must not live here is any word of the systems that are simulated on top.
//!
//! The way of one event: a *driver* takes an entry of [`World::pending`] and applies it at a time;
//! the world hands it to a [`Process`], whose callback or *routine* sends frames, arms timers and
//! takes locks; these are the next pending entries. See `docs/ENGINE.md`.

mod channel;
mod combine;
mod conn;
mod context;
mod digest;
pub mod drive;
mod exchange;
mod fault;
mod lock;
mod memo;
mod memory;
mod message;
#[doc(hidden)]
pub mod mutant;
mod name;
mod net;
mod not_state;
mod observe;
mod packed;
mod process;
mod property;
mod queue;
mod room;
mod routine;
mod slot;
mod time;
pub mod trace;
mod world;

pub use channel::{Channel, Condition};
pub use conn::{Caller, Keepalive, NetError, Transport};
pub use context::Cx;
pub use digest::{Digest, Digests, StableHasher, digest, exactly, is_exact};
pub use fault::{Action, Fault, FaultKind};
pub use memo::Memo;
pub use memory::{Cell, Signal};
pub use message::{Message, Payload};
pub use name::{EventName, Name, ProcId, RoutineId};
pub use net::{LinkSpec, Sent};
pub use not_state::NotState;
pub use observe::Observed;
pub use packed::Unpacked;
pub use process::{Process, ProcessObject, Timer};
pub use property::{
    Always, Check, Class, Eventually, Note, Property, PropertyObject, Reached, Stable, Violation,
};
pub use queue::{Entry, FrameHead, What};
pub use routine::{Either, Lock, LockGuard, Outcome, RoutineFuture, Rx, Stream, Task};
pub use slot::Status;
pub use time::{Instant, Time};
pub use world::{ApplyError, Event, Phase, Report, World, WorldBuilder};
