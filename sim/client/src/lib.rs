//! Clients, as client-go has them: this crate knows of no server but what it answers.
//!
//! `informer` is a shared informer with its parts, each in a room of its own: `reflector` lists and
//! watches, through `rest`; `fifo` is the queue, `indexer` the store. `rest` is the one REST client, over a
//! `transport`, to the server of its own process or through a `load_balancer` with its `health_checks`. `workqueue`
//! is what controllers work from, `leader_election` what candidates for one task do, `event_recorder` what reports
//! Events; `wait` has
//! the loops and says how long they wait. `cut_off` tells writes, and ends a process after one. `observed` is what
//! informers tell, `describe` puts it into words, `monitors`
//! say what is promised. Who uses a cluster for a scenario's sake is in `wavetank_actors`.

pub mod cut_off;
mod defects;
mod describe;
mod event_recorder;
pub mod fifo;
pub mod gates;
mod health_checks;
mod indexer;
pub mod informer;
pub mod leader_election;
pub mod load_balancer;
pub mod monitors;
pub mod observed;
mod reflector;
mod rest;
mod transport;
pub mod wait;
pub mod workqueue;

pub use defects::InformerDefect;
pub use describe::describe;
pub use event_recorder::{EventRecorder, EventType, Report};
pub use health_checks::{Checked, HealthChecks};
pub use indexer::{BY_NAMESPACE, Index, Indexer};
pub use leader_election::ElectionDefect;
pub use load_balancer::{LoadBalancer, Policy};
pub use rest::{Failure, RestClient, Servers};
pub use transport::HTTPS;
