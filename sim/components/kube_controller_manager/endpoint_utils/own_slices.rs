//! A controller reconciles a Service from slices as it wrote them itself, or as others have written them since.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_api::Object;
use wavetank_api::kinds::ENDPOINT_SLICES;
use wavetank_client::workqueue::Item;
use wavetank_engine::{Check, Note, ProcId, Property, World};
use wavetank_etcd::Committed;

use super::notes::{CleansUp, Deleted, Reconciles, Wrote};
use super::slices::{is_managed_by, service_of};
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// A life of a process, and the UID of a Service. Of one that was made again nothing is asked: the slices of the one before
/// are not its own.
type Of = (ProcId, u32, Arc<str>);
/// What was written of a slice last: its generation, or that it was deleted.
type Last = Option<i64>;

/// What each life of each controller wrote, by Service.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OwnSlicesAreKnown {
    /// The property's name, and how the controller labels its slices.
    name: &'static str,
    manager: &'static str,
    wrote: BTreeMap<Of, Slices>,
}

/// What was written for a Service: `namespace/name` of it, and its slices by their UIDs.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Slices {
    service: Item,
    all: BTreeMap<Arc<str>, (Item, Last)>,
}

/// Is this slice stored as one of the Service?
fn is_there(world: &World, by: &str, slice: &Item, uid: &str, service: &Item) -> bool {
    let (namespace, name) = slice.split_once('/').unwrap_or(("", slice));
    let stored = ClusterView(world).get(&ENDPOINT_SLICES.key(namespace, name));
    stored.is_some_and(|kv| is_one_of(&kv.value, by, uid, service))
}

fn is_one_of(slice: &Object, by: &str, uid: &str, service: &Item) -> bool {
    slice.uid() == uid
        && is_managed_by(slice, by)
        && service_of(slice) == **service
        && !slice.is_being_deleted()
}

fn sees(told: &Reconciles, uid: &str) -> bool {
    told.slices.iter().any(|(own, _)| **own == *uid)
}

/// What the Service is reconciled with lacks.
fn lacks(world: &World, told: &Reconciles, wrote: &Slices) -> Option<String> {
    wrote.all.iter().find_map(|(uid, (slice, last))| {
        let seen = told.slices.iter().find(|(own, _)| own == uid);
        match (seen, last) {
            (Some(_), None) => Some(format!("the slice {slice} is there, which was deleted")),
            (Some((_, seen)), Some(last)) if seen < last => Some(format!(
                "the slice {slice} has the generation {seen}, and {last} was written"
            )),
            (None, Some(_)) if is_there(world, told.manager, slice, uid, &told.service) => {
                Some(format!("the slice {slice} is not there, which was written"))
            }
            _ => None,
        }
    })
}

/// What a controller of slices tells.
enum Told<'a> {
    Reconciles(&'a Reconciles),
    Wrote(&'a Wrote),
    Deleted(&'a Deleted),
    CleansUp(&'a CleansUp),
}

impl Told<'_> {
    fn manager(&self) -> &'static str {
        match self {
            Told::Reconciles(own) => own.manager,
            Told::Wrote(own) => own.manager,
            Told::Deleted(own) => own.manager,
            Told::CleansUp(own) => own.manager,
        }
    }
}

impl OwnSlicesAreKnown {
    /// Of the controller that labels its slices so.
    pub fn new(name: &'static str, manager: &'static str) -> OwnSlicesAreKnown {
        OwnSlicesAreKnown {
            name,
            manager,
            wrote: BTreeMap::new(),
        }
    }

    /// What the note of its own controller tells.
    fn told<'a>(&self, note: &'a Note) -> Option<Told<'a>> {
        let body = &note.body;
        let told = if let Some(own) = body.get() {
            Told::Reconciles(own)
        } else if let Some(own) = body.get() {
            Told::Wrote(own)
        } else if let Some(own) = body.get() {
            Told::Deleted(own)
        } else {
            Told::CleansUp(body.get()?)
        };
        (told.manager() == self.manager).then_some(told)
    }

    fn of(&mut self, world: &World, note: &Note, uid: &Arc<str>) -> &mut Slices {
        let life = world.incarnation(note.process);
        let of = (note.process, life, uid.clone());
        self.wrote.entry(of).or_default()
    }

    /// Slices that others hand over are nobody's own any more. Those that are deleted stay, as the cache may still show them.
    fn others_write(&mut self, commit: &Committed<Object>) {
        for change in &*commit.changes {
            let is_slice = change.key.starts_with(ENDPOINT_SLICES.registry);
            let Some(now) = change.now.as_ref().filter(|_| is_slice) else {
                continue;
            };
            let now = &now.value;
            let manager = self.manager;
            for Slices { service, all } in self.wrote.values_mut() {
                all.retain(|uid, _| {
                    now.uid() != &**uid
                        || now.is_being_deleted()
                        || is_one_of(now, manager, uid, service)
                });
            }
        }
    }
}

impl Property for OwnSlicesAreKnown {
    fn name(&self) -> &'static str {
        self.name
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        let told = self.told(note);
        if let Some(Told::Reconciles(told)) = told {
            let life = world.incarnation(note.process);
            let of = (note.process, life, told.of.clone());
            let Some(wrote) = self.wrote.get(&of) else {
                return Some(Check::Held);
            };
            let Some(what) = lacks(world, told, wrote) else {
                let all_seen = wrote.all.keys().all(|uid| sees(told, uid));
                return all_seen.then_some(Check::Held);
            };
            let message = format!(
                "the Service {} is reconciled from a cache that lacks own writes: {what}",
                told.service
            );
            return Some(violated("service", &told.service, message));
        }
        let is_news = told.is_some() || note.body.get::<Committed<Object>>().is_some();
        (!is_news).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(commit) = note.body.get::<Committed<Object>>() {
            self.others_write(commit);
        }
        match self.told(note) {
            Some(Told::Wrote(told)) => {
                let last = (told.slice.clone(), Some(told.generation));
                let own = self.of(world, note, &told.of);
                own.service = told.service.clone();
                if is_there(world, told.manager, &told.slice, &told.uid, &told.service) {
                    own.all.insert(told.uid.clone(), last);
                }
            }
            Some(Told::Deleted(told)) => {
                let own = self.of(world, note, &told.of);
                if let Some((_, last)) = own.all.get_mut(&told.uid) {
                    *last = None;
                }
            }
            // Those that the cache does not show, and that nothing is lacking of, are gone.
            Some(Told::Reconciles(told)) => {
                let own = self.of(world, note, &told.of);
                own.all.retain(|uid, _| sees(told, uid));
                return Check::Held;
            }
            Some(Told::CleansUp(told)) => {
                let life = (note.process, world.incarnation(note.process));
                self.wrote.retain(|(process, number, _), own| {
                    (*process, *number) != life || own.service != told.service
                });
            }
            None => {}
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}
