//! A known bug of deletions, and the fixes of findings.

use wavetank_version::{Defect, defects};

const MADE_ANEW_IS_DELETED_AT_ONCE: Defect = Defect::open(
    "made-anew-is-deleted-at-once",
    "k/k#77988, PR #133995",
    "a deletion by name that is to take an ended pod at once takes the one that was made anew meanwhile",
);

const FIX_EMPTIED_OBJECTS_GO_BY_UID: Defect = Defect::fix(
    "fix-emptied-objects-go-by-uid",
    "FINDINGS.md, 79; `deleteWithoutFinalizers` deletes by name",
    "an update after which nothing holds an object that is being deleted takes that object away, and not one that was made anew under \
     its name",
);

const FIX_DECIDE_GRACE_ANEW: Defect = Defect::fix(
    "fix-decide-grace-anew",
    "FINDINGS.md, 82; `BeforeDelete` writes into the options of the request",
    "a deletion decides by what it deletes how long that has, and not by what it found before",
);

defects! {
    /// Of deletions, where somebody waits for what is deleted.
    pub enum DeletionDefect in "kubelets" {
        MadeAnewIsDeletedAtOnce = MADE_ANEW_IS_DELETED_AT_ONCE,
        FixEmptiedObjectsGoByUid = FIX_EMPTIED_OBJECTS_GO_BY_UID,
        FixDecideGraceAnew = FIX_DECIDE_GRACE_ANEW,
    }
}
