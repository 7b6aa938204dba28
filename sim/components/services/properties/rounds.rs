//! What single rounds of a repair of bitmaps may do: which leaks they free, and what they allocate.

use std::collections::{BTreeMap, BTreeSet};

use wavetank_engine::{Check, Note, ProcId, Property, World};

use super::books::{Books, Entry, Item};
use super::messages::{leaked, repaired};
use crate::promises::violated;
use crate::services::RepairRound;

/// When a repair frees a leak it has seen it in two rounds before.
const SEEN_BEFORE: u32 = 2;

/// A server frees a leak in the third of its rounds that see it, and not later: rounds are counted for each server, in
/// each of its lives. (That none is freed earlier, others look after: a fix of a finding is about that.)
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LeaksAreCounted {
    /// Since an item was flagged: in so many rounds of this server, which was in that life.
    flagged: BTreeMap<(ProcId, Item), (u32, u32)>,
}

impl Property for LeaksAreCounted {
    fn name(&self) -> &'static str {
        "leaks-are-freed-in-time"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let Some(round) = note.body.get::<RepairRound>() else {
            return Check::Idle;
        };
        let (server, life) = (note.process, world.incarnation(note.process));
        let mut check = Check::Idle;
        for (item, is_first) in round.found.iter().filter_map(|said| leaked(said)) {
            let key = (server, item.clone());
            if is_first {
                self.flagged.insert(key, (life, 0));
                continue;
            }
            match self.flagged.remove(&key) {
                Some((flagged, seen)) if flagged == life && seen > SEEN_BEFORE => {
                    let name = world.name(server);
                    let message =
                        format!("{name} frees {item}, which has leaked, only after {seen} rounds");
                    return violated(item.kind(), &item.to_string(), message);
                }
                Some(_) => check = Check::Held,
                None => {}
            }
        }
        let is_of_loop = |item: &Item| matches!(item, Item::Port(_)) == round.ports;
        self.flagged
            .retain(|(of, _), (flagged, _)| *of != server || *flagged == life);
        let own = self.flagged.iter_mut();
        for (_, (_, seen)) in own.filter(|((of, item), _)| *of == server && is_of_loop(item)) {
            *seen += 1;
        }
        check
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let concerned = note.body.get::<RepairRound>().is_some();
        (!concerned).then_some(Check::Idle)
    }
}

/// What a repair allocates because a Service has it without an allocation, a Service had without an allocation: it does
/// not see allocations that are newer than the Services that it sees (k/k#104769).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct RepairsAreNeeded {
    books: Books,
    /// What a Service had while it was not allocated, until it was freed again.
    needed: BTreeSet<Item>,
}

impl Property for RepairsAreNeeded {
    fn name(&self) -> &'static str {
        "repair-allocates-what-is-used"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        for entry in self.books.learn(note) {
            if let Entry::Allocation { freed } = &entry {
                self.needed.retain(|item| !freed.contains(item));
            }
            let lacking = self.books.all_unallocated();
            self.needed.extend(lacking);
        }
        let Some(round) = note.body.get::<RepairRound>() else {
            return Check::Idle;
        };
        for item in round.found.iter().filter_map(|said| repaired(said)) {
            if !self.needed.contains(&item) {
                let name = world.name(note.process);
                let message =
                    format!("{name} allocates {item}, which no Service had without an allocation");
                return violated(item.kind(), &item.to_string(), message);
            }
        }
        Check::Held
    }
}
