//! The store itself: keys as they are, history by revision, and where in it a key's past is.
//! Persistent structures, so that a copied world shares what it does not change. What requests
//! make of it is in the files beside.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use imbl::{OrdMap, Vector};
use wavetank_engine::{Digests, NotState, exactly, mutant};

use crate::api::{Change, EtcdError, Key, KeyValue, Keys, Revision, Value};
use crate::summed::Summed;

/// What one revision changed, in the order of sub-revisions.
pub type Changes<V> = Arc<[Change<V>]>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Commit<V> {
    pub(super) revision: Revision,
    pub(super) changes: Changes<V>,
    digests: Digests,
}

impl<V: Value> Commit<V> {
    pub(super) fn new(revision: Revision, changes: Changes<V>) -> Commit<V> {
        let sides: Vec<_> = changes.iter().map(sides).collect();
        Commit::with_sides(revision, changes, &sides)
    }

    fn with_sides(revision: Revision, changes: Changes<V>, sides: &[[Digests; 2]]) -> Commit<V> {
        Commit {
            revision,
            changes,
            digests: Digests::of(&(revision, sides)),
        }
    }
}

/// Where a value is that a key had: in `before` of a change of the history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Past {
    /// The revision that ended it.
    pub(super) until: Revision,
    /// Which of its changes.
    pub(super) change: u32,
}

/// Keys and history.
///
/// Equality and hash cover what can be observed: keys, history, revision and compact revision.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Store<V: Value> {
    pub(super) revision: Revision,
    /// `compactMainRev`; `None` (upstream: -1) until the first compaction.
    pub(super) compacted: Option<Revision>,
    /// Sums of strong digests, one per entry: what is hashed, and compared first.
    live_digest: Digests,
    history_digest: Digests,
    /// As they are now.
    pub(super) live: Summed<OrdMap<Key, KeyValue<V>>>,
    /// Every commit above the compact revision, without a gap, and before them what is left of the
    /// one at the compact revision, if anything is.
    pub(super) history: Summed<Vector<Commit<V>>>,
    /// By key what it was at some revision from the compact one on and is no longer, oldest first:
    /// what `treeIndex` is upstream. It follows from the history.
    pub(super) past: NotState<OrdMap<Key, Vector<Past>>>,
}

impl<V: Value> Default for Store<V> {
    /// An empty store is at revision 1.
    fn default() -> Self {
        Store {
            revision: 1,
            compacted: None,
            live_digest: Digests::default(),
            history_digest: Digests::default(),
            live: Summed(OrdMap::new()),
            history: Summed(Vector::new()),
            past: NotState::default(),
        }
    }
}

impl<V: Value> Store<V> {
    /// The newest revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The compact revision: it can be read, older ones cannot. 0 if nothing was compacted.
    pub fn compacted(&self) -> Revision {
        self.compacted.unwrap_or(0)
    }

    /// How many keys there are now.
    pub fn keys_len(&self) -> usize {
        self.live.len()
    }

    /// A key as it is now.
    pub fn get(&self, key: &str) -> Option<&KeyValue<V>> {
        self.live.get(key)
    }

    /// Keys as they are now, in order.
    pub fn iter<'a>(&'a self, keys: &'a Keys) -> impl Iterator<Item = &'a KeyValue<V>> {
        // A lookup is cheaper than an iterator over the map.
        let (one, more) = match keys {
            Keys::One(key) => (self.get(key), None),
            _ => (None, Some(self.live.range::<_, str>(at_or_after(keys)))),
        };
        let more = more.into_iter().flatten();
        let more = more.take_while(|(key, _)| keys.contains(key));
        one.into_iter().chain(more.map(|(_, kv)| kv))
    }

    /// A key as it was at a revision (0: now). Watches read `prev_kv` so, when they send.
    ///
    /// # Errors
    /// `FutureRevision`, or `Compacted` below the compact revision.
    pub fn at(&self, key: &str, revision: Revision) -> Result<Option<&KeyValue<V>>, EtcdError> {
        self.check_revision(revision)?;
        let live = self.live.get(key);
        if revision == 0 || live.is_some_and(|kv| kv.mod_revision <= revision) {
            return Ok(live);
        }
        let pasts = self.past.get(key);
        Ok(pasts.and_then(|pasts| self.past_at(pasts, revision)))
    }

    /// The commits from `start` on, oldest first: what a watch from there has to be told.
    ///
    /// At the compact revision itself only the last change of each key is left.
    ///
    /// # Errors
    /// `Compacted` below the compact revision (`watcher_group.go` `chooseAll`).
    pub fn since(
        &self,
        start: Revision,
    ) -> Result<impl Iterator<Item = (Revision, &[Change<V>])>, EtcdError> {
        if self.compacted.is_some_and(|compacted| start < compacted) {
            return Err(EtcdError::Compacted);
        }
        let first = self.history.front().map_or(start, |c| c.revision);
        let skips = start > first
            && mutant!(
                "history-skips-first",
                "a watch that catches up misses the first revision"
            );
        let skipped = start.saturating_sub(first) as usize + usize::from(skips);
        let rest = self.history.focus();
        let length = rest.len();
        let commits = rest.narrow(skipped.min(length)..length).into_iter();
        Ok(commits.map(|commit| (commit.revision, &*commit.changes)))
    }

