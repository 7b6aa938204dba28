//! The MVCC store: keys with their revisions, the history since the last compaction. Persistent
//! structures, so that a copied world shares what it does not change.

use std::hash::{Hash, Hasher};

use imbl::{OrdMap, Vector};
use wavetank_engine::{Digest, digest};

use crate::api::{
    Change, Compare, EtcdError, Key, KeyValue, Keys, Ranged, Revision, Txn, TxnOp, TxnResponse,
    Value,
};
use crate::lease::LeaseId;

/// The changes of one revision, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Commit<V> {
    revision: Revision,
    changes: Vec<Change<V>>,
}

/// Commits by revision, each with the changes that somebody asked for.
pub type Commits<V> = Vec<(Revision, Vec<Change<V>>)>;

/// Keys and history.
#[derive(Clone, Debug)]
pub struct Store<V: Value> {
    revision: Revision,
    compacted: Revision,
    keys: OrdMap<Key, KeyValue<V>>,
    /// Since the last compaction, by revision.
    history: Vector<Commit<V>>,
    /// Sums of strong digests, one per entry: what is hashed.
    keys_digest: Digest,
    history_digest: Digest,
}

impl<V: Value> Default for Store<V> {
    /// An empty store is at revision 1.
    fn default() -> Self {
        Store {
            revision: 1,
            compacted: 0,
            keys: OrdMap::new(),
            history: Vector::new(),
            keys_digest: 0,
            history_digest: 0,
        }
    }
}

impl<V: Value> PartialEq for Store<V> {
    fn eq(&self, other: &Self) -> bool {
        self.revision == other.revision
            && self.compacted == other.compacted
            && (self.keys.ptr_eq(&other.keys) || self.keys == other.keys)
            && (self.history.ptr_eq(&other.history) || self.history == other.history)
    }
}
impl<V: Value> Eq for Store<V> {}

impl<V: Value> Hash for Store<V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.revision.hash(state);
        self.compacted.hash(state);
        state.write_u64(self.keys_digest);
        state.write_u64(self.history_digest);
    }
}

fn entry_digest<V: Value>(kv: &KeyValue<V>) -> Digest {
    digest(kv)
}

fn commit_digest<V: Value>(commit: &Commit<V>) -> Digest {
    digest(&(commit.revision, &commit.changes))
}

impl<V: Value> Store<V> {
    /// The newest revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Up to where history is forgotten; 0 if never.
    pub fn compacted(&self) -> Revision {
        self.compacted
    }

    /// A key as it is now.
    pub fn get(&self, key: &str) -> Option<&KeyValue<V>> {
        self.keys.get(key)
    }

    /// Keys as they are now, in order.
    pub fn iter<'a>(&'a self, keys: &'a Keys) -> impl Iterator<Item = &'a KeyValue<V>> {
        self.keys
            .range(keys.start().clone()..)
            .map(|(_, kv)| kv)
            .take_while(|kv| keys.contains(&kv.key))
    }

    /// Reads keys at a revision (0: now), at most `limit` of them (0: all).
    ///
    /// # Errors
    /// `FutureRevision`, or `Compacted` below the compact revision.
    pub fn range(
        &self,
        keys: &Keys,
        revision: Revision,
        limit: u64,
    ) -> Result<Ranged<V>, EtcdError> {
        if revision > self.revision {
            return Err(EtcdError::FutureRevision);
        }
        let mut kvs: Vec<KeyValue<V>> = if revision == 0 || revision == self.revision {
            self.iter(keys).cloned().collect()
        } else if revision < self.compacted {
            return Err(EtcdError::Compacted);
        } else {
            self.rewound(keys, revision)
        };
        let count = kvs.len() as u64;
        if limit > 0 {
            kvs.truncate(limit as usize);
        }
        Ok(Ranged {
            revision: self.revision,
            kvs,
            count,
        })
    }

    /// Undoes the commits after `revision`.
    fn rewound(&self, keys: &Keys, revision: Revision) -> Vec<KeyValue<V>> {
        let mut at: OrdMap<Key, KeyValue<V>> = self.keys.clone();
        for commit in self.history.iter().rev() {
            if commit.revision <= revision {
                break;
            }
            for change in commit.changes.iter().rev() {
                match &change.before {
                    Some(before) => at.insert(change.key.clone(), before.clone()),
                    None => at.remove(&change.key),
                };
            }
        }
        let wanted = at.into_iter().filter(|(key, _)| keys.contains(key));
        wanted.map(|(_, kv)| kv).collect()
    }

