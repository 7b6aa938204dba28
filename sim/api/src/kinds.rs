//! The kinds that every server serves: one table, and one file of rules for each. `served` adds those of one world,
//! `custom` has their rules.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::json::Json;
use crate::strategy::Strategy;

mod autoscaler_rules;
mod autoscalers;
mod cluster;
mod config_maps;
mod custom;
mod declared;
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
pub mod pod_eviction;
mod pod_parts;
mod pod_spec;
pub mod pods;
mod policies;
mod secrets;
mod served;
pub mod service_families;
pub mod service_gate;
mod service_one_ip;
pub mod service_rules;
pub mod services;
mod table;
mod volumes;
mod workloads;

pub use custom::CustomResource;
pub use served::Kinds;
pub use table::*;

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
    pub const ALL: [&'static Resource; 59] = [
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
        &API_SERVICES,
        &AUTOSCALERS,
        &OLD_AUTOSCALERS,
        &NEW_EVENTS,
        &CERTIFICATE_SIGNING_REQUESTS,
        &CLUSTER_ROLE_BINDINGS,
        &CLUSTER_ROLES,
        &CONTROLLER_REVISIONS,
        &CRON_JOBS,
        &CSI_DRIVERS,
        &CSI_NODES,
        &CSI_STORAGE_CAPACITIES,
        &DAEMON_SETS,
        &DEVICE_CLASSES,
        &FLOW_SCHEMAS,
        &INGRESS_CLASSES,
        &INGRESSES,
        &LIMIT_RANGES,
        &MUTATING_ADMISSION_POLICIES,
        &MUTATING_ADMISSION_POLICY_BINDINGS,
        &MUTATING_WEBHOOK_CONFIGURATIONS,
        &NETWORK_POLICIES,
        &PERSISTENT_VOLUME_CLAIMS,
        &PERSISTENT_VOLUMES,
        &POD_DISRUPTION_BUDGETS,
        &POD_TEMPLATES,
        &PRIORITY_CLASSES,
        &PRIORITY_LEVEL_CONFIGURATIONS,
        &REPLICA_SETS,
        &REPLICATION_CONTROLLERS,
        &RESOURCE_CLAIM_TEMPLATES,
        &RESOURCE_CLAIMS,
        &RESOURCE_QUOTAS,
        &RESOURCE_SLICES,
        &ROLE_BINDINGS,
        &ROLES,
        &RUNTIME_CLASSES,
        &SERVICE_ACCOUNTS,
        &STATEFUL_SETS,
        &STORAGE_CLASSES,
        &VALIDATING_ADMISSION_POLICIES,
        &VALIDATING_ADMISSION_POLICY_BINDINGS,
        &VALIDATING_WEBHOOK_CONFIGURATIONS,
        &VOLUME_ATTACHMENTS,
        &VOLUME_ATTRIBUTES_CLASSES,
    ];

    /// The one of the table that a path of the API is of.
    pub fn at_path(path: &str) -> Option<&'static Resource> {
        let mut all = Resource::ALL.into_iter();
        all.find(|resource| {
            let version = match resource.group {
                "" => format!("/api/{}/", resource.version),
                group => format!("/apis/{group}/{}/", resource.version),
            };
            let Some(rest) = path.strip_prefix(&version) else {
                return false;
            };
            let parts: Vec<&str> = rest.split('/').collect();
            match parts[..] {
                ["namespaces", _, plural, ..] if !matches!(plural, "status" | "finalize") => {
                    resource.plural == plural
                }
                [plural, ..] => resource.plural == plural,
                [] => false,
            }
        })
    }

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

    /// Is this the key of an object of it?
    pub fn has_key(&self, key: &str) -> bool {
        let rest = key.strip_prefix(self.registry);
        rest.is_some_and(|rest| rest.starts_with('/'))
    }

    /// The path of an object; of a collection if there is no name. A kind that is of the cluster is in no namespace
    /// (`NamespaceIfScoped`).
    pub fn path(&self, namespace: &str, name: &str) -> String {
        let mut path = String::with_capacity(96);
        path += match self.group {
            "" => "/api",
            _ => "/apis",
        };
        let (namespaces, namespace) = match namespace {
            "" => ("", ""),
            _ if !self.namespaced => ("", ""),
            namespace => ("namespaces", namespace),
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

    /// Is it of a group that a user has made?
    pub fn is_custom(&self) -> bool {
        crate::schema::is_custom(self.group)
    }

    /// A number that no other kind has: the place in the table. Those of custom kinds come of their names, so that no
    /// kind changes the number of another.
    pub fn number(&self) -> u32 {
        // By address: this is asked many times an event, and names take long to compare.
        let mut all = Resource::ALL.into_iter();
        if let Some(at) = all.position(|r| std::ptr::eq(r, self)) {
            return at as u32;
        }
        const CUSTOM: u32 = 1 << 31;
        let names = [self.group, "/", self.version, "/", self.plural];
        let bytes = names.into_iter().flat_map(str::bytes);
        // FNV-1a
        let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        hash | CUSTOM
    }

    /// The object of a bookmark, without a resourceVersion: a new one of the kind, in which those fields are that are
    /// written even where they are empty (`newFunc` of `cacher.go`).
    pub fn bookmark(&self) -> Json {
        let mut object = serde_json::json!({"metadata": {}});
        // The internal type has a number there, and no pointer that could be empty.
        if self.group == "apps" && matches!(self.kind, "Deployment" | "ReplicaSet" | "StatefulSet")
        {
            crate::json::set(&mut object, &["spec", "replicas"], 0);
        }
        crate::versions::written(self, object)
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

/// A resource that a definition has made is also what that says.
/// By hand, as its hash is: a resource is what it is called, and users write its fields down as a literal.
impl PartialEq for Resource {
    fn eq(&self, other: &Resource) -> bool {
        // Nearly always the very same; else what differs most often comes first.
        std::ptr::eq(self, other)
            || self.plural == other.plural
                && self.version == other.version
                && self.group == other.group
                && self.strategy.revision() == other.strategy.revision()
    }
}
impl Eq for Resource {}

/// By hand: see its equality.
impl Hash for Resource {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.group, self.version, self.plural).hash(state);
        match self.strategy.revision() {
            0 => {}
            revision => state.write_u64(revision),
        }
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
