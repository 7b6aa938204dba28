//! The queue proper (`queue.go`): an item is queued once, and not while it is in work.

use std::collections::{BTreeSet, VecDeque};
use wavetank_engine::mutant;

/// A work queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Queue<T> {
    /// In the order in which they are to be taken.
    order: VecDeque<T>,
    /// What needs work, queued or not.
    dirty: BTreeSet<T>,
    /// What is in work.
    processing: BTreeSet<T>,
    shutting_down: bool,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Queue {
            order: VecDeque::new(),
            dirty: BTreeSet::new(),
            processing: BTreeSet::new(),
            shutting_down: false,
        }
    }
}

impl<T: Ord + Clone> Queue<T> {
    /// `Add`. True if somebody who waits in `get` has to be woken.
    pub fn add(&mut self, item: T) -> bool {
        if self.shutting_down || !self.dirty.insert(item.clone()) {
            return false;
        }
        if self.processing.contains(&item)
            && !mutant!(
                "processed-twice-at-once",
                "two workers may process one item at a time"
            )
        {
            return false;
        }
        self.order.push_back(item);
        true
    }

    /// `Get`, if there is something; it is in work from now on, until `done`.
    pub fn get(&mut self) -> Option<T> {
        let item = self.order.pop_front()?;
        self.dirty.remove(&item);
        self.processing.insert(item.clone());
        Some(item)
    }

    /// `Done`. True if it is queued again, so that somebody has to be woken.
    pub fn done(&mut self, item: &T) -> bool {
        self.processing.remove(item);
        let again = self.dirty.contains(item)
            && !mutant!(
                "changed-while-processed",
                "an item that is added while it is processed is not processed again"
            );
        if again {
            self.order.push_back(item.clone());
        }
        again
    }

    /// `ShutDown`: nothing more is added; what is queued is still given out.
    pub fn shut_down(&mut self) {
        self.shutting_down = true;
    }

    /// `ShuttingDown`
    pub fn shutting_down(&self) -> bool {
        self.shutting_down
    }

    /// What it has to do with: what is queued, or in work.
    pub fn known(&self) -> impl Iterator<Item = &T> {
        self.dirty.union(&self.processing)
    }

    /// `Len`: how many wait to be taken.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Does nothing wait?
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a machine with one state an item.
        #[test]
        fn an_item_is_queued_once_and_not_while_it_is_in_work(
            steps in prop::collection::vec((0..3u8, 0..4u8), 1..80),
        ) {
            #[derive(Clone, Copy, PartialEq, Debug)]
            enum State { Idle, Queued, Working, WorkingAndDirty }
            use State::*;
            let mut queue = Queue::default();
            let mut states = [Idle; 4];
            let mut order: Vec<u8> = Vec::new();
            for (what, item) in steps {
                let state = &mut states[item as usize];
                match what {
                    0 => {
                        prop_assert_eq!(queue.add(item), *state == Idle);
                        *state = match *state {
                            Idle => { order.push(item); Queued }
                            Working => WorkingAndDirty,
                            other => other,
                        };
                    }
                    1 => {
                        let got = queue.get();
                        prop_assert_eq!(got, order.first().copied());
                        if let Some(got) = got {
                            order.remove(0);
                            states[got as usize] = Working;
                        }
                    }
                    _ if matches!(*state, Working | WorkingAndDirty) => {
                        prop_assert_eq!(queue.done(&item), *state == WorkingAndDirty);
                        *state = match *state {
                            WorkingAndDirty => { order.push(item); Queued }
                            _ => Idle,
                        };
                    }
                    _ => {}
                }
                prop_assert_eq!(queue.len(), order.len());
            }
        }
    }

    #[test]
    fn a_queue_that_shuts_down_gives_out_what_it_has() {
        let mut queue = Queue::default();
        queue.add(1);
        queue.shut_down();
        assert!(!queue.add(2) && queue.shutting_down());
        assert_eq!((queue.get(), queue.get()), (Some(1), None));
    }
}
