//! The controller rests once all has been well for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use wavetank_api::Object;
use wavetank_api::kinds::{ENDPOINTS, PODS, SERVICES};
use wavetank_client::workqueue::Item;
use wavetank_engine::{Check, Note, Property, World};
use wavetank_etcd::Committed;

use super::controller::CONTROLLER;
use super::notes::Writes;
use crate::kube_controller_manager::somebody_runs;
use crate::promises::violated;

/// What has changed since all should be settled, and what the controller did about it. A request may be so late that it is
/// done only then: that the controller writes after it is right. It is not if it goes on and on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct EndpointsAreQuiet {
    after: Duration,
    is_settled: bool,
    /// A pod changed, which any Service may select.
    is_any_changed: bool,
    /// Services that changed, or whose Endpoints did: `namespace/name`.
    changed: BTreeSet<Item>,
    writes: BTreeMap<Item, u32>,
}

/// So often the controller may write one Endpoints because of late changes.
const MOST_WRITES: u32 = 5;

impl EndpointsAreQuiet {
    /// The calm has to last so long before it is to rest.
    pub(super) fn after(after: Duration) -> EndpointsAreQuiet {
        EndpointsAreQuiet {
            after,
            is_settled: false,
            is_any_changed: false,
            changed: BTreeSet::new(),
            writes: BTreeMap::new(),
        }
    }

    fn sees(&mut self, committed: &Committed<Object>) {
        for change in committed.changes.iter() {
            let named = |registry: &str| change.key.strip_prefix(registry)?.strip_prefix('/');
            self.is_any_changed |= named(PODS.registry).is_some();
            let service = named(SERVICES.registry).or_else(|| named(ENDPOINTS.registry));
            self.changed.extend(service.map(Item::from));
        }
    }
}

impl Property for EndpointsAreQuiet {
    fn name(&self) -> &'static str {
        "endpoints-are-quiet"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let body = &note.body;
        let concerns = body.get::<Writes>().is_some() || body.get::<Committed<Object>>().is_some();
        (!self.is_settled || !concerns).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(idle) = self.glance(world, note) {
            return idle;
        }
        if let Some(committed) = note.body.get() {
            self.sees(committed);
        }
        let Some(Writes { service, .. }) = note.body.get() else {
            return Check::Idle;
        };
        let writes = self.writes.entry(service.clone()).or_default();
        *writes += 1;
        let is_late = self.is_any_changed || self.changed.contains(service);
        if is_late && *writes <= MOST_WRITES {
            return Check::Idle;
        }
        let message = match is_late {
            true => format!("the Endpoints of {service} are written again and again"),
            false => {
                format!("the Endpoints of {service} are written, although nothing has changed")
            }
        };
        violated("endpoints", service, message)
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.after)
    }

    fn deadline(&mut self, world: &World) -> Check {
        self.is_settled = true;
        match somebody_runs(world, CONTROLLER) {
            true => Check::Held,
            false => Check::Idle,
        }
    }
}
