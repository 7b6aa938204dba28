//! Mistakes in the controller of ServiceAccounts, and the fix of one.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const FAILURES_ARE_FORGOTTEN: Defect = Defect::known(
    "account-failures-are-forgotten",
    "k/k#25204",
    "a ServiceAccount that could not be made is not tried again: pods of the namespace have to wait for the next relist",
)
.ships(Gate::NEVER)
.fits_only(gates::SERVICE_ACCOUNT_CONTROLLER);

const DELETED_STAY_AWAY: Defect = Defect::known(
    "deleted-accounts-stay-away",
    "`serviceAccountDeleted`, left out",
    "a default ServiceAccount that somebody has deleted is not made again",
)
.ships(Gate::NEVER)
.fits_only(gates::SERVICE_ACCOUNT_CONTROLLER);

const FIX_MAKE_IN_NEW_NAMESPACES: Defect = Defect::fix(
    "fix-make-in-new-namespaces",
    "FINDINGS.md, 55",
    "a ServiceAccount is tried again if a server refuses it since the namespace goes, which the cache does not show",
)
.fits_only(gates::SERVICE_ACCOUNT_CONTROLLER);

const FIX_LOOK_FOR_MADE_ACCOUNTS: Defect = Defect::fix(
    "fix-look-for-made-accounts",
    "FINDINGS.md, 74",
    "a ServiceAccount that was made is looked for until the cache shows it: who deletes it before that is noticed",
)
.fits_only(gates::SERVICE_ACCOUNT_CONTROLLER);

defects! {
    /// A mistake in the controller of ServiceAccounts, or the fix of one.
    pub enum ServiceAccountDefect in "controllers of ServiceAccounts" {
        FailuresAreForgotten = FAILURES_ARE_FORGOTTEN,
        DeletedStayAway = DELETED_STAY_AWAY,
        FixMakeInNewNamespaces = FIX_MAKE_IN_NEW_NAMESPACES,
        FixLookForMadeAccounts = FIX_LOOK_FOR_MADE_ACCOUNTS,
    }
}
