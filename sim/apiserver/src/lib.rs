//! A kube-apiserver for the simulated world.
//!
//! `endpoints` has the handlers of requests, `registry` what create, update and delete do to any kind,
//! `storage` what upstream calls etcd3: objects in etcd, each call an await; `cacher` the watch cache
//! before it. `server` is the life of the process: hooks, readiness, shutdown; `node` what its node does with it. What kinds and requests mean is in `wavetank_api`; what
//! a hook does, and what it adds to a resource, belongs to the layers above. `apiextensions` serves the kinds that users make,
//! `aggregator` keeps APIServices of what the server serves, `quota` charges what is made to quotas.

mod aggregator;
mod apiextensions;
pub mod cacher;
mod defects;
mod endpoints;
mod etcd_clients;
pub mod gates;
mod namespaces;
mod node;
pub mod options;
mod quota;
pub mod registry;
mod server;
mod storage;
mod storages;

pub use apiextensions::{ConversionReview, CustomDefect, CustomResources};
pub use cacher::CacheDefect;
pub use defects::{Defects, ServerDefect};
pub use endpoints::discovery;
pub use endpoints::eviction::{EvictionDefect, Evicts, LetGoBy, RefusesEviction};
pub use endpoints::namespace_lifecycle::NAMESPACE_LISTER;
pub use node::{NODE, NodeAnswer, NodeOrder};
pub use options::{Preconditions, StoreError};
pub use quota::{Admitted, QuotaDefect};
pub use registry::DeletionDefect;
pub use server::{
    Admission, ApiServer, AuditLog, Audited, Config, HOOKS_DONE, Hook, HookFuture, ManagedFields,
    MinCompatibility, NOBODY_USES, STOP_BEGUN, ServerNote,
};
pub use storage::{Storage, Updated};
