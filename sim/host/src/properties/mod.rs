//! What every operator is held to, and properties over objects as Rust types.
//!
//! - [`on_change`] looks at each change of an object of one type; [`eventually`] and [`stable`] look at the whole cluster
//!   some time after the storm.
//! - Every operator has four properties (`every.rs`), named after the key of its replicas: it does not panic, its objects
//!   keep their owners, finalizers go in the end, and it comes to rest.

mod cluster;
mod every;
mod typed;

pub use cluster::Cluster;
pub use every::no_orphans;
pub use typed::{Breach, Change, eventually, on_change, stable};
pub use wavetank_components::sieve::objects::Objects;

pub(crate) use every::of_every_operator;
