//! Mistakes in the EndpointSlice controller, and the fixes of findings. Those of its tracker are in `endpoint_utils`.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const STALE_SLICES_ARE_USED: Defect = Defect::known(
    "stale-slices-are-used",
    "k/k#100033, k/k#92928 (`StaleSlices`, 1.21)",
    "a Service is synced from a cache of slices that has not seen what was written for it",
)
.ships(Gate::NEVER)
.fits_only(gates::ENDPOINTS_CONTROLLER);

const FOREIGN_SLICE_CHANGES_ARE_IGNORED: Defect = Defect::known(
    "foreign-slice-changes-are-ignored",
    "k/k#85353 (1.17)",
    "a slice that somebody else changes or deletes is not mended",
)
.ships(Gate::NEVER)
.fits_only(gates::ENDPOINTS_CONTROLLER);

const TAKES_SLICES_OF_ANOTHER_SERVICE: Defect = Defect::known(
    "takes-slices-of-another-service",
    "k/k#94720 (1.19)",
    "the slices of a Service that is gone are taken for those of the next one of its name",
)
.ships(Gate::NEVER)
.fits_only(gates::ENDPOINTS_CONTROLLER);

const PLACEHOLDERS_ARE_REWRITTEN: Defect = Defect::known(
    "placeholder-slices-are-rewritten",
    "k/k#108231 (1.23)",
    "the slice of a Service without endpoints is written at each resync (here every 30 s)",
)
.ships(Gate::NEVER)
.fits_only(gates::ENDPOINTS_CONTROLLER);

const PLACEHOLDERS_OUTLIVE_THEIR_SERVICE: Defect = Defect::known(
    "placeholders-outlive-their-service",
    "PR #141593",
    "the slice without endpoints of a Service that is gone is taken for that of the next one of its name",
)
.fits_only(gates::ENDPOINTS_CONTROLLER)
.until(gates::PLACEHOLDERS_HAVE_THEIR_OWNER);

const FIX_LOOK_AGAIN_FOR_ANY_SLICE: Defect = Defect::fix(
    "fix-look-again-for-any-slice",
    "FINDINGS.md, 36",
    "a slice that is deleted is made again, also if another life of the controller made it",
)
.fits_only(gates::ENDPOINTS_CONTROLLER);

defects! {
    /// A mistake in the EndpointSlice controller, or the fix of one.
    pub enum EndpointSliceDefect in "EndpointSlice controllers" {
        StaleSlicesAreUsed = STALE_SLICES_ARE_USED,
        ForeignSliceChangesAreIgnored = FOREIGN_SLICE_CHANGES_ARE_IGNORED,
        TakesSlicesOfAnotherService = TAKES_SLICES_OF_ANOTHER_SERVICE,
        PlaceholdersAreRewritten = PLACEHOLDERS_ARE_REWRITTEN,
        PlaceholdersOutliveTheirService = PLACEHOLDERS_OUTLIVE_THEIR_SERVICE,
        FixLookAgainForAnySlice = FIX_LOOK_AGAIN_FOR_ANY_SLICE,
    }
}
