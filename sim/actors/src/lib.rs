//! Actors: who uses the cluster in a scenario. Each is a process whose commands the workload draws, and each tells
//! what it asked and what came of it, so that properties can judge.
//!
//! `writer` makes, changes and deletes objects; `etcd_user` uses etcd itself.
//! `informer_client` has informers and nothing else. `follower` finds apiservers through the Endpoints
//! default/kubernetes. `rollout_operator` replaces apiservers. `monitors` holds servers to what writers are told.
//!
//! How a client works (informers, load balancers, work queues) is in `wavetank_client`.

pub mod etcd_user;
mod follower;
mod informer_client;
pub mod monitors;
mod rollout_operator;
pub mod writer;

pub use etcd_user::EtcdUser;
pub use follower::{Attempt, Follower, KNOWN};
pub use informer_client::InformerClient;
pub use rollout_operator::RolloutOperator;
pub use writer::Writer;
