//! From a topology to a world: processes wired together, with the properties that fit.
//!
//! `topology` builds, `front` is what stands before apiservers and who replaces them, `informers` says what clients watch, `properties` and `leaders` judge, `library` holds all properties that a scenario can name,
//! `view` is what properties look at, `teller` puts notes into words. How the parts work is in the layers below; seeds, files and flags are above.

pub mod components;
mod front;
mod informers;
pub mod leaders;
mod library;
pub mod properties;
mod teller;
mod topology;
mod view;

pub use front::{Checks, Front, Rollout};
pub use informers::INFORMED;
pub use library::{Concern, Entry, Named, Parts, Settling};
pub use teller::tell;
pub use topology::{Apiserver, EtcdCluster, InformerClient, Manager, Topology, Watching};
pub use view::{ClusterView, ENDPOINTS, SLICE};
pub use wavetank_apiserver::services::ServiceRanges;
pub use wavetank_client::leader_election::LockKind;
pub use wavetank_controllers::gates::{ADDITIONAL_PORTS, IDENTITY};
pub use wavetank_controllers::{AdditionalPort, Published, Reconciler};
pub use wavetank_etcd::Sizes;
