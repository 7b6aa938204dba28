//! The defects of how definitions are served, and of webhooks that convert, which a seed of `crd-storm` or `conversion-storm` shows.

use crate::support::pins::pins;

pins! {
    definition_without_finalizer: "definition-without-finalizer",
    change_is_not_computed_again: "change-is-not-computed-again",
    reset_fields_are_owned: "reset-fields-are-owned",
    webhook_changes_metadata: "webhook-changes-metadata",
    deletion_is_dated_again: "deletion-is-dated-again",
    late_creation_stays: "late-creation-stays",
    webhook_forgets_fields: "webhook-forgets-fields",
    webhook_keeps_the_version: "webhook-keeps-the-version",
}
