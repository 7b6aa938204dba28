//! Mistakes in what the controllers of EndpointSlices know of their own writes, and the fixes of findings.

use wavetank_version::{Defect, defects};

use crate::gates;

const TRACKS_SLICES_THAT_ARE_GONE: Defect = Defect::known(
    "tracks-slices-that-are-gone",
    "k/k#141592 (PR #141593)",
    "a slice whose deletion was seen before the answer to its update is tracked: the cache counts as stale for ever",
)
.fits_only(gates::ENDPOINTS_CONTROLLER)
.until(gates::GONE_SLICES_ARE_NOT_TRACKED);

const FIX_FORGET_SLICES_HANDED_OVER: Defect = Defect::fix(
    "fix-forget-slices-handed-over",
    "FINDINGS.md, 35",
    "a slice whose labels give it to somebody else is not waited for any more",
)
.fits_only(gates::ENDPOINTS_CONTROLLER);

const FIX_FORGET_SLICES_NEVER_SEEN: Defect = Defect::fix(
    "fix-forget-slices-never-seen",
    "FINDINGS.md, 96",
    "a slice is not waited for any more once the cache is as new as what was written of it, and does not have it",
)
.fits_only(gates::ENDPOINTS_CONTROLLER);

const FIX_LOOK_AGAIN_FOR_SLICES: Defect = Defect::fix(
    "fix-look-again-for-slices",
    "FINDINGS.md, 98",
    "a Service for which slices were written that the cache has not seen is looked at again each second, however often that was so",
)
.fits_only(gates::ENDPOINTS_CONTROLLER);

defects! {
    /// A mistake in the tracker of EndpointSlices, or the fix of one.
    pub enum SliceTrackerDefect in "controllers of EndpointSlices" {
        TracksSlicesThatAreGone = TRACKS_SLICES_THAT_ARE_GONE,
        FixForgetSlicesHandedOver = FIX_FORGET_SLICES_HANDED_OVER,
        FixForgetSlicesNeverSeen = FIX_FORGET_SLICES_NEVER_SEEN,
        FixLookAgainForSlices = FIX_LOOK_AGAIN_FOR_SLICES,
    }
}
