//! The kinds that the server serves: one table, and one file of rules for each.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::json::Json;
use crate::strategy::Strategy;

mod config_maps;
pub mod deployments;
mod endpoint_slices;
pub mod endpoints;
mod events;
pub mod jobs;
mod leases;
mod namespaces;
mod network;
mod nodes;
pub mod pod_binding;
mod pod_spec;
pub mod pods;
mod secrets;
pub mod service_families;
pub mod service_gate;
mod service_one_ip;
pub mod service_rules;
pub mod services;

/// A resource: where it is served, where it is stored, and its rules.
pub struct Resource {
    /// The API group; empty for core.
    pub group: &'static str,
    /// The version that is served.
    pub version: &'static str,
    /// The name in paths, `configmaps`.
    pub plural: &'static str,
    /// `kind`
    pub kind: &'static str,
    /// Do its objects lie in namespaces?
    pub namespaced: bool,
    /// Where its objects are stored, `/registry/configmaps`.
    pub registry: &'static str,
    /// Its rules.
    pub strategy: &'static dyn Strategy,
}

impl Resource {
    /// All of them. What is numbered by them keeps its number, so a new one comes last.
    pub const ALL: [&'static Resource; 14] = [
        &CONFIG_MAPS,
        &DEPLOYMENTS,
        &ENDPOINT_SLICES,
        &ENDPOINTS,
        &EVENTS,
        &IP_ADDRESSES,
        &LEASES,
        &NAMESPACES,
        &NODES,
        &PODS,
        &SECRETS,
        &SERVICE_CIDRS,
        &SERVICES,
        &JOBS,
    ];

