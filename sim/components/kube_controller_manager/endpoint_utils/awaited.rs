//! A controller waits for slices only that it does not know to be gone.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_client::workqueue::Item;
use wavetank_engine::{Check, Note, ProcId, Property, World};

use super::notes::{WaitsForSlices, WasTold, Wrote};
use wavetank_components::promises::violated;

/// A life of a process, and the UID of a slice.
type Of = (ProcId, u32, Arc<str>);

/// The Service that each slice is kept for, as each life of each controller was told last; none of one that is gone or
/// somebody else's. Its handlers are told a moment after its cache shows it. What a controller has written later than that is
/// there, and its own again.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SlicesThatAreGoneAreNotAwaited {
    /// The property's name, and how the controller labels its slices.
    name: &'static str,
    manager: &'static str,
    told: BTreeMap<Of, (Option<Item>, Option<i64>)>,
    /// The generation that each slice had when it wrote it last.
    wrote: BTreeMap<Of, i64>,
}

impl SlicesThatAreGoneAreNotAwaited {
    /// Of the controller that labels its slices so.
    pub fn new(name: &'static str, manager: &'static str) -> SlicesThatAreGoneAreNotAwaited {
        SlicesThatAreGoneAreNotAwaited {
            name,
            manager,
            told: BTreeMap::new(),
            wrote: BTreeMap::new(),
        }
    }

    fn is_gone(&self, world: &World, note: &Note, uid: &Arc<str>, service: &Item) -> bool {
        let of = (note.process, world.incarnation(note.process), uid.clone());
        self.told.get(&of).is_some_and(|(kept_for, seen)| {
            let wrote = self.wrote.get(&of);
            let wrote_later = seen.is_some_and(|seen| wrote.is_some_and(|wrote| *wrote > seen));
            kept_for.as_ref() != Some(service) && !wrote_later
        })
    }
}

impl Property for SlicesThatAreGoneAreNotAwaited {
    fn name(&self) -> &'static str {
        self.name
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        let waits = note
            .body
            .get()
            .filter(|own: &&WaitsForSlices| own.manager == self.manager);
        if let Some(WaitsForSlices {
            service, lacking, ..
        }) = waits
        {
            let mut lacking = lacking.iter();
            if lacking.any(|uid| self.is_gone(world, note, uid, service)) {
                let message = format!(
                    "a slice of {service} is waited for, although the controller was told that it is gone"
                );
                return Some(violated("service", service, message));
            }
            return Some(Check::Held);
        }
        let is_news = note.body.get::<WasTold>().is_some() || note.body.get::<Wrote>().is_some();
        (!is_news).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let told = note
            .body
            .get()
            .filter(|own: &&WasTold| own.manager == self.manager);
        let life = world.incarnation(note.process);
        if let Some(own) = told {
            let told = (own.of.clone(), own.generation);
            self.told
                .insert((note.process, life, own.uid.clone()), told);
        }
        let wrote = note
            .body
            .get()
            .filter(|own: &&Wrote| own.manager == self.manager);
        if let Some(own) = wrote {
            self.wrote
                .insert((note.process, life, own.uid.clone()), own.generation);
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}
