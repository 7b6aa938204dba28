//! RealFIFO (`tools/cache/the_real_fifo.go` of v1.36) with AtomicFIFO and batches, as they are by default:
//! all that the reflector tells, in order, nothing merged. What a list did away with is worked out when
//! the list is taken, so the queue needs no indexer.

use std::collections::BTreeSet;
use std::sync::Arc;
use wavetank_engine::mutant;

use imbl::Vector;
use wavetank_api::Stored;
use wavetank_etcd::Revision;

use super::{Delta, Popped};

/// So many deltas are taken at most at once (`defaultBatchSize`).
pub const BATCH: usize = 1000;

/// The queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct RealFifo {
    items: Vector<Delta>,
    populated: bool,
    /// How many deltas of the first list are still to be processed.
    initial: usize,
    /// How many were popped and are being processed: there is one consumer.
    processing: usize,
    /// It stays synced once it was.
    synced: bool,
}

impl RealFifo {
    /// Add, Update and Delete.
    pub fn push(&mut self, delta: Delta) {
        self.populated = true;
        self.check_synced();
        self.items.push_back(delta);
    }

    /// Bookmark
    pub fn bookmark(&mut self, revision: Revision) {
        self.items.push_back(Delta::Bookmark(revision));
    }

    /// Replace
    pub fn replace(&mut self, list: Arc<[Stored]>, revision: Revision) {
        self.items.push_back(Delta::ReplacedAll(list, revision));
        if !self.populated {
            self.populated = true;
            self.initial = self.items.len();
            self.check_synced();
        }
    }

    /// Resync
    pub fn resync(&mut self) {
        self.items.push_back(Delta::SyncAll);
    }

    /// PopBatch: deltas of different objects together, all others one at a time. They count as processed when
    /// [`RealFifo::processed`] is called.
    pub fn pop_batch(&mut self, until: Option<Revision>) -> Option<Popped> {
        let initial = !self.synced;
        let mut keys = BTreeSet::new();
        let mut deltas = Vec::new();
        for (at, delta) in self.items.iter().take(BATCH).enumerate() {
            let is_held = until.is_some_and(|until| delta.revision() > until);
            if is_held || self.initial > 0 && at >= self.initial {
                break;
            }
            match delta.key() {
                Some(key) if keys.insert(key.clone()) => deltas.push(delta.clone()),
                Some(_)
                    if mutant!(
                        "batch-forgets",
                        "a batch drops the second event of an object"
                    ) =>
                {
                    deltas.push(deltas[0].clone());
                }
                None if deltas.is_empty() => {
                    deltas.push(delta.clone());
                    break;
                }
                _ => break,
            }
        }
        if deltas.is_empty() {
            return None;
        }
        self.items = self.items.skip(deltas.len());
        self.processing = deltas.len();
        Some(Popped { deltas, initial })
    }

    /// What the deferred function of PopBatch does: only what is processed has synced.
    pub fn processed(&mut self) {
        let processed = std::mem::take(&mut self.processing);
        if self.initial > 0 {
            self.initial = self.initial.saturating_sub(processed);
            self.check_synced();
        }
    }

    fn check_synced(&mut self) {
        self.synced |= self.populated && self.initial == 0;
    }

    /// HasSynced
    pub fn has_synced(&self) -> bool {
        self.synced
    }

    /// How many deltas wait.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Does nothing wait?
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::stored;
    use super::super::{Gone, key_of};
    use super::*;
    use proptest::prelude::*;

    fn deleted(name: &str, revision: Revision) -> Delta {
        let last = stored(name, revision);
        Delta::Deleted(Gone {
            key: key_of(&last.object),
            last: Some(last),
            unseen: false,
        })
    }

    #[test]
    fn it_has_synced_when_the_first_list_is_processed() {
        let mut fifo = RealFifo::default();
        fifo.bookmark(3);
        fifo.replace([stored("a", 2)].into(), 3);
        assert!(!fifo.has_synced());
        assert!(fifo.pop_batch(None).expect("the bookmark").initial);
        fifo.processed();
        assert!(!fifo.has_synced());
        assert!(fifo.pop_batch(None).expect("the list").initial);
        assert!(!fifo.has_synced(), "it is popped, and not processed");
        fifo.push(Delta::Added(stored("b", 4)));
        assert!(
            !fifo.has_synced(),
            "what is put in meanwhile changes nothing"
        );
        fifo.processed();
        assert!(fifo.has_synced());
        assert!(!fifo.pop_batch(None).expect("the event").initial);
        fifo.processed();
        fifo.replace([].into(), 4);
        assert!(fifo.has_synced());
        assert!(!fifo.pop_batch(None).expect("a list").initial);
    }

    #[test]
    fn a_batch_ends_before_a_key_comes_again_and_before_what_stands_alone() {
        let mut fifo = RealFifo::default();
        let all = [
            Delta::Added(stored("a", 1)),
            Delta::Added(stored("b", 2)),
            deleted("a", 3),
            Delta::Bookmark(4),
            Delta::SyncAll,
            Delta::Updated(stored("b", 5)),
        ];
        for delta in &all {
            match delta {
                Delta::Bookmark(revision) => fifo.bookmark(*revision),
                Delta::SyncAll => fifo.resync(),
                other => fifo.push(other.clone()),
            }
        }
        let mut sizes = Vec::new();
        while let Some(popped) = fifo.pop_batch(None) {
            sizes.push(popped.deltas.len());
        }
        assert_eq!(sizes, [2, 1, 1, 1, 1]);
    }

    #[test]
    fn a_batch_ends_before_what_is_too_new() {
        let mut fifo = RealFifo::default();
        fifo.push(Delta::Added(stored("a", 1)));
        fifo.push(Delta::Added(stored("b", 2)));
        assert_eq!(fifo.pop_batch(Some(1)).expect("one").deltas.len(), 1);
        assert_eq!(fifo.pop_batch(Some(1)), None);
    }

    proptest! {
        /// Nothing is lost, merged or overtaken.
        #[test]
        fn all_that_goes_in_comes_out_in_order(
            steps in prop::collection::vec((0..6u8, 0..4usize), 1..60),
        ) {
            let mut fifo = RealFifo::default();
            let (mut into, mut out) = (Vec::new(), Vec::new());
            for (at, (what, name)) in steps.into_iter().enumerate() {
                let (name, revision) = (["a", "b", "c", "d"][name], at as Revision);
                let delta = match what {
                    0 => Delta::Added(stored(name, revision)),
                    1 => Delta::Updated(stored(name, revision)),
                    2 => deleted(name, revision),
                    3 => Delta::ReplacedAll([stored(name, revision)].into(), revision),
                    4 => Delta::SyncAll,
                    _ => {
                        out.extend(fifo.pop_batch(None).into_iter().flat_map(|p| p.deltas));
                        continue;
                    }
                };
                into.push(delta.clone());
                match delta {
                    Delta::ReplacedAll(list, revision) => fifo.replace(list, revision),
                    Delta::SyncAll => fifo.resync(),
                    other => fifo.push(other),
                }
            }
            while let Some(popped) = fifo.pop_batch(None) {
                let keys: Vec<_> = popped.deltas.iter().filter_map(Delta::key).collect();
                let distinct: BTreeSet<_> = keys.iter().collect();
                prop_assert_eq!(distinct.len(), keys.len());
                prop_assert!(keys.len() == popped.deltas.len() || popped.deltas.len() == 1);
                out.extend(popped.deltas);
            }
            prop_assert_eq!(into, out);
        }
    }
}
