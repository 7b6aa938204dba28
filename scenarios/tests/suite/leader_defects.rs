//! The known bugs of leader election, each found in `leader-election` by the property of what its report complains
//! of, and the findings, each by what it does without its mending. `wavetank matrix leader-election` looks for all of
//! them, under many seeds; `sim/cluster/tests/suite/leaders.rs` has those that take more coincidences.

use crate::support::pins::pins;

pins! {
    lost_leadership_goes_unnoticed: "lost-leadership-goes-unnoticed",
    release_without_duration: "release-without-duration",
    release_from_memory: "release-from-memory",
    a_candidate_waits_for_the_lease_of_the_record: "own-lease-duration",
    lock_released_while_leading: "lock-released-while-leading",
    who_gives_up_a_lock_leaves_it_to_another: "fix-release-own-lock",
    a_leader_counts_from_its_request: "fix-count-from-request",
}
