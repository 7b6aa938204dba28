//! The defects of the node controllers that a seed of `node-storm` shows. The scope `eviction-due` shows
//! `evictions-are-not-reconsidered`, too.

use crate::support::pins::pins;

pins! {
    heartbeats_by_node_clocks: "heartbeats-by-node-clocks",
    no_master_disruption_mode: "no-master-disruption-mode",
    evictions_are_not_reconsidered: "evictions-are-not-reconsidered",
    fix_remember_zones_that_go: "fix-remember-zones-that-go",
    fix_new_zones_end_disruption: "fix-new-zones-end-disruption",
}
