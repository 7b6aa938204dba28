//! What is true once all has been well for a while.

use std::time::Duration;

use wavetank_api::Object;
use wavetank_engine::{Check, Note, Stable, Status, World};
use wavetank_etcd::Keys;

use super::super::CONTROLLER;
use super::super::graph::{DELETE_DEPENDENTS, ORPHAN_DEPENDENTS, has_finalizer, owner_references};
use super::super::notes::{Deletes, EndsForeground, EndsOrphaning, Releases};
use super::deletions::owner;
use crate::kube_controller_manager::ControllerManager;
use crate::promises::violated;
use crate::view::ClusterView;

/// Is there a controller manager that runs the collector?
fn somebody_runs(world: &World) -> bool {
    let mut all = world.processes();
    all.any(|process| {
        let manager = world.process::<ControllerManager>(process);
        let runs = manager.is_some_and(|manager| manager.runs(CONTROLLER));
        runs && world.status(process) == Status::Up
    })
}

/// Looks at all objects until one is found that is not as it should be.
fn all(world: &World, wrong: impl Fn(&Object) -> Option<String>) -> Check {
    if !somebody_runs(world) {
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

pub(super) fn collector_is_quiet(after: Duration) -> Stable {
    let check = |_: &World, note: &Note| {
        let body = &note.body;
        let changes = body.get::<Deletes>().is_some()
            || body.get::<Releases>().is_some()
            || body.get::<EndsForeground>().is_some()
            || body.get::<EndsOrphaning>().is_some();
        match changes {
            true => violated(
                "collector",
                CONTROLLER,
                "the collector still changes objects".to_owned(),
            ),
            false => Check::Idle,
        }
    };
    let holds = |world: &World| match somebody_runs(world) {
        true => Check::Held,
        false => Check::Idle,
    };
    Stable::new("collector-is-quiet", after, check, holds)
}
