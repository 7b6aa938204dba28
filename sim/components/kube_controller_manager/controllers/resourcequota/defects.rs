//! Mistakes in the controller of quotas.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const COUNTS_WITHOUT_PRECONDITION: Defect = Defect::known(
    "counts-without-precondition",
    "the resourceVersion of `UpdateStatus`, left out",
    "what was counted is written over what apiservers have charged meanwhile",
)
.ships(Gate::NEVER)
.fits_only(gates::QUOTA_CONTROLLER);

const QUOTAS_ARE_NOT_COUNTED_AGAIN: Defect = Defect::known(
    "quotas-are-not-counted-again",
    "`enqueueAll`, left out",
    "what was charged for an object that was not made then is never given back",
)
.ships(Gate::NEVER)
.fits_only(gates::QUOTA_CONTROLLER);

const COUNTS_FORGET_CHARGES: Defect = Defect::open(
    "counts-forget-charges",
    "k/k#123434",
    "a count that does not see an object yet which is about to be stored takes back what that was charged",
)
.fits_only(gates::QUOTA_CONTROLLER);

const FIX_QUOTAS_MADE_ANEW: Defect = Defect::fix(
    "fix-quotas-made-anew",
    "FINDINGS.md, 89",
    "a quota in whose place there is another one of its name is counted, although both allow the same",
)
.fits_only(gates::QUOTA_CONTROLLER);

defects! {
    /// A mistake in the controller of quotas.
    pub enum RecountDefect in "controllers of quotas" {
        CountsWithoutPrecondition = COUNTS_WITHOUT_PRECONDITION,
        QuotasAreNotCountedAgain = QUOTAS_ARE_NOT_COUNTED_AGAIN,
        CountsForgetCharges = COUNTS_FORGET_CHARGES,
        FixQuotasMadeAnew = FIX_QUOTAS_MADE_ANEW,
    }
}
