//! The known bugs of leader election, each found in `leader-election` by the property of what its report complains
//! of, and the findings, each by what it does without its mending. `wavetank matrix leader-election` looks for all of
//! them, under many seeds; `sim/cluster/tests/suite/leaders.rs` has those that take more coincidences.

use crate::support;

use support::storm;

/// With the defect this seed violates this property, and without it none.
fn shows(defect: &str, release: &str, seed: u64, property: &str) {
    storm::shows("leader-election", defect, release, seed, property);
}

/// Without the mending of a finding this seed violates this property, and with it none.
fn mends(fix: &str, release: &str, seed: u64, property: &str) {
    storm::mends("leader-election", fix, release, seed, property);
}

#[test]
fn lost_leadership_goes_unnoticed() {
    let property = "leader-stops-in-time";
    shows("lost-leadership-goes-unnoticed", "v1.36", 0, property);
}

#[test]
fn release_without_duration() {
    let property = "clean-stop-frees-the-lock";
    shows("release-without-duration", "v1.20", 3, property);
}

#[test]
fn release_from_memory() {
    let property = "clean-stop-frees-the-lock";
    shows("release-from-memory", "v1.36", 26, property);
}

#[test]
fn lock_released_while_leading() {
    let property = "leader-stops-in-time";
    shows("lock-released-while-leading", "v1.36", 0, property);
}

#[test]
fn who_gives_up_a_lock_leaves_it_to_another() {
    let property = "lock-is-left-to-its-holder";
    mends("fix-release-own-lock", "v1.36", 40, property);
}

#[test]
fn a_leader_counts_from_its_request() {
    let property = "leader-stops-in-time";
    mends("fix-count-from-request", "v1.36", 5, property);
}
