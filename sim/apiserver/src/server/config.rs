//! What a server is started with: its flags, and what a scenario says instead of flags.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::kinds::{API_SERVICES, Kinds};
use wavetank_api::{Request, Resource, Response};
use wavetank_client::{RestClient, Servers};
use wavetank_engine::{ProcId, Rx};
use wavetank_etcd::{Connections, Endpoints};
use wavetank_version::{EtcdVersion, Version};

use crate::Defects;
use crate::apiextensions::CustomResources;
use crate::cacher::{self, CachedVersions, Cacher};
use crate::gates;

/// What a server says that is asked for a resource that nobody of its world has said to use.
pub const NOBODY_USES: &str = "is asked for, but no component of the scenario says that it uses it";

/// What never changes in the life of a server.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// Its release.
    pub release: Version,
    /// Its known bugs and fixes.
    pub defects: Defects,
    /// Itself.
    pub me: ProcId,
    /// The etcd it stores in (`--etcd-servers`).
    pub etcd: Endpoints,
    /// Has each client that it makes of etcd a connection of its own, as upstream's have?
    pub etcd_connections: Connections,
    /// `--etcd-servers-overrides` for Events: theirs, if it is another one.
    pub events_etcd: Option<ProcId>,
    /// `--advertise-address`
    pub address: Arc<str>,
    /// `--shutdown-delay-duration`
    pub shutdown_delay: Duration,
    /// How many PostStart hooks `/readyz` waits for.
    pub hooks: u64,
    /// `--watch-cache`, over an etcd of this release; `None` without.
    pub watch_cache: Option<EtcdVersion>,
    /// `--etcd-compaction-interval`; `None` is 0: it does not compact.
    pub compaction: Option<Duration>,
    /// Its number among the servers: goes into uids.
    pub number: u32,
    /// The kinds that it serves, and has watch caches of.
    pub kinds: Kinds,
    /// Is the admission plugin `NamespaceLifecycle` on, with its informer, and are webhooks and policies that wait for that?
    pub namespace_lifecycle: bool,
    /// Does it keep `metadata.managedFields`, and serve apply?
    pub managed_fields: ManagedFields,
    /// Does it serve definitions of custom resources, and what they define?
    pub custom_resources: CustomResources,
    /// Which admission plugins are on beside those that need no other objects.
    pub admission: Admission,
    /// `--audit-log-path`
    pub audit: AuditLog,
    /// `--min-compatibility-version`
    pub min_compatibility: MinCompatibility,
}

/// The oldest release of a server beside this one; `None` if all are of one release, so that nobody reads what another
/// release has written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MinCompatibility(pub Option<Version>);

/// By hand: a server among its like has the hash that it had when there was no such choice.
impl Hash for MinCompatibility {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        if let Some(oldest) = self.0 {
            oldest.hash(state);
        }
    }
}

/// Does a server tell what it was asked and has answered? Only who compares its clients with real ones wants that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AuditLog {
    /// It does not.
    #[default]
    Off,
    /// It tells of all requests that are no watches, each before it is answered ([`Audited`]).
    On,
}

/// By hand: a server without it has the hash that it had before there was one.
impl Hash for AuditLog {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        if *self == AuditLog::On {
            state.write_u8(1);
        }
    }
}

/// A request that was served (the stage `ResponseComplete` of `apiserver/pkg/audit`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Audited {
    /// Did the server ask itself?
    pub by_itself: bool,
    /// What was asked.
    pub request: Request,
    /// What was answered.
    pub response: Response,
}

/// Admission plugins that look at other objects. Real servers have them on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Admission {
    /// `Priority` with its classes, `PodTopologyLabels`, and `TaintNodesByCondition`.
    pub defaults: bool,
    /// `ServiceAccount`
    pub service_accounts: bool,
    /// Is there a ValidatingAdmissionPolicy that concerns all objects and refuses none?
    pub policies: bool,
    /// `ResourceQuota`
    pub quota: bool,
}

/// By hand: a server that has none of them on has the hash that it had before there were any.
impl Hash for Admission {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        if *self != Admission::default() {
            (self.defaults, self.service_accounts).hash(state);
            if self.policies {
                state.write_u8(1);
            }
            if self.quota {
                state.write_u8(2);
            }
        }
    }
}

/// Are `metadata.managedFields` kept, and is server-side apply served? A server that does neither is not asked for it by
/// its hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ManagedFields {
    /// Objects say nothing of who wrote them.
    #[default]
    Unkept,
    /// As every real server does.
    Kept,
}

/// By hand: a server that keeps none has the hash that it had before it could.
impl Hash for ManagedFields {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        if *self == ManagedFields::Kept {
            state.write_u8(1);
        }
    }
}

impl Config {
    /// Does it keep `metadata.managedFields`?
    pub(crate) fn keeps_managed_fields(&self) -> bool {
        self.managed_fields == ManagedFields::Kept && self.release.has(gates::MANAGED_FIELDS)
    }

    /// Does it serve custom resources? Then how many servers it believes there are.
    pub(crate) fn serves_custom_resources(&self) -> Option<u32> {
        match self.custom_resources {
            CustomResources::Served {
                apiserver_count, ..
            } => Some(apiserver_count).filter(|_| self.release.has(gates::CUSTOM_RESOURCES)),
            CustomResources::Unserved => None,
        }
    }

    /// Does it keep APIServices of what it serves?
    pub(crate) fn aggregates(&self) -> bool {
        let asked = matches!(
            self.custom_resources,
            CustomResources::Served {
                aggregated: true,
                ..
            }
        );
        asked && self.serves_custom_resources().is_some()
    }

    /// With the kind by which users make others, if it serves that, and with that of the aggregator.
    pub(super) fn with_its_kinds(self) -> Config {
        let served = self.serves_custom_resources().is_some();
        let aggregates = self.aggregates();
        let mut kinds = self.kinds;
        if served {
            kinds = kinds.with_definitions();
        }
        if aggregates {
            kinds = kinds.with_used(&API_SERVICES);
        }
        Config { kinds, ..self }
    }

    /// Its watch caches.
    pub(crate) fn caches(&self) -> Option<cacher::Config> {
        let etcd = self.watch_cache?;
        Some(cacher::Config {
            release: self.release,
            defects: self.defects.cache,
            etcd: self.etcd(),
            progress: cacher::supports_progress(etcd),
            versions: CachedVersions(self.storage_versions()),
        })
    }

    /// The watch cache of a resource.
    ///
    /// # Panics
    /// If nobody said that it is used: without its watch cache the answer could be another one.
    pub fn cacher(&self, rx: Rx, resource: &'static Resource) -> Option<Cacher> {
        let caches = self.caches()?;
        assert!(
            self.kinds.uses(resource),
            "`{}` {NOBODY_USES} (`Component::uses`; `uses` of an operator or of actors)",
            resource.qualified()
        );
        let is_cached = self.kinds.caches(resource);
        is_cached.then(|| Cacher::serving(rx, caches, resource))
    }

    /// Its loopback client.
    pub fn loopback(&self) -> RestClient {
        RestClient::new(self.release, Servers::Loopback(self.me))
    }
}