    /// `apiVersion`: `v1`, `apps/v1`.
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// `GroupResource.String`: `configmaps`, `deployments.apps`.
    pub fn qualified(&self) -> String {
        match self.group {
            "" => self.plural.to_owned(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// The key of an object, `/registry/services/endpoints/default/kubernetes`; of all objects of a
    /// namespace or of the resource, with a slash at its end, if the rest is empty.
    pub fn key(&self, namespace: &str, name: &str) -> wavetank_etcd::Key {
        let mut key = format!("{}/", self.registry);
        if self.namespaced && !namespace.is_empty() {
            key += namespace;
            key += "/";
        }
        key += name;
        key.into()
    }

    /// The path of an object; of a collection if there is no name.
    pub fn path(&self, namespace: &str, name: &str) -> String {
        let mut path = String::with_capacity(96);
        path += match self.group {
            "" => "/api",
            _ => "/apis",
        };
        let namespaces = match namespace {
            "" => "",
            _ => "namespaces",
        };
        for part in [
            self.group,
            self.version,
            namespaces,
            namespace,
            self.plural,
            name,
        ] {
            if !part.is_empty() {
                path.push('/');
                path += part;
            }
        }
        path
    }

    /// The resource with this name.
    pub fn find(group: &str, version: &str, plural: &str) -> Option<&'static Resource> {
        let found = |r: &&Resource| r.group == group && r.version == version && r.plural == plural;
        Resource::ALL.into_iter().find(found)
    }

    /// The object of a bookmark, without a resourceVersion: kind and apiVersion.
    pub fn bookmark(&self) -> Json {
        serde_json::json!({"kind": self.kind, "apiVersion": self.api_version(), "metadata": {}})
    }
}

/// Some resources of the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ResourceSet(u32);

impl ResourceSet {
    /// Those that every apiserver has watch caches of, used or not: all that there were when others were first
    /// cached only for scenarios that use them.
    pub const CACHED: ResourceSet = ResourceSet((1 << 13) - 1);

    /// With the resource of this name, `jobs.batch`.
    ///
    /// # Panics
    /// If there is none.
    pub fn with(self, qualified: &str) -> ResourceSet {
        let mut all = Resource::ALL.iter();
        let at = all.position(|resource| resource.qualified() == qualified);
        let at = at.unwrap_or_else(|| panic!("there is no resource `{qualified}`"));
        ResourceSet(self.0 | 1 << at)
    }

    /// They, in the order of the table.
    pub fn iter(self) -> impl Iterator<Item = &'static Resource> {
        let all = Resource::ALL.into_iter().enumerate();
        let own = all.filter(move |(at, _)| self.0 & 1 << at != 0);
        own.map(|(_, resource)| resource)
    }

    /// Is it one of them?
    pub fn contains(self, resource: &'static Resource) -> bool {
        self.iter().any(|own| std::ptr::eq(own, resource))
    }
}

/// v1 configmaps
pub static CONFIG_MAPS: Resource = Resource {
    group: "",
    version: "v1",
    plural: "configmaps",
    kind: "ConfigMap",
    namespaced: true,
    registry: "/registry/configmaps",
    strategy: &config_maps::ConfigMaps,
};

/// v1 endpoints
pub static ENDPOINTS: Resource = Resource {
    group: "",
    version: "v1",
    plural: "endpoints",
    kind: "Endpoints",
    namespaced: true,
    registry: "/registry/services/endpoints",
    strategy: &endpoints::Endpoints,
};

/// discovery.k8s.io endpointslices
pub static ENDPOINT_SLICES: Resource = Resource {
    group: "discovery.k8s.io",
    version: "v1",
    plural: "endpointslices",
    kind: "EndpointSlice",
    namespaced: true,
    registry: "/registry/endpointslices",
    strategy: &endpoint_slices::EndpointSlices,
};

/// v1 secrets
pub static SECRETS: Resource = Resource {
    group: "",
    version: "v1",
    plural: "secrets",
    kind: "Secret",
    namespaced: true,
    registry: "/registry/secrets",
    strategy: &secrets::Secrets,
};

/// v1 namespaces
pub static NAMESPACES: Resource = Resource {
    group: "",
    version: "v1",
    plural: "namespaces",
    kind: "Namespace",
    namespaced: false,
    registry: "/registry/namespaces",
    strategy: &namespaces::Namespaces,
};

/// v1 pods
pub static PODS: Resource = Resource {
    group: "",
    version: "v1",
    plural: "pods",
    kind: "Pod",
    namespaced: true,
    registry: "/registry/pods",
    strategy: &pods::Pods,
};

/// apps/v1 deployments
pub static DEPLOYMENTS: Resource = Resource {
    group: "apps",
    version: "v1",
    plural: "deployments",
    kind: "Deployment",
    namespaced: true,
    registry: "/registry/deployments",
    strategy: &deployments::Deployments,
};

/// v1 services
pub static SERVICES: Resource = Resource {
    group: "",
    version: "v1",
    plural: "services",
    kind: "Service",
    namespaced: true,
    registry: "/registry/services/specs",
    strategy: &services::Services,
};

/// v1 nodes
pub static NODES: Resource = Resource {
    group: "",
    version: "v1",
    plural: "nodes",
    kind: "Node",
    namespaced: false,
    registry: "/registry/minions",
    strategy: &nodes::Nodes,
};

/// v1 events
pub static EVENTS: Resource = Resource {
    group: "",
    version: "v1",
    plural: "events",
    kind: "Event",
    namespaced: true,
    registry: "/registry/events",
    strategy: &events::Events,
};

/// coordination.k8s.io leases
pub static LEASES: Resource = Resource {
    group: "coordination.k8s.io",
    version: "v1",
    plural: "leases",
    kind: "Lease",
    namespaced: true,
    registry: "/registry/leases",
    strategy: &leases::Leases,
};

/// batch jobs
pub static JOBS: Resource = Resource {
    group: "batch",
    version: "v1",
    plural: "jobs",
    kind: "Job",
    namespaced: true,
    registry: "/registry/jobs",
    strategy: &jobs::Jobs,
};

/// networking.k8s.io ipaddresses
pub static IP_ADDRESSES: Resource = Resource {
    group: "networking.k8s.io",
    version: "v1",
    plural: "ipaddresses",
    kind: "IPAddress",
    namespaced: false,
    registry: "/registry/ipaddresses",
    strategy: &network::IpAddresses,
};

/// networking.k8s.io servicecidrs
pub static SERVICE_CIDRS: Resource = Resource {
    group: "networking.k8s.io",
    version: "v1",
    plural: "servicecidrs",
    kind: "ServiceCIDR",
    namespaced: false,
    registry: "/registry/servicecidrs",
    strategy: &network::ServiceCidrs,
};

impl PartialEq for Resource {
    fn eq(&self, other: &Resource) -> bool {
        (self.group, self.version, self.plural) == (other.group, other.version, other.plural)
    }
}
impl Eq for Resource {}

impl Hash for Resource {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.group, self.version, self.plural).hash(state);
    }
}

impl PartialOrd for Resource {
    fn partial_cmp(&self, other: &Resource) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Resource {
    fn cmp(&self, other: &Resource) -> std::cmp::Ordering {
        (self.group, self.plural, self.version).cmp(&(other.group, other.plural, other.version))
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.qualified())
    }
}

#[cfg(test)]
mod tests;
