//! What changed between releases in what Services are allocated, and in its repair. Where it is not known in which
//! release something changed, the gate stands at the first modelled release that has it, and says so.

pub use wavetank_api::gates::{CLUSTER_IPS, FAMILIES_BEFORE_HOOKS, LOAD_BALANCER_NODE_PORTS};
use wavetank_version::{Gate, gates};

gates! {
    /// A repair loop frees what has no owner when it has seen it three times (PR #39206).
    pub LEAKS_ARE_COUNTED = Gate::since(1, 6);
    /// A port for health checks is given back when a Service is refused (k/k#49999).
    pub HEALTH_CHECK_PORT_IS_ROLLED_BACK = Gate::since(1, 8);
    /// A node port that another protocol still uses is kept (k/k#64466).
    pub SHARED_PORTS_ARE_KEPT = Gate::since(1, 10);
    /// The repair of node ports knows of ports for health checks (PR #64349).
    pub REPAIR_COUNTS_HEALTH_CHECKS = Gate::since(1, 11);
    /// What is allocated is decided by what etcd holds, and not by the server's copy (PR #86527).
    pub REFUSALS_ARE_OF_ETCD = Gate::since(1, 18);
    /// A range of IPv6 leaves out only the address of its network (`RangeSize`; the first modelled release that has
    /// it).
    pub LAST_ADDRESS_IS_GIVEN = Gate::since(1, 20);
    /// Hooks of the registry allocate (`storage/storage.go`, k/k#87603); before, a layer in front of it did
    /// (`storage/rest.go`).
    pub REGISTRY_HOOKS = Gate::since(1, 23);
    /// The begin of a range of addresses is for those who ask for one by name (`ServiceIPStaticSubrange`, beta).
    pub ADDRESS_BANDS = Gate::since(1, 25);
    /// The begin of the node ports is for those who ask for one by name (`ServiceNodePortStaticSubrange`, beta).
    pub PORT_BANDS = Gate::since(1, 28);
    /// Updates of the status go through the hooks (PR #120623).
    pub STATUS_HAS_HOOKS = Gate::since(1, 29);
    /// Addresses are objects, IPAddress and ServiceCIDR (`MultiCIDRServiceAllocator`, GA). That a bitmap is written as
    /// well until v1.34 (`DisableAllocatorDualWrite`) is not modelled.
    pub IP_ADDRESSES = Gate::since(1, 33);
    /// The repair of node ports asks for what is allocated until etcd answers (PR #126671).
    pub PORT_REPAIR_POLLS = Gate::since(1, 32);
    /// The repair leaves an IPAddress alone for a while that is younger than the Service of its name (PR #132906, the
    /// first modelled release that has it).
    pub REPAIR_WAITS_FOR_YOUNG = Gate::since(1, 36);
    /// An allocator tells errors from collisions (PR #135499).
    pub ALLOCATOR_REPORTS_ERRORS = Gate::since(1, 36);
    /// The first round of the repair is repeated when it is forbidden (PR #137147).
    pub REPAIR_RETRIES_FORBIDDEN = Gate::since(1, 36);
    /// The repair of an IPAddress waits for a Service whose new type its cache does not show yet (PR #135503).
    pub REPAIR_WAITS_FOR_TYPE = Gate::since(1, 36);
}
