//! Which informers feed the graph (`garbagecollector.go`, `Sync` and `GetDeletableResources`; `graph_builder.go`,
//! `controllerFor`, `syncMonitors`, `IsSynced`). Upstream takes the informers of other controllers where there are any, and
//! so do monitors of all built-in kinds: they show whole objects.
//!
//! Here all informers begin with the controllers. One becomes a monitor when discovery lists its resource: then the graph
//! hears of what its store has, and of everything that comes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::{Resource, Stored};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_client::leader_election::Leading;
use wavetank_client::wait::{Every, Turn};
use wavetank_engine::{Cell, NotState, Rx};
use wavetank_version::Set;

use super::controller::{GarbageCollector, SYNC_POLL, enqueue_change};
use super::defects::CollectorDefect;
use super::graph::Metadata;
use super::graph_builder::{Event, EventType};
use super::notes::Monitors;
use crate::controller_utils::discovery::{
    Mapping, reset, rest_mapping, server_preferred_resources,
};
use wavetank_components::elected::DRAIN;

/// `syncPeriod`
const SYNC_PERIOD: Duration = Duration::from_secs(30);

/// The informers that are monitors, by their numbers.
static MONITORS: Cell<BTreeSet<u32>> = Cell::new("garbage-monitors");
/// `oldResources`: what discovery listed when it was last heeded.
static OLD_RESOURCES: Cell<BTreeSet<Listed>> = Cell::new("garbage-resources");

/// A group with its version, and a resource of it.
type Listed = (Arc<str>, Arc<str>);

/// The handler of the informer with this number.
pub(super) fn handler(
    number: u32,
    resource: &'static Resource,
    defects: Set<CollectorDefect>,
) -> HandlerSpec {
    let on = move |rx: Rx, _: u32, notice: &Notice| {
        let is_monitor = rx.look(&MONITORS, |monitors| monitors.contains(&number));
        let Some(event) = event_of(resource, notice).filter(|_| is_monitor) else {
            return;
        };
        // A list that shows another object of the same name is an update: what was there before is gone.
        if let Some(before) = &event.old
            && before.identity.uid != event.object.identity.uid
            && defects.has(CollectorDefect::FixSuccessorIsAnother)
        {
            let gone = Event {
                event_type: EventType::Delete,
                object: before.clone(),
                old: None,
                ..event.clone()
            };
            enqueue_change(rx, gone);
            let new = Event {
                event_type: EventType::Add,
                old: None,
                ..event
            };
            return enqueue_change(rx, new);
        }
        enqueue_change(rx, event);
    };
    HandlerSpec {
        on: NotState(Arc::new(on)),
        ..HandlerSpec::new("garbage-collector")
    }
}

/// Upstream's `AddFunc`, `UpdateFunc`, `DeleteFunc` of `controllerFor`
fn event_of(resource: &'static Resource, notice: &Notice) -> Option<Event> {
    let metadata = |stored: &Stored| metadata_of(resource, stored);
    let (event_type, object, old) = match notice {
        Notice::Added { new, .. } => (EventType::Add, metadata(new), None),
        Notice::Updated { old, new } => (EventType::Update, metadata(new), Some(metadata(old))),
        Notice::Deleted(gone) => (EventType::Delete, metadata(gone.last.as_ref()?), None),
    };
    Some(Event {
        is_virtual: false,
        event_type,
        object,
        old,
    })
}

fn metadata_of(resource: &'static Resource, stored: &Stored) -> Metadata {
    Metadata::of(&resource.api_version(), resource.kind, &stored.object)
}

impl GarbageCollector {
    /// The informer of a resource, if it is a monitor.
    pub(super) fn monitor_of(&self, rx: Rx, mapping: &Mapping) -> Option<Lister> {
        let mut all = (0..).zip(&self.informers);
        let (number, (_, lister)) = all.find(|(_, (resource, _))| mapping.is_of(resource))?;
        let is_monitor = rx.look(&MONITORS, |monitors| monitors.contains(&number));
        is_monitor.then_some(*lister)
    }

    /// `IsSynced`
    pub(super) fn is_synced(&self, rx: Rx) -> bool {
        let monitors = rx.read(&MONITORS);
        let mut listers = monitors
            .iter()
            .map(|number| self.informers[*number as usize].1);
        !monitors.is_empty() && listers.all(|lister| lister.has_synced(rx))
    }

    /// A turn of `Sync`.
    pub(super) async fn sync(&self, rx: Rx, leading: &Leading) -> Turn {
        let leadership = leading.leadership();
        let turn = Every::period(SYNC_PERIOD).sliding(rx, &DRAIN, async {
            rx.select(leadership.closed(rx), self.sync_once(rx)).await;
            match leadership.is_closed(rx) {
                true => Turn::Over,
                false => Turn::Again,
            }
        });
        turn.await
    }

    async fn sync_once(&self, rx: Rx) {
        let deletable = self.get_deletable_resources(rx).await;
        let listed = deletable.iter();
        let new: BTreeSet<Listed> = listed
            .map(|mapping| (mapping.api_version.clone(), mapping.resource.clone()))
            .collect();
        if new.is_empty() || rx.look(&OLD_RESOURCES, |old| *old == new) {
            return;
        }
        reset(rx).await;
        if !self.sync_monitors(rx, &deletable).await {
            return;
        }
        let synced = async {
            while !self.is_synced(rx) {
                rx.sleep(SYNC_POLL).await;
            }
        };
        rx.timeout(SYNC_PERIOD, synced).await;
        rx.update(&OLD_RESOURCES, |old| *old = new);
    }

    /// `GetDeletableResources`
    async fn get_deletable_resources(&self, rx: Rx) -> Vec<Mapping> {
        let mut all = server_preferred_resources(rx, &self.rest).await;
        all.retain(|mapping| mapping.supports_all_verbs(&["delete", "list", "watch"]));
        all
    }

    /// `syncMonitors`, `startMonitors`: false if the mapper does not know one of the resources.
    async fn sync_monitors(&self, rx: Rx, listed: &[Mapping]) -> bool {
        let mut known = true;
        let mut current = BTreeSet::new();
        for (number, (resource, _)) in (0..).zip(&self.informers) {
            let Some(mapping) = listed.iter().find(|mapping| mapping.is_of(resource)) else {
                continue;
            };
            let is_monitor = rx.look(&MONITORS, |monitors| monitors.contains(&number));
            let kind = (&mapping.api_version, &mapping.kind);
            if is_monitor || rest_mapping(rx, &self.rest, kind.0, kind.1).await.is_ok() {
                current.insert(number);
            } else {
                known = false;
            }
        }
        let names = current.iter().map(|number| {
            let (resource, _) = self.informers[*number as usize];
            resource.qualified().into()
        });
        rx.note(Monitors(names.collect()));
        let new = current.clone();
        let before = rx.update(&MONITORS, |monitors| std::mem::replace(monitors, new));
        for number in current.difference(&before) {
            let (resource, lister) = self.informers[*number as usize];
            // A handler that comes to a running informer is told of all that there is.
            for stored in lister.list(rx) {
                enqueue_change(
                    rx,
                    Event {
                        is_virtual: false,
                        event_type: EventType::Add,
                        object: metadata_of(resource, &stored),
                        old: None,
                    },
                );
            }
        }
        known
    }
}
