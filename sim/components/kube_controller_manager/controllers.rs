//! The controllers that controller managers may run, a line each (`NewControllerDescriptors`). Their order is that of
//! the components: new ones come last, so that seeds keep their meaning.

use std::sync::{Arc, LazyLock};

use super::controller::ControllerDescriptor;

/// Declares the module of each controller, and registers its descriptor.
macro_rules! controllers {
    ($($module:ident :: $descriptor:ident,)*) => {
        $(pub mod $module;)*

        /// Made once: whether a scenario has a part of one of them is asked many times.
        static ALL: LazyLock<Vec<Arc<dyn ControllerDescriptor>>> =
            LazyLock::new(|| vec![$(Arc::new($module::$descriptor)),*]);
    };
}

controllers! {
    tally::Tally,
    ttl_after_finished::DECLARED,
    replicaset::DECLARED,
    replication::DECLARED,
    deployment::DECLARED,
    endpoints::DECLARED,
    garbage_collector::DECLARED,
    namespace::DECLARED,
    statefulset::DECLARED,
    pvc_protection::DECLARED,
    endpointslice::DECLARED,
    daemonset::DECLARED,
    resourcequota::DECLARED,
    podgc::DECLARED,
    job::DECLARED,
    node_lifecycle::DECLARED,
    taint_eviction::DECLARED,
    disruption::DECLARED,
    cronjob::DECLARED,
    endpointslicemirroring::DECLARED,
    root_ca_publisher::DECLARED,
    serviceaccount::DECLARED,
    ttl::DECLARED,
    clusterroleaggregation::DECLARED,
    horizontalpodautoscaler::DECLARED,
    node_ipam::DECLARED,
    serviceaccount_tokens::DECLARED,
    persistentvolume::DECLARED,
    pv_protection::DECLARED,
}

/// `NewControllerDescriptors`
pub fn new_controller_descriptors() -> &'static [Arc<dyn ControllerDescriptor>] {
    &ALL
}
