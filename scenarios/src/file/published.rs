//! As what the apiservers are published: the type and the ports of the Service `kubernetes`, and the family of the
//! addresses that they advertise; and whether that goes together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use wavetank_cluster::ADDITIONAL_PORTS;
use wavetank_releases::Release as Known;

use super::check::Checker;
use super::path::Path;
use super::release::Release;
use super::services::PortRange;
use super::tree::Focus::{Key, Value};

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
    pub(super) fn is_default(&self) -> bool {
        *self == Family::default()
    }
}

impl Checker<'_> {
    pub(super) fn published(&mut self) {
        let options = &self.scenario.options;
        let path = |key: &str| Path::of("options").key(key);
        let range = options.service_cluster_ip_range.as_ref();
        if let Some(port) = options.kubernetes_service_node_port {
            let (key, ports) = (
                "kubernetes-service-node-port",
                options.service_node_port_range,
            );
            let PortRange { first, last } = ports.unwrap_or(PortRange::UPSTREAM);
            if range.is_none() {
                let message =
                    "there is no Service `kubernetes` where Services are given no addresses";
                let help = format!(
                    "add `service-cluster-ip-range: 10.0.0.0/24` to `options`, or remove `{key}`"
                );
                self.wrong(path(key), Key, message, help);
            } else if !(first..=last).contains(&port) {
                let message = format!("{port} is not in the range of node ports, {first}-{last}");
                self.wrong(
                    path(key),
                    Value,
                    message,
                    format!("give one of {first}-{last}"),
                );
            }
        }
        let releases = self.scenario.releases();
        let has_them = |release: &Release| release.version().has(ADDITIONAL_PORTS);
        if !options.additional_ports.is_empty() && !releases.iter().any(has_them) {
            let key = "additional-ports";
            let all = Known::TABLE.iter();
            let newest = all.rev().find(|known| has_them(&Release(known)));
            let other = newest.map_or(String::new(), |known| {
                format!(", or let an apiserver be of {}", known.name)
            });
            let help = format!("remove `{key}`{other}");
            let message = format!("{} has no additional ports", releases[0].0.name);
            self.wrong(path(key), Key, message, help);
        }
        let advertised = options.advertise_address_family;
        if let Some(range) = range {
            let own = match range.0[0].contains(':') {
                true => Family::IPv6,
                false => Family::IPv4,
            };
            if own != advertised {
                let message = format!(
                    "apiservers that advertise {advertised:?} addresses cannot have a Service of {own:?}, {}",
                    range
                );
                let help = format!("write `advertise-address-family: {own:?}`");
                self.wrong(path("service-cluster-ip-range"), Value, message, help);
            }
        }
    }
}
