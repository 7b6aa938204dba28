//! Mistakes in what controllers of pods share.

use wavetank_version::{Defect, Gate, defects};

const ADOPTS_UNCHECKED: Defect = Defect::known(
    "adopts-unchecked",
    "k/k#42639, PR #43032 (1.6)",
    "a pod is adopted as the cache shows its controller: that may be gone by then",
)
.ships(Gate::NEVER);

const ADOPTS_BY_REPLACING: Defect = Defect::known(
    "adopts-by-replacing",
    "the strategic merge of `AdoptPod`, left out",
    "who adopts a pod replaces its references, and takes it from whom it belongs to by then",
)
.ships(Gate::NEVER);

defects! {
    /// A mistake in who owns a pod.
    pub enum PodOwnerDefect in "controllers of pods" {
        AdoptsUnchecked = ADOPTS_UNCHECKED,
        AdoptsByReplacing = ADOPTS_BY_REPLACING,
    }
}
