//! Who may own a pod.

use std::collections::BTreeSet;
use std::sync::Arc;

use wavetank_api::Object;
use wavetank_api::kinds::PODS;
use wavetank_client::workqueue::Item;
use wavetank_engine::{Check, Note, Property, World};
use wavetank_etcd::{Change, Keys};

use super::super::kind::Kind;
use super::controller_uid;
use crate::controller_utils::{Claims, pod_key};
use wavetank_components::changes::all_changes;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// A pod that stays, before a change and after it.
fn pod_of(change: &Change<Object>) -> Option<(&Object, &Object)> {
    let rest = change.key.strip_prefix(PODS.registry)?;
    let (before, now) = (change.before.as_ref()?, change.now.as_ref()?);
    rest.starts_with('/').then_some((&before.value, &now.value))
}

/// A pod that a change gives a controller, and the UID of that.
pub(super) fn adopted(change: &Change<Object>) -> Option<(&Object, &str)> {
    let (before, now) = pod_of(change)?;
    let was_free = controller_uid(before).is_none();
    controller_uid(now)
        .filter(|_| was_free)
        .map(|uid| (now, uid))
}

/// `pods-are-not-taken-away`
pub(super) fn are_not_taken_away(_: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for (before, now) in all_changes(note).iter().filter_map(pod_of) {
        let (Some(was), Some(is)) = (controller_uid(before), controller_uid(now)) else {
            continue;
        };
        if was != is {
            let name = pod_key(now);
            let message = format!("the pod {name} goes from the controller {was} to {is}");
            return violated("pod", &name, message);
        }
        checked = Check::Held;
    }
    checked
}

/// Which orphans each set claimed while it was there.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct AdoptedByTheLiving {
    may: BTreeSet<(Arc<str>, Item)>,
}

/// Is the object with this UID stored, and to stay?
fn is_alive(world: &World, key: &Item, uid: &str) -> bool {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    Kind::ALL.into_iter().any(|kind| {
        let store = ClusterView(world).get(&kind.resource().key(namespace, name));
        store.is_some_and(|kv| kv.value.uid() == uid && !kv.value.is_being_deleted())
    })
}

impl Property for AdoptedByTheLiving {
    fn name(&self) -> &'static str {
        "adopted-by-the-living"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        if note.body.get::<Claims>().is_some() {
            return None;
        }
        let mut checked = Check::Idle;
        for (pod, uid) in all_changes(note).iter().filter_map(adopted) {
            let name = pod_key(pod);
            if !self.may.contains(&(uid.into(), name.clone())) {
                let message = format!("the pod {name} is adopted by {uid}, which was gone before");
                return Some(violated("pod", &name, message));
            }
            checked = Check::Held;
        }
        Some(checked)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let Some(Claims { set, uid, orphans }) = note.body.get() else {
            return self.glance(world, note).unwrap_or(Check::Idle);
        };
        if is_alive(world, set, uid) {
            let new = orphans.iter().map(|pod| (uid.clone(), pod.clone()));
            self.may.extend(new);
        }
        Check::Idle
    }
}

/// All pods of a set that count.
pub(super) fn active_of(world: &World, uid: &str) -> usize {
    let store = ClusterView(world).store();
    let prefix = Keys::Prefix(format!("{}/", PODS.registry).into());
    let pods = store.iter(&prefix).map(|kv| &kv.value);
    let own = pods.filter(|pod| controller_uid(pod) == Some(uid));
    own.filter(|pod| crate::controller_utils::is_pod_active(pod.json()))
        .count()
}
