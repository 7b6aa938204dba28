//! The known bugs of Services, each found in `service-storm` by the property of what its report complains
//! of, and the findings, each by what it does without its mending. `wavetank matrix service-storm` looks for
//! all of them, under many seeds. `fix-look-before-recreate` is found by the scope `service-repair-objects`: no seed
//! below 80 of `service-rush` shows it.

use crate::support;

use support::storm;

/// With the defect this seed violates this property, and without it none.
fn shows(defect: &str, release: &str, seed: u64, property: &str) {
    storm::shows("service-storm", defect, release, seed, property);
}

/// Without the mending of a finding this seed violates this property, and with it none.
fn mends(fix: &str, release: &str, seed: u64, property: &str) {
    storm::mends("service-storm", fix, release, seed, property);
}

#[test]
fn delete_gives_up_early() {
    shows("delete-gives-up-early", "v1.20", 0, "node-ports-are-unique");
}

#[test]
fn repair_start_gives_up() {
    shows("repair-start-gives-up", "v1.20", 337, "start-completes");
}

#[test]
fn finalizer_update_leaks() {
    shows("finalizer-update-leaks", "v1.20", 4, "service-gives-up-all");
}

#[test]
fn status_finalizer_leaks() {
    shows("status-finalizer-leaks", "v1.20", 4, "service-gives-up-all");
}

#[test]
fn memory_refuses() {
    let property = "allocation-succeeds-while-free";
    shows("memory-refuses", "v1.16", 0, property);
}

#[test]
fn memory_outlives_failure() {
    let property = "allocation-succeeds-while-free";
    shows("memory-outlives-failure", "v1.20", 49, property);
}

#[test]
fn shared_port_is_released() {
    shows(
        "shared-port-is-released",
        "v1.20",
        33,
        "node-ports-are-unique",
    );
}

#[test]
fn health_check_port_leaks() {
    shows(
        "health-check-port-leaks",
        "v1.20",
        4,
        "refused-leaves-no-trace",
    );
}

#[test]
fn repair_forgets_health_check() {
    shows(
        "repair-forgets-health-check",
        "v1.20",
        8,
        "used-is-allocated",
    );
}

#[test]
fn leak_is_freed_at_once() {
    shows(
        "leak-is-freed-at-once",
        "v1.20",
        54,
        "cluster-ips-are-unique",
    );
}

#[test]
fn type_change_loses_address() {
    shows(
        "type-change-loses-address",
        "v1.36",
        35,
        "cluster-ips-are-unique",
    );
}

#[test]
fn trouble_is_invalid() {
    shows("trouble-is-invalid", "v1.20", 13, "trouble-is-not-invalid");
}

#[test]
fn leaks_are_counted_by_rounds() {
    mends("fix-count-rounds", "v1.20", 51, "cluster-ips-are-unique");
}

#[test]
fn the_repair_waits_for_a_service_that_is_made_anew() {
    mends(
        "fix-wait-for-service",
        "v1.36",
        52,
        "cluster-ips-are-unique",
    );
}

#[test]
fn a_service_is_given_up_once() {
    mends("fix-release-once", "v1.20", 20, "cluster-ips-are-unique");
}

#[test]
fn the_repair_deletes_what_it_has_seen() {
    let property = "cluster-ips-are-unique";
    mends("fix-delete-what-was-seen", "v1.36", 105, property);
}

#[test]
fn a_server_gives_up_what_is_its_own() {
    let property = "cluster-ips-are-unique";
    mends("fix-release-own-address", "v1.36", 458, property);
}

#[test]
fn allocator_swallows_errors() {
    let property = "allocation-succeeds-while-free";
    shows("allocator-swallows-errors", "v1.36", 1, property);
}

#[test]
fn layer_reads_apart() {
    shows("layer-reads-apart", "v1.20", 44, "cluster-ips-are-unique");
}

#[test]
fn first_address_is_given_away() {
    let property = "kubernetes-keeps-the-first-address";
    shows("first-address-is-given-away", "v1.20", 556, property);
}

#[test]
fn what_may_have_been_stored_is_kept() {
    let property = "cluster-ips-are-unique";
    mends("fix-keep-after-unknown", "v1.20", 6, property);
}

#[test]
fn failed_update_counts_as_done() {
    let property = "cluster-ips-are-unique";
    shows("failed-update-counts-as-done", "v1.20", 113, property);
}

#[test]
fn a_shared_port_is_given_up_once() {
    mends(
        "fix-release-port-once",
        "v1.20",
        117,
        "node-ports-are-unique",
    );
}

#[test]
fn released_before_written() {
    let property = "cluster-ips-are-unique";
    shows("released-before-written", "v1.16", 113, property);
}

#[test]
fn an_update_gives_up_what_is_no_longer_stored() {
    mends(
        "fix-finish-after-write",
        "v1.36",
        24,
        "node-ports-are-unique",
    );
}

#[test]
fn what_the_first_family_was_given_is_given_back() {
    let property = "refused-leaves-no-trace";
    storm::mends(
        "service-dual",
        "fix-give-back-first-family",
        "v1.36",
        29,
        property,
    );
}
