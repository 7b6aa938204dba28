//! The defects of the node controllers that a seed of `node-storm` shows.

use crate::support::pins::pins;

pins! {
    trusts_cached_leases: "trusts-cached-leases",
    heartbeats_by_node_clocks: "heartbeats-by-node-clocks",
    pods_are_marked_on_transition: "pods-are-marked-on-transition",
    no_master_disruption_mode: "no-master-disruption-mode",
    failed_taints_are_forgotten: "failed-taints-are-forgotten",
    taints_are_removed_once: "taints-are-removed-once",
    evictions_are_not_reconsidered: "evictions-are-not-reconsidered",
    evictions_are_not_retried: "evictions-are-not-retried",
    evicts_pods_by_name: "evicts-pods-by-name",
    new_pods_are_not_evicted: "new-pods-are-not-evicted",
    fix_remember_zones_that_go: "fix-remember-zones-that-go",
    fix_new_zones_end_disruption: "fix-new-zones-end-disruption",
    renewals_by_node_clocks: "renewals-by-node-clocks",
}
