//! Which processes there are, and how they know each other.

use std::sync::Arc;
use std::time::Duration;

use wavetank_actors::{EtcdUser, RolloutOperator, ServiceWriter, Writer, etcd_user};
use wavetank_api::Object;
use wavetank_apiserver::cacher::gates::WATCH_LIST;
use wavetank_apiserver::services::ServiceRanges;
use wavetank_apiserver::{ApiServer, Config, Defects};
use wavetank_client::leader_election::LockKind;
use wavetank_client::{ElectionDefect, InformerDefect};
use wavetank_client::{LoadBalancer, Policy, RestClient, Servers};
use wavetank_controllers::{Bootstrap, ControllerManager, IDENTITY_LIMIT, Reconciler};
use wavetank_engine::{LinkSpec, ProcId, World, WorldBuilder};
use wavetank_etcd::EtcdDefect;
use wavetank_etcd::raft::MemberId;
use wavetank_etcd::{Etcd, Sizes};
use wavetank_version::{EtcdVersion, Selection, Set, Version};

use crate::front::{self, Front};
use crate::library::{Named, Settling};
use crate::properties::settling;
use crate::{informers, leaders};

/// A kube-apiserver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apiserver {
    /// Its release.
    pub release: Version,
    /// The defects and fixes that are on in it.
    pub defects: Selection,
}

/// The etcd under everything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdCluster {
    /// How many members: one is called `etcd`, several `e1` to `eN`.
    pub members: u32,
    /// Their release.
    pub release: EtcdVersion,
    /// Their defects.
    pub defects: Set<EtcdDefect>,
    /// How much a member holds.
    pub sizes: Sizes,
}

impl EtcdCluster {
    /// One member of this release, with these defects.
    pub fn single(release: EtcdVersion, defects: Set<EtcdDefect>) -> EtcdCluster {
        EtcdCluster {
            members: 1,
            release,
            defects,
            sizes: Sizes::of(release),
        }
    }
}

/// A client with informers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InformerClient {
    /// The release of its client-go.
    pub release: Version,
    /// Its known bugs.
    pub defects: Set<InformerDefect>,
}

/// A controller manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manager {
    /// The release of its client-go.
    pub release: Version,
    /// Its known bugs and fixes.
    pub defects: Set<ElectionDefect>,
    /// `--leader-elect-resource-lock`
    pub lock: LockKind,
    /// Does it give up its lock when it stops?
    pub releases: bool,
}

/// Watch caches, who looks into them, and who is in front of apiservers without.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Watching {
    /// `--watch-cache`
    pub cache: bool,
    /// `--etcd-compaction-interval`; 0: there is no compaction.
    pub compaction: Duration,
    /// Clients with informers, `i1` to `iN`.
    pub informers: Vec<InformerClient>,
    /// How many clients write, `w1` to `wN`.
    pub writers: u32,
    /// Controller managers, `m1` to `mN`.
    pub managers: Vec<Manager>,
    /// What stands in front of the apiservers, and who replaces them.
    pub front: Front,
}

/// A cluster: etcd, apiservers, in-cluster clients, clients of etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The apiservers, `a1` to `aN`.
    pub apiservers: Vec<Apiserver>,
    /// The etcd.
    pub etcd: EtcdCluster,
    /// How many clients use etcd itself, `u1` to `uN`.
    pub etcd_clients: u32,
    /// How many clients, `c1` to `cN`.
    pub clients: u32,
    /// Watch caches, informers, and writers for them.
    pub watching: Watching,
    /// What Services are given: `--service-cluster-ip-range`, `--service-node-port-range`.
    pub services: Option<ServiceRanges>,
    /// How many clients use Services, `s1` to `sN`.
    pub service_writers: u32,
    /// `--endpoint-reconciler-type`
    pub reconciler: Reconciler,
    /// `--apiserver-count`
    pub apiserver_count: u32,
    /// `--shutdown-delay-duration`
    pub shutdown_delay: Duration,
}

/// The name of the only etcd member.
pub const ETCD: &str = "etcd";
/// How many watches each client of etcd keeps.
const WATCHES: u32 = 1;

