//! What is true between requests: while none is under way, and none may still go on at a server, what is
//! allocated is what Services have.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::service_writers::writer::{Answer, Answered, Asked};
use crate::services::RepairNote;
use crate::services::allocators::AllocationNote;
use wavetank_engine::{Check, Instant, Note, ProcId, Property, World};

use super::books::{Books, Entry, Item, named};
use super::first_address;
use super::messages::{is_definite, repaired};
use crate::promises::violated;

/// A request that its client knows nothing of is over by then: a server serves it for 60 s, and goes on for
/// as long as a frame of an allocation, or the answer to it, is under way on a link that is cut or stalls.
const ABANDONED: Duration = Duration::from_secs(150);

/// Requests that are under way, and trouble that excuses what they leave behind.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Traffic {
    under_way: BTreeSet<(ProcId, u64)>,
    /// Nothing is judged before.
    until: Option<Instant>,
    /// The lives of the servers.
    lives: BTreeMap<ProcId, u32>,
    /// Since it was last quiet, somebody had trouble: a request of which nobody knows, a server that ended,
    /// something that could not be given up.
    trouble: bool,
    /// What a repair allocates, as it said, until its requests are over.
    repaired: BTreeMap<Item, Instant>,
}

impl Traffic {
    fn learn(&mut self, world: &World, note: &Note) {
        if let Some(asked) = note.body.get::<Asked>() {
            self.under_way.insert((note.process, asked.number));
        }
        if let Some(answered) = note.body.get::<Answered>() {
            self.under_way
                .remove(&(note.process, answered.asked.number));
            if !is_definite(&answered.answer) {
                self.trouble = true;
                self.until = Some(Instant(world.now() + ABANDONED));
            }
        }
        if note.body.get::<AllocationNote>().is_some() {
            self.trouble = true;
        }
        // A Service that is gone may get an allocation of which the repair does not know better yet: that one, and no other.
        let said = note.body.get::<RepairNote>();
        if let Some(item) = said.and_then(|said| repaired(&said.message)) {
            let over = Instant(world.now() + ABANDONED);
            self.repaired.insert(item, over);
        }
    }

    /// Is nothing under way?
    fn is_quiet(&mut self, world: &World) -> bool {
        for (server, _) in crate::view::ClusterView(world).apiservers() {
            let life = world.incarnation(server);
            if self.lives.insert(server, life) != Some(life) {
                self.trouble = true;
            }
        }
        let now = world.now();
        self.until.take_if(|until| until.0 <= now);
        self.repaired.retain(|_, over| over.0 > now);
        self.under_way.is_empty() && self.until.is_none()
    }
}

/// Whatever a Service has is allocated to it, unless a request is under way. No trouble excuses another
/// state: who does not know whether a Service was stored has to take it for stored.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct UsedIsAllocated {
    books: Books,
    traffic: Traffic,
}

impl Property for UsedIsAllocated {
    fn name(&self) -> &'static str {
        "used-is-allocated"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        self.books.learn(note);
        self.traffic.learn(world, note);
        if note.body.get::<Answered>().is_none() || !self.traffic.is_quiet(world) {
            return Check::Idle;
        }
        match self.books.unallocated() {
            None => Check::Held,
            Some((item, key)) => violated(
                item.kind(),
                &item.to_string(),
                format!("{} has {item}, which is not allocated", named(key)),
            ),
        }
    }
}

/// Between requests nothing is allocated that no Service has, but for what trouble has left behind:
/// requests that are refused leave no trace, and who removes a Service, or takes something away from it,
/// gives up what it had.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct NothingIsLeft {
    name: &'static str,
    /// Is it about what Services had, or about what none has had?
    had: bool,
    books: Books,
    traffic: Traffic,
    known: BTreeSet<Item>,
    /// What Services have lost since it was last quiet.
    lost: BTreeSet<Item>,
    refused: bool,
}

impl NothingIsLeft {
    fn new(name: &'static str, had: bool) -> NothingIsLeft {
        NothingIsLeft {
            name,
            had,
            books: Books::default(),
            traffic: Traffic::default(),
            known: BTreeSet::new(),
            lost: BTreeSet::new(),
            refused: false,
        }
    }

    /// Behind requests that were refused.
    pub fn by_refused() -> NothingIsLeft {
        NothingIsLeft::new("refused-leaves-no-trace", false)
    }

    /// Behind Services.
    pub fn by_services() -> NothingIsLeft {
        NothingIsLeft::new("service-gives-up-all", true)
    }
}

impl Property for NothingIsLeft {
    fn name(&self) -> &'static str {
        self.name
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        for entry in self.books.learn(note) {
            if let Entry::Service { had, has } = entry {
                self.lost.extend(had.difference(&has).cloned());
            }
        }
        self.traffic.learn(world, note);
        let Some(answered) = note.body.get::<Answered>() else {
            return Check::Idle;
        };
        self.refused |= matches!(answered.answer, Answer::Refused { .. });
        if !self.traffic.is_quiet(world) {
            return Check::Idle;
        }
        let Some(first) = first_address(world) else {
            return Check::Idle;
        };
        let leaked = self.books.leaked(&first);
        let lost = std::mem::take(&mut self.lost);
        let trouble = std::mem::take(&mut self.traffic.trouble);
        let refused = std::mem::take(&mut self.refused);
        let known = std::mem::replace(&mut self.known, leaked.clone());
        if trouble {
            return Check::Idle;
        }
        // A request of the repair may come after the Service is gone, and after another client was answered.
        let repaired = &self.traffic.repaired;
        let own = |item: &&&Item| lost.contains(item) == self.had && !repaired.contains_key(**item);
        let fresh: Vec<&Item> = leaked.difference(&known).collect();
        if let Some(item) = fresh.iter().find(own) {
            let message = match self.had {
                true => format!("{item} is still allocated, and its Service has it no longer"),
                false => format!("{item} is allocated, and no Service has it"),
            };
            return violated(item.kind(), &item.to_string(), message);
        }
        let tested = if self.had { !lost.is_empty() } else { refused };
        match tested {
            true => Check::Held,
            false => Check::Idle,
        }
    }
}
