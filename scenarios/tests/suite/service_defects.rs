//! The known bugs of Services, each found in `service-storm` by the property of what its report complains
//! of, and the findings, each by what it does without its mending. `wavetank matrix service-storm` looks for
//! all of them, under many seeds. Four have scopes instead: `fix-look-before-recreate` is found by
//! `service-repair-objects` (no seed below 80 of `service-rush` shows it), `first-address-is-given-away` by `first-address`
//! (none below 700), `fix-release-own-address` by `service-late-release` (none below 200), `fix-start-with-existing` by
//! `service-start-objects`.

use crate::support::pins::pins;

pins! {
    delete_gives_up_early: "delete-gives-up-early",
    repair_start_gives_up: "repair-start-gives-up",
    repair_lists_first: "repair-lists-first",
    finalizer_update_leaks: "finalizer-update-leaks",
    status_finalizer_leaks: "status-finalizer-leaks",
    memory_refuses: "memory-refuses",
    memory_outlives_failure: "memory-outlives-failure",
    shared_port_is_released: "shared-port-is-released",
    health_check_port_leaks: "health-check-port-leaks",
    repair_forgets_health_check: "repair-forgets-health-check",
    leak_is_freed_at_once: "leak-is-freed-at-once",
    type_change_loses_address: "type-change-loses-address",
    young_address_is_taken: "young-address-is-taken",
    trouble_is_invalid: "trouble-is-invalid",
    leaks_are_counted_by_rounds: "fix-count-rounds",
    the_repair_waits_for_a_service_that_is_made_anew: "fix-wait-for-service",
    a_service_is_given_up_once: "fix-release-once",
    the_repair_deletes_what_it_has_seen: "fix-delete-what-was-seen",
    allocator_swallows_errors: "allocator-swallows-errors",
    layer_reads_apart: "layer-reads-apart",
    what_may_have_been_stored_is_kept: "fix-keep-after-unknown",
    failed_update_counts_as_done: "failed-update-counts-as-done",
    a_shared_port_is_given_up_once: "fix-release-port-once",
    released_before_written: "released-before-written",
    an_update_gives_up_what_is_no_longer_stored: "fix-finish-after-write",
    what_the_first_family_was_given_is_given_back: "fix-give-back-first-family",
    who_has_no_allocator_says_so: "fix-say-not-ready",
}
