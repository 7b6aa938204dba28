//! Which pods are made and deleted.

use std::collections::BTreeSet;
use std::sync::Arc;
use wavetank_components::changes::changes;

use wavetank_api::Object;
use wavetank_api::kinds::{CONTROLLER_REVISIONS, PODS, STATEFUL_SETS};
use wavetank_engine::{Check, Note, Property, World};

use super::super::notes::{AsksToDeletePod, DeletesPod, MakesPod, StatusIsInvalid, Why};
use super::super::util::is_running_and_ready;
use crate::controller_utils::equal_revision;
use crate::owners::controller_stays;
use crate::pods_were_seen::Deletions;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// The UIDs of pods that a commit makes ready, or shows to be.
fn ready_pods(note: &Note) -> impl Iterator<Item = &str> {
    let pods = changes(note, &PODS).filter_map(|change| Some(&change.now.as_ref()?.value));
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

/// Is it a pod of a set that stays? Others the garbage collector takes.
fn is_of_a_set_that_stays(world: &World, pod: &Object) -> bool {
    controller_stays(world, pod, &STATEFUL_SETS)
}

/// Who deletes a pod has seen it.
pub(super) const DELETED_PODS_WERE_SEEN: Deletions = Deletions {
    property: "deleted-pods-were-seen",
    asks: |note| {
        let by_controller = note.body.get().map(|DeletesPod { uid, .. }| uid);
        by_controller.or_else(|| note.body.get().map(|AsksToDeletePod(uid)| uid))
    },
    concerns: is_of_a_set_that_stays,
};

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
