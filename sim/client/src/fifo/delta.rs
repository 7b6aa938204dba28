//! DeltaFIFO (`tools/cache/delta_fifo.go` of v1.16 and v1.20): per key what happened to it since it was
//! last taken, keys in the order in which they first came.

use std::collections::VecDeque;
use wavetank_engine::mutant;

use imbl::OrdMap;
use wavetank_api::Stored;
use wavetank_etcd::Revision;
use wavetank_version::{Defect, Listed};

use super::{Delta, Gone, Popped, StoreKey, key_of};
use crate::InformerDefect;
use crate::gates;
use crate::indexer::Indexer;

/// What differs between releases.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Form {
    /// What stood in a list is a Sync and not a Replaced (before PR #86015).
    pub lists_are_syncs: bool,
    /// A list is compared with the indexer only (k/k#115658).
    pub forgets_queued: bool,
}

/// The queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeltaFifo {
    form: Form,
    queue: VecDeque<StoreKey>,
    items: OrdMap<StoreKey, Vec<Delta>>,
    /// Was anything ever put in?
    populated: bool,
    /// How many of the first list are still to be taken.
    initial: usize,
}

pub(crate) const REPLACE_FORGETS_QUEUED: Defect = Defect::known(
    "replace-forgets-queued",
    "k/k#115658, PR #115620 (1.27)",
    "a list does not delete an object that is only in the queue: it stays for ever",
)
.until(gates::REPLACE_LOOKS_INTO_THE_QUEUE)
.fits_only(gates::REAL_FIFO.before());

pub(crate) const RELIST_IS_A_SYNC: Defect = Defect::known(
    "relist-is-a-sync",
    "PR #86015 (1.18)",
    "what a list brings is told only to the handlers whose resync was last due",
)
.fits_only(gates::LISTS_ARE_REPLACED.before());

impl DeltaFifo {
    /// An empty queue.
    pub fn new(form: Form) -> DeltaFifo {
        DeltaFifo {
            form,
            queue: VecDeque::new(),
            items: OrdMap::new(),
            populated: false,
            initial: 0,
        }
    }

    /// Add and Update.
    pub fn push(&mut self, delta: Delta) {
        self.populated = true;
        self.queue_action_locked(delta);
    }

    /// Delete; one that nobody has heard of is passed over.
    pub fn delete(&mut self, gone: Gone, indexer: &Indexer) {
        self.populated = true;
        if indexer.get(&gone.key).is_some() || self.items.contains_key(&gone.key) {
            self.queue_action_locked(Delta::Deleted(gone));
        }
    }

    /// `queueActionLocked`
    fn queue_action_locked(&mut self, delta: Delta) {
        let Some(key) = delta.key() else {
            unreachable!("it is about one object");
        };
        match self.items.get_mut(&key) {
            Some(deltas) => {
                deltas.push(delta);
                dedup_deltas(deltas);
            }
            None => {
                self.queue.push_back(key.clone());
                self.items.insert(key, vec![delta]);
            }
        }
    }

    /// Replace: what stands in the list, then a deletion for what does not.
    pub fn replace(&mut self, list: Vec<Stored>, indexer: &Indexer) {
        let listed: std::collections::BTreeSet<StoreKey> =
            list.iter().map(|stored| key_of(&stored.object)).collect();
        let length = list.len();
        for stored in list {
            self.queue_action_locked(
                match InformerDefect::RelistIsASync.passed(self.form.lists_are_syncs) {
                    true => Delta::Sync(stored),
                    false => Delta::Replaced(stored),
                },
            );
        }
        let mut missing = Vec::new();
        let forgets = || InformerDefect::ReplaceForgetsQueued.passed(self.form.forgets_queued);
        for (key, deltas) in &self.items {
            if !listed.contains(key) && !forgets() {
                let last = deltas.last().and_then(Delta::object).cloned();
                missing.push((key.clone(), last));
            }
        }
        for (key, stored) in indexer.iter() {
            let queued = || self.items.contains_key(key) && !forgets();
            if !listed.contains(key) && !queued() {
                missing.push((key.clone(), Some(stored.clone())));
            }
        }
        let deletions = missing.len();
        for (key, last) in missing {
            self.queue_action_locked(Delta::Deleted(Gone {
                key,
                last,
                unseen: true,
            }));
        }
        if !self.populated {
            self.populated = true;
            self.initial = length + deletions;
        }
    }

