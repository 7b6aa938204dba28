//! Which processes there are, and how they know each other.

use std::sync::Arc;
use std::time::Duration;

use wavetank_apiserver::{ApiServer, Config, Object};
use wavetank_client::Follower;
use wavetank_controllers::Bootstrap;
use wavetank_engine::{LinkSpec, World, WorldBuilder};
use wavetank_etcd::{Etcd, Sizes};
use wavetank_release::{EtcdRelease, Reconciler, Release, Switches};

use crate::properties;

/// A kube-apiserver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apiserver {
    /// Its release.
    pub release: Release,
    /// Its switches.
    pub switches: Switches,
}

/// A control plane: one etcd, apiservers, in-cluster clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The apiservers, `a1` to `aN`.
    pub apiservers: Vec<Apiserver>,
    /// The release of etcd and its switches.
    pub etcd: (EtcdRelease, Switches),
    /// How many clients, `c1` to `cN`.
    pub clients: u32,
    /// `--endpoint-reconciler-type`
    pub reconciler: Reconciler,
    /// `--apiserver-count`
    pub apiserver_count: u32,
    /// `--shutdown-delay-duration`
    pub shutdown_delay: Duration,
}

/// The name of the etcd member.
pub const ETCD: &str = "etcd";

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

    /// The names of all processes.
    pub fn names(&self) -> Vec<String> {
        let mut all = self.apiserver_names();
        all.extend(self.client_names());
        all.push(ETCD.to_owned());
        all
    }

    /// The address that the `n`-th apiserver (from 1) advertises.
    pub fn address(n: usize) -> Arc<str> {
        format!("10.0.0.{n}").into()
    }

    /// The world at time zero, everything down, with these properties.
    pub fn world(&self, properties: &[properties::Name], nominal: LinkSpec) -> World {
        let all = self.names();
        let etcd = WorldBuilder::id_of(ETCD, &all);
        let mut builder = WorldBuilder::new();
        builder.links(nominal);
        let (release, switches) = self.etcd;
        let config = wavetank_etcd::Config {
            release,
            switches,
            sizes: Sizes::of(release),
            ..wavetank_etcd::Config::single(etcd)
        };
        builder.process(ETCD, Etcd::<Object>::new(config));
        let mut servers = Vec::new();
        for (at, name) in self.apiserver_names().iter().enumerate() {
            let me = WorldBuilder::id_of(name, &all);
            let Apiserver { release, switches } = self.apiservers[at].clone();
            let config = Config {
                release,
                switches,
                me,
                etcd,
                address: Topology::address(at + 1),
                shutdown_delay: self.shutdown_delay,
                hooks: 1,
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
        for name in properties {
            builder.property(name.property(self.shutdown_delay));
        }
        builder.build()
    }
}
