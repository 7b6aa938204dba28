//! Models: the one [`World`](wavetank_engine::World), searched instead of simulated.
//!
//! Here is the bridge to stateright and nothing of any particular system; scopes of the control
//! plane come from above.

mod world_model;

pub use world_model::{Move, Node, WorldModel};
