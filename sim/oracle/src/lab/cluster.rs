//! Which processes there are, and how they are set up: as those were that were recorded.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::kinds::{self, Kinds};
use wavetank_api::{Object, Resource};
use wavetank_apiserver::{
    Admission, ApiServer, AuditLog, Config, CustomResources, Defects, ManagedFields, gates,
};
use wavetank_components::kube_apiserver::bootstrap::{Bootstrap, Reconciler};
use wavetank_components::services::allocators::ServiceRanges;
use wavetank_engine::*;
use wavetank_etcd::raft::MemberId;
use wavetank_etcd::{Client, Connections, Etcd, Sizes};
use wavetank_version::{EtcdVersion, Set, Version};

use super::recorder::Recorder;
use crate::manager;

pub(super) const ETCD: &str = "etcd";

/// Events were kept apart, where they use no revisions of the others.
pub(super) const EVENTS_ETCD: &str = "events-etcd";

pub(super) const RECORDER: &str = "recorder";

/// `--advertise-address` of a server.
pub(crate) fn address_of(server: usize) -> String {
    format!("192.0.2.{}", 11 + server)
}

/// What servers use themselves.
const OWN: [&Resource; 13] = [
    &kinds::API_SERVICES,
    &kinds::EVENTS,
    &kinds::NAMESPACES,
    &kinds::SERVICES,
    &kinds::ENDPOINTS,
    &kinds::ENDPOINT_SLICES,
    &kinds::LEASES,
    &kinds::IP_ADDRESSES,
    &kinds::SERVICE_CIDRS,
    &kinds::CONFIG_MAPS,
    &kinds::SERVICE_ACCOUNTS,
    &kinds::POD_DISRUPTION_BUDGETS,
    &kinds::RESOURCE_QUOTAS,
];

/// The servers' names; requests go to the first.
pub(super) const SERVERS: [&str; 3] = ["apiserver", "apiserver-1", "apiserver-2"];

/// What is simulated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cluster {
    /// Of the servers.
    pub release: Version,
    /// Of their etcd.
    pub etcd: EtcdVersion,
    /// `--service-cluster-ip-range` and `--service-node-port-range`
    pub ranges: ServiceRanges,
    /// How many servers there are.
    pub servers: usize,
    /// `--endpoint-reconciler-type`
    pub reconciler: Reconciler,
    /// Is the admission plugin `ServiceAccount` on?
    pub service_accounts: bool,
    /// `--watch-cache`
    pub watch_cache: bool,
    /// Does each have an identity (the gate `APIServerIdentity`)?
    pub identity: bool,
    /// What they are asked for: of this, and of what they use themselves, they have watch caches.
    pub asked_for: Vec<&'static Resource>,
    /// Does the first tell what it is asked and answers?
    pub audit: AuditLog,
    /// The flags of the controller manager that runs beside the first; without them there is none.
    pub manager: Option<Vec<String>>,
}

impl Cluster {
    pub(super) fn world(&self) -> World {
        let servers = &SERVERS[..self.servers];
        let mut all = vec![ETCD, EVENTS_ETCD, RECORDER];
        all.extend(servers);
        all.extend(self.manager.as_ref().map(|_| manager::NAME));
        let id = |name| WorldBuilder::id_of(name, &all);
        let used = OWN.into_iter().chain(self.asked_for.iter().copied());
        let served = used.fold(Kinds::with(Vec::new()), Kinds::with_used);

        let mut builder = WorldBuilder::new();
        for name in [ETCD, EVENTS_ETCD] {
            builder.process(name, Etcd::<Object>::new(self.member(id(name))));
        }
        for (at, name) in servers.iter().enumerate() {
            let config = self.server(at, &id, &served);
            let bootstrap = self.bootstrap(&config);
            builder.process(name, ApiServer::new(config, vec![bootstrap]));
        }
        let server = id(SERVERS[0]);
        let etcd = Client::new(id(ETCD));
        builder.process(RECORDER, Recorder { server, etcd });
        if let Some(flags) = &self.manager {
            let manager = manager::of(flags, self.release, server, served);
            builder.process(manager::NAME, manager);
        }
        builder.build()
    }

    /// The only one of its cluster.
    fn member(&self, me: ProcId) -> wavetank_etcd::Config {
        wavetank_etcd::Config {
            me: MemberId(0),
            members: vec![me],
            release: self.etcd,
            defects: Set::NONE,
            sizes: Sizes::of(self.etcd),
        }
    }

    fn server(&self, at: usize, id: &dyn Fn(&'static str) -> ProcId, served: &Kinds) -> Config {
        let release = self.release;
        let bootstrapped = release.has(gates::AGGREGATED_DISCOVERY);
        Config {
            release,
            defects: Defects::shipped_with(release),
            me: id(SERVERS[at]),
            etcd: id(ETCD).into(),
            etcd_connections: Connections::Shared,
            events_etcd: Some(id(EVENTS_ETCD)),
            address: address_of(at).into(),
            shutdown_delay: Duration::ZERO,
            hooks: 1,
            number: at as u32 + 1,
            kinds: served.clone(),
            namespace_lifecycle: true,
            managed_fields: ManagedFields::Kept,
            custom_resources: CustomResources::Served {
                apiserver_count: self.servers as u32,
                aggregated: bootstrapped,
                webhooks: Default::default(),
                defects: Set::shipped_with(release),
            },
            admission: Admission {
                defaults: release.has(gates::AGGREGATED_DISCOVERY),
                service_accounts: self.service_accounts,
                policies: false,
                quota: true,
            },
            watch_cache: self.watch_cache.then_some(self.etcd),
            compaction: None,
            audit: self.audit,
            min_compatibility: Default::default(),
        }
    }

    fn bootstrap(&self, config: &Config) -> Bootstrap {
        Bootstrap {
            server: Arc::new(config.clone()),
            reconciler: self.reconciler,
            apiserver_count: self.servers as u32,
            identity: self.identity,
            services: Some(Arc::new(self.ranges.clone())),
            published: Arc::default(),
            defects: wavetank_components::kube_apiserver::Defects::shipped_with(self.release),
        }
    }
}
