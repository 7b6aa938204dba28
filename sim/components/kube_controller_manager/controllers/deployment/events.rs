//! What wakes the controller up (handlers of `pkg/controller/deployment/deployment_controller.go`): a Deployment changes,
//! or a ReplicaSet does that it controls or could adopt; and the last pod of one that recreates its pods goes.

use std::sync::Arc;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::deployments::label_selector_as_selector;
use wavetank_api::kinds::{DEPLOYMENTS, PODS, REPLICA_SETS};
use wavetank_api::{Object, Stored};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_engine::{NotState, Rx};

use super::controller::{CONTROLLER, QUEUE};
use crate::controller::ControllerContext;
use crate::controller_utils::{
    POD_CONTROLLER_INDEX, filter_pods_by_owner, get_controller_of, is_controlled_by, pod_key,
};

/// The handlers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Events {
    pub deployments: Lister,
    pub sets: Lister,
    pub pods: Lister,
}

fn enqueue(rx: Rx, deployment: &Object) {
    QUEUE.add(rx, pod_key(deployment));
}

impl Events {
    /// Adds them at the informers, and the index of pods.
    pub fn add_event_handlers(self, cx: &mut ControllerContext) {
        let mut deployments = cx.informers.informer_for(&DEPLOYMENTS);
        deployments.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(|rx, _, notice| QUEUE.add(rx, notice.key()))),
            ..HandlerSpec::new(CONTROLLER)
        });
        let mut sets = cx.informers.informer_for(&REPLICA_SETS);
        sets.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| self.set(rx, notice))),
            ..HandlerSpec::new(CONTROLLER)
        });
        let mut pods = cx.informers.informer_for(&PODS);
        pods.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| {
                if let Notice::Deleted(gone) = notice
                    && let Some(last) = &gone.last
                {
                    self.delete_pod(rx, &last.object);
                }
            })),
            ..HandlerSpec::new(CONTROLLER)
        });
        pods.add_indexers(&[POD_CONTROLLER_INDEX]);
    }

    fn set(self, rx: Rx, notice: &Notice) {
        match notice {
            Notice::Added { new, .. } => self.add_replica_set(rx, &new.object),
            Notice::Updated { old, new } => self.update_replica_set(rx, old, new),
            Notice::Deleted(gone) => {
                if let Some(last) = &gone.last {
                    self.enqueue_controller(rx, &last.object);
                }
            }
        }
    }

    /// `addReplicaSet`
    fn add_replica_set(self, rx: Rx, set: &Object) {
        let is_owned = get_controller_of(set.json()).is_some();
        match set.is_being_deleted() || is_owned {
            true => self.enqueue_controller(rx, set),
            false => self.enqueue_matching(rx, set),
        }
    }

    /// `updateReplicaSet`
    fn update_replica_set(self, rx: Rx, old: &Stored, new: &Stored) {
        if old.resource_version == new.resource_version {
            return;
        }
        let (old, new) = (&old.object, &new.object);
        let (was, is) = (get_controller_of(old.json()), get_controller_of(new.json()));
        if was.is_some() && was != is {
            self.enqueue_controller(rx, old);
        }
        if is.is_some() {
            return self.enqueue_controller(rx, new);
        }
        let labels = |set: &Object| json::at(set.json(), &["metadata", "labels"]).cloned();
        if was.is_some() || labels(old) != labels(new) {
            self.enqueue_matching(rx, new);
        }
    }

    /// Upstream's `deleteReplicaSet`, and what others do with a set that has a controller.
    fn enqueue_controller(self, rx: Rx, set: &Object) {
        if let Some(deployment) = self.resolve_controller_ref(rx, set) {
            enqueue(rx, &deployment.object);
        }
    }

    /// Upstream's `getDeploymentsForReplicaSet`: those that could adopt a set.
    fn enqueue_matching(self, rx: Rx, set: &Object) {
        for deployment in self.deployments.list(rx) {
            let object = &deployment.object;
            let selector = json::at(object.json(), &["spec", "selector"]);
            let selector = selector.and_then(label_selector_as_selector);
            let selects = selector.is_some_and(|own| !own.0.is_empty() && own.matches(set.json()));
            if object.namespace() == set.namespace() && selects {
                enqueue(rx, object);
            }
        }
    }

    /// `deletePod`: of a Deployment that recreates its pods, once none is left.
    fn delete_pod(self, rx: Rx, pod: &Object) {
        let Some(deployment) = self.get_deployment_for_pod(rx, pod) else {
            return;
        };
        let object = &deployment.object;
        if json::text(object.json(), &["spec", "strategy", "type"]) != "Recreate" {
            return;
        }
        let sets = self.sets.list(rx).into_iter();
        let mut own = sets.filter(|set| is_controlled_by(set.object.json(), object.uid()));
        let kind = REPLICA_SETS.kind;
        if own.all(|set| filter_pods_by_owner(rx, self.pods, &set.object, kind, false).is_empty()) {
            enqueue(rx, object);
        }
    }

    /// `getDeploymentForPod`
    fn get_deployment_for_pod(self, rx: Rx, pod: &Object) -> Option<Stored> {
        let reference = get_controller_of(pod.json())?;
        let set = resolve(rx, self.sets, REPLICA_SETS.kind, pod.namespace(), reference)?;
        self.resolve_controller_ref(rx, &set.object)
    }

    /// `resolveControllerRef`, of a set.
    fn resolve_controller_ref(self, rx: Rx, set: &Object) -> Option<Stored> {
        let reference = get_controller_of(set.json())?;
        let kind = DEPLOYMENTS.kind;
        resolve(rx, self.deployments, kind, set.namespace(), reference)
    }
}

/// The object of this kind that a reference names, if it is still the same.
fn resolve(rx: Rx, of: Lister, kind: &str, namespace: &str, reference: &Json) -> Option<Stored> {
    let name = json::text(reference, &["name"]);
    let found = of.get(rx, &format!("{namespace}/{name}"));
    let found = found.filter(|_| reference["kind"] == *kind)?;
    (reference["uid"] == *found.object.uid()).then_some(found)
}
