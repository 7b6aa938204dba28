//! The components of the control plane, a folder each: its algorithm with defects and gates, what it says in scenario
//! files, which processes it has, how faults hit them, what it is held to, and how that is told. Algorithms that others
//! build on (etcd, client-go, the generic apiserver) are crates below this one. How the world is composed of them belongs to
//! `wavetank-cluster`, which has the list of them; what the words mean in which they are declared to
//! `wavetank-component`.
//!
//! `elected` is what processes have in common of which one leads, `scheduling` says whether a pod fits on a node, `users` clients that use one kind of thing in
//! a scenario; `sieve` is what Sieve does to controllers, and its oracle.
//!
//! A component may look into the folder of another by that one's name: an apiserver asks `etcd` for its release, as a
//! user would read its flags.

pub mod binders;
pub mod changes;
pub mod clients;
pub mod conditions;
pub mod conversion_webhooks;
pub mod custom_resources;
pub mod elected;
pub mod etcd;
pub mod etcd_clients;
pub mod guests;
pub mod identity;
pub mod informers;
pub mod kube_apiserver;
pub mod load_balancer;
pub mod metrics_servers;
pub mod nodes;
pub mod pod_runners;
pub mod promises;
pub mod rollout;
pub mod scheduling;
pub mod service_writers;
pub mod services;
pub mod sieve;
pub mod users;
pub mod view;
pub mod watch_cache;
pub mod writers;

pub use view::{ClusterView, ENDPOINTS, SLICE};
