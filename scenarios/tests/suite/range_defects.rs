//! The defects of the controller of ranges that a seed of `range-storm` shows.

use crate::support::pins::pins;

pins! {
    range_is_free_before_its_node_is_gone: "range-is-free-before-its-node-is-gone",
    ranges_are_not_listed_first: "ranges-are-not-listed-first",
    released_range_is_tried_again: "released-range-is-tried-again",
    range_of_unseen_deletion_leaks: "range-of-unseen-deletion-leaks",
    failed_assignment_leaks: "failed-assignment-leaks",
    node_without_range_is_not_tried_again: "node-without-range-is-not-tried-again",
    fix_keep_reserved_range: "fix-keep-reserved-range",
    fix_release_first_family: "fix-release-first-family",
    fix_wait_out_requests: "fix-wait-out-requests",
    fix_release_unseen_range: "fix-release-unseen-range",
}
