//! What is to be added to a queue later (`delaying_queue.go`): of several delays of an item the one that
//! ends first counts.
//!
//! Upstream keeps a heap of instants. Here each delay is a ticket that its owner waits for; the first
//! ticket of an item to come back adds the item, and makes the others worthless. What differs: upstream
//! looks at its heap at least every 10 s, which nobody can see.

use std::collections::BTreeMap;
use wavetank_engine::mutant;

/// A delay of an item.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ticket(u64);

/// The items that are delayed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Delaying<T> {
    waiting: BTreeMap<T, u64>,
    next: u64,
}

impl<T> Default for Delaying<T> {
    fn default() -> Self {
        Delaying {
            waiting: BTreeMap::new(),
            next: 0,
        }
    }
}

impl<T: Ord> Delaying<T> {
    /// `AddAfter` with a delay. (Without one the item goes to the queue at once, and a delay that it also
    /// has stays: k/k#126027.)
    pub fn add_after(&mut self, item: T) -> Ticket {
        let next = &mut self.next;
        let round = self.waiting.entry(item).or_insert_with(|| {
            *next += 1;
            *next
        });
        Ticket(*round)
    }

    /// The delay of a ticket is over. True if the item is to be added to the queue.
    pub fn over(&mut self, item: &T, ticket: Ticket) -> bool {
        let counts = self.waiting.get(item) == Some(&ticket.0)
            && !mutant!("delayed-is-lost", "what is added after a delay never comes");
        if counts {
            self.waiting.remove(item);
        }
        counts
    }

    /// The items that are delayed.
    pub fn known(&self) -> impl Iterator<Item = &T> {
        self.waiting.keys()
    }

    /// How many items are delayed.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Is none delayed?
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against upstream's heap: an entry's time only ever becomes earlier.
        #[test]
        fn an_item_is_added_when_its_earliest_delay_ends(
            steps in prop::collection::vec((0..3u64, 0..3u8, 1..9u64), 1..40),
        ) {
            let mut delaying = Delaying::default();
            let mut tickets: Vec<(u64, u8, Ticket)> = Vec::new();
            let mut heap: BTreeMap<u8, u64> = BTreeMap::new();
            let mut now = 0;
            for (pause, item, delay) in steps {
                for _ in 0..pause {
                    now += 1;
                    let mut expected: Vec<u8> = heap.iter()
                        .filter(|(_, at)| **at <= now).map(|(item, _)| *item).collect();
                    heap.retain(|_, at| *at > now);
                    let due: Vec<_> = tickets.iter().filter(|t| t.0 == now).copied().collect();
                    let mut added: Vec<u8> = due.into_iter()
                        .filter(|(_, item, ticket)| delaying.over(item, *ticket))
                        .map(|(_, item, _)| item).collect();
                    expected.sort();
                    added.sort();
                    prop_assert_eq!(added, expected);
                }
                tickets.push((now + delay, item, delaying.add_after(item)));
                heap.entry(item).and_modify(|at| *at = (*at).min(now + delay)).or_insert(now + delay);
                prop_assert_eq!(delaying.len(), heap.len());
            }
        }
    }
}
