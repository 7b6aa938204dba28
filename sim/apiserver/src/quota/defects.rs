//! Mistakes in the admission plugin for quotas.

use wavetank_version::{Defect, Gate, defects};

use crate::gates::QUOTA_ADMISSION;

const CHARGES_WITHOUT_PRECONDITION: Defect = Defect::known(
    "charges-without-precondition",
    "the resourceVersion of `UpdateQuotaStatus`, left out",
    "what is used is written over what another apiserver has charged meanwhile",
)
.ships(Gate::NEVER)
.fits_only(QUOTA_ADMISSION)
.needs("enable-admission-plugins", &["ResourceQuota"]);

const CHARGES_ARE_NOT_SUMMED: Defect = Defect::known(
    "charges-are-not-summed",
    "the running quotas of `checkQuotas`, left out",
    "requests that are worked off together are each held against what was used before all of them",
)
.ships(Gate::NEVER)
.fits_only(QUOTA_ADMISSION)
.needs("enable-admission-plugins", &["ResourceQuota"]);

const REFUSED_CHARGES_PASS: Defect = Defect::known(
    "refused-charges-pass",
    "`IsDefaultDeny`, left out",
    "a request whose charge could not be written is admitted",
)
.ships(Gate::NEVER)
.fits_only(QUOTA_ADMISSION)
.needs("enable-admission-plugins", &["ResourceQuota"]);

const REFUSALS_ARE_WEIGHED_AGAIN: Defect = Defect::open(
    "refusals-are-weighed-again",
    "k/k#141904, PR #141905",
    "a request that a quota has refused is admitted when the charge to another quota is tried again",
)
.fits_only(QUOTA_ADMISSION)
.needs("enable-admission-plugins", &["ResourceQuota"]);

defects! {
    /// A mistake in the admission plugin for quotas.
    pub enum QuotaDefect in "admission by quotas" {
        ChargesWithoutPrecondition = CHARGES_WITHOUT_PRECONDITION,
        ChargesAreNotSummed = CHARGES_ARE_NOT_SUMMED,
        RefusedChargesPass = REFUSED_CHARGES_PASS,
        RefusalsAreWeighedAgain = REFUSALS_ARE_WEIGHED_AGAIN,
    }
}
