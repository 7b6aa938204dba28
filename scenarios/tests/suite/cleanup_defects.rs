//! The defects of the garbage collector and of the controller of namespaces that a seed of `cleanup-storm` shows. `virtual-event-removes-observed` and
//! `owners-from-graph` are found by `collector-coordinates`, `orphans-anyway` by `collector-waits`; `references-from-graph`, `collects-by-name` and `fix-delete-as-compared` by
//! `collector-adoption`, the lack of `fix-finalizers-go-by-uid` by `collector-successor`,
//! that of `fix-changed-references-are-checked` by `collector-reference`, and of `fix-successor-is-another` by `collector-unseen`; `waiting-references-stay` and
//! `virtual-owners-are-not-asked-for` are found by `collector-owners`.

use crate::support::pins::pins;

pins! {
    absent_owners_by_uid: "absent-owners-by-uid",
    invalid_references_are_not_checked: "invalid-references-are-not-checked",
    unblocked_owners_stay: "unblocked-owners-stay",
    foreground_is_not_awaited: "foreground-is-not-awaited",
    owned_items_are_requeued: "owned-items-are-requeued",
    content_errors_are_ignored: "content-errors-are-ignored",
    remaining_content_is_ignored: "remaining-content-is-ignored",
    fix_pods_hold_others: "fix-pods-hold-others",
    remaining_content_is_forgotten: "remaining-content-is-forgotten",
}
