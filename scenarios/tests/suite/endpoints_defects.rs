//! The defects of the controllers of Endpoints and EndpointSlices that a seed of `endpoints-storm` shows.
//! `tracks-slices-that-are-gone` is found by `slices-stale`, `takes-slices-of-another-service` by `slices-inherited`, the lack of
//! `fix-forget-slices-never-seen` by `slice-unseen`, that of `fix-look-again-for-slices` by `slices-seen-late`, that of
//! `fix-look-again-for-any-slice` by `slice-of-another-life`.

use crate::support::pins::pins;

pins! {
    compares_with_stale_endpoints: "compares-with-stale-endpoints",
    unchanged_endpoints_are_stale: "unchanged-endpoints-are-stale",
    leftovers_are_not_checked: "leftovers-are-not-checked",
    empty_endpoints_are_rewritten: "empty-endpoints-are-rewritten",
    fix_look_at_new_endpoints: "fix-look-at-new-endpoints",
    stale_slices_are_used: "stale-slices-are-used",
    foreign_slice_changes_are_ignored: "foreign-slice-changes-are-ignored",
    placeholder_slices_are_rewritten: "placeholder-slices-are-rewritten",
    placeholders_outlive_their_service: "placeholders-outlive-their-service",
    fix_forget_slices_handed_over: "fix-forget-slices-handed-over",
}
