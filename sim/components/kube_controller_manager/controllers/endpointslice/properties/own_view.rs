//! The controller reconciles a Service from slices as it wrote them itself, or as others have written them since.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_api::Object;
use wavetank_api::kinds::ENDPOINT_SLICES;
use wavetank_client::workqueue::Item;
use wavetank_engine::{Check, Note, ProcId, Property, World};
use wavetank_etcd::Committed;

use super::super::notes::{Deleted, Reconciles, Wrote};
use super::super::slices::{managed_by_controller, service_of};
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// A life of a process, and the UID of a Service. Of one that was made again nothing is asked: the slices of the one before
/// are not its own.
type Of = (ProcId, u32, Arc<str>);
/// What was written of a slice last: its generation, or that it was deleted.
type Last = Option<i64>;

/// What each life of each controller wrote, by Service.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct OwnSlicesAreKnown {
    wrote: BTreeMap<Of, Slices>,
}

/// What was written for a Service: `namespace/name` of it, and its slices by their UIDs.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Slices {
    service: Item,
    all: BTreeMap<Arc<str>, (Item, Last)>,
}

/// Is this slice stored as one of the Service?
fn is_there(world: &World, slice: &Item, uid: &str, service: &Item) -> bool {
    let (namespace, name) = slice.split_once('/').unwrap_or(("", slice));
    let stored = ClusterView(world).get(&ENDPOINT_SLICES.key(namespace, name));
    stored.is_some_and(|kv| is_one_of(&kv.value, uid, service))
}

fn is_one_of(slice: &Object, uid: &str, service: &Item) -> bool {
    slice.uid() == uid
        && managed_by_controller(slice)
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
            (None, Some(_)) if is_there(world, slice, uid, &told.service) => {
                Some(format!("the slice {slice} is not there, which was written"))
            }
            _ => None,
        }
    })
}

impl OwnSlicesAreKnown {
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
            for Slices { service, all } in self.wrote.values_mut() {
                all.retain(|uid, _| {
                    now.uid() != &**uid || now.is_being_deleted() || is_one_of(now, uid, service)
                });
            }
        }
    }
}

impl Property for OwnSlicesAreKnown {
    fn name(&self) -> &'static str {
        "own-slices-are-known"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if let Some(told) = note.body.get::<Reconciles>() {
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
        let body = &note.body;
        let is_news = body.get::<Wrote>().is_some()
            || body.get::<Deleted>().is_some()
            || body.get::<Committed<Object>>().is_some();
        (!is_news).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(told) = note.body.get::<Wrote>() {
            let last = (told.slice.clone(), Some(told.generation));
            let own = self.of(world, note, &told.of);
            own.service = told.service.clone();
            if is_there(world, &told.slice, &told.uid, &told.service) {
                own.all.insert(told.uid.clone(), last);
            }
        } else if let Some(told) = note.body.get::<Deleted>() {
            let own = self.of(world, note, &told.of);
            if let Some((_, last)) = own.all.get_mut(&told.uid) {
                *last = None;
            }
        } else if let Some(commit) = note.body.get::<Committed<Object>>() {
            self.others_write(commit);
        } else if let Some(told) = note.body.get::<Reconciles>() {
            // Those that the cache does not show, and that nothing is lacking of, are gone.
            let own = self.of(world, note, &told.of);
            own.all.retain(|uid, _| sees(told, uid));
            return Check::Held;
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}
