//! A known bug of deletions.

use wavetank_version::{Defect, defects};

const MADE_ANEW_IS_DELETED_AT_ONCE: Defect = Defect::open(
    "made-anew-is-deleted-at-once",
    "k/k#77988, PR #133995",
    "a deletion by name that is to take an ended pod at once takes the one that was made anew meanwhile",
);

defects! {
    /// Of deletions, where somebody waits for what is deleted.
    pub enum DeletionDefect in "kubelets" {
        MadeAnewIsDeletedAtOnce = MADE_ANEW_IS_DELETED_AT_ONCE,
    }
}
