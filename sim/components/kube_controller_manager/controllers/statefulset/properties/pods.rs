//! Which pods are made and deleted.

use std::collections::BTreeSet;
use std::sync::Arc;

use wavetank_api::kinds::{CONTROLLER_REVISIONS, PODS, STATEFUL_SETS};
use wavetank_api::{Object, json};
use wavetank_engine::{Check, Note, Property, World};
use wavetank_etcd::{Change, Committed};

use super::super::notes::{AsksToDeletePod, DeletesPod, MakesPod, StatusIsInvalid, Why};
use super::super::util::is_running_and_ready;
use crate::controller_utils::{equal_revision, get_controller_of, pod_key};
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// The changes of pods in a commit.
fn changes(note: &Note) -> impl Iterator<Item = &Change<Object>> {
    let commit = note.body.get::<Committed<Object>>();
    let all = commit.into_iter().flat_map(|commit| commit.changes.iter());
    all.filter(|change| {
        let rest = change.key.strip_prefix(PODS.registry);
        rest.is_some_and(|rest| rest.starts_with('/'))
    })
}

/// The UIDs of pods that a commit makes ready, or shows to be.
fn ready_pods(note: &Note) -> impl Iterator<Item = &str> {
    let pods = changes(note).filter_map(|change| Some(&change.now.as_ref()?.value));
    pods.filter(|pod| is_running_and_ready(pod.json()))
        .map(Object::uid)
}

/// The pods that have ever been ready.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct OrderedPodsWait {
    ready: BTreeSet<Arc<str>>,
}

impl Property for OrderedPodsWait {
    fn name(&self) -> &'static str {
        "ordered-pods-wait"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        if ready_pods(note).any(|uid| !self.ready.contains(uid)) {
            return None;
        }
        let Some(MakesPod { pod, before, .. }) = note.body.get() else {
            return Some(Check::Idle);
        };
        let mut before = before.iter().flat_map(|own| own.iter());
        Some(match before.all(|uid| self.ready.contains(uid)) {
            true => Check::Held,
            false => {
                let message = format!("the pod {pod} is made, and one before it never was ready");
                violated("pod", pod, message)
            }
        })
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        self.ready.extend(ready_pods(note).map(Arc::from));
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}

/// The pods whose deletion somebody asked for, by their UIDs.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct DeletedPodsWereSeen {
    asked: BTreeSet<Arc<str>>,
}

/// A pod that begins to go in a commit, if it is one of a set that stays: others the garbage collector takes.
fn going<'a>(world: &World, change: &'a Change<Object>) -> Option<&'a Object> {
    let before = &change.before.as_ref()?.value;
    let goes = change
        .now
        .as_ref()
        .is_none_or(|now| now.value.is_being_deleted());
    let owner = get_controller_of(before.json())?;
    let name = json::text(owner, &["name"]);
    let set = ClusterView(world).get(&STATEFUL_SETS.key(before.namespace(), name))?;
    let stays = owner["uid"] == *set.value.uid() && !set.value.is_being_deleted();
    (goes && stays && !before.is_being_deleted()).then_some(before)
}

impl Property for DeletedPodsWereSeen {
    fn name(&self) -> &'static str {
        "deleted-pods-were-seen"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        let body = &note.body;
        if body.get::<DeletesPod>().is_some() || body.get::<AsksToDeletePod>().is_some() {
            return None;
        }
        let mut checked = Check::Idle;
        for pod in changes(note).filter_map(|change| going(world, change)) {
            let (key, uid) = (pod_key(pod), pod.uid());
            if !self.asked.contains(uid) {
                let message =
                    format!("the pod {key} goes, and nobody asked for that who saw {uid}");
                return Some(violated("pod", &key, message));
            }
            checked = Check::Held;
        }
        Some(checked)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let by_controller = note.body.get().map(|DeletesPod { uid, .. }| uid);
        let by_user = || note.body.get().map(|AsksToDeletePod(uid)| uid);
        self.asked.extend(by_controller.or_else(by_user).cloned());
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}

/// `unchanged-pods-are-kept`
pub(super) fn has_changed(world: &World, note: &Note) -> Check {
    let Some(deleted) = note.body.get::<DeletesPod>() else {
        return Check::Idle;
    };
    let (namespace, _) = deleted.pod.split_once('/').unwrap_or_default();
    let stored = |name: &str| ClusterView(world).get(&CONTROLLER_REVISIONS.key(namespace, name));
    let both = (stored(&deleted.revision), stored(&deleted.update_revision));
    let (Why::Update, (Some(own), Some(update))) = (deleted.why, both) else {
        return Check::Idle;
    };
    if !equal_revision(own.value.json(), update.value.json()) {
        return Check::Held;
    }
    let DeletesPod {
        pod,
        revision,
        update_revision,
        ..
    } = deleted;
    let message =
        format!("the pod {pod} goes for {update_revision}, which is the same as {revision}");
    violated("pod", pod, message)
}

/// `stateful-status-is-valid`
pub(super) fn status_is_valid(_: &World, note: &Note) -> Check {
    if let Some(StatusIsInvalid { set, why }) = note.body.get() {
        return violated("set", set, format!("the status of {set} is refused: {why}"));
    }
    match note.body.get::<DeletesPod>() {
        Some(_) => Check::Held,
        None => Check::Idle,
    }
}
