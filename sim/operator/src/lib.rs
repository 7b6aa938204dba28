//! What an operator is written with, as controller-runtime has it: a [`Reconciler`] is told a key, looks at a cache and
//! asks apiservers for what should be. A [`Manager`] is the process around it: informers, a work queue, leader
//! election, Events. An [`Actor`] is who uses the cluster, such as the people who write the objects of the operator.
//! [`written`] is what properties look at.
//!
//! All of it is the project's client (`wavetank-client`), put together. An operator that needs something else is a
//! `Process` of its own over the same client.

mod actor;
mod build;
mod context;
mod manager;
mod watch;
mod written;

pub use actor::{Act, Actor};
pub use build::{actors, check, holds, managers, needed};
pub use context::Context;
pub use manager::{Manager, Reconciler};
pub use watch::Watch;
pub use wavetank_client::Failure;
pub use written::{Written, always, violated, written};