impl Topology {
    /// The names of the apiservers.
    pub fn apiserver_names(&self) -> Vec<String> {
        (1..=self.apiservers.len())
            .map(|n| format!("a{n}"))
            .collect()
    }

    /// The names of the clients.
    pub fn client_names(&self) -> Vec<String> {
        (1..=self.clients).map(|n| format!("c{n}")).collect()
    }

    /// The names of the etcd members.
    pub fn etcd_names(&self) -> Vec<String> {
        match self.etcd.members {
            1 => vec![ETCD.to_owned()],
            members => (1..=members).map(|n| format!("e{n}")).collect(),
        }
    }

    /// The names of the clients that use etcd itself.
    pub fn etcd_client_names(&self) -> Vec<String> {
        (1..=self.etcd_clients).map(|n| format!("u{n}")).collect()
    }

    /// The names of the clients with informers.
    pub fn informer_names(&self) -> Vec<String> {
        (1..=self.watching.informers.len())
            .map(|n| format!("i{n}"))
            .collect()
    }

    /// The names of the clients that write.
    pub fn writer_names(&self) -> Vec<String> {
        let writers = 1..=self.watching.writers;
        writers.map(|n| format!("w{n}")).collect()
    }

    /// The names of the controller managers.
    pub fn manager_names(&self) -> Vec<String> {
        let managers = 1..=self.watching.managers.len();
        managers.map(|n| format!("m{n}")).collect()
    }

    /// The names of the clients that use Services.
    pub fn service_writer_names(&self) -> Vec<String> {
        let writers = 1..=self.service_writers;
        writers.map(|n| format!("s{n}")).collect()
    }

    /// The names of all processes.
    pub fn names(&self) -> Vec<String> {
        let mut all = self.apiserver_names();
        all.extend(self.client_names());
        all.extend(self.etcd_names());
        all.extend(self.etcd_client_names());
        all.extend(self.informer_names());
        all.extend(self.writer_names());
        all.extend(self.manager_names());
        all.extend(self.service_writer_names());
        all.extend(self.roller_names());
        all
    }

    /// How long after calm the last informers have caught up.
    fn informers_settle(&self) -> Duration {
        let all = self.watching.informers.iter();
        let each = all.map(|client| wavetank_client::monitors::settling(client.release));
        each.max().unwrap_or_default()
    }

    /// What a shutdown takes besides the removal of the address: the delay, and the deletion of the identity.
    fn shutdown_takes(&self) -> Duration {
        let identity = match self.watching.front.identity {
            true => IDENTITY_LIMIT,
            false => Duration::ZERO,
        };
        self.shutdown_delay + identity
    }

    /// How long after calm somebody leads.
    fn leaders_settle(&self) -> Duration {
        let settled = settling(self.shutdown_takes());
        let all = self.watching.managers.iter();
        let each = all.map(|manager| leaders::leading(manager.release, settled));
        each.max().unwrap_or_default()
    }

    /// The address that the `n`-th apiserver (from 1) advertises.
    pub fn address(n: usize) -> Arc<str> {
        format!("10.0.0.{n}").into()
    }

    fn hooks(&self, config: &Config, of: &Apiserver) -> Vec<Bootstrap> {
        vec![Bootstrap {
            server: Arc::new(config.clone()),
            reconciler: self.reconciler,
            apiserver_count: self.apiserver_count,
            identity: self.watching.front.identity,
            published: self.watching.front.published.clone(),
            defects: wavetank_controllers::Defects::of(&of.defects),
        }]
    }

