//! Clients of the apiservers. Here is the in-cluster client that finds apiservers through the
//! Endpoints default/kubernetes; informers, work queues and leader election come with their issues.

mod follower;

pub use follower::{Attempt, Follower, KNOWN};
