//! Mistakes in the Endpoints controller, and the fix of a finding.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const COMPARES_WITH_STALE_ENDPOINTS: Defect = Defect::known(
    "compares-with-stale-endpoints",
    "k/k#125638 (fixed by PR #125675, 1.31)",
    "what a Service should list is compared with Endpoints from a cache that has not seen the last update: no write follows",
)
.ships(Gate::NEVER)
.fits_only(gates::ENDPOINTS_CONTROLLER);

const UNCHANGED_IS_STALE: Defect = Defect::known(
    "unchanged-endpoints-are-stale",
    "k/k#126578, k/k#127370 (1.31.0, 1.31.1)",
    "an update that changes nothing makes the Endpoints count as stale for ever: they are not written any more",
)
.ships(Gate::NEVER)
.fits_only(gates::ENDPOINTS_CONTROLLER);

const LEFTOVERS_ARE_NOT_CHECKED: Defect = Defect::known(
    "leftovers-are-not-checked",
    "`checkLeftoverEndpoints`, left out (k/k#6877)",
    "the Endpoints of a Service that goes while no controller runs stay for ever",
)
.ships(Gate::NEVER)
.fits_only(gates::ENDPOINTS_CONTROLLER);

const EMPTY_ENDPOINTS_ARE_REWRITTEN: Defect = Defect::known(
    "empty-endpoints-are-rewritten",
    "k/k#42798 (1.5)",
    "Endpoints without addresses are never as they should be: they are written at each resync (every 30 s)",
)
.ships(Gate::NEVER)
.fits_only(gates::ENDPOINTS_CONTROLLER);

const FIX_LOOK_AT_NEW_ENDPOINTS: Defect = Defect::fix(
    "fix-look-at-new-endpoints",
    "FINDINGS.md, 37",
    "Endpoints that come up without a Service are deleted, and not only those that are there when a controller begins",
)
.fits_only(gates::ENDPOINTS_CONTROLLER);

defects! {
    /// A mistake in the Endpoints controller, or the fix of one.
    pub enum EndpointsDefect in "Endpoints controllers" {
        ComparesWithStaleEndpoints = COMPARES_WITH_STALE_ENDPOINTS,
        UnchangedIsStale = UNCHANGED_IS_STALE,
        LeftoversAreNotChecked = LEFTOVERS_ARE_NOT_CHECKED,
        EmptyEndpointsAreRewritten = EMPTY_ENDPOINTS_ARE_REWRITTEN,
        FixLookAtNewEndpoints = FIX_LOOK_AT_NEW_ENDPOINTS,
    }
}
