//! What may be wrong in the controller of namespaces.

use wavetank_version::{Defect, Gate, defects};

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

defects! {
    /// A mistake in the controller of namespaces.
    pub enum NamespaceDefect in "namespace controllers" {
        ErrorsAreIgnored = ERRORS_ARE_IGNORED,
        RemainingIsIgnored = REMAINING_IS_IGNORED,
        RemainingIsForgotten = REMAINING_IS_FORGOTTEN,
    }
}
