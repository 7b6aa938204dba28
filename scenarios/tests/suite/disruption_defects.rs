//! The defects of the disruption controller and of evictions that a seed of `disruption-storm` shows.

use crate::support::pins::pins;

pins! {
    evictions_are_not_noted: "evictions-are-not-noted",
    evictions_overwrite_budgets: "evictions-overwrite-budgets",
    evictions_trust_old_generations: "evictions-trust-old-generations",
    unready_evictions_are_not_pinned: "unready-evictions-are-not-pinned",
    budgets_are_overwritten: "budgets-are-overwritten",
    going_pods_count: "going-pods-count",
    evicted_pods_count: "evicted-pods-count",
    budgets_are_not_rechecked: "budgets-are-not-rechecked",
    stale_disruptions_stay: "stale-disruptions-stay",
    observed_generation_stays: "observed-generation-stays",
    lost_pods_are_not_told: "lost-pods-are-not-told",
    fix_tell_all_budgets: "fix-tell-all-budgets",
    fix_tell_budgets_of_scales: "fix-tell-budgets-of-scales",
    fix_keep_unseen_disruptions: "fix-keep-unseen-disruptions",
    fix_try_again_after_fail_safe: "fix-try-again-after-fail-safe",
}
