//! Compaction: `mvcc/kvstore.go` `updateCompactRev`, `kvstore_compaction.go`, `key_index.go`. It
//! is in force at once; how long the space takes to be free does not belong here.

use std::collections::BTreeSet;
use wavetank_engine::mutant;

use wavetank_version::{Defect, Listed};

use super::store::{Changes, Commit, Store};
use crate::EtcdDefect;
use crate::api::{Change, EtcdError, Revision, Value};
use crate::gates;
use crate::quirks::Quirks;

impl<V: Value> Store<V> {
    /// Forgets what cannot be read from `revision` on. It makes no revision.
    ///
    /// # Errors
    /// `Compacted` if that was done before, else `FutureRevision`.
    pub fn compact(&mut self, revision: Revision, quirks: Quirks) -> Result<(), EtcdError> {
        if self.compacted.is_some_and(|done| revision <= done) {
            return Err(EtcdError::Compacted);
        }
        if revision > self.revision {
            return Err(EtcdError::FutureRevision);
        }
        self.compacted = Some(revision);
        while self.oldest().is_some_and(|oldest| oldest < revision) {
            self.forget_oldest();
        }
        if self.oldest() == Some(revision)
            && let Some(commit) = self.forget_oldest()
            && !mutant!(
                "compaction-forgets-its-revision",
                "a compaction also forgets the commit at its revision"
            )
        {
            let changes = what_remains(&commit.changes, quirks);
            if !changes.is_empty() {
                self.keep_oldest(Commit::new(revision, changes));
            }
        }
        Ok(())
    }

    /// Goes on so many revisions later, with all history forgotten: a restore with
    /// `--bump-revision` and `--mark-compacted` (`etcdutl/snapshot/v3_snapshot.go`), so that
    /// nobody takes the new revisions for those that were lost.
    pub fn bump_revision(&mut self, by: u64) {
        self.revision += by;
        self.compacted = Some(self.revision);
        while self.forget_oldest().is_some() {}
    }

    fn oldest(&self) -> Option<Revision> {
        self.history.front().map(|commit| commit.revision)
    }
}

pub(crate) const COMPACTION_DROPS_TOMBSTONE: Defect = Defect::known(
    "compaction-drops-tombstone",
    "etcd#18089 (3.4.34, 3.5.16)",
    "compacting at the revision of a delete forgets the delete itself",
)
.of_etcd(gates::COMPACTION_DROPS_TOMBSTONE);

/// What a watch from the compact revision can still learn of it: per key the last change.
fn what_remains<V: Value>(changes: &Changes<V>, quirks: Quirks) -> Changes<V> {
    let mut later = BTreeSet::new();
    let mut kept: Vec<Change<V>> = Vec::new();
    for change in changes.iter().rev() {
        let last = later.insert(&change.key);
        let dropped = || {
            let drops = quirks.drops_tombstone_at_compaction;
            change.now.is_none() && EtcdDefect::CompactionDropsTombstone.passed(drops)
        };
        if last && !dropped() {
            kept.push(change.clone());
        }
    }
    kept.reverse();
    kept.into()
}
