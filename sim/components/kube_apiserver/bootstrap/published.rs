//! As what the apiservers are published: type and ports of the Service `kubernetes`, and the ports of its
//! Endpoints (`createPortAndServiceSpec`, `createEndpointPortSpec`).

use std::sync::Arc;

use serde_json::json;
use wavetank_api::json::Json;
use wavetank_api::views::Port;
use wavetank_version::Version;

use crate::kube_apiserver::gates;

/// What of it is configured. The default is that of a bare kube-apiserver.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Published {
    /// `--kubernetes-service-node-port`; 0 is a ClusterIP.
    pub node_port: u16,
    /// Ports besides `https`, until v1.20 (`ExtraServicePorts`, `ExtraEndpointPorts`: no flags, set by who
    /// embeds the server).
    pub additional: Vec<AdditionalPort>,
}

/// A port besides `https`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AdditionalPort {
    /// Its name.
    pub name: Arc<str>,
    /// The port of the Service.
    pub port: u16,
    /// The port of the apiservers.
    pub target: u16,
}

impl Published {
    fn additional(&self, release: Version) -> &[AdditionalPort] {
        match release.has(gates::ADDITIONAL_PORTS) {
            true => &self.additional,
            false => &[],
        }
    }

    /// The type of the Service.
    pub fn kind(&self) -> &'static str {
        match self.node_port {
            0 => "ClusterIP",
            _ => "NodePort",
        }
    }

    /// The ports of the Service.
    pub fn service_ports(&self, release: Version) -> Json {
        let port = |name: &str, port: u16, target: u16| json!({"name": name, "protocol": "TCP", "port": port, "targetPort": target});
        let mut https = port("https", 443, 6443);
        if self.node_port > 0 {
            https["nodePort"] = self.node_port.into();
        }
        let additional = self.additional(release).iter();
        let additional = additional.map(|own| port(&own.name, own.port, own.target));
        std::iter::once(https).chain(additional).collect()
    }

    /// The ports of the Endpoints, in this order; upstream sorts more than one by their hashes.
    pub fn endpoint_ports(&self, release: Version) -> Vec<Port> {
        let https = Port {
            name: "https".into(),
            port: 6443,
        };
        let additional = self.additional(release).iter().map(|own| Port {
            name: own.name.clone(),
            port: own.target,
        });
        std::iter::once(https).chain(additional).collect()
    }
}
