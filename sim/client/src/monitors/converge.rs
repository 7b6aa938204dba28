//! What must be true some time after calm.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use wavetank_engine::{Check, Note, ProcId, Property, Status, World};
use wavetank_etcd::Revision;

use super::matching::{History, event_of, selected};
use super::{Who, violated};
use crate::fifo::StoreKey;
use crate::informer::{INFORMERS, Informer};
use crate::observed::{Informing, Selection};

/// The store of each informer is what etcd holds under its selector. Objects that changed after calm may
/// still be under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct InformersConverge {
    after: Duration,
    history: History,
    informers: BTreeMap<Who, Selection>,
    /// The newest revision at calm.
    calm: Revision,
}

impl InformersConverge {
    /// So long after calm.
    pub fn new(after: Duration) -> InformersConverge {
        InformersConverge {
            after,
            history: History::default(),
            informers: BTreeMap::new(),
            calm: 0,
        }
    }

    /// What is wrong with a store.
    fn wrong(&self, selection: &Selection, informer: &Informer) -> Option<String> {
        let content = self.history.content(self.history.revision())?;
        let held: BTreeMap<StoreKey, Revision> = selected(selection, &content).collect();
        let store: BTreeMap<StoreKey, Revision> = informer.content().iter().cloned().collect();
        let recent: BTreeSet<StoreKey> = (self.calm + 1..=self.history.revision())
            .flat_map(|revision| self.history.changes(revision).unwrap_or_default())
            .filter_map(|change| event_of(selection, &self.history, change))
            .collect();
        let keys = held.keys().chain(store.keys());
        let mut settled = keys.filter(|key| !recent.contains(*key));
        let key = settled.find(|key| held.get(*key) != store.get(*key))?;
        let show = |revision: Option<&Revision>| match revision {
            Some(revision) => format!("that of {revision}"),
            None => "none".to_owned(),
        };
        let (own, right) = (show(store.get(key)), show(held.get(key)));
        Some(format!("of {key} it has {own}, and etcd {right}"))
    }
}

impl Property for InformersConverge {
    fn name(&self) -> &'static str {
        "informers-converge"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        self.history.learn(world, note);
        if let Some(begins) = note.body.get::<Informing>() {
            let who = (note.process, begins.informer);
            self.informers.insert(who, begins.selection.clone());
        }
        Check::Idle
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        self.calm = self.history.revision();
        Some(self.after)
    }

    fn deadline(&mut self, world: &World) -> Check {
        if !self.history.is_whole() {
            return Check::Idle;
        }
        let mut looked = Check::Idle;
        for (who, selection) in &self.informers {
            let Some(informer) = of(world, *who) else {
                continue;
            };
            if let Some(message) = self.wrong(selection, &informer) {
                return violated(world, *who, message);
            }
            looked = Check::Held;
        }
        looked
    }
}

/// An informer that is there and not held back.
pub(super) fn of(world: &World, (process, informer): Who) -> Option<Informer> {
    if world.status(process) != Status::Up || world.is_paused(process) {
        return None;
    }
    let all = world.cell(process, &INFORMERS);
    all.into_iter()
        .nth(informer as usize)
        .filter(|informer| informer.hold.is_none())
}

/// What handlers were told amounts to what the store holds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct HandlersAgree {
    after: Duration,
}

impl HandlersAgree {
    /// So long after calm.
    pub fn new(after: Duration) -> HandlersAgree {
        HandlersAgree { after }
    }
}

impl Property for HandlersAgree {
    fn name(&self) -> &'static str {
        "handlers-agree"
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.after)
    }

    fn deadline(&mut self, world: &World) -> Check {
        let mut looked = Check::Idle;
        for process in world.processes() {
            if let Some(check) = disagreement(world, process, &mut looked) {
                return check;
            }
        }
        looked
    }
}

fn disagreement(world: &World, process: ProcId, looked: &mut Check) -> Option<Check> {
    for number in 0..world.cell(process, &INFORMERS).len() as u32 {
        let Some(informer) = of(world, (process, number)) else {
            continue;
        };
        let store = informer.content();
        for (at, listener) in informer.listeners.iter().enumerate() {
            if listener.is_busy() {
                continue; // something has just come
            }
            let view = listener.view();
            if view == store {
                *looked = Check::Held;
                continue;
            }
            let odd = |from: &[(StoreKey, Revision)], to: &[(StoreKey, Revision)]| {
                let mut odd = from.iter().filter(|item| !to.contains(item));
                odd.next()
                    .map(|(key, revision)| format!("{key} of {revision}"))
            };
            let message = match (odd(&store, &view), odd(&view, &store)) {
                (Some(item), _) => format!("handler {at} does not know of {item}"),
                (None, item) => {
                    let item = item.unwrap_or_default();
                    format!("handler {at} still has {item}, which is gone")
                }
            };
            return Some(violated(world, (process, number), message));
        }
    }
    None
}
