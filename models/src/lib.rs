//! Models: the one [`World`](wavetank_engine::World), searched instead of simulated.
//!
//! Here is the bridge to stateright and nothing of any particular system; scopes of the control
//! plane come from above. `world_model` is the model; `audited` is the same one without trust in
//! hashes.

mod audited;
mod world_model;

pub use audited::Audited;
pub use world_model::{Move, Node, WorldModel};
