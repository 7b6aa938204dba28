//! The defects of the pod garbage collector that a seed of `pod-gc-storm` shows.

use crate::support::pins::pins;

pins! {
    orphans_are_not_looked_up: "orphans-are-not-looked-up",
    out_of_service_is_not_heeded: "out-of-service-is-not-heeded",
    trusts_cached_taints: "trusts-cached-taints",
    held_pods_are_deleted_again: "held-pods-are-deleted-again",
    collects_pods_by_name: "collects-pods-by-name",
}
