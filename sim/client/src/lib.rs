//! Clients. `follower` is the in-cluster client that finds apiservers through the Endpoints
//! default/kubernetes, `etcd_user` one that uses etcd itself; informers, work queues and leader
//! election come with their issues.

pub mod etcd_user;
mod follower;

pub use etcd_user::EtcdUser;
pub use follower::{Attempt, Follower, KNOWN};