    /// Can this revision (0: now) be read? `mvcc/kvstore_txn.go` `rangeKeys`.
    pub(super) fn check_revision(&self, revision: Revision) -> Result<(), EtcdError> {
        if revision > self.revision {
            Err(EtcdError::FutureRevision)
        } else if revision != 0
            && self.compacted.is_some_and(|c| revision < c)
            && !mutant!(
                "compacted-is-served",
                "a range at a compacted revision is answered"
            )
        {
            Err(EtcdError::Compacted)
        } else {
            Ok(())
        }
    }

    /// Which of a key's past values it had at a revision.
    pub(super) fn past_at(&self, pasts: &Vector<Past>, revision: Revision) -> Option<&KeyValue<V>> {
        let (Ok(next) | Err(next)) = pasts.binary_search_by(|past| past.until.cmp(&(revision + 1)));
        let past = pasts.get(next)?;
        let before = self.before(*past);
        // Else it was created later, or was not there just then.
        (before.mod_revision <= revision).then_some(before)
    }

    fn before(&self, past: Past) -> &KeyValue<V> {
        let first = self
            .history
            .front()
            .expect("a past has its change")
            .revision;
        let commit = &self.history[(past.until - first) as usize];
        let change = &commit.changes[past.change as usize];
        change.before.as_ref().expect("a past is a value")
    }

    /// Makes a revision of changes that are already in `live`; none make no revision.
    pub(super) fn commit(&mut self, changes: Vec<Change<V>>) -> Changes<V> {
        let changes = Changes::from(changes);
        if changes.is_empty() {
            return changes;
        }
        self.revision += 1;
        let sides: Vec<_> = changes.iter().map(sides).collect();
        for (index, (change, [before, now])) in changes.iter().zip(&sides).enumerate() {
            self.live_digest.take(*before);
            self.live_digest.add(*now);
            if ends_a_past(change) {
                let past = Past {
                    until: change.revision,
                    change: index as u32,
                };
                let pasts = self.past.entry(change.key.clone()).or_default();
                pasts.push_back(past);
            }
        }
        let commit = Commit::with_sides(self.revision, changes.clone(), &sides);
        self.history_digest.add(commit.digests);
        self.history.push_back(commit);
        changes
    }

    /// Takes the oldest commit out of the history, and what it ended out of the past.
    pub(super) fn forget_oldest(&mut self) -> Option<Commit<V>> {
        let commit = self.history.pop_front()?;
        self.history_digest.take(commit.digests);
        for change in commit.changes.iter().filter(|change| ends_a_past(change)) {
            // None: it is what an earlier compaction left at its revision.
            if let Some(pasts) = self.past.get_mut(&change.key)
                && pasts.front().is_some_and(|p| p.until == change.revision)
            {
                pasts.pop_front();
                if pasts.is_empty() {
                    self.past.remove(&change.key);
                }
            }
        }
        Some(commit)
    }

    /// Puts back what is left of the oldest commit; its past stays forgotten.
    pub(super) fn keep_oldest(&mut self, commit: Commit<V>) {
        self.history_digest.add(commit.digests);
        self.history.push_front(commit);
    }

    /// Are the running digests and the index of the past those of the content? For tests.
    pub fn is_consistent(&self) -> bool {
        let mut live = Digests::default();
        self.live.values().for_each(|kv| live.add(Digests::of(kv)));
        let mut history = Digests::default();
        for commit in self.history.iter() {
            history.add(Commit::new(commit.revision, commit.changes.clone()).digests);
        }
        let mut past: BTreeMap<Key, Vector<Past>> = BTreeMap::new();
        for commit in self.history.iter() {
            let known = self.compacted.is_none_or(|c| commit.revision > c);
            for (index, change) in commit.changes.iter().enumerate() {
                if known && ends_a_past(change) {
                    past.entry(change.key.clone()).or_default().push_back(Past {
                        until: change.revision,
                        change: index as u32,
                    });
                }
            }
        }
        exactly(|| (live, history) == (self.live_digest, self.history_digest))
            && past.iter().eq(self.past.iter())
    }
}

/// Bounds for a map; where `keys` end is for the caller to see.
pub(super) fn at_or_after(keys: &Keys) -> (Bound<&str>, Bound<&str>) {
    (Bound::Included(keys.start()), Bound::Unbounded)
}

/// Does it end a value that an earlier revision wrote?
fn ends_a_past<V>(change: &Change<V>) -> bool {
    let before = change.before.as_ref();
    before.is_some_and(|kv| kv.mod_revision < change.revision)
}

/// The fingerprints of what a key was, and is now.
fn sides<V: Value>(change: &Change<V>) -> [Digests; 2] {
    let of = |side: &Option<KeyValue<V>>| side.as_ref().map(Digests::of);
    [&change.before, &change.now].map(|side| of(side).unwrap_or_default())
}
