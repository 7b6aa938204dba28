//! The defects of horizontal pod autoscaling that a seed of `autoscale-storm` shows. `fix-rescale-what-was-read` is found by
//! `autoscaler-by-hand`.

use crate::support::pins::pins;

pins! {
    zero_is_scaled_up: "zero-is-scaled-up",
    autoscalers_share_pods: "autoscalers-share-pods",
    selectors_outlive_autoscalers: "selectors-outlive-autoscalers",
    periods_look_one_way: "periods-look-one-way",
    windows_scale_up: "windows-scale-up",
    first_size_is_forgotten: "first-size-is-forgotten",
    failed_pods_are_unready: "failed-pods-are-unready",
    unready_pods_count: "unready-pods-count",
    missing_pods_use_nothing: "missing-pods-use-nothing",
    invalid_metrics_are_passed_over: "invalid-metrics-are-passed-over",
    autoscalers_wake_themselves: "autoscalers-wake-themselves",
    minimum_is_forgotten: "minimum-is-forgotten",
    fix_forget_gone_autoscalers: "fix-forget-gone-autoscalers",
    fix_forget_old_selectors: "fix-forget-old-selectors",
    fix_shared_pods_stay: "fix-shared-pods-stay",
    fix_known_pods_count: "fix-known-pods-count",
    fix_name_autoscalers_in_order: "fix-name-autoscalers-in-order",
    fix_keep_scale_events: "fix-keep-scale-events",
}
