//! Mistakes in the controller that binds claims to volumes, and the fixes of findings.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const MISSING_CLAIMS_ARE_GONE: Defect = Defect::known(
    "missing-claims-are-gone",
    "k/k#48081, k/k#66287, k/k#83177, mended by PR #67062 and after it",
    "a claim that the cache does not show yet is taken for deleted, and its volume is released",
)
.ships(Gate::NEVER)
.fits_only(gates::VOLUME_BINDER_CONTROLLER);

const CACHED_UIDS_ARE_TRUSTED: Defect = Defect::known(
    "cached-claim-uids-are-trusted",
    "k/k#105131, mended by PR #105211",
    "a claim that was made anew is taken for deleted while the cache shows the one before it, and its volume is released",
)
.ships(Gate::NEVER)
.fits_only(gates::VOLUME_BINDER_CONTROLLER);

const NOTHING_IS_LOOKED_AT_AGAIN: Defect = Defect::known(
    "volumes-are-not-looked-at-again",
    "`resync`, left out",
    "a claim for which there was no volume waits on, although one is free",
)
.ships(Gate::NEVER)
.fits_only(gates::VOLUME_BINDER_CONTROLLER);

const RELEASED_VOLUMES_ASK: Defect = Defect::known(
    "released-volumes-ask-for-claims",
    "k/k#118545, PR #140672",
    "every 15 s an apiserver is asked for the claim of a volume that was released, if there is another claim of its name",
)
.ships(gates::VOLUME_BINDER_CONTROLLER)
.fits_only(gates::VOLUME_BINDER_CONTROLLER);

const VOLUMES_THAT_GO_ARE_GIVEN: Defect = Defect::known(
    "volumes-that-go-are-given",
    "the check of `DeletionTimestamp`, left out",
    "a volume that is being deleted is bound to a claim",
)
.ships(Gate::NEVER)
.fits_only(gates::VOLUME_BINDER_CONTROLLER);

const CLAIMS_ARE_BOUND_FIRST: Defect = Defect::known(
    "claims-are-bound-first",
    "the order of `bind`, turned round",
    "a claim has its volume before the volume is known to be free",
)
.ships(Gate::NEVER)
.fits_only(gates::VOLUME_BINDER_CONTROLLER);

const FIX_LOST_IS_LOOKED_UP: Defect = Defect::fix(
    "fix-lost-is-looked-up",
    "FINDINGS.md, 109",
    "a volume that the cache does not show is asked for before its claim is said to be lost",
)
.fits_only(gates::VOLUME_BINDER_CONTROLLER);

defects! {
    /// A mistake in the controller that binds claims to volumes, or the fix of one.
    pub enum BinderDefect in "controllers that bind claims" {
        MissingClaimsAreGone = MISSING_CLAIMS_ARE_GONE,
        CachedUidsAreTrusted = CACHED_UIDS_ARE_TRUSTED,
        NothingIsLookedAtAgain = NOTHING_IS_LOOKED_AT_AGAIN,
        ReleasedVolumesAsk = RELEASED_VOLUMES_ASK,
        VolumesThatGoAreGiven = VOLUMES_THAT_GO_ARE_GIVEN,
        ClaimsAreBoundFirst = CLAIMS_ARE_BOUND_FIRST,
        FixLostIsLookedUp = FIX_LOST_IS_LOOKED_UP,
    }
}
