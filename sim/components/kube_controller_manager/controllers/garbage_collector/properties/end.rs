//! What is true once all has been well for a while.

use std::collections::BTreeSet;
use std::time::Duration;

use wavetank_api::Object;
use wavetank_api::json::{self, Json};
use wavetank_engine::{Check, Note, Stable, World};
use wavetank_etcd::{Change, Keys};

use super::super::CONTROLLER;
use super::super::graph::{DELETE_DEPENDENTS, ORPHAN_DEPENDENTS, has_finalizer, owner_references};
use super::super::notes::{Attempts, Deletes, EndsForeground, EndsOrphaning, Of, Releases};
use super::deletions::owner;
use crate::quiet::{Act, IsQuiet, Rest, Subject};
use crate::somebody_runs;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

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

/// Was the deletion of the object broken off between its two writes, so that nothing but another DELETE ends it? That is for
/// whoever deletes pods by force.
fn is_half_deleted(object: &Object) -> bool {
    let metadata = |field| json::at(object.json(), &["metadata", field]);
    let period = metadata("deletionGracePeriodSeconds").and_then(Json::as_i64);
    object.is_being_deleted() && period == Some(0) && metadata("finalizers").is_none()
}

/// The UIDs of owners that wait for what is half deleted, or for another such owner.
fn wait_for_half_deleted(world: &World) -> BTreeSet<Subject> {
    let everything = Keys::Prefix("/".into());
    let all: Vec<&Object> = ClusterView(world)
        .store()
        .iter(&everything)
        .map(|kv| &kv.value)
        .collect();
    let mut waiting = BTreeSet::new();
    loop {
        let known = waiting.len();
        for object in &all {
            let waits = object.is_being_deleted() && waiting.contains(object.uid());
            if waits || is_half_deleted(object) {
                let owners = owner_references(object.json());
                let blocked = owners.iter().filter(|own| own.blocks());
                waiting.extend(blocked.map(|own| own.uid.clone()));
            }
        }
        if waiting.len() == known {
            return waiting;
        }
    }
}

pub(super) fn owners_go(after: Duration) -> Stable {
    let holds = |world: &World| {
        let excused = wait_for_half_deleted(world);
        all(world, |object| {
            let mut waits = [DELETE_DEPENDENTS, ORPHAN_DEPENDENTS].into_iter();
            let finalizer = waits.find(|own| has_finalizer(object.json(), own))?;
            let is_excused = finalizer == DELETE_DEPENDENTS && excused.contains(object.uid());
            let waits = object.is_being_deleted() && !is_excused;
            waits.then(|| format!("{} waits, with the finalizer {finalizer}", object.name()))
        })
    };
    Stable::new("owners-go", after, |_, _| Check::Idle, holds)
}

/// The object on which the collector acts, or at which it looks.
fn acted_on(note: &Note) -> Option<&Of> {
    let body = &note.body;
    let attempted = body.get().map(|Attempts { object }| object);
    let deleted = || body.get().map(|Deletes { object, .. }| object);
    let released = || body.get().map(|Releases { object, .. }| object);
    let ended = || body.get().map(|EndsForeground { owner }| owner);
    let orphaned = || body.get().map(|EndsOrphaning { owner }| owner);
    attempted
        .or_else(deleted)
        .or_else(released)
        .or_else(ended)
        .or_else(orphaned)
}

/// What changes concerns itself; whoever it owns is looked for when the collector acts.
fn concerns(change: &Change<Object>) -> Vec<Subject> {
    let both = [&change.before, &change.now].into_iter().flatten();
    both.map(|stored| stored.value.uid().into()).collect()
}

/// What has changed is the object itself, or one of its owners.
fn follows(world: &World, uid: &Subject, changed: &BTreeSet<Subject>) -> bool {
    let everything = Keys::Prefix("/".into());
    let mut stored = ClusterView(world).store().iter(&everything);
    let object = stored.find(|kv| kv.value.uid() == &**uid);
    let owners = object.map(|kv| owner_references(kv.value.json()));
    let mut owners = owners.iter().flat_map(|owners| owners.iter());
    changed.contains(uid) || owners.any(|owner| changed.contains(&owner.uid))
}

const REST: Rest = Rest {
    property: "collector-is-quiet",
    controller: CONTROLLER,
    kind: "object",
    acts: |key| format!("the collector still acts on {key}"),
    act: |note| {
        let Of { uid, key, .. } = acted_on(note)?;
        Some(Act {
            on: uid.clone(),
            name: key.clone(),
        })
    },
    concerns,
    follows,
};

pub(super) fn collector_is_quiet(after: Duration) -> IsQuiet {
    IsQuiet::after(after, REST)
}
