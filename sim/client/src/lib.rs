//! Clients. `informer` is a shared informer with its parts, each in a room of its own: `reflector` lists and
//! watches, through `rest` and `load_balancer` with its `health_checks`; `fifo` is the queue, `indexer` the store; `wait` has the loops
//! and says how long they wait. `workqueue` is what controllers work from. `informed` is a client that has informers and
//! nothing else, `writer` one that gives them something to see, `service_writer` one that uses Services, `observed` what it tells, `monitors` what is promised.
//!
//! `follower` is the in-cluster client that finds apiservers through the Endpoints default/kubernetes,
//! `etcd_user` one that uses etcd itself. `leader_election` is what candidates for one task do, `roller` replaces apiservers.

mod defects;
pub mod etcd_user;
pub mod fifo;
mod follower;
pub mod gates;
mod health_checks;
mod indexer;
mod informed;
pub mod informer;
pub mod leader_election;
mod load_balancer;
pub mod monitors;
pub mod observed;
mod reflector;
mod rest;
mod roller;
pub mod service_writer;
pub mod wait;
mod words;
pub mod workqueue;
pub mod writer;

pub use defects::InformerDefect;
pub use etcd_user::EtcdUser;
pub use follower::{Attempt, Follower, KNOWN};
pub use health_checks::{Checked, HealthChecks};
pub use indexer::{BY_NAMESPACE, Index, Indexer};
pub use informed::Informed;
pub use leader_election::ElectionDefect;
pub use load_balancer::{LoadBalancer, Policy};
pub use rest::{Failure, Rest};
pub use roller::Roller;
pub use service_writer::ServiceWriter;
pub use words::tell;
pub use writer::Writer;