    /// Applies a transaction; a transaction that changes anything is one revision. Returns what
    /// changed beside the answer.
    ///
    /// # Errors
    /// `DuplicateKey` if it writes a key twice.
    pub fn txn(&mut self, txn: &Txn<V>) -> Result<(TxnResponse<V>, Vec<Change<V>>), EtcdError> {
        let (succeeded, ops) = self.branch(txn);
        let mut puts: Vec<&Key> = ops
            .iter()
            .filter_map(|op| match op {
                TxnOp::Put(key, ..) => Some(key),
                _ => None,
            })
            .collect();
        puts.sort();
        if puts.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(EtcdError::DuplicateKey);
        }
        let (mut changes, mut ranges, mut deleted) = (Vec::new(), Vec::new(), 0);
        for op in ops {
            match op {
                TxnOp::Put(key, value, lease) => {
                    changes.push(self.put(key.clone(), value.clone(), *lease));
                }
                TxnOp::Delete(keys) => {
                    let gone: Vec<Key> = self.iter(keys).map(|kv| kv.key.clone()).collect();
                    deleted += gone.len() as u64;
                    changes.extend(gone.iter().filter_map(|key| self.remove(key)));
                }
                TxnOp::Range(keys) => ranges.push(self.iter(keys).cloned().collect()),
            }
        }
        self.commit(&changes);
        let response = TxnResponse {
            revision: self.revision,
            succeeded,
            ranges,
            deleted,
        };
        Ok((response, changes))
    }

    /// Do all comparisons hold, and which operations are therefore to be done?
    pub fn branch<'a>(&self, txn: &'a Txn<V>) -> (bool, &'a [TxnOp<V>]) {
        match txn.compare.iter().all(|compare| self.holds(compare)) {
            true => (true, &txn.success),
            false => (false, &txn.failure),
        }
    }

    /// Deletes these keys in one revision, in the given order. Returns what changed.
    pub fn delete_all(&mut self, keys: &[Key]) -> Vec<Change<V>> {
        let changes: Vec<Change<V>> = keys.iter().filter_map(|key| self.remove(key)).collect();
        self.commit(&changes);
        changes
    }

    /// Forgets history below `revision`.
    ///
    /// # Errors
    /// `FutureRevision`, or `Compacted` if that was done before.
    pub fn compact(&mut self, revision: Revision) -> Result<(), EtcdError> {
        if revision > self.revision {
            return Err(EtcdError::FutureRevision);
        }
        if revision <= self.compacted {
            return Err(EtcdError::Compacted);
        }
        self.compacted = revision;
        while let Some(commit) = self.history.front()
            && commit.revision <= revision
        {
            let digest = commit_digest(commit);
            self.history_digest = self.history_digest.wrapping_sub(digest);
            self.history.pop_front();
        }
        Ok(())
    }

    /// The commits from `start` on that touch `keys`, each with its changes.
    ///
    /// # Errors
    /// `Compacted`, if the start is at or below the compact revision.
    pub fn since(&self, keys: &Keys, start: Revision) -> Result<Commits<V>, EtcdError> {
        if start <= self.compacted {
            return Err(EtcdError::Compacted);
        }
        let later = self.history.iter().filter(|c| c.revision >= start);
        Ok(later
            .filter_map(|commit| {
                let touched = commit.changes.iter().filter(|c| keys.contains(&c.key));
                let changes: Vec<Change<V>> = touched.cloned().collect();
                (!changes.is_empty()).then_some((commit.revision, changes))
            })
            .collect())
    }

    fn holds(&self, compare: &Compare) -> bool {
        let of =
            |key: &Key, field: fn(&KeyValue<V>) -> u64| self.get(key.as_ref()).map_or(0, field);
        match compare {
            Compare::ModRevision(key, is) => of(key, |kv| kv.mod_revision) == *is,
            Compare::CreateRevision(key, is) => of(key, |kv| kv.create_revision) == *is,
            Compare::Version(key, is) => of(key, |kv| kv.version) == *is,
        }
    }

    /// The revision that the changes under way will have.
    fn next_revision(&self) -> Revision {
        self.revision + 1
    }

    fn put(&mut self, key: Key, value: V, lease: Option<LeaseId>) -> Change<V> {
        let before = self.keys.get(&key).cloned();
        let revision = self.next_revision();
        let kv = KeyValue {
            key: key.clone(),
            value,
            create_revision: before.as_ref().map_or(revision, |b| b.create_revision),
            mod_revision: revision,
            version: before.as_ref().map_or(1, |b| b.version + 1),
            lease,
        };
        if let Some(before) = &before {
            self.keys_digest = self.keys_digest.wrapping_sub(entry_digest(before));
        }
        self.keys_digest = self.keys_digest.wrapping_add(entry_digest(&kv));
        self.keys.insert(key.clone(), kv.clone());
        Change {
            key,
            now: Some(kv),
            before,
        }
    }

    fn remove(&mut self, key: &Key) -> Option<Change<V>> {
        let before = self.keys.remove(key)?;
        self.keys_digest = self.keys_digest.wrapping_sub(entry_digest(&before));
        Some(Change {
            key: key.clone(),
            now: None,
            before: Some(before),
        })
    }

    fn commit(&mut self, changes: &[Change<V>]) {
        if changes.is_empty() {
            return;
        }
        self.revision += 1;
        let commit = Commit {
            revision: self.revision,
            changes: changes.to_vec(),
        };
        self.history_digest = self.history_digest.wrapping_add(commit_digest(&commit));
        self.history.push_back(commit);
    }

    /// Are the running digests those of the content? For tests.
    pub fn digests_are_right(&self) -> bool {
        let keys = self.keys.values().map(entry_digest);
        let history = self.history.iter().map(commit_digest);
        keys.fold(0, Digest::wrapping_add) == self.keys_digest
            && history.fold(0, Digest::wrapping_add) == self.history_digest
    }
}
