//! Who may be deleted.

use std::collections::BTreeSet;
use std::sync::Arc;

use wavetank_api::{Object, Resource};
use wavetank_engine::{Check, Note, Property, World};

use super::super::graph::{DELETE_DEPENDENTS, OwnerReference, has_finalizer, owner_references};
use super::super::notes::Deletes;
use super::super::users::AsksToDelete;
use wavetank_components::changes::all_changes;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// The owner to which an object in this namespace refers, if it is there.
pub(super) fn owner<'a>(
    world: &'a World,
    namespace: &str,
    reference: &OwnerReference,
) -> Option<&'a Object> {
    let mut all = Resource::ALL.into_iter();
    let resource = all
        .find(|own| *own.kind == *reference.kind && *own.api_version() == *reference.api_version)?;
    let namespace = if resource.namespaced { namespace } else { "" };
    let stored = ClusterView(world).get(&resource.key(namespace, &reference.name))?;
    Some(&stored.value).filter(|owner| owner.uid() == &*reference.uid)
}

/// Does it wait in the foreground for its dependents to go?
pub(super) fn is_in_foreground(object: &Object) -> bool {
    object.is_being_deleted() && has_finalizer(object.json(), DELETE_DEPENDENTS)
}

/// What was asked to go, by whom; and what has been deleted in the foreground, even if somebody changed his mind.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct OwnedObjectsStay {
    by_collector: BTreeSet<Arc<str>>,
    by_users: BTreeSet<Arc<str>>,
    in_foreground: BTreeSet<Arc<str>>,
}

impl OwnedObjectsStay {
    /// Is this one of the collector's deletions? Then the object must have lost all its owners.
    fn deleted(&self, world: &World, before: &Object) -> Check {
        let uid = before.uid();
        if !self.by_collector.contains(uid) || self.by_users.contains(uid) {
            return Check::Idle;
        }
        for reference in &*owner_references(before.json()) {
            let Some(owner) = owner(world, before.namespace(), reference) else {
                continue;
            };
            if !self.in_foreground.contains(owner.uid()) {
                let (name, of) = (before.name(), owner.name());
                let message = format!("{name} is deleted, although its owner {of} is there");
                return violated("object", name, message);
            }
        }
        Check::Held
    }
}

impl Property for OwnedObjectsStay {
    fn name(&self) -> &'static str {
        "owned-objects-stay"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        let asks =
            note.body.get::<Deletes>().is_some() || note.body.get::<AsksToDelete>().is_some();
        let mut checked = Check::Idle;
        for change in all_changes(note) {
            let now = change.now.as_ref().map(|now| &now.value);
            let is_new = now.is_some_and(|now| {
                is_in_foreground(now) && !self.in_foreground.contains(now.uid())
            });
            if is_new {
                return None;
            }
            let Some(before) = change.before.as_ref().map(|before| &before.value) else {
                continue;
            };
            if !before.is_being_deleted() && now.is_none_or(Object::is_being_deleted) {
                checked = self.deleted(world, before);
            }
        }
        (!asks).then_some(checked)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(Deletes { object, .. }) = note.body.get() {
            self.by_collector.insert(object.uid.clone());
        }
        if let Some(AsksToDelete(uid)) = note.body.get() {
            self.by_users.insert(uid.clone());
        }
        let now = all_changes(note)
            .iter()
            .filter_map(|change| change.now.as_ref());
        let waiting = now.filter(|now| is_in_foreground(&now.value));
        self.in_foreground
            .extend(waiting.map(|now| now.value.uid().into()));
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}
