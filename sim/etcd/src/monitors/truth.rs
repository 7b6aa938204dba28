//! The history that monitors check against: every revision with its changes and the keys as it left
//! them. What is promised about it does not belong here.

use imbl::{OrdMap, Vector};
use wavetank_engine::{Digests, Note, World};

use crate::api::{Change, Filters, Key, KeyValue, Keys, Revision, Value};
use crate::mvcc::Changes;
use crate::server::{Applied, Committed, Etcd};
use crate::summed::Summed;

/// The keys at a revision.
pub type Content<V> = OrdMap<Key, KeyValue<V>>;

#[derive(Clone, PartialEq, Eq, Debug)]
struct Made<V: Value> {
    changes: Changes<V>,
    content: Content<V>,
}

/// The history since revision 1. Copies share it.
///
/// A cluster that is restored from a backup would begin another one: the place for that is here.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Truth<V: Value> {
    /// Of all changes in order: what is hashed, and compared first.
    digest: Digests,
    /// A revision was not told: from then on nothing is known.
    torn: bool,
    /// That of revision 2 first.
    made: Summed<Vector<Made<V>>>,
}

/// What a note said of the history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Learned {
    /// Nothing, or what was known.
    Nothing,
    /// The next revision.
    Next,
    /// Another content of a revision that is known already.
    Conflict(Revision),
}

impl<V: Value> Default for Truth<V> {
    fn default() -> Self {
        Truth {
            digest: Digests::default(),
            torn: false,
            made: Summed(Vector::new()),
        }
    }
}

impl<V: Value> Truth<V> {
    /// Learns from what members tell: the leader of a commit, or whichever member applies it first.
    pub fn learn(&mut self, world: &World, note: &Note) -> Learned {
        if let Some(commit) = note.body.get::<Committed<V>>() {
            return self.commit(commit.revision, &commit.changes);
        }
        let next = self.revision() + 1;
        match note.body.get::<Applied>() {
            Some(applied) if applied.revision == next => {}
            _ => return Learned::Nothing,
        }
        let member = world.process::<Etcd<V>>(note.process);
        let since = member.and_then(|member| member.store().since(next).ok());
        match since.and_then(|mut since| since.next()) {
            Some((revision, changes)) if revision == next => self.commit(next, &changes.into()),
            _ => Learned::Nothing,
        }
    }

    fn commit(&mut self, revision: Revision, changes: &Changes<V>) -> Learned {
        if self.torn {
            return Learned::Nothing;
        }
        if let Some(known) = self.changes(revision) {
            return match *known == **changes {
                true => Learned::Nothing,
                false => Learned::Conflict(revision),
            };
        }
        if revision != self.revision() + 1 {
            self.torn = true;
            return Learned::Nothing;
        }
        let mut content = self
            .made
            .last()
            .map_or(Content::new(), |m| m.content.clone());
        for change in changes.iter() {
            match &change.now {
                Some(kv) => content.insert(change.key.clone(), kv.clone()),
                None => content.remove(&change.key),
            };
        }
        let changes = changes.clone();
        self.digest = Digests::of(&(self.digest, &changes));
        self.made.push_back(Made { changes, content });
        Learned::Next
    }

    /// Is every revision known?
    pub fn is_whole(&self) -> bool {
        !self.torn
    }

    /// The newest revision.
    pub fn revision(&self) -> Revision {
        self.made.len() as Revision + 1
    }

    /// What a revision changed, if there is such a revision.
    pub fn changes(&self, revision: Revision) -> Option<&[Change<V>]> {
        let at = usize::try_from(revision.checked_sub(2)?).ok()?;
        self.made.get(at).map(|made| &*made.changes)
    }

    /// The keys as a revision left them, if there is such a revision.
    pub fn content(&self, revision: Revision) -> Option<Content<V>> {
        match revision {
            1 => Some(Content::new()),
            _ => {
                let at = usize::try_from(revision.checked_sub(2)?).ok()?;
                self.made.get(at).map(|made| made.content.clone())
            }
        }
    }

    /// A key as a revision left it.
    pub fn at(&self, key: &str, revision: Revision) -> Option<&KeyValue<V>> {
        let at = usize::try_from(revision.checked_sub(2)?).ok()?;
        self.made.get(at)?.content.get(key)
    }

    /// The changes of a revision that a watch is owed. Of several changes of one key only the last
    /// is: a compaction leaves no more.
    pub fn owed(
        &self,
        revision: Revision,
        keys: &Keys,
        filters: Filters,
    ) -> impl Iterator<Item = &Change<V>> {
        let changes = self.changes(revision).unwrap_or_default();
        let owed = changes.iter().enumerate().filter(move |(at, change)| {
            keys.contains(&change.key)
                && passes(filters, change)
                && !changes[at + 1..].iter().any(|c| c.key == change.key)
        });
        owed.map(|(_, change)| change)
    }
}

/// Do the filters of a watch let it through?
pub fn passes<V>(filters: Filters, change: &Change<V>) -> bool {
    match change.now {
        Some(_) => !filters.no_put,
        None => !filters.no_delete,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, Bytes, put};
    use super::*;

    #[test]
    fn it_learns_each_revision_once_and_notices_another_story() {
        let bench = Bench::new();
        let mut truth = Truth::<Bytes>::default();
        let first = bench.committed(2, vec![put("/a", 2, "1")]);
        assert_eq!(truth.learn(&bench.world, &first), Learned::Next);
        assert_eq!(truth.learn(&bench.world, &first), Learned::Nothing);
        let other = bench.committed(2, vec![put("/a", 2, "2")]);
        assert_eq!(truth.learn(&bench.world, &other), Learned::Conflict(2));
        assert!(truth.at("/a", 2).is_some() && truth.at("/a", 1).is_none());
        let later = bench.committed(4, vec![put("/a", 4, "2")]);
        assert_eq!(truth.learn(&bench.world, &later), Learned::Nothing);
        assert!(!truth.is_whole());
    }
}
