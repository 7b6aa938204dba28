//! What changed between releases in the bootstrap controller. Where it is not known in which release something
//! changed, the gate stands at the first modelled release that has it, and says so.

pub use wavetank_api::gates::CLUSTER_IPS;
use wavetank_version::{Gate, gates};

gates! {
    /// A stopping server waits for `RemoveEndpoints` with a bound (PR #63383).
    pub REMOVAL_IS_BOUNDED = Gate::since(1, 11);
    /// A server lists itself once it is healthy, and removes what a former life has listed (PR #74668).
    pub LISTED_ONCE_HEALTHY = Gate::since(1, 14);
    /// The EndpointSlice is kept as well as the Endpoints, which carry a label against mirroring
    /// (`reconcilers/endpointsadapter.go`; the first modelled release that has it).
    pub ENDPOINT_SLICES = Gate::since(1, 20);
    /// The loop begins when `/readyz` answers, before `/healthz` (the first modelled release that has it).
    pub BEGINS_WHEN_READY = Gate::since(1, 20);
    /// The flag that stops a reconciler is atomic, and the removal takes the lock (PR #116685, `reconcilers/lease.go`).
    pub STOP_FLAG_IS_ATOMIC = Gate::since(1, 27);
    /// The Service `kubernetes` may have more ports (`ExtraServicePorts`; the first modelled release that has them no
    /// more).
    pub ADDITIONAL_PORTS = Gate::until(1, 36);
    /// The Service `kubernetes` is looked for in an informer of the server (`controller/kubernetesservice`; the first
    /// modelled release that does so).
    pub KUBERNETES_SERVICE_IS_LISTED = Gate::since(1, 36);
    /// System namespaces have a controller of their own, which keeps `default`, too (`controller/systemnamespaces`; the
    /// first modelled release that has it).
    pub SYSTEM_NAMESPACES_APART = Gate::since(1, 36);
    /// `Destroy` closes the storage of master leases (`reconcilers/lease.go`; the first modelled release that has
    /// it).
    pub LEASE_STORAGE_IS_CLOSED = Gate::since(1, 36);
}
