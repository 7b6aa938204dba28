//! The defects of the DaemonSet controller that a seed of `daemon-storm` shows. `gone-daemons-are-awaited` is found by
//! `daemonset-stale`, the lack of `fix-daemons-count-by-uid` by `daemonset-successor`, that of
//! `fix-tainted-daemons-are-counted` by `daemonset-tainted`.

use crate::support::pins::pins;

pins! {
    daemons_are_not_expected: "daemons-are-not-expected",
    daemon_history_is_kept: "daemon-history-is-kept",
    daemons_are_made_in_vain: "daemons-are-made-in-vain",
    daemon_status_is_rewritten: "daemon-status-is-rewritten",
    fix_wake_daemons_when_expired: "fix-wake-daemons-when-expired",
    fix_compare_templates_by_hash: "fix-compare-templates-by-hash",
    fix_surges_look_again: "fix-surges-look-again",
}
