//! The defects of small controllers that a seed of `furnished-storm` shows. `unseen-node-deletions-are-not-counted` is found by
//! `nodes-unseen`, `fix-publish-in-new-namespaces` and `fix-make-in-new-namespaces` by `namespace-made-anew`.

use crate::support::pins::pins;

pins! {
    new_namespaces_are_not_heard_of: "new-namespaces-are-not-heard-of",
    gone_namespaces_are_tried_again: "gone-namespaces-are-tried-again",
    publisher_takes_what_exists: "publisher-takes-what-exists",
    changed_certificates_are_not_mended: "changed-certificates-are-not-mended",
    deleted_certificates_stay_away: "deleted-certificates-stay-away",
    account_failures_are_forgotten: "account-failures-are-forgotten",
    deleted_accounts_stay_away: "deleted-accounts-stay-away",
    ttl_is_for_new_nodes: "ttl-is-for-new-nodes",
    ttl_without_hysteresis: "ttl-without-hysteresis",
    garbled_ttl_stays: "garbled-ttl-stays",
    aggregated_roles_select_themselves: "aggregated-roles-select-themselves",
    aggregated_rules_are_added_twice: "aggregated-rules-are-added-twice",
    roles_wake_themselves: "roles-wake-themselves",
    surplus_rules_stay: "surplus-rules-stay",
    fix_apply_no_rules: "fix-apply-no-rules",
    token_certificates_are_not_mended: "token-certificates-are-not-mended",
    trusts_cached_token_accounts: "trusts-cached-token-accounts",
    tokens_are_deleted_by_name: "tokens-are-deleted-by-name",
    tokens_outlive_accounts: "tokens-outlive-accounts",
    conflicting_references_stay: "conflicting-references-stay",
    fix_tokens_for_living_accounts: "fix-tokens-for-living-accounts",
}
