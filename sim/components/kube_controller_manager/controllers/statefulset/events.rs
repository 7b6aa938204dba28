//! What wakes the controller up (handlers of `pkg/controller/statefulset/stateful_set.go`): a set changes, or a pod does
//! that a set controls or could adopt.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::deployments::label_selector_as_selector;
use wavetank_api::kinds::{PODS, STATEFUL_SETS};
use wavetank_api::{Object, Stored};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_engine::{NotState, Rx};
use wavetank_version::Set;

use super::controller::{CONTROLLER, QUEUE};
use super::defects::StatefulSetDefect;
use super::util::of_spec;
use crate::controller::ControllerContext;
use crate::controller_utils::{POD_CONTROLLER_INDEX, get_controller_of, is_pod_ready, pod_key};

/// The handlers of the controller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Events {
    pub sets: Lister,
    pub defects: Set<StatefulSetDefect>,
}

impl Events {
    /// Adds them at the informers, and the index of pods.
    pub fn add_event_handlers(self, cx: &mut ControllerContext) {
        let mut sets = cx.informers.informer_for(&STATEFUL_SETS);
        sets.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| match notice {
                Notice::Added { new, .. } | Notice::Updated { new, .. } => {
                    self.enqueue(rx, &new.object);
                }
                Notice::Deleted(gone) => {
                    if let Some(last) = &gone.last {
                        self.enqueue(rx, &last.object);
                    }
                }
            })),
            ..HandlerSpec::new(CONTROLLER)
        });
        let mut pods = cx.informers.informer_for(&PODS);
        pods.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| self.pod(rx, notice))),
            ..HandlerSpec::new(CONTROLLER)
        });
        pods.add_indexers(&[POD_CONTROLLER_INDEX]);
    }

    /// Upstream's `enqueueStatefulSet`
    fn enqueue(self, rx: Rx, set: &Object) {
        QUEUE.add(rx, pod_key(set));
    }

    fn pod(self, rx: Rx, notice: &Notice) {
        match notice {
            Notice::Added { new, .. } => self.add_pod(rx, &new.object),
            Notice::Updated { old, new } => self.update_pod(rx, old, new),
            Notice::Deleted(gone) => {
                if let Some(last) = &gone.last {
                    self.delete_pod(rx, &last.object);
                    self.tell_successor(rx, &last.object);
                }
            }
        }
    }

    /// `addPod`
    fn add_pod(self, rx: Rx, pod: &Object) {
        if pod.is_being_deleted() || get_controller_of(pod.json()).is_some() {
            return self.delete_pod(rx, pod);
        }
        self.enqueue_matching(rx, pod);
    }

    /// `updatePod`
    fn update_pod(self, rx: Rx, old: &Stored, new: &Stored) {
        if old.resource_version == new.resource_version {
            return;
        }
        let (old, new) = (&old.object, &new.object);
        let labels = |pod: &Object| json::at(pod.json(), &["metadata", "labels"]).cloned();
        let (was, is) = (get_controller_of(old.json()), get_controller_of(new.json()));
        if let Some(was) = was.filter(|was| is != Some(*was))
            && let Some(set) = self.resolve_controller_ref(rx, old.namespace(), was)
        {
            self.enqueue(rx, &set.object);
        }
        if let Some(is) = is {
            if let Some(set) = self.resolve_controller_ref(rx, new.namespace(), is) {
                self.enqueue(rx, &set.object);
                enqueue_once_available(rx, old, new, &set.object);
            }
            return;
        }
        if labels(old) != labels(new) || was.is_some() {
            self.enqueue_matching(rx, new);
        }
    }

    /// `deletePod`, and `addPod` of one that has a controller.
    fn delete_pod(self, rx: Rx, pod: &Object) {
        if let Some(reference) = get_controller_of(pod.json())
            && let Some(set) = self.resolve_controller_ref(rx, pod.namespace(), reference)
        {
            self.enqueue(rx, &set.object);
        }
    }

    /// Our proposal: a set that has the name of the one that a pod was of may wait for its name.
    fn tell_successor(self, rx: Rx, pod: &Object) {
        let Some(reference) = get_controller_of(pod.json()) else {
            return;
        };
        let name = json::text(reference, &["name"]);
        let set = self.sets.get(rx, &format!("{}/{name}", pod.namespace()));
        if let Some(set) = set
            && reference["kind"] == *STATEFUL_SETS.kind
            && reference["uid"] != *set.object.uid()
            && self
                .defects
                .has(StatefulSetDefect::FixNamesThatAreFreeAreTold)
        {
            self.enqueue(rx, &set.object);
        }
    }

    /// `resolveControllerRef`
    fn resolve_controller_ref(self, rx: Rx, namespace: &str, reference: &Json) -> Option<Stored> {
        if reference["kind"] != *STATEFUL_SETS.kind {
            return None;
        }
        let name = json::text(reference, &["name"]);
        let set = self.sets.get(rx, &format!("{namespace}/{name}"))?;
        (reference["uid"] == *set.object.uid()).then_some(set)
    }

    /// Upstream's `getStatefulSetsForPod`, and what is done with them.
    fn enqueue_matching(self, rx: Rx, pod: &Object) {
        for set in self.sets.list(rx) {
            let is_near = set.object.namespace() == pod.namespace();
            let selector = json::at(set.object.json(), &["spec", "selector"]);
            let selector = selector.and_then(label_selector_as_selector);
            let selects = selector.is_some_and(|own| !own.0.is_empty() && own.matches(pod.json()));
            if is_near && selects {
                self.enqueue(rx, &set.object);
            }
        }
    }
}

/// A set of which a pod became ready is looked at once more when that is available.
fn enqueue_once_available(rx: Rx, old: &Object, new: &Object, set: &Object) {
    let min_ready = of_spec(set.json(), "minReadySeconds");
    let is_ready = |pod: &Object| is_pod_ready(pod.json()).is_some();
    if min_ready > 0 && is_ready(new) && !is_ready(old) {
        let after = Duration::from_secs(min_ready.unsigned_abs());
        QUEUE.add_after(rx, pod_key(set), after);
    }
}
