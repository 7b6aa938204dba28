//! Keys of scenario files: how apiservers reach etcd (`storagebackend.TransportConfig`). What their clients do with it
//! is in `wavetank_etcd`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_component::{Part, Section, Setup, Wiring};
use wavetank_etcd::{Connections, Endpoints};

use crate::etcd;

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct EtcdOptions {
    /// Whether an apiserver has a connection to etcd for each resource, and for each of its other clients of etcd: a
    /// fault strikes one of them. In small scenarios they may share one.
    #[serde(skip_serializing_if = "is_default")]
    pub etcd_connections: EtcdConnections,
    /// Which members of etcd an apiserver knows (`--etcd-servers`).
    #[serde(skip_serializing_if = "is_default")]
    pub etcd_servers: EtcdServers,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The connections of an apiserver to etcd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EtcdConnections {
    /// One for everything.
    #[default]
    Shared,
    /// One for each resource and each other purpose, named `etcd/configmaps`, `etcd/health` and so on, as upstream
    /// has them.
    PerResource,
}

/// The members that an apiserver knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EtcdServers {
    /// The one on its own machine, as kubeadm stacks them.
    #[default]
    Stacked,
    /// All of them: each call and each watch goes to the next one that is connected.
    All,
}

impl From<EtcdConnections> for Connections {
    fn from(of: EtcdConnections) -> Connections {
        match of {
            EtcdConnections::Shared => Connections::Shared,
            EtcdConnections::PerResource => Connections::PerClient,
        }
    }
}

impl Part for EtcdOptions {
    const SECTION: Section = Section::Options;
}

/// The members that the `n`-th apiserver (from 0) knows.
pub fn servers(setup: &Setup, wiring: &Wiring, n: usize) -> Endpoints {
    match setup.part::<EtcdOptions>().etcd_servers {
        EtcdServers::Stacked => etcd::member_of(wiring, n).into(),
        EtcdServers::All => Endpoints::of(&wiring.ids(etcd::NAME)),
    }
}

/// The connections of each apiserver.
pub fn connections(setup: &Setup) -> Connections {
    setup.part::<EtcdOptions>().etcd_connections.into()
}
