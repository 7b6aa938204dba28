//! The defects of the node controllers that a seed of `node-storm` shows. The scope `node-leases-stale` shows
//! `trusts-cached-leases` and `renewals-by-node-clocks`, `eviction-due` shows `evictions-are-not-reconsidered` and
//! `evicts-pods-by-name`, `node-outage` shows `evictions-are-not-retried` and `taints-are-removed-once`, `node-cordon` shows
//! `failed-taints-are-forgotten`, `node-unwell` shows `pods-are-marked-on-transition`, `eviction-sooner` the lack of
//! `fix-shorter-tolerations-count`, and `eviction-unseen` that of `fix-successors-are-evicted`.

use crate::support::pins::pins;

pins! {
    heartbeats_by_node_clocks: "heartbeats-by-node-clocks",
    no_master_disruption_mode: "no-master-disruption-mode",
    trusts_cached_leases: "trusts-cached-leases",
    evictions_are_not_reconsidered: "evictions-are-not-reconsidered",
    evicts_pods_by_name: "evicts-pods-by-name",
    new_pods_are_not_evicted: "new-pods-are-not-evicted",
    fix_remember_zones_that_go: "fix-remember-zones-that-go",
    fix_new_zones_end_disruption: "fix-new-zones-end-disruption",
}