    /// Resync: a Sync for what the indexer holds, unless something waits for the same key.
    pub fn resync(&mut self, indexer: &Indexer) {
        for (key, stored) in indexer.iter() {
            if !self.items.contains_key(key)
                || mutant!(
                    "sync-behind-delta",
                    "a resync queues what the store has behind events that are newer (k/k#83810)"
                )
            {
                self.queue_action_locked(Delta::Sync(stored.clone()));
            }
        }
    }

    /// Pop. Upstream processes what was taken under the queue's lock, so to others both are one.
    pub fn pop(&mut self, until: Option<Revision>) -> Option<Popped> {
        let key = self.queue.front()?;
        let newest = self.items[key].iter().map(Delta::revision).max();
        if until.is_some_and(|until| newest > Some(until)) {
            return None;
        }
        let initial = !self.has_synced();
        let key = self.queue.pop_front()?;
        self.initial = self.initial.saturating_sub(1);
        let deltas = self.items.remove(&key).expect("what is queued has deltas");
        Some(Popped { deltas, initial })
    }

    /// HasSynced: something came, and the first list is taken.
    pub fn has_synced(&self) -> bool {
        self.populated && self.initial == 0
    }

    /// How many keys wait.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Does no key wait?
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

/// `dedupDeltas`: of two deletions in a row one stays, rather the one that was seen.
fn dedup_deltas(deltas: &mut Vec<Delta>) {
    if let [.., Delta::Deleted(before), Delta::Deleted(last)] = &mut deltas[..] {
        if before.unseen
            || mutant!(
                "first-deletion-is-kept",
                "of two deletions the earlier is kept"
            )
        {
            std::mem::swap(before, last);
        }
        deltas.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::stored;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const FORMS: [Form; 2] = [
        Form {
            lists_are_syncs: true,
            forgets_queued: true,
        },
        Form {
            lists_are_syncs: false,
            forgets_queued: false,
        },
    ];

    fn gone(name: &str, revision: Revision) -> Gone {
        let last = stored(name, revision);
        Gone {
            key: key_of(&last.object),
            last: Some(last),
            unseen: false,
        }
    }

    fn indexer_of(items: &[Stored]) -> Indexer {
        let mut indexer = Indexer::default();
        for item in items {
            indexer.put(item.clone());
        }
        indexer
    }

    #[test]
    fn two_deletions_become_the_one_that_was_seen() {
        let mut fifo = DeltaFifo::new(FORMS[1]);
        let indexer = indexer_of(&[stored("a", 1)]);
        fifo.replace(vec![], &indexer);
        fifo.delete(gone("a", 7), &indexer);
        let popped = fifo.pop(None).expect("it waits");
        assert_eq!(popped.deltas, [Delta::Deleted(gone("a", 7))]);
        assert_eq!(fifo.pop(None), None);
    }

    #[test]
    fn a_deletion_of_the_unknown_is_passed_over() {
        let mut fifo = DeltaFifo::new(FORMS[1]);
        fifo.delete(gone("a", 7), &Indexer::default());
        assert!(fifo.is_empty() && fifo.has_synced());
    }

    #[test]
    fn a_list_forgets_what_is_only_queued_before_1_27() {
        for form in FORMS {
            let mut fifo = DeltaFifo::new(form);
            fifo.push(Delta::Added(stored("a", 3)));
            fifo.replace(vec![], &Indexer::default());
            let popped = fifo.pop(None).expect("it waits");
            assert_eq!(popped.deltas.len() == 1, form.forgets_queued);
        }
    }

    #[test]
    fn it_has_synced_when_the_first_list_is_taken() {
        let mut fifo = DeltaFifo::new(FORMS[1]);
        assert!(!fifo.has_synced());
        let indexer = indexer_of(&[stored("gone", 1)]);
        fifo.replace(vec![stored("a", 2), stored("b", 2)], &indexer);
        for left in [2, 1, 0] {
            assert!(fifo.pop(None).expect("it waits").initial);
            assert_eq!(fifo.has_synced(), left == 0);
        }
        fifo.push(Delta::Added(stored("c", 3)));
        assert!(!fifo.pop(None).expect("it waits").initial);
    }

    #[test]
    fn what_is_too_new_stays() {
        let mut fifo = DeltaFifo::new(FORMS[1]);
        fifo.push(Delta::Added(stored("a", 3)));
        fifo.push(Delta::Added(stored("b", 4)));
        assert!(fifo.pop(Some(3)).is_some());
        assert_eq!(fifo.pop(Some(3)), None);
        assert!(fifo.pop(Some(4)).is_some());
    }

    #[derive(Clone, Debug)]
    enum Step {
        Add(u8),
        Update(u8),
        Delete(u8),
        Replace(Vec<u8>),
        Resync,
        Pop,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let name = 0..4u8;
        let step = prop_oneof![
            name.clone().prop_map(Step::Add),
            name.clone().prop_map(Step::Update),
            name.clone().prop_map(Step::Delete),
            prop::collection::vec(name, 0..4).prop_map(Step::Replace),
            Just(Step::Resync),
            Just(Step::Pop),
            Just(Step::Pop),
        ];
        prop::collection::vec(step, 1..40)
    }

    /// The last word of a list of deltas: is there an object, and which?
    fn ends_with(deltas: &[Delta], known: Option<Revision>) -> Option<Revision> {
        match deltas.last() {
            None => known,
            Some(Delta::Deleted(_)) => None,
            Some(delta) => Some(delta.revision()),
        }
    }

    proptest! {
        /// Whatever comes in between, whoever takes all that waits holds what came last; keys are
        /// taken in the order in which they came; no key waits twice.
        #[test]
        fn who_takes_all_holds_what_came_last(steps in steps()) {
            let mut fifo = DeltaFifo::new(FORMS[1]);
            let mut indexer = Indexer::default();
            let mut truth: BTreeMap<StoreKey, Revision> = BTreeMap::new();
            let mut order: Vec<StoreKey> = Vec::new();
            let name = |n: u8| ["a", "b", "c", "d"][n as usize];
            let arrived = |fifo: &DeltaFifo, order: &mut Vec<StoreKey>| {
                for key in &fifo.queue {
                    if !order.contains(key) {
                        order.push(key.clone());
                    }
                }
            };
            for (at, step) in steps.iter().enumerate() {
                let revision = at as Revision + 1;
                match step {
                    Step::Add(n) | Step::Update(n) => {
                        let object = stored(name(*n), revision);
                        truth.insert(key_of(&object.object), revision);
                        fifo.push(match step {
                            Step::Add(_) => Delta::Added(object),
                            _ => Delta::Updated(object),
                        });
                    }
                    Step::Delete(n) => {
                        let gone = gone(name(*n), revision);
                        truth.remove(&gone.key);
                        fifo.delete(gone, &indexer);
                    }
                    Step::Replace(names) => {
                        let list: Vec<Stored> =
                            names.iter().map(|n| stored(name(*n), revision)).collect();
                        truth = list
                            .iter()
                            .map(|stored| (key_of(&stored.object), revision))
                            .collect();
                        fifo.replace(list, &indexer);
                    }
                    Step::Resync => fifo.resync(&indexer),
                    Step::Pop => {
                        let popped = fifo.pop(None);
                        prop_assert_eq!(popped.is_some(), !order.is_empty());
                        let Some(popped) = popped else { continue };
                        let key = popped.deltas[0].key().expect("of one object");
                        prop_assert_eq!(&order.remove(0), &key);
                        for delta in popped.deltas {
                            match delta {
                                Delta::Deleted(gone) => drop(indexer.remove(&gone.key)),
                                other => drop(indexer.put(other.object().expect("it has one").clone())),
                            }
                        }
                    }
                }
                arrived(&fifo, &mut order);
                let keys = fifo.queue.iter().collect::<std::collections::BTreeSet<_>>();
                prop_assert_eq!(keys.len(), fifo.queue.len());
                prop_assert_eq!(fifo.queue.len(), fifo.items.len());
                for n in 0..4 {
                    let key = key_of(&stored(name(n), 0).object);
                    let known = indexer.get(&key).map(|stored| stored.resource_version);
                    let waiting = fifo.items.get(&key).map_or(&[][..], Vec::as_slice);
                    prop_assert_eq!(ends_with(waiting, known), truth.get(&key).copied());
                }
            }
        }
    }
}
