//! Controllers, each a small file of routines that read like the upstream algorithm. Here is the
//! bootstrap controller of kube-apiserver with its Endpoints reconcilers and its repair loops; what a server or a cluster is belongs elsewhere.

mod bootstrap;
mod defects;
pub mod gates;
mod identity;
mod kubernetes_service;
mod published;
mod reconcilers;
mod repair;
mod service_addresses;
mod system_namespaces;

pub use bootstrap::{Bootstrap, BootstrapNote, RemovalOutcome, SHUTDOWN_LIMIT};
pub use defects::{BootstrapDefect, Defects, IdentityDefect, RepairDefect};
pub use identity::{DELETE_LIMIT as IDENTITY_LIMIT, IdentityStopped};
pub use published::{AdditionalPort, Published};
pub use reconcilers::{
    MASTER_LEASE_TTL, MASTER_LEASES, RECONCILE_INTERVAL, ReconcileError, Reconciler,
    master_lease_key,
};
pub use repair::{REPAIR_INTERVAL, RepairNote, ServiceRepair};
