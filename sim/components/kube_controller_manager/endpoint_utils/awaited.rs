//! A controller waits for slices only that it does not know to be gone.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_client::workqueue::Item;
use wavetank_engine::{Check, Note, ProcId, Property, World};

use super::notes::{WaitsForSlices, WasTold};
use wavetank_components::promises::violated;

/// A life of a process, and the UID of a slice.
type Of = (ProcId, u32, Arc<str>);

/// The Service that each slice is kept for, as each life of each controller was told last; none of one that is gone or
/// somebody else's. Its handlers are told a moment after its cache shows it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SlicesThatAreGoneAreNotAwaited {
    /// The property's name, and how the controller labels its slices.
    name: &'static str,
    manager: &'static str,
    told: BTreeMap<Of, Option<Item>>,
}

impl SlicesThatAreGoneAreNotAwaited {
    /// Of the controller that labels its slices so.
    pub fn new(name: &'static str, manager: &'static str) -> SlicesThatAreGoneAreNotAwaited {
        SlicesThatAreGoneAreNotAwaited {
            name,
            manager,
            told: BTreeMap::new(),
        }
    }

    fn is_gone(&self, world: &World, note: &Note, uid: &Arc<str>, service: &Item) -> bool {
        let life = world.incarnation(note.process);
        let told = self.told.get(&(note.process, life, uid.clone()));
        told.is_some_and(|of| of.as_ref() != Some(service))
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
        let is_news = note.body.get::<WasTold>().is_some();
        (!is_news).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let told = note
            .body
            .get()
            .filter(|own: &&WasTold| own.manager == self.manager);
        if let Some(WasTold { uid, of, .. }) = told {
            let life = world.incarnation(note.process);
            self.told
                .insert((note.process, life, uid.clone()), of.clone());
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}
