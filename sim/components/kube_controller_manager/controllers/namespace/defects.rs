//! What may be wrong in the controller of namespaces.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const ERRORS_ARE_IGNORED: Defect = Defect::known(
    "content-errors-are-ignored",
    "an error of `deleteAllContent`, ignored",
    "a namespace goes although some of what is in it could not be deleted",
)
.ships(Gate::NEVER);

const REMAINING_IS_IGNORED: Defect = Defect::known(
    "remaining-content-is-ignored",
    "the last list of `deleteAllContentForGroupVersionResource`, left out",
    "a namespace goes although finalizers keep some of what is in it",
)
.ships(Gate::NEVER);

const REMAINING_IS_FORGOTTEN: Defect = Defect::known(
    "remaining-content-is-forgotten",
    "a case of `worker`, left out",
    "a namespace of which something is left is not looked at again",
)
.ships(Gate::NEVER);

const FIX_PODS_HOLD_OTHERS: Defect = Defect::fix(
    "fix-pods-hold-others",
    "FINDINGS.md, 84; `deleteAllContent` asks how many pods are left, and not whether their deletion failed",
    "what is not a pod stays in a namespace also if its pods could not be deleted",
)
.fits_only(gates::NAMESPACE_DELETION_IS_ORDERED);

defects! {
    /// A mistake in the controller of namespaces.
    pub enum NamespaceDefect in "namespace controllers" {
        ErrorsAreIgnored = ERRORS_ARE_IGNORED,
        RemainingIsIgnored = REMAINING_IS_IGNORED,
        RemainingIsForgotten = REMAINING_IS_FORGOTTEN,
        FixPodsHoldOthers = FIX_PODS_HOLD_OTHERS,
    }
}
