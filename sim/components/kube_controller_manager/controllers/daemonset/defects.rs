//! Mistakes in the DaemonSet controller, and the fixes of findings.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const DAEMONS_ARE_NOT_EXPECTED: Defect = Defect::known(
    "daemons-are-not-expected",
    "the expectations of `syncDaemonSet`, left out",
    "the pods of a DaemonSet are rolled out although the cache has not seen what was made and deleted before",
)
.ships(Gate::NEVER)
.fits_only(gates::DAEMON_SET_CONTROLLER);

const GONE_DAEMONS_ARE_AWAITED: Defect = Defect::known(
    "gone-daemons-are-awaited",
    "k/k#75836, k/k#136932",
    "the deletion of a pod that was gone is waited for, until that is given up after 5 minutes",
)
.ships(Gate::NEVER)
.fits_only(gates::DAEMON_SET_CONTROLLER);

const DAEMON_HISTORY_IS_KEPT: Defect = Defect::known(
    "daemon-history-is-kept",
    "`cleanupHistory`, left out",
    "revisions that nobody needs stay beyond the limit of the history",
)
.ships(Gate::NEVER)
.fits_only(gates::DAEMON_SET_CONTROLLER);

const DAEMONS_ARE_MADE_IN_VAIN: Defect = Defect::known(
    "daemons-are-made-in-vain",
    "the taints of `NodeShouldRunDaemonPod`, left out for new pods",
    "a pod is made on a node whose taints it does not tolerate, and deleted again, and so on",
)
.ships(Gate::NEVER)
.fits_only(gates::DAEMON_SET_CONTROLLER);

const DAEMON_STATUS_IS_REWRITTEN: Defect = Defect::known(
    "daemon-status-is-rewritten",
    "as k/k#108231; the comparison of `storeDaemonSetStatus`, left out",
    "the status of a DaemonSet is written at each resync (here every 30 s), although nothing in it changes",
)
.ships(Gate::NEVER)
.fits_only(gates::DAEMON_SET_CONTROLLER);

const FIX_WAKE_DAEMONS_WHEN_EXPIRED: Defect = Defect::fix(
    "fix-wake-daemons-when-expired",
    "FINDINGS.md, 23",
    "a DaemonSet is looked at again when what it expects has expired, and not only when something of it changes",
)
.fits_only(gates::DAEMON_SET_CONTROLLER);

const FIX_COMPARE_TEMPLATES_BY_HASH: Defect = Defect::fix(
    "fix-compare-templates-by-hash",
    "FINDINGS.md, 38",
    "a pod that says of which template it is does not count as new because of the number of the template",
)
.fits_only(gates::DAEMON_SET_CONTROLLER);

const FIX_DAEMONS_COUNT_BY_UID: Defect = Defect::fix(
    "fix-daemons-count-by-uid",
    "FINDINGS.md, 94",
    "a node that changes counts as lacking a pod of a DaemonSet, although one of a set that had its name before still ends there",
)
.fits_only(gates::DAEMON_SET_CONTROLLER);

const FIX_TAINTED_DAEMONS_ARE_COUNTED: Defect = Defect::fix(
    "fix-tainted-daemons-are-counted",
    "FINDINGS.md, 107; `syncNodeUpdate` queues a DaemonSet whose pod may go on, but not start, only if one is misscheduled already (PR #132477)",
    "a DaemonSet is looked at when a node with a pod of it is no longer one that it is for",
)
.fits_only(gates::DAEMON_SET_CONTROLLER);

const FIX_SURGES_LOOK_AGAIN: Defect = Defect::fix(
    "fix-surges-look-again",
    "FINDINGS.md, 108; `updateDaemonSetStatus` looks again for pods that are ready and not available, and counts the old one of two (k/k#41641)",
    "a DaemonSet whose new pods are ready and not yet available beside the old ones is looked at again in time",
)
.fits_only(gates::DAEMON_SET_CONTROLLER);

defects! {
    /// A mistake in the DaemonSet controller, or the fix of one.
    pub enum DaemonSetDefect in "DaemonSet controllers" {
        DaemonsAreNotExpected = DAEMONS_ARE_NOT_EXPECTED,
        GoneDaemonsAreAwaited = GONE_DAEMONS_ARE_AWAITED,
        DaemonHistoryIsKept = DAEMON_HISTORY_IS_KEPT,
        DaemonsAreMadeInVain = DAEMONS_ARE_MADE_IN_VAIN,
        DaemonStatusIsRewritten = DAEMON_STATUS_IS_REWRITTEN,
        FixWakeDaemonsWhenExpired = FIX_WAKE_DAEMONS_WHEN_EXPIRED,
        FixCompareTemplatesByHash = FIX_COMPARE_TEMPLATES_BY_HASH,
        FixDaemonsCountByUid = FIX_DAEMONS_COUNT_BY_UID,
        FixTaintedDaemonsAreCounted = FIX_TAINTED_DAEMONS_ARE_COUNTED,
        FixSurgesLookAgain = FIX_SURGES_LOOK_AGAIN,
    }
}
