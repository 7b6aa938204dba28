//! The defects of the disruption controller and of evictions that a seed of `disruption-storm` shows. `evictions-overwrite-budgets` is
//! found by `disruption-evictions`; `lost-pods-are-not-told` and the lack of `fix-tell-all-budgets` and
//! `fix-tell-budgets-of-scales` by `disruption-heard`, that of `fix-keep-unseen-disruptions` by `disruption-unseen`.

use crate::support::pins::pins;

pins! {
    evictions_are_not_noted: "evictions-are-not-noted",
    evictions_trust_old_generations: "evictions-trust-old-generations",
    budgets_are_overwritten: "budgets-are-overwritten",
    going_pods_count: "going-pods-count",
    evicted_pods_count: "evicted-pods-count",
    stale_disruptions_stay: "stale-disruptions-stay",
    observed_generation_stays: "observed-generation-stays",
    budgets_are_not_rechecked: "budgets-are-not-rechecked",
    unready_evictions_are_not_pinned: "unready-evictions-are-not-pinned",
}
