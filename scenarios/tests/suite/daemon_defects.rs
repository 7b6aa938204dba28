//! The defects of the DaemonSet controller that a seed of `daemon-storm` shows. `daemons-are-not-expected` and
//! `gone-daemons-are-awaited` are found by `daemonset-stale`, too.

use crate::support::pins::pins;

pins! {
    daemons_are_not_expected: "daemons-are-not-expected",
    gone_daemons_are_awaited: "gone-daemons-are-awaited",
    daemon_history_is_kept: "daemon-history-is-kept",
    daemons_are_made_in_vain: "daemons-are-made-in-vain",
    misscheduled_daemons_stay: "misscheduled-daemons-stay",
    fix_wake_daemons_when_expired: "fix-wake-daemons-when-expired",
}
