//! The cluster of a scenario: its processes, their options, and the network between them.

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::choices::Choices;
use super::duration::Duration;
use super::faults::probability;
use super::front::{Balancer, Rollout};
use super::published::{AdditionalPort, Family};
use super::range::Range;
use super::release::Release;
use super::services::{Cidrs, PortRange};

/// The processes of a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Topology {
    /// The number of etcd members: one is named etcd, several e1, e2 and so on.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 9))]
    pub etcd: u32,
    /// The apiservers, named a1, a2 and so on. There may be none if there are clients of etcd.
    #[serde(default)]
    pub apiservers: Apiservers,
    /// The number of clients, named c1, c2 and so on.
    #[serde(default)]
    #[schemars(range(max = 99))]
    pub clients: u32,
    /// The number of clients that use etcd itself, named u1, u2 and so on.
    #[serde(default)]
    #[schemars(range(max = 99))]
    pub etcd_clients: u32,
    /// The number of clients with informers, named i1, i2 and so on; their release is that of the
    /// newest apiserver.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = 99))]
    pub informers: u32,
    /// The number of clients that write objects for informers to see, named w1, w2 and so on.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = 99))]
    pub writers: u32,
    /// The number of clients that make, change and delete Services, named s1, s2 and so on.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = 99))]
    pub service_writers: u32,
    /// The number of controller managers, which elect a leader, named m1, m2 and so on; their release is
    /// that of the newest apiserver.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = 99))]
    pub controller_managers: u32,
    /// Whether the apiservers have watch caches (`--watch-cache`).
    #[serde(default, skip_serializing_if = "is_false")]
    pub watch_cache: bool,
    /// A rollout over the apiservers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
    /// Health checks of the load balancer between clients and apiservers; without them it sees breaks only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<Balancer>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn one() -> u32 {
    1
}

impl Topology {
    /// The names of all processes.
    pub fn processes(&self) -> Vec<String> {
        let numbered = |letter, count| (1..=count).map(move |n| format!("{letter}{n}"));
        let etcd: Vec<String> = match self.etcd {
            1 => vec!["etcd".into()],
            members => numbered('e', members).collect(),
        };
        etcd.into_iter()
            .chain(numbered('a', self.apiservers.count()))
            .chain(numbered('c', self.clients))
            .chain(numbered('u', self.etcd_clients))
            .chain(numbered('i', self.informers))
            .chain(numbered('w', self.writers))
            .chain(numbered('s', self.service_writers))
            .chain(numbered('m', self.controller_managers))
            .chain(numbered('r', self.rollout.iter().len() as u32))
            .collect()
    }
}

/// The apiservers: how many, or the release of each.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Apiservers {
    /// So many, all of the scenario's release.
    Count(#[schemars(range(min = 0, max = 9))] u32),
    /// Each with its own release.
    Each(#[schemars(length(min = 1, max = 9))] Vec<Apiserver>),
}

impl Default for Apiservers {
    fn default() -> Self {
        Self::Count(0)
    }
}

impl Apiservers {
    /// How many there are.
    pub fn count(&self) -> u32 {
        match self {
            Self::Count(count) => *count,
            Self::Each(each) => each.len().try_into().unwrap_or(u32::MAX),
        }
    }
}

/// By hand, since serde's own untagged enums forget where a mistake was.
impl<'de> Deserialize<'de> for Apiservers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ApiserversVisitor)
    }
}

struct ApiserversVisitor;

impl<'de> Visitor<'de> for ApiserversVisitor {
    type Value = Apiservers;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number or a list: `3`, or `[{release: v1.20}, {release: v1.36}]`")
    }

    fn visit_u64<E: de::Error>(self, count: u64) -> Result<Apiservers, E> {
        // Too many for 32 bits are too many anyhow, and that is said later.
        Ok(Apiservers::Count(count.try_into().unwrap_or(u32::MAX)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Apiservers, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Apiservers::Each)
    }
}

/// One apiserver of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Apiserver {
    /// The release it runs.
    pub release: Release,
}

/// Options of the apiservers. Each may be one value or a list, of which each seed draws one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Options {
    /// How the endpoints of the `kubernetes` service are kept.
    pub endpoint_reconciler_type: Choices<ReconcilerType>,
    /// How many apiservers each believes there are, for `master-count` only; upstream's
    /// default is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apiserver_count: Option<Choices<u32>>,
    /// How long a stopping apiserver goes on serving.
    pub shutdown_delay: Choices<Duration>,
    /// How often etcd is compacted, with watch caches only; 0s is never, upstream's default 5m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd_compaction_interval: Option<Choices<Duration>>,
    /// What Services are given cluster addresses from; without it they are given none, and no ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_cluster_ip_range: Option<Cidrs>,
    /// What Services are given node ports from; upstream's default is 30000-32767.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_node_port_range: Option<PortRange>,
    /// What controller managers lock; without it what their release does by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader_elect_resource_lock: Option<Choices<ResourceLock>>,
    /// Whether a controller manager gives up its lock when it stops (`ReleaseOnCancel` of client-go);
    /// without it none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader_elect_release_on_cancel: Option<Choices<bool>>,
    /// Whether apiservers of v1.36 have identities (the gate `APIServerIdentity`, on there by default).
    #[serde(skip_serializing_if = "is_false")]
    pub apiserver_identity: bool,
    /// The node port of the Service `kubernetes`; without it that is a ClusterIP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_service_node_port: Option<u16>,
    /// Ports of the Service `kubernetes` and its Endpoints besides `https`, up to v1.20. No flags of upstream: who
    /// embeds a kube-apiserver sets them (`ExtraServicePorts`, `ExtraEndpointPorts`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additional_ports: Vec<AdditionalPort>,
    /// Of which family the addresses are that apiservers advertise.
    #[serde(skip_serializing_if = "Family::is_default")]
    pub advertise_address_family: Family,
}

/// Values of `--leader-elect-resource-lock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResourceLock {
    /// An annotation of Endpoints, until v1.20.
    Endpoints,
    /// An annotation of a ConfigMap, until v1.20.
    ConfigMaps,
    /// A Lease.
    Leases,
    /// Endpoints and a Lease, v1.20.
    EndpointsLeases,
    /// A ConfigMap and a Lease, v1.20.
    ConfigMapsLeases,
}

/// Values of `--endpoint-reconciler-type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReconcilerType {
    /// Each apiserver holds a lease in etcd.
    #[default]
    Lease,
    /// Each apiserver adds itself, and cuts the list to `apiserver-count`.
    MasterCount,
    /// Nobody keeps the endpoints.
    None,
}

/// How fast messages travel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Network {
    /// The range from which each link's base latency is drawn.
    pub latency: Range<Duration>,
    /// Messages that take longer.
    pub tail: Tail,
}

impl Default for Network {
    fn default() -> Self {
        let latency = Range::new(Duration::from_micros(200), Duration::from_millis(1));
        Self {
            latency,
            tail: Tail::default(),
        }
    }
}

/// Messages that take longer than their link's base latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Tail {
    /// The probability that a message is one of them.
    #[serde(deserialize_with = "probability")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub chance: f64,
    /// The range from which their latency is drawn.
    pub latency: Range<Duration>,
}

impl Default for Tail {
    fn default() -> Self {
        let latency = Range::new(Duration::from_millis(5), Duration::from_millis(80));
        Self {
            chance: 0.01,
            latency,
        }
    }
}
