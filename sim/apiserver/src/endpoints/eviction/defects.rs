//! Known bugs and mistakes of the eviction subresource, and the fix of a finding.

use wavetank_version::{Defect, Gate, defects};

use crate::gates::EVICTION;

const EVICTIONS_ARE_NOT_NOTED: Defect = Defect::known(
    "evictions-are-not-noted",
    "before PR #36196 (1.5)",
    "a budget does not say which pods are about to go: the controller counts them as healthy until it sees them go",
)
.ships(Gate::NEVER)
.fits_only(EVICTION)
.needs("controllers", &["disruption-controller"]);

const EVICTIONS_OVERWRITE_BUDGETS: Defect = Defect::known(
    "evictions-overwrite-budgets",
    "the resourceVersion of the update in `checkAndDecrement`, left out",
    "what is left of a budget is written over what another eviction has taken of it meanwhile",
)
.ships(Gate::NEVER)
.fits_only(EVICTION)
.needs("controllers", &["disruption-controller"]);

const EVICTIONS_TRUST_OLD_GENERATIONS: Defect = Defect::known(
    "evictions-trust-old-generations",
    "k/k#35324, PR #36438 (1.5)",
    "a pod goes by what a budget has allowed before it was changed",
)
.ships(Gate::NEVER)
.fits_only(EVICTION)
.needs("controllers", &["disruption-controller"]);

const UNREADY_EVICTIONS_ARE_NOT_PINNED: Defect = Defect::known(
    "unready-evictions-are-not-pinned",
    "`updateDeletionOptions`, left out",
    "a pod that was not ready goes for nothing of its budget although it has become ready",
)
.ships(Gate::NEVER)
.fits_only(EVICTION)
.needs("controllers", &["disruption-controller"]);

const FIX_EVICTIONS_KEEP_TO_THEIR_POD: Defect = Defect::fix(
    "fix-evictions-keep-to-their-pod",
    "FINDINGS.md, 86",
    "an eviction takes the pod that it has read, and not one that has come in its place since",
)
.fits_only(EVICTION)
.needs("controllers", &["disruption-controller"]);

defects! {
    /// A known bug of the eviction subresource, or the fix of one.
    pub enum EvictionDefect in "evictions" {
        EvictionsAreNotNoted = EVICTIONS_ARE_NOT_NOTED,
        EvictionsOverwriteBudgets = EVICTIONS_OVERWRITE_BUDGETS,
        EvictionsTrustOldGenerations = EVICTIONS_TRUST_OLD_GENERATIONS,
        UnreadyEvictionsAreNotPinned = UNREADY_EVICTIONS_ARE_NOT_PINNED,
        FixEvictionsKeepToTheirPod = FIX_EVICTIONS_KEEP_TO_THEIR_POD,
    }
}
