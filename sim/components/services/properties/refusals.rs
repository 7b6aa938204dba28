//! What a refusal is worth: it says what is so, and what a client may make of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::service_writers::writer::{Answer, Answered, Asked};
use crate::services::address_controllers::shown_addresses;
use wavetank_engine::{Check, Note, ProcId, Property, World};
use wavetank_etcd::Revision;

use super::books::{Books, Entry, Item, named};
use super::{all_items, allocates_objects, first_address, is_ready, messages};
use crate::promises::violated;

/// What was freed when, and what was so when requests began.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Freedom {
    books: Books,
    freed: BTreeMap<Item, Revision>,
    begun: BTreeMap<(ProcId, u64), Begun>,
}

/// A request that is under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Begun {
    /// The life of the server: a request may wait for the next one, which is not ready at first.
    life: u32,
    /// What was freed until then, its server may know to be free: where free addresses are looked for in
    /// an informer, what was freed lately is not seen.
    seen: Revision,
    /// What was freed since it began.
    freed: BTreeSet<Item>,
}

impl Freedom {
    /// Takes over what a note tells; an answer comes with the beginning of its request.
    fn learn<'a>(&mut self, world: &World, note: &'a Note) -> Option<(&'a Answered, Begun)> {
        for entry in self.books.learn(note) {
            if let Entry::Allocation { freed } = entry {
                let revision = self.books.revision();
                for request in self.begun.values_mut() {
                    request.freed.extend(freed.iter().cloned());
                }
                self.freed
                    .extend(freed.into_iter().map(|item| (item, revision)));
            }
        }
        // Whoever asks a server that is not ready yet is told anything.
        if let Some(asked) = note.body.get::<Asked>()
            && is_ready(world, asked.server)
        {
            let request = (note.process, asked.number);
            let begun = Begun {
                life: world.incarnation(asked.server),
                seen: shown_addresses(world, asked.server),
                freed: BTreeSet::new(),
            };
            self.begun.insert(request, begun);
        }
        let answered = note.body.get::<Answered>()?;
        let request = (note.process, answered.asked.number);
        let begun = self.begun.remove(&request)?;
        let same_life = world.incarnation(answered.asked.server) == begun.life;
        same_life.then_some((answered, begun))
    }

    /// Has it been free ever since?
    fn is_free_since(&self, item: &Item, begun: &Begun) -> bool {
        !self.books.is_allocated(item) && !begun.freed.contains(item)
    }

    /// Could the server see then that it is free?
    fn is_seen(&self, item: &Item, begun: &Begun) -> bool {
        let freed = self.freed.get(item);
        freed.is_none_or(|revision| *revision <= begun.seen)
    }
}

fn message(answered: &Answered) -> Option<&str> {
    match &answered.answer {
        Answer::Refused { message, .. } => Some(message),
        _ => None,
    }
}

/// Who is told that something is allocated already is told the truth: it was, at some time since he asked
/// (k/k#85894).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TakenMeansTaken(Freedom);

impl Property for TakenMeansTaken {
    fn name(&self) -> &'static str {
        "taken-means-taken"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let Some((answered, begun)) = self.0.learn(world, note) else {
            return Check::Idle;
        };
        let address = answered.asked.address.as_deref();
        let taken = message(answered).and_then(|message| messages::taken(message, address));
        let Some(item) = taken else {
            return Check::Idle;
        };
        if self.0.is_free_since(&item, &begun) {
            let server = world.name(answered.asked.server);
            let message =
                format!("{server} says that it is allocated, and it was free all the time");
            return violated(item.kind(), &item.to_string(), message);
        }
        Check::Held
    }
}

/// Who is told that there is nothing left is told the truth: there was no moment since he asked at which
/// the same item was free all along, and the server could know.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct FullMeansFull(Freedom);

impl Property for FullMeansFull {
    fn name(&self) -> &'static str {
        "allocation-succeeds-while-free"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let Some((answered, begun)) = self.0.learn(world, note) else {
            return Check::Idle;
        };
        let Some(ports) = message(answered).and_then(messages::is_full) else {
            return Check::Idle;
        };
        let all = all_items(world, answered.asked.server);
        // That of `kubernetes` is for nobody else.
        let first = first_address(world).map(|ip| Item::Address(ip.into()));
        let own = all
            .iter()
            .filter(|item| matches!(item, Item::Port(_)) == ports && Some(*item) != first.as_ref());
        let looks_in_cache = !ports && allocates_objects(world, answered.asked.server);
        let is_free = |item: &&Item| {
            let seen = !looks_in_cache || self.0.is_seen(item, &begun);
            seen && self.0.is_free_since(item, &begun)
        };
        // It does not say the range of which family: there has to be one in each.
        let six = |item: &Item| matches!(item, Item::Address(ip) if ip.contains(':'));
        let families: Vec<Vec<&Item>> = [false, true]
            .map(|is_six| own.clone().filter(|item| six(item) == is_six).collect())
            .into();
        let mut families = families.into_iter().filter(|family| !family.is_empty());
        let free: Option<Vec<&Item>> = families.try_fold(Vec::new(), |mut found, family| {
            found.push(family.into_iter().find(is_free)?);
            Some(found)
        });
        let Some(item) = free.and_then(|free| free.first().copied()) else {
            return Check::Held;
        };
        let server = world.name(answered.asked.server);
        let message = format!("{server} says that the range is full, and {item} was free");
        violated(item.kind(), &item.to_string(), message)
    }
}

/// A request that fails because etcd has trouble is not refused as invalid: no client would send it again
/// (k/k#118921).
pub fn trouble_is_not_invalid(_: &World, note: &Note) -> Check {
    let Some(answered) = note.body.get::<Answered>() else {
        return Check::Idle;
    };
    let Answer::Refused { code, message } = &answered.answer else {
        return Check::Idle;
    };
    match messages::is_trouble(message) {
        false => Check::Idle,
        true if *code != 422 => Check::Held,
        true => violated(
            "Service",
            named(&answered.asked.key),
            format!("a client is told that it is invalid: {message}"),
        ),
    }
}
