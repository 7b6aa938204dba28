//! What is true once all has been well for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Object;
use wavetank_engine::{Check, Note, Property, Stable, World};
use wavetank_etcd::Keys;

use super::super::CONTROLLER;
use super::super::graph::{DELETE_DEPENDENTS, ORPHAN_DEPENDENTS, has_finalizer, owner_references};
use super::super::notes::{Deletes, EndsForeground, EndsOrphaning, Of, Releases};
use super::changes;
use super::deletions::owner;
use crate::kube_controller_manager::somebody_runs;
use crate::promises::violated;
use crate::view::ClusterView;

/// Looks at all objects until one is found that is not as it should be.
fn all(world: &World, wrong: impl Fn(&Object) -> Option<String>) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    let store = ClusterView(world).store();
    for kv in store.iter(&Keys::Prefix("/".into())) {
        if let Some(message) = wrong(&kv.value) {
            return violated("object", kv.value.name(), message);
        }
    }
    Check::Held
}

pub(super) fn unowned_objects_go(after: Duration) -> Stable {
    let holds = |world: &World| {
        all(world, |object| {
            let owners = owner_references(object.json());
            let mut there = owners
                .iter()
                .filter_map(|reference| owner(world, object.namespace(), reference));
            let is_left = !owners.is_empty() && there.next().is_none();
            (is_left && !object.is_being_deleted())
                .then(|| format!("{} stays, and its owners are gone", object.name()))
        })
    };
    Stable::new("unowned-objects-go", after, |_, _| Check::Idle, holds)
}

pub(super) fn owners_go(after: Duration) -> Stable {
    let holds = |world: &World| {
        all(world, |object| {
            let mut waits = [DELETE_DEPENDENTS, ORPHAN_DEPENDENTS].into_iter();
            let finalizer = waits.find(|own| has_finalizer(object.json(), own))?;
            let waits = object.is_being_deleted();
            waits.then(|| format!("{} waits, with the finalizer {finalizer}", object.name()))
        })
    };
    Stable::new("owners-go", after, |_, _| Check::Idle, holds)
}

/// What has changed since all should be settled, and what the collector did about it. A request may be so late that it is
/// done only then: what follows from that is right. It is not if it goes on and on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct CollectorIsQuiet {
    after: Duration,
    is_settled: bool,
    changed: BTreeSet<Arc<str>>,
    acts: BTreeMap<Arc<str>, u32>,
}

/// So often the collector may act on one object because of a late change.
const MOST_ACTS: u32 = 5;

pub(super) fn collector_is_quiet(after: Duration) -> CollectorIsQuiet {
    CollectorIsQuiet {
        after,
        is_settled: false,
        changed: BTreeSet::new(),
        acts: BTreeMap::new(),
    }
}

/// The object on which the collector acts.
fn acted_on(note: &Note) -> Option<&Of> {
    let body = &note.body;
    let deleted = body.get().map(|Deletes { object, .. }| object);
    let released = || body.get().map(|Releases { object, .. }| object);
    let ended = || body.get().map(|EndsForeground { owner }| owner);
    let orphaned = || body.get().map(|EndsOrphaning { owner }| owner);
    deleted.or_else(released).or_else(ended).or_else(orphaned)
}

impl Property for CollectorIsQuiet {
    fn name(&self) -> &'static str {
        "collector-is-quiet"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let concerns = acted_on(note).is_some() || !changes(note).is_empty();
        (!self.is_settled || !concerns).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(idle) = self.glance(world, note) {
            return idle;
        }
        for change in changes(note) {
            let both = [&change.before, &change.now].into_iter().flatten();
            let uids = both.map(|stored| stored.value.uid().into());
            self.changed.extend(uids);
        }
        let Some(Of { uid, key, .. }) = acted_on(note) else {
            return Check::Idle;
        };
        let acts = self.acts.entry(uid.clone()).or_default();
        *acts += 1;
        let everything = Keys::Prefix("/".into());
        let mut stored = ClusterView(world).store().iter(&everything);
        let object = stored.find(|kv| kv.value.uid() == &**uid);
        let owners = object.map(|kv| owner_references(kv.value.json()));
        let mut owners = owners.iter().flat_map(|owners| owners.iter());
        let is_late =
            self.changed.contains(uid) || owners.any(|owner| self.changed.contains(&owner.uid));
        if is_late && *acts <= MOST_ACTS {
            return Check::Idle;
        }
        violated("object", key, format!("the collector still acts on {key}"))
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
