//! What the repair loops promise: what has leaked is free again in the end, and a server gets through its
//! start, whose first round they are a part of. And the places that a sweep should reach.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::service_writers::writer::{Answer, Answered};
use crate::services::RepairNote;
use crate::services::address_controllers::GIVES_UP;
use wavetank_apiserver::HOOKS_DONE;
use wavetank_engine::{Check, Note, ProcId, Property, Reached, Stable, World};

use super::books::{Books, Item, KUBERNETES, addresses, named};
use super::{first_address, messages};
use crate::promises::violated;
use crate::view::ClusterView;

/// Some time after calm nothing is still allocated that no Service had at calm, nor has had since.
///
/// Bitmaps (all of v1.16 and v1.20, the ports of v1.36): a round every 180 s, and what a loop finds without
/// an owner for the third time is free. One that runs at calm looks within 180 s, and twice more 180 s later
/// each: 540 s. Before, requests that clients gave up end, dead connections are noticed and a server that
/// was down starts (its first round is part of that): 85 s. A round that fails is made up for 180 s later.
///
/// IPAddresses (v1.36): each is looked at when it is 60 s old, and with each resync of the informers, every
/// 180 s; an informer whose watch broke is back within 200 s. That is less.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct StrandedAllocations {
    books: Books,
    /// What had leaked at calm, as far as it has stayed so.
    stranded: BTreeSet<Item>,
}

/// See above.
const REPAIRED: Duration = Duration::from_secs(85 + 3 * 180 + 180);

impl Property for StrandedAllocations {
    fn name(&self) -> &'static str {
        "leaks-are-repaired"
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        if !self.books.learn(note).is_empty() && !self.stranded.is_empty() {
            let books = &self.books;
            self.stranded.retain(|item| books.is_leaked(item));
        }
        Check::Idle
    }

    fn calm(&mut self, world: &World) -> Option<Duration> {
        let first = first_address(world)?;
        self.stranded = self.books.leaked(&first);
        Some(REPAIRED)
    }

    fn deadline(&mut self, world: &World) -> Check {
        let view = ClusterView(world);
        if !view.apiservers().any(|(server, _)| view.is_serving(server)) {
            return Check::Idle; // nobody is left to repair anything
        }
        match self.stranded.first() {
            None => Check::Held,
            Some(item) => violated(
                item.kind(),
                &item.to_string(),
                format!("{item} is still allocated, and no Service has it"),
            ),
        }
    }
}

/// So long after calm servers have found etcd, and the bootstrap controller has had a few rounds.
const BOOTSTRAPPED: Duration = Duration::from_secs(180);

/// Some time after calm the Service `kubernetes` is there, with the first address.
pub fn kubernetes_is_there() -> Stable {
    let holds = |world: &World| {
        let view = ClusterView(world);
        let serves = view.apiservers().any(|(server, _)| view.is_serving(server));
        let Some(first) = first_address(world).filter(|_| serves) else {
            return Check::Idle;
        };
        let found = view.get(KUBERNETES).map(|kv| kv.value.json());
        match found.and_then(|found| addresses(found).first().copied()) {
            Some(has) if has == first => Check::Held,
            has => violated(
                "Service",
                named(KUBERNETES),
                format!("it has {}, and not {first}", has.unwrap_or("no address")),
            ),
        }
    };
    Stable::new(
        "kubernetes-gets-the-first-address",
        BOOTSTRAPPED,
        |_, _| Check::Idle,
        holds,
    )
}

/// A start-up whose hook is not done by then hangs: 60 s are what v1.36 gives the first round, and a link
/// may be down for as long.
const STARTED: Duration = Duration::from_secs(150);

/// A server that starts gets through it while etcd is there, however busy others are: it does not end
/// because they wrote in between (k/k#130377), nor because an informer of its own is behind (k/k#136288). One whose repair of addresses has stopped in its first round ends 60 s
/// after its start, which nothing can prevent.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct StartCompletes {
    /// Was it such a thing that a server met last in its present life, and which life is that?
    passing: BTreeMap<ProcId, (u32, bool)>,
}

fn is_conflict(message: &str) -> bool {
    let conflicts = [
        "the provided resource version does not match",
        "another caller has already initialized the resource",
        "already exists",
    ];
    conflicts.iter().any(|part| message.contains(part))
}

/// Is it what passes by itself: others wrote, or admission waits for an informer?
fn is_passing(message: &str) -> bool {
    is_conflict(message) || message.contains("not yet ready to handle request")
}

impl Property for StartCompletes {
    fn name(&self) -> &'static str {
        "start-completes"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let Some(repair) = note.body.get::<RepairNote>() else {
            return Check::Idle;
        };
        let message = &repair.message;
        let life = world.incarnation(note.process);
        let gives_up = message
            .to_lowercase()
            .starts_with("unable to perform initial")
            || message == GIVES_UP;
        let last = self.passing.get(&note.process).copied();
        let was_passing = is_passing(message) || gives_up && last == Some((life, true));
        if gives_up && was_passing {
            let server = world.name(note.process);
            return violated("apiserver", server, format!("{server} ends: {message}"));
        }
        // What is found wrong with allocations says nothing of how the round ended.
        if is_passing(message) || message.starts_with("unable to") {
            self.passing.insert(note.process, (life, was_passing));
        }
        Check::Idle
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(STARTED)
    }

    fn deadline(&mut self, world: &World) -> Check {
        let view = ClusterView(world);
        let mut check = Check::Idle;
        for (process, server) in view.apiservers().filter(|(p, _)| view.is_serving(*p)) {
            if world.cell(process, &HOOKS_DONE) < server.config().hooks {
                let name = world.name(process);
                return violated("apiserver", name, format!("{name} is still starting"));
            }
            check = Check::Held;
        }
        check
    }
}

/// Everything of a range was taken.
pub fn range_full() -> Reached {
    Reached {
        name: "range-was-full",
        here: |_, note| {
            let answered = note.body.get::<Answered>();
            matches!(
                answered.map(|answered| &answered.answer),
                Some(Answer::Refused { message, .. }) if messages::is_full(message).is_some()
            )
        },
    }
}

fn said(note: &Note, part: &str) -> bool {
    let repair = note.body.get::<RepairNote>();
    repair.is_some_and(|note| note.message.contains(part))
}

/// A loop freed what had leaked.
pub fn repair_found_leak() -> Reached {
    Reached {
        name: "leak-was-cleaned-up",
        here: |_, note| said(note, "appears to have leaked"),
    }
}

/// A loop met other writers until it gave a round up.
pub fn repair_conflicted() -> Reached {
    Reached {
        name: "repair-gave-up",
        here: |_, note| {
            note.body
                .get::<RepairNote>()
                .is_some_and(|note| is_conflict(&note.message))
        },
    }
}
