//! The known bugs of how definitions are served.

use wavetank_engine::Cell;
use wavetank_version::{Defect, Gate, Set, defects};

use crate::gates;

const ESTABLISHED_AT_ONCE: Defect = Defect::known(
    "established-at-once",
    "k/k#62725, PR #63068 (1.11)",
    "a definition is established at once where there are several apiservers, of which others do not know it yet",
)
.ships(Gate::NEVER)
.fits_only(gates::CUSTOM_RESOURCES);

const DEFINITION_WITHOUT_FINALIZER: Defect = Defect::known(
    "definition-without-finalizer",
    "k/k#45878",
    "a definition is deleted at once, and its objects stay",
)
.ships(Gate::NEVER)
.fits_only(gates::CUSTOM_RESOURCES);

const CHANGE_IS_NOT_COMPUTED_AGAIN: Defect = Defect::known(
    "change-is-not-computed-again",
    "the call of `tryUpdate` after a conflict, left out",
    "a patch or an apply of a custom object that was overtaken is stored as it was computed before",
)
.ships(Gate::NEVER)
.fits_only(gates::CUSTOM_RESOURCES);

const RESET_FIELDS_ARE_OWNED: Defect = Defect::known(
    "reset-fields-are-owned",
    "k/k#75564, PR #99661",
    "who writes an object owns fields in it that are reset before it is stored, such as its status",
)
.ships(Gate::NEVER)
.fits_only(gates::CUSTOM_RESOURCES);

const WEBHOOK_CHANGES_METADATA: Defect = Defect::known(
    "webhook-changes-metadata",
    "k/k#72160, PR #77743",
    "what a webhook that converts says of an object's metadata is believed, and its generation with it",
)
.ships(Gate::NEVER)
.fits_only(gates::CUSTOM_RESOURCES);

const DELETION_IS_DATED_AGAIN: Defect = Defect::known(
    "deletion-is-dated-again",
    "k/k#73098, PR #73138",
    "each DELETE of a custom object that a finalizer keeps moves its `deletionTimestamp` on",
)
.ships(Gate::NEVER)
.fits_only(gates::CUSTOM_RESOURCES);

const LATE_CREATION_STAYS: Defect = Defect::open(
    "late-creation-stays",
    "k/k#99181 (not fixed)",
    "an object is created by a server that has not seen yet that its definition goes, and stays. Off: the transaction of a \
     creation compares the definition, too",
)
.ships(gates::CUSTOM_RESOURCES)
.fits_only(gates::CUSTOM_RESOURCES);

const FIX_DELETE_BEFORE_ESTABLISHED: Defect = Defect::fix(
    "fix-delete-before-established",
    "finding 27",
    "a definition that goes before it is established takes its objects along, if its names were accepted",
)
.fits_only(gates::CUSTOM_RESOURCES);

defects! {
    /// A known bug of how definitions are served.
    pub enum CustomDefect in "apiservers that serve custom resources" {
        EstablishedAtOnce = ESTABLISHED_AT_ONCE,
        DefinitionWithoutFinalizer = DEFINITION_WITHOUT_FINALIZER,
        ChangeIsNotComputedAgain = CHANGE_IS_NOT_COMPUTED_AGAIN,
        ResetFieldsAreOwned = RESET_FIELDS_ARE_OWNED,
        WebhookChangesMetadata = WEBHOOK_CHANGES_METADATA,
        DeletionIsDatedAgain = DELETION_IS_DATED_AGAIN,
        LateCreationStays = LATE_CREATION_STAYS,
        FixDeleteBeforeEstablished = FIX_DELETE_BEFORE_ESTABLISHED,
    }
}

/// Those of this server, for who is not told its configuration.
pub(crate) static DEFECTS: Cell<Set<CustomDefect>> = Cell::new("crd-defects");
