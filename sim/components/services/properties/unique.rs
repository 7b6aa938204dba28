//! What is true of the Services that are stored, at each commit of one: nobody else has what one has, it is
//! in range, and it stays.

use std::collections::BTreeSet;

use crate::service_writers::writer::{Answer, Answered, Verb};
use crate::services::allocators::ItemRange;
use wavetank_api::Object;
use wavetank_engine::{Check, Note, Property, World};
use wavetank_etcd::{Committed, KeyValue, Revision};

use super::books::{Books, Entry, Item, KUBERNETES, SERVICES, addresses, items, named};
use super::{first_address, ranges};
use crate::promises::violated;

/// No two Services have the same address, or the same port. One of them may use a port for two protocols.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Unique {
    name: &'static str,
    ports: bool,
    books: Books,
}

impl Unique {
    /// Of addresses.
    pub fn addresses() -> Unique {
        Unique {
            name: "cluster-ips-are-unique",
            ports: false,
            books: Books::default(),
        }
    }

    /// Of ports.
    pub fn ports() -> Unique {
        Unique {
            name: "node-ports-are-unique",
            ports: true,
            ..Unique::addresses()
        }
    }
}

impl Property for Unique {
    fn name(&self) -> &'static str {
        self.name
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        let mut check = Check::Idle;
        for entry in self.books.learn(note) {
            let Entry::Service { has, .. } = entry else {
                continue;
            };
            let ports = self.ports;
            let own = |item: &&Item| matches!(item, Item::Port(_)) == ports;
            for item in has.iter().filter(own) {
                let users: Vec<&str> = self.books.users(item).map(|key| named(key)).collect();
                if users.len() > 1 {
                    let message = format!("{item} is that of {}", users.join(" and "));
                    return violated(item.kind(), &item.to_string(), message);
                }
                check = Check::Held;
            }
        }
        check
    }
}

/// The Services that a note writes, as they were and as they are.
fn written(
    note: &Note,
) -> impl Iterator<Item = (&str, Option<&KeyValue<Object>>, &KeyValue<Object>)> {
    let commit = note.body.get::<Committed<Object>>();
    let changes = commit.into_iter().flat_map(|commit| commit.changes.iter());
    let services = changes.filter(|change| change.key.starts_with(SERVICES));
    services.filter_map(|change| Some((&*change.key, change.before.as_ref(), change.now.as_ref()?)))
}

/// What Services have is in the ranges of the servers.
pub fn in_range(world: &World, note: &Note) -> Check {
    let mut check = Check::Idle;
    for (key, _, now) in written(note) {
        let Some(ranges) = ranges(world) else {
            return Check::Idle;
        };
        let fits = |item: &Item| match item {
            Item::Port(port) => {
                let (first, count) = ranges.node_ports;
                let ports = i64::from(first)..i64::from(first) + i64::from(count);
                ports.contains(port)
            }
            Item::Address(ip) => ranges.cluster_ips.iter().any(|range| {
                let range = ItemRange::of_addresses(range, wavetank_version::Version::LATEST);
                range.is_some_and(|range| range.offset(ip).is_some())
            }),
        };
        for item in items(now.value.json()) {
            if !fits(&item) {
                let message = format!("{} has {item}, which is in no range", named(key));
                return violated(item.kind(), &item.to_string(), message);
            }
            check = Check::Held;
        }
    }
    check
}

/// A Service that has an address keeps it as long as it is of a type that has one; what its client was told
/// is what is stored.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct KeepsItsAddress {
    /// What was stored lately, and may still be told to somebody.
    stored: Vec<(Revision, BTreeSet<Item>)>,
}

/// So many Services are told to their clients at once, at most.
const LATELY: usize = 64;

impl Property for KeepsItsAddress {
    fn name(&self) -> &'static str {
        "service-keeps-its-address"
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        for (key, before, now) in written(note) {
            let has = now.value.json();
            self.stored.push((now.mod_revision, items(has)));
            if self.stored.len() > LATELY {
                self.stored.remove(0);
            }
            // Of two it may lose the second one: its client asks for that.
            let had = before.map(|before| addresses(before.value.json()));
            let lost = had.iter().flatten().zip(addresses(has));
            if let Some((had, has)) = { lost }.find(|(had, has)| *had != has) {
                let message = format!("{} had {had} and has {has}", named(key));
                return violated("Service", named(key), message);
            }
        }
        let Some(answered) = note.body.get::<Answered>() else {
            return Check::Idle;
        };
        let (Verb::Create, Answer::Done(Some((revision, told)))) =
            (answered.asked.verb, &answered.answer)
        else {
            return Check::Idle;
        };
        let stored = self.stored.iter().find(|(at, _)| at == revision);
        match stored {
            None => Check::Idle,
            Some((_, stored)) if *stored == items(told) => Check::Held,
            Some(_) => violated(
                "Service",
                named(&answered.asked.key),
                format!("what is stored at {revision} is not what its client was told"),
            ),
        }
    }
}

/// The Service `kubernetes` has the first address, and no other Service has.
pub fn kubernetes_is_first(world: &World, note: &Note) -> Check {
    let mut check = Check::Idle;
    for (key, _, now) in written(note) {
        let Some(first) = first_address(world) else {
            return Check::Idle;
        };
        let has = addresses(now.value.json()).first().copied();
        if key == KUBERNETES {
            if has != Some(&*first) {
                let message = format!("it has {}, and not {first}", has.unwrap_or("none"));
                return violated("Service", named(key), message);
            }
            check = Check::Held;
        } else if has == Some(&*first) {
            let message = format!("{first}, which is that of default/kubernetes");
            return violated("Service", named(key), format!("it has {message}"));
        }
    }
    check
}
