//! What an operator is written with, as controller-runtime has it: a [`Reconciler`] is told a key, looks at a cache and
//! asks apiservers for what should be. A [`Manager`] is the process around it: informers, a work queue, leader
//! election, Events. An [`Actor`] is who uses the cluster, such as the people who write the objects of the operator.
//! [`Operator`] and [`Actors`] are their components. [`one_for_each`] and [`never_falls`] are properties that most
//! operators have; [`written`] is what others look at.
//!
//! All of it is the project's client (`wavetank-client`), put together. An operator that needs something else is a
//! `Process` of its own over the same client.

mod actor;
mod component;
mod context;
mod manager;
mod properties;
mod watch;
mod written;

pub use actor::{Act, Actor};
pub use component::{Actors, Operator};
pub use context::Context;
pub use manager::{Manager, Reconciler};
pub use properties::{never_falls, one_for_each};
pub use watch::Watch;
pub use wavetank_client::Failure;
pub use written::{Written, always, violated, written};
