//! As what the apiservers are published: the type and the ports of the Service `kubernetes`, and the family of the
//! addresses that they advertise; and whether that goes together.

use crate::kube_apiserver::bootstrap::Published;
use crate::kube_apiserver::gates::ADDITIONAL_PORTS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_component::{Mistakes, Part, Section, Spec};
use wavetank_version::Version;

use crate::services::{self, PortRange};

/// A port of the Service `kubernetes` and of its Endpoints besides `https`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AdditionalPort {
    /// Its name.
    pub name: String,
    /// The port of the Service.
    #[schemars(range(min = 1))]
    pub port: u16,
    /// The port of the apiservers.
    #[schemars(range(min = 1))]
    pub target_port: u16,
}

/// A family of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Family {
    /// 10.0.0.1, 10.0.0.2, …
    #[default]
    IPv4,
    /// fd00::1, fd00::2, …
    IPv6,
}

impl Family {
    /// The one that need not be said?
    fn is_default(&self) -> bool {
        *self == Family::default()
    }
}

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct PublishedOptions {
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

impl Part for PublishedOptions {
    const SECTION: Section = Section::Options;
}

impl PublishedOptions {
    /// As what the apiservers are published.
    pub(super) fn published(&self) -> Published {
        let additional = self.additional_ports.iter();
        let additional = additional.map(|own| crate::kube_apiserver::bootstrap::AdditionalPort {
            name: own.name.as_str().into(),
            port: own.port,
            target: own.target_port,
        });
        Published {
            node_port: self.kubernetes_service_node_port.unwrap_or(0),
            additional: additional.collect(),
        }
    }

    pub(super) fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        let section = Self::SECTION;
        let services: services::Options = spec.part();
        let range = services.service_cluster_ip_range.as_ref();
        if let Some(port) = self.kubernetes_service_node_port {
            let key = "kubernetes-service-node-port";
            let ports = services.service_node_port_range;
            let PortRange { first, last } = ports.unwrap_or(PortRange::UPSTREAM);
            if range.is_none() {
                let message =
                    "there is no Service `kubernetes` where Services are given no addresses";
                mistakes.key(section, key, message, services::add_ranges(key));
            } else if !(first..=last).contains(&port) {
                let message = format!("{port} is not in the range of node ports, {first}-{last}");
                let help = format!("give one of {first}-{last}");
                mistakes.value(section, key, message, help);
            }
        }
        let releases = super::releases(spec);
        let has_them = |release: &Version| release.has(ADDITIONAL_PORTS);
        if !self.additional_ports.is_empty()
            && !releases.is_empty()
            && !releases.iter().any(has_them)
        {
            let key = "additional-ports";
            let help = format!("remove `{key}`, or let an apiserver be of v1.20");
            let message = format!("{} has no additional ports", releases[0]);
            mistakes.key(section, key, message, help);
        }
        let Some(range) = range else { return };
        let own = match range.0[0].contains(':') {
            true => Family::IPv6,
            false => Family::IPv4,
        };
        let advertised = self.advertise_address_family;
        if own != advertised {
            let message = format!(
                "apiservers that advertise {advertised:?} addresses cannot have a Service of {own:?}, {range}"
            );
            let help = format!("write `advertise-address-family: {own:?}`");
            mistakes.value(section, "service-cluster-ip-range", message, help);
        }
    }
}
