//! A member's log: entries after the last one that a snapshot has taken in. Persistent, so that a
//! copied world shares it.

use imbl::Vector;
use wavetank_engine::{Digests, mutant};

use super::Data;
use crate::summed::Summed;

/// An entry.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Entry<D> {
    /// The term in which a leader appended it.
    pub term: u64,
    /// Its place, from 1.
    pub index: u64,
    /// What it says; `None` for the entry with which a leader begins its term.
    pub data: Option<D>,
}

/// The log.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Log<D: Data> {
    /// Term and index of the last entry that is cut off.
    cut: (u64, u64),
    /// The sum of the entries' digests: what is hashed, and compared first.
    digest: Digests,
    entries: Summed<Vector<Entry<D>>>,
}

impl<D: Data> Default for Log<D> {
    fn default() -> Self {
        Log {
            cut: (0, 0),
            digest: Digests::default(),
            entries: Summed(Vector::new()),
        }
    }
}

impl<D: Data> Log<D> {
    /// Term and index of the last entry.
    pub fn last(&self) -> (u64, u64) {
        let last = self.entries.last();
        last.map_or(self.cut, |entry| (entry.term, entry.index))
    }

    /// The last entry that is cut off.
    pub fn cut(&self) -> u64 {
        self.cut.1
    }

    /// The term of an entry, if the log still has it.
    pub fn term(&self, index: u64) -> Option<u64> {
        match index.checked_sub(self.cut.1)? {
            0 => Some(self.cut.0),
            place => self.entries.get(place as usize - 1).map(|e| e.term),
        }
    }

    /// An entry, if the log still has it.
    pub fn get(&self, index: u64) -> Option<&Entry<D>> {
        let place = index.checked_sub(self.cut.1 + 1)?;
        self.entries.get(place as usize)
    }

    /// Entries from `index` on.
    pub fn from(&self, index: u64) -> impl Iterator<Item = &Entry<D>> {
        let place = index.saturating_sub(self.cut.1 + 1);
        self.entries.iter().skip(place as usize)
    }

    /// Appends an entry of this member's own.
    pub(super) fn push(&mut self, entry: Entry<D>) {
        self.digest.add(Digests::of(&entry));
        self.entries.push_back(entry);
    }

    /// Takes a leader's entries: what contradicts them goes.
    pub(super) fn extend(&mut self, entries: Vec<Entry<D>>) {
        for entry in entries {
            match self.term(entry.index) {
                Some(term)
                    if term == entry.term
                        || mutant!(
                            "conflict-stays",
                            "entries that contradict the leader's stay in the log"
                        ) => {}
                Some(_) => {
                    self.truncate(entry.index);
                    self.push(entry);
                }
                None => self.push(entry),
            }
        }
    }

    fn truncate(&mut self, from: u64) {
        while self.last().1 >= from {
            let gone = self.entries.pop_back().expect("not before the cut");
            self.digest.take(Digests::of(&gone));
        }
    }

    pub(super) fn compact(&mut self, index: u64) {
        while self.cut.1 < index
            && let Some(gone) = self.entries.pop_front()
        {
            self.digest.take(Digests::of(&gone));
            self.cut = (gone.term, gone.index);
        }
    }

    pub(super) fn reset(&mut self, index: u64, term: u64) {
        *self = Log {
            cut: (term, index),
            ..Log::default()
        };
    }
}
