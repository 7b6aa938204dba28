//! A history to watch: every state that there ever was, and what is compacted of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_etcd::{Change, EtcdError, History, Key, KeyValue, Revision};

pub type Bytes = Arc<[u8]>;

#[derive(Clone, Default)]
pub struct Log {
    /// By revision, from 2 on; compaction takes nothing away here.
    commits: Vec<(Revision, Vec<Change<Bytes>>)>,
    /// By revision, from 1 on.
    states: Vec<BTreeMap<Key, KeyValue<Bytes>>>,
    compacted: Revision,
}

impl Log {
    pub fn new() -> Log {
        Log {
            states: vec![BTreeMap::new()],
            ..Log::default()
        }
    }

    /// Writes keys (`None` deletes) in one revision. Nothing happens if nothing changes.
    pub fn write(&mut self, ops: &[(&str, Option<&[u8]>)]) -> Option<Revision> {
        let revision = self.revision() + 1;
        let mut state = self.states.last().expect("never empty").clone();
        let mut changes = Vec::new();
        for &(key, value) in ops {
            let before = state.get(key).cloned();
            let now = value.map(|value| KeyValue {
                key: key.into(),
                value: value.into(),
                create_revision: before.as_ref().map_or(revision, |b| b.create_revision),
                mod_revision: revision,
                version: before.as_ref().map_or(1, |b| b.version + 1),
                lease: None,
            });
            match &now {
                Some(kv) => state.insert(key.into(), kv.clone()),
                None if before.is_none() => continue,
                None => state.remove(key),
            };
            changes.push(Change {
                key: key.into(),
                revision,
                now,
                before,
            });
        }
        if changes.is_empty() {
            return None;
        }
        self.states.push(state);
        self.commits.push((revision, changes));
        Some(revision)
    }

    pub fn compact(&mut self, revision: Revision) {
        assert!(self.compacted < revision && revision <= self.revision());
        self.compacted = revision;
    }

    /// All commits that there ever were.
    pub fn commits(&self) -> &[(Revision, Vec<Change<Bytes>>)] {
        &self.commits
    }

    /// A key as it was, whether compacted or not.
    pub fn state(&self, key: &Key, revision: Revision) -> Option<&KeyValue<Bytes>> {
        self.states[usize::try_from(revision).unwrap() - 1].get(key)
    }
}

impl History<Bytes> for Log {
    fn revision(&self) -> Revision {
        self.states.len() as Revision
    }

    fn compacted(&self) -> Revision {
        self.compacted
    }

    fn since(&self, start: Revision) -> impl Iterator<Item = (Revision, &[Change<Bytes>])> {
        assert!(start >= self.compacted, "{start} is compacted");
        let from = self
            .commits
            .partition_point(|(revision, _)| *revision < start);
        self.commits[from..]
            .iter()
            .map(|(revision, changes)| (*revision, &changes[..]))
    }

    fn at(&self, key: &Key, revision: Revision) -> Result<Option<KeyValue<Bytes>>, EtcdError> {
        if revision < self.compacted {
            return Err(EtcdError::Compacted);
        }
        Ok(self.state(key, revision).cloned())
    }
}
