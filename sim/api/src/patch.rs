//! Patches.

/// How a patch is to be read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PatchKind {
    /// `application/json-patch+json`
    Json,
    /// `application/merge-patch+json`
    Merge,
    /// `application/strategic-merge-patch+json`
    Strategic,
    /// `application/apply-patch+yaml`
    Apply,
}