    /// The world at time zero, everything down, with these properties.
    pub fn world(&self, properties: &[Named], nominal: LinkSpec) -> World {
        let all = self.names();
        let members: Vec<ProcId> = self
            .etcd_names()
            .iter()
            .map(|name| WorldBuilder::id_of(name, &all))
            .collect();
        let mut builder = WorldBuilder::new();
        builder.links(nominal);
        for (at, name) in self.etcd_names().iter().enumerate() {
            let config = wavetank_etcd::Config {
                me: MemberId(at as u8),
                members: members.clone(),
                release: self.etcd.release,
                defects: self.etcd.defects,
                sizes: self.etcd.sizes,
            };
            builder.process(name, Etcd::<Object>::new(config));
        }
        let mut servers = Vec::new();
        for (at, name) in self.apiserver_names().iter().enumerate() {
            let me = WorldBuilder::id_of(name, &all);
            let own = &self.apiservers[at];
            let config = Config {
                release: own.release,
                defects: Defects::of(&own.defects),
                me,
                // As kubeadm stacks them: each apiserver uses the member on its own machine.
                etcd: members[at % members.len()],
                address: self.watching.front.address(at + 1),
                shutdown_delay: self.shutdown_delay,
                hooks: 1,
                number: at as u32 + 1,
                services: self.services.clone(),
                namespace_lifecycle: false,
                events_etcd: None,
                watch_cache: self.watching.cache.then_some(self.etcd.release),
                compaction: Some(self.watching.compaction).filter(|every| !every.is_zero()),
            };
            servers.push((config.address.clone(), me));
            let hooks = self.hooks(&config, own);
            let server = match self.watching.front.before(at, own) {
                None => ApiServer::new(config, hooks),
                Some(former) => {
                    let before = Config {
                        release: former.release,
                        defects: Defects::of(&former.defects),
                        ..config.clone()
                    };
                    let server = ApiServer::new(before.clone(), self.hooks(&before, former));
                    server.upgraded_to(config, hooks)
                }
            };
            builder.process(name, server);
        }
        let servers = Arc::new(servers);
        for name in self.client_names() {
            builder.process(&name, self.follower(servers.clone()));
        }
        for name in self.etcd_client_names() {
            let config = etcd_user::Config {
                members: members.clone(),
                watches: WATCHES,
                value: numbered,
            };
            builder.process(&name, EtcdUser::new(config));
        }
        let balanced: Vec<ProcId> = servers.iter().map(|(_, me)| *me).collect();
        for name in self.roller_names() {
            let probes = self.apiservers.iter();
            let probes = probes.map(|server| front::ready_probe(server.release));
            let servers = balanced.iter().copied().zip(probes).collect();
            builder.process(&name, RolloutOperator { servers });
        }
        for (name, client) in self.informer_names().iter().zip(&self.watching.informers) {
            builder.process(name, informers::client(client, &balanced));
        }
        let balanced = Arc::new(balanced);
        let mut releases = self.apiservers.iter().map(|server| server.release);
        let streams = releases.all(|release| release.has(WATCH_LIST));
        for name in self.writer_names() {
            let servers = balanced.clone();
            builder.process(&name, Writer { servers, streams });
        }
        let oldest = self.apiservers.iter().map(|server| server.release).min();
        if let (Some(ranges), Some(oldest)) = (&self.services, oldest) {
            for name in self.service_writer_names() {
                let writer = ServiceWriter::new(&name, balanced.clone(), oldest, ranges);
                builder.process(&name, writer);
            }
        }
        for (name, manager) in self.manager_names().iter().zip(&self.watching.managers) {
            builder.process(name, self::manager(name, manager, &balanced));
        }
        let settling = Settling {
            shutdown_delay: self.shutdown_takes(),
            informers: self.informers_settle(),
            leaders: self.leaders_settle(),
        };
        for property in properties {
            builder.property(property.property(&settling));
        }
        builder.build()
    }
}

/// A controller manager behind a load balancer in front of the apiservers.
fn manager(name: &str, of: &Manager, servers: &[ProcId]) -> ControllerManager {
    let rest = RestClient {
        release: of.release,
        servers: Servers::Balanced(LoadBalancer {
            servers: servers.to_vec(),
            policy: Policy::Drawn,
        }),
    };
    ControllerManager::new(name, rest, of.defects, of.lock, of.releases)
}

/// An object that is told from others by its name only.
fn numbered(number: u64) -> Object {
    Object::new(serde_json::json!({"metadata": {"name": number.to_string()}}))
}
