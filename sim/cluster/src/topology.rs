//! Which processes there are, and how they know each other.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Object;
use wavetank_apiserver::{ApiServer, Config};
use wavetank_client::{EtcdUser, Follower, etcd_user};
use wavetank_controllers::Bootstrap;
use wavetank_engine::{LinkSpec, ProcId, World, WorldBuilder};
use wavetank_etcd::raft::MemberId;
use wavetank_etcd::{Etcd, Sizes};
use wavetank_release::{EtcdRelease, Reconciler, Release, Switches};

use crate::library::Named;

/// A kube-apiserver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apiserver {
    /// Its release.
    pub release: Release,
    /// Its switches.
    pub switches: Switches,
}

/// The etcd under everything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdCluster {
    /// How many members: one is called `etcd`, several `e1` to `eN`.
    pub members: u32,
    /// Their release.
    pub release: EtcdRelease,
    /// Their defects.
    pub switches: Switches,
    /// How much a member holds.
    pub sizes: Sizes,
}

impl EtcdCluster {
    /// One member of this release, with these defects.
    pub fn single(release: EtcdRelease, switches: Switches) -> EtcdCluster {
        EtcdCluster {
            members: 1,
            release,
            switches,
            sizes: Sizes::of(release),
        }
    }
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

    /// The names of all processes.
    pub fn names(&self) -> Vec<String> {
        let mut all = self.apiserver_names();
        all.extend(self.client_names());
        all.extend(self.etcd_names());
        all.extend(self.etcd_client_names());
        all
    }

    /// The address that the `n`-th apiserver (from 1) advertises.
    pub fn address(n: usize) -> Arc<str> {
        format!("10.0.0.{n}").into()
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
                switches: self.etcd.switches,
                sizes: self.etcd.sizes,
            };
            builder.process(name, Etcd::<Object>::new(config));
        }
        let mut servers = Vec::new();
        for (at, name) in self.apiserver_names().iter().enumerate() {
            let me = WorldBuilder::id_of(name, &all);
            let Apiserver { release, switches } = self.apiservers[at].clone();
            let config = Config {
                release,
                switches,
                me,
                // As kubeadm stacks them: each apiserver uses the member on its own machine.
                etcd: members[at % members.len()],
                address: Topology::address(at + 1),
                shutdown_delay: self.shutdown_delay,
                hooks: 1,
                number: at as u32 + 1,
                namespace_lifecycle: false,
                watch_cache: None,
                compacts: true,
            };
            servers.push((config.address.clone(), me));
            let bootstrap = Bootstrap {
                server: Arc::new(config.clone()),
                reconciler: self.reconciler,
                apiserver_count: self.apiserver_count,
            };
            builder.process(name, ApiServer::new(config, vec![bootstrap]));
        }
        let servers = Arc::new(servers);
        for name in self.client_names() {
            let servers = servers.clone();
            builder.process(&name, Follower { servers });
        }
        for name in self.etcd_client_names() {
            let config = etcd_user::Config {
                members: members.clone(),
                watches: WATCHES,
                value: numbered,
            };
            builder.process(&name, EtcdUser::new(config));
        }
        for property in properties {
            builder.property(property.property(self.shutdown_delay));
        }
        builder.build()
    }
}

/// An object that is told from others by its name only.
fn numbered(number: u64) -> Object {
    Object::new(serde_json::json!({"metadata": {"name": number.to_string()}}))
}
