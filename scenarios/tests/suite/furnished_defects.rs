//! The defects of four small controllers that a seed of `furnished-storm` shows.

use crate::support::pins::pins;

pins! {
    new_namespaces_are_not_heard_of: "new-namespaces-are-not-heard-of",
    gone_namespaces_are_tried_again: "gone-namespaces-are-tried-again",
    publisher_takes_what_exists: "publisher-takes-what-exists",
    changed_certificates_are_not_mended: "changed-certificates-are-not-mended",
    deleted_certificates_stay_away: "deleted-certificates-stay-away",
    fix_publish_in_new_namespaces: "fix-publish-in-new-namespaces",
    account_failures_are_forgotten: "account-failures-are-forgotten",
    deleted_accounts_stay_away: "deleted-accounts-stay-away",
    unseen_account_deletions_are_ignored: "unseen-account-deletions-are-ignored",
    fix_make_in_new_namespaces: "fix-make-in-new-namespaces",
    ttl_is_for_new_nodes: "ttl-is-for-new-nodes",
    ttl_without_hysteresis: "ttl-without-hysteresis",
    unseen_node_deletions_are_not_counted: "unseen-node-deletions-are-not-counted",
    garbled_ttl_stays: "garbled-ttl-stays",
    aggregated_roles_select_themselves: "aggregated-roles-select-themselves",
    aggregated_rules_are_added_twice: "aggregated-rules-are-added-twice",
    roles_wake_themselves: "roles-wake-themselves",
    surplus_rules_stay: "surplus-rules-stay",
    fix_apply_no_rules: "fix-apply-no-rules",
}
