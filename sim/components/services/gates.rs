//! What changed between releases in the repair of what Services are allocated.

pub use wavetank_apiserver::services::gates::{CLUSTER_IPS, IP_ADDRESSES};
use wavetank_version::{Gate, gates};

gates! {
    /// A repair loop frees what has no owner when it has seen it three times (PR #39206).
    pub LEAKS_ARE_COUNTED = Gate::since(1, 6);
    /// The repair of node ports knows of ports for health checks (PR #64349).
    pub REPAIR_COUNTS_HEALTH_CHECKS = Gate::since(1, 11);
    /// The repair of an IPAddress waits for a Service whose new type its cache does not show yet (PR #135503).
    pub REPAIR_WAITS_FOR_TYPE = Gate::since(1, 36);
}
