//! Mistakes in the node lifecycle controller, and fixes.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const TRUSTS_CACHED_LEASES: Defect = Defect::known(
    "trusts-cached-leases",
    "k/k#85221, PR #138698 (1.37)",
    "a node that renews its Lease is marked as lost: the controller's cache does not show it",
)
.until(gates::LEASES_ARE_ASKED_FOR)
.fits_only(gates::NODE_LIFECYCLE_CONTROLLER);

const HEARTBEATS_BY_NODE_CLOCKS: Defect = Defect::known(
    "heartbeats-by-node-clocks",
    "the probe time of `nodeHealthData`, left out (k/k#108844)",
    "a node that renews its Lease is marked as lost: its clock is slow",
)
.ships(Gate::NEVER)
.fits_only(gates::NODE_LIFECYCLE_CONTROLLER);

const PODS_ARE_MARKED_ON_TRANSITION: Defect = Defect::open(
    "pods-are-marked-on-transition",
    "k/k#135205, k/k#112733",
    "a pod stays ready on a node that is lost: the controller began anew before it said so, or the node was not ready before",
)
.fits_only(gates::NODE_LIFECYCLE_CONTROLLER);

const NO_MASTER_DISRUPTION_MODE: Defect = Defect::known(
    "no-master-disruption-mode",
    "k/k#28832, k/k#24200 (before 1.4)",
    "nodes are tainted although not a single one is ready: pods go everywhere because the control plane is cut off",
)
.ships(Gate::NEVER)
.fits_only(gates::NODE_LIFECYCLE_CONTROLLER);

const TAINTS_ARE_REMOVED_ONCE: Defect = Defect::known(
    "taints-are-removed-once",
    "the retry of `markNodeAsReachable` in the next look, left out",
    "a node that is ready again stays tainted, as the one request that would have removed the taint failed",
)
.ships(Gate::NEVER)
.fits_only(gates::NODE_LIFECYCLE_CONTROLLER);

const FAILED_TAINTS_ARE_FORGOTTEN: Defect = Defect::open(
    "failed-taints-are-forgotten",
    "the TODO of `doNodeProcessingPassWorker`: what failed is not queued again",
    "a node keeps taints that its conditions do not have, until something else changes of it",
)
.fits_only(gates::NODE_LIFECYCLE_CONTROLLER);

const FIX_REMEMBER_ZONES_THAT_GO: Defect = Defect::fix(
    "fix-remember-zones-that-go",
    "FINDINGS.md, 41",
    "evictions stop when no node is ready any more, also where the last that was is deleted with its zone",
)
.fits_only(gates::NODE_LIFECYCLE_CONTROLLER);

const FIX_NEW_ZONES_END_DISRUPTION: Defect = Defect::fix(
    "fix-new-zones-end-disruption",
    "FINDINGS.md, 42",
    "evictions go on when some node is ready again, also where that is the first of a new zone",
)
.fits_only(gates::NODE_LIFECYCLE_CONTROLLER);

const RENEWALS_BY_NODE_CLOCKS: Defect = Defect::open(
    "renewals-by-node-clocks",
    "k/k#113081",
    "a node that renews its Lease is marked as lost: its clock went back, so that renewals seem old",
)
.fits_only(gates::NODE_LIFECYCLE_CONTROLLER);

defects! {
    /// A mistake in the node lifecycle controller, or the fix of one.
    pub enum NodeLifecycleDefect in "node lifecycle controllers" {
        TrustsCachedLeases = TRUSTS_CACHED_LEASES,
        HeartbeatsByNodeClocks = HEARTBEATS_BY_NODE_CLOCKS,
        PodsAreMarkedOnTransition = PODS_ARE_MARKED_ON_TRANSITION,
        NoMasterDisruptionMode = NO_MASTER_DISRUPTION_MODE,
        TaintsAreRemovedOnce = TAINTS_ARE_REMOVED_ONCE,
        FailedTaintsAreForgotten = FAILED_TAINTS_ARE_FORGOTTEN,
        FixRememberZonesThatGo = FIX_REMEMBER_ZONES_THAT_GO,
        FixNewZonesEndDisruption = FIX_NEW_ZONES_END_DISRUPTION,
        RenewalsByNodeClocks = RENEWALS_BY_NODE_CLOCKS,
    }
}
