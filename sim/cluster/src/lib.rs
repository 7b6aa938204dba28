//! From a topology to a world: processes wired together, with the properties that fit.
//!
//! `topology` builds, `properties` judges, `library` holds all properties that a scenario can name,
//! `view` is what properties look at, `teller` puts notes into words. How the parts work is in the layers below; seeds, files and flags are above.

mod library;
pub mod properties;
mod teller;
mod topology;
mod view;

pub use library::{Concern, Entry, Named};
pub use teller::tell;
pub use topology::{Apiserver, EtcdCluster, Topology};
pub use view::{ClusterView, ENDPOINTS, SLICE};
pub use wavetank_etcd::Sizes;
