//! What owners wait for before they go, and what the collector takes for gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wavetank_api::Object;
use wavetank_engine::{Check, Note, ProcId, Property, World};
use wavetank_etcd::Keys;

use super::super::graph::{OwnerReference, owner_references};
use super::super::notes::{
    EndsForeground, EndsOrphaning, Forgets, Orphans, Processed, TakesFinalizer,
};
use wavetank_components::changes::all_changes;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// A life of a process.
type Life = (ProcId, u32);

fn life(world: &World, note: &Note) -> Life {
    (note.process, world.incarnation(note.process))
}

/// The owners of each object, as each collector has been shown them: who blocks an owner still, and was shown to do so,
/// must be waited for.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct ForegroundWaits {
    shown: BTreeMap<Life, BTreeMap<Arc<str>, Arc<[OwnerReference]>>>,
}

impl Property for ForegroundWaits {
    fn name(&self) -> &'static str {
        "foreground-waits"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if note.body.get::<Processed>().is_some() {
            return None;
        }
        let Some(EndsForeground { owner }) = note.body.get() else {
            return Some(Check::Idle);
        };
        let shown = self.shown.get(&life(world, note));
        let blocks = |own: &OwnerReference| own.uid == owner.uid && own.blocks();
        let is_shown = |uid: &str| {
            let owners = shown.and_then(|shown| shown.get(uid));
            owners.is_some_and(|owners| owners.iter().any(blocks))
        };
        // What is gone by now, or has let go, blocks nobody, whether that is shown or not.
        let everything = Keys::Prefix("/".into());
        let mut stored = ClusterView(world).store().iter(&everything);
        let blocking = stored.find(|kv| {
            let owners = owner_references(kv.value.json());
            owners.iter().any(blocks) && is_shown(kv.value.uid())
        });
        Some(match blocking {
            None => Check::Held,
            Some(kv) => {
                let (key, other) = (&owner.key, kv.value.name());
                let message = format!("{key} goes, although {other} blocks it");
                violated("owner", key, message)
            }
        })
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let Some(Processed { uid, owners }) = note.body.get() else {
            return self.glance(world, note).unwrap_or(Check::Idle);
        };
        let own = life(world, note);
        self.shown.retain(|life, _| life.0 != own.0 || *life == own);
        let shown = self.shown.entry(own).or_default();
        match owners {
            // Only who has owners can block one.
            Some(owners) if !owners.is_empty() => {
                shown.insert(uid.clone(), owners.clone());
            }
            _ => {
                shown.remove(uid);
            }
        }
        Check::Idle
    }
}

/// Those who still refer to an owner that orphans them, as the collector that does it knows them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct OrphansAreReleased {
    left: BTreeMap<(Life, Arc<str>), BTreeSet<Arc<str>>>,
}

fn refers_to(object: &Object, owner: &str) -> bool {
    let mut owners = owner_references(object.json()).to_vec().into_iter();
    owners.any(|reference| *reference.uid == *owner)
}

/// The UIDs of all that refer to an owner now.
fn dependents(world: &World, owner: &str) -> BTreeSet<Arc<str>> {
    let everything = Keys::Prefix("/".into());
    let all = ClusterView(world).store().iter(&everything);
    let all = all.map(|kv| &kv.value).filter(|own| refers_to(own, owner));
    all.map(|own| own.uid().into()).collect()
}

impl Property for OrphansAreReleased {
    fn name(&self) -> &'static str {
        "orphans-are-released"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if note.body.get::<Orphans>().is_some() {
            return None;
        }
        if let Some(EndsOrphaning { owner }) = note.body.get() {
            let left = self.left.get(&(life(world, note), owner.uid.clone()));
            let mut left = left.into_iter().flatten();
            return Some(match left.next() {
                None => Check::Held,
                Some(uid) => {
                    let key = &owner.key;
                    let message = format!("{key} orphans, and {uid} still refers to it");
                    violated("owner", key, message)
                }
            });
        }
        let concerned = all_changes(note).iter().any(|change| {
            let before = change.before.as_ref().map(|before| before.value.uid());
            before.is_some_and(|uid| self.left.values().any(|left| left.contains(uid)))
        });
        (!concerned).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(Orphans {
            owner,
            dependents: known,
        }) = note.body.get()
        {
            let mut left = dependents(world, &owner.uid);
            left.retain(|uid| known.iter().any(|own| own.uid == *uid));
            let own = life(world, note);
            self.left
                .retain(|(life, _), _| life.0 != own.0 || *life == own);
            self.left.insert((own, owner.uid.clone()), left);
        }
        for change in all_changes(note) {
            let Some(before) = change.before.as_ref().map(|before| &before.value) else {
                continue;
            };
            let now = change.now.as_ref().map(|now| &now.value);
            for ((_, owner), left) in &mut self.left {
                let stays =
                    now.is_some_and(|now| now.uid() == before.uid() && refers_to(now, owner));
                if !stays {
                    left.remove(before.uid());
                }
            }
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}

/// `graph-keeps-what-is-there`
pub(super) fn is_gone(world: &World, note: &Note) -> Check {
    let Some(Forgets(object)) = note.body.get() else {
        return Check::Idle;
    };
    let everything = Keys::Prefix("/".into());
    let mut stored = ClusterView(world).store().iter(&everything);
    match stored.any(|kv| kv.value.uid() == &*object.uid) {
        false => Check::Held,
        true => {
            let message = format!("{} passes for gone, and is there", object.key);
            violated("object", &object.key, message)
        }
    }
}

/// `finalizers-go-from-their-owner`
pub(super) fn is_of_owner(_: &World, note: &Note) -> Check {
    let Some(TakesFinalizer { of, is_another }) = note.body.get() else {
        return Check::Idle;
    };
    let key = &of.key;
    match is_another {
        false => Check::Held,
        true => violated(
            "owner",
            key,
            format!("the finalizer of {key} is taken from another object of that name"),
        ),
    }
}
