//! What wakes the controller up (handlers of `pkg/controller/replicaset/replica_set.go`): an object of its own kind
//! changes, or a pod does that it controls or could adopt.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::PODS;
use wavetank_api::{Object, Stored};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_engine::{NotState, Rx, mutant};
use wavetank_version::Set;

use super::defects::ReplicaSetDefect;
use super::kind::Kind;
use crate::controller::ControllerContext;
use crate::controller_utils::{
    ConsistencyStore, POD_CONTROLLER_INDEX, get_controller_of, is_pod_ready, pod_key,
};

/// The handlers of a controller.
#[derive(Clone, Debug)]
pub(super) struct Events {
    pub kind: Kind,
    pub defects: Set<ReplicaSetDefect>,
    pub sets: Lister,
    pub consistency: ConsistencyStore,
}

impl Events {
    /// Adds them at the informers, and the index of pods.
    pub fn add_event_handlers(self, cx: &mut ControllerContext) {
        let (own, kind) = (Arc::new(self.clone()), self.kind);
        let mut sets = cx.informers.informer_for(kind.resource());
        sets.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| own.set(rx, notice))),
            ..HandlerSpec::new(kind.controller())
        });
        let own = Arc::new(self);
        let mut pods = cx.informers.informer_for(&PODS);
        pods.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| own.pod(rx, notice))),
            ..HandlerSpec::new(kind.controller())
        });
        pods.add_indexers(&[POD_CONTROLLER_INDEX]);
    }

    fn set(&self, rx: Rx, notice: &Notice) {
        match notice {
            Notice::Added { new, .. } => self.enqueue(rx, &new.object),
            Notice::Updated { old, new } => self.update_set(rx, old, new),
            Notice::Deleted(gone) => {
                if let Some(last) = &gone.last {
                    self.delete_set(rx, &last.object);
                }
            }
        }
    }

    /// Upstream's `enqueueRS`
    fn enqueue(&self, rx: Rx, set: &Object) {
        self.kind.queue().add(rx, pod_key(set));
    }

    /// Upstream's `updateRS`
    fn update_set(&self, rx: Rx, old: &Stored, new: &Stored) {
        if old.object.uid() != new.object.uid() {
            self.delete_set(rx, &old.object);
        }
        self.enqueue(rx, &new.object);
    }

    /// Upstream's `deleteRS`
    fn delete_set(&self, rx: Rx, set: &Object) {
        let key = pod_key(set);
        self.consistency.clear(rx, &key, Some(set.uid()));
        self.kind.expectations().delete_expectations(rx, &key);
        self.kind.queue().add(rx, key);
    }

    fn pod(&self, rx: Rx, notice: &Notice) {
        match notice {
            Notice::Added { new, .. } => self.add_pod(rx, &new.object),
            Notice::Updated { old, new } => self.update_pod(rx, old, new),
            Notice::Deleted(gone) => {
                if let Some(last) = &gone.last {
                    self.delete_pod(rx, &last.object);
                }
            }
        }
    }

    /// `addPod`
    fn add_pod(&self, rx: Rx, pod: &Object) {
        if pod.is_being_deleted() {
            return self.delete_pod(rx, pod);
        }
        if let Some(reference) = get_controller_of(pod.json()) {
            if let Some(set) = self.resolve_controller_ref(rx, pod.namespace(), reference) {
                let key = pod_key(&set.object);
                if !mutant!(
                    "creation-is-not-observed",
                    "a controller does not count the pods that it made as seen"
                ) {
                    self.kind.expectations().creation_observed(rx, &key);
                }
                self.kind.queue().add(rx, key);
            }
            return;
        }
        self.enqueue_matching(rx, pod);
    }

    /// `updatePod`
    fn update_pod(&self, rx: Rx, old: &Stored, new: &Stored) {
        if old.resource_version == new.resource_version {
            return;
        }
        let (old, new) = (&old.object, &new.object);
        let labels = |pod: &Object| json::at(pod.json(), &["metadata", "labels"]).cloned();
        let label_changed = labels(old) != labels(new);
        if new.is_being_deleted() {
            self.delete_pod(rx, new);
            if label_changed {
                self.delete_pod(rx, old);
            }
            return;
        }
        let (was, is) = (get_controller_of(old.json()), get_controller_of(new.json()));
        if let Some(was) = was.filter(|was| is != Some(*was))
            && let Some(set) = self.resolve_controller_ref(rx, old.namespace(), was)
            && !mutant!(
                "lost-pod-is-not-told",
                "a set does not hear that it has lost a pod"
            )
        {
            self.enqueue(rx, &set.object);
        }
        if let Some(is) = is {
            if let Some(set) = self.resolve_controller_ref(rx, new.namespace(), is) {
                self.enqueue(rx, &set.object);
                self.enqueue_once_available(rx, old, new, &set.object);
            }
            return;
        }
        if (label_changed || was.is_some())
            && !mutant!(
                "relabelled-orphan-is-not-told",
                "a pod that is relabelled wakes no set that selects it"
            )
        {
            self.enqueue_matching(rx, new);
        }
    }

    /// A pod that became ready is looked at once more when it is available.
    fn enqueue_once_available(&self, rx: Rx, old: &Object, new: &Object, set: &Object) {
        let min_ready = json::number(set.json(), &["spec", "minReadySeconds"]).unwrap_or(0);
        let is_ready = |pod: &Object| is_pod_ready(pod.json()).is_some();
        if min_ready > 0 && is_ready(new) && !is_ready(old) {
            let after = Duration::from_secs(min_ready.unsigned_abs());
            self.kind.queue().add_after(rx, pod_key(set), after);
        }
    }

    /// `deletePod`: a pod is gone, or marked as going.
    fn delete_pod(&self, rx: Rx, pod: &Object) {
        let Some(reference) = get_controller_of(pod.json()) else {
            return;
        };
        if let Some(set) = self.resolve_controller_ref(rx, pod.namespace(), reference) {
            let key = pod_key(&set.object);
            let expectations = self.kind.expectations();
            let unseen = mutant!(
                "deletion-is-not-observed",
                "a controller does not count the pods that it deleted as gone"
            );
            let expected = !unseen && expectations.deletion_observed(rx, &key, &pod_key(pod));
            if !expected && self.defects.has(ReplicaSetDefect::DeletionsCountTwice) {
                expectations.lower_deletions(rx, &key);
            }
            self.kind.queue().add(rx, key);
        }
    }

    /// `resolveControllerRef`
    fn resolve_controller_ref(&self, rx: Rx, namespace: &str, reference: &Json) -> Option<Stored> {
        if reference["kind"] != *self.kind.resource().kind {
            return None;
        }
        let name = json::text(reference, &["name"]);
        let set = self.sets.get(rx, &format!("{namespace}/{name}"))?;
        let is_it = reference["uid"] == *set.object.uid()
            || mutant!(
                "reference-by-name",
                "a pod belongs to the set that has the name of its owner by now"
            );
        is_it.then_some(set)
    }

    /// Upstream's `getPodReplicaSets`, and what is done with them: those that could adopt an orphan.
    fn enqueue_matching(&self, rx: Rx, pod: &Object) {
        for set in self.sets.list(rx) {
            let is_near = set.object.namespace() == pod.namespace();
            let selector = self.kind.selector(set.object.json());
            let selects = selector.is_some_and(|own| !own.0.is_empty() && own.matches(pod.json()));
            if is_near && selects {
                self.enqueue(rx, &set.object);
            }
        }
    }
}
