//! What wakes the controller up (handlers of `pkg/controller/daemon/daemon_controller.go`): a set changes, a pod or a revision
//! does that a set controls or could adopt, or a node comes or has other labels or taints.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::deployments::label_selector_as_selector;
use wavetank_api::kinds::{CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS};
use wavetank_api::{Object, Stored};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_engine::{NotState, Rx};

use super::controller::{CONTROLLER, EXPECTATIONS, NODE_UPDATE_QUEUE, QUEUE};
use super::util::of_spec;
use crate::controller::ControllerContext;
use crate::controller_utils::{
    ConsistencyStore, POD_CONTROLLER_INDEX, POD_NODE_NAME_INDEX, get_controller_of, is_pod_ready,
    pod_key,
};

/// The handlers of the controller.
#[derive(Clone, Debug)]
pub(super) struct Events {
    pub sets: Lister,
    pub consistency: ConsistencyStore,
}

fn labels(object: &Object) -> Option<&Json> {
    json::at(object.json(), &["metadata", "labels"])
}

impl Events {
    /// Adds them at the informers, and the indexes of pods.
    pub fn add_event_handlers(self, cx: &mut ControllerContext) {
        let all = Arc::new(self);
        let own = all.clone();
        let mut sets = cx.informers.informer_for(&DAEMON_SETS);
        sets.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| own.set(rx, notice))),
            ..HandlerSpec::new(CONTROLLER)
        });
        let own = all.clone();
        let mut revisions = cx.informers.informer_for(&CONTROLLER_REVISIONS);
        revisions.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| own.history(rx, notice))),
            ..HandlerSpec::new(CONTROLLER)
        });
        let own = all;
        let mut pods = cx.informers.informer_for(&PODS);
        pods.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| own.pod(rx, notice))),
            ..HandlerSpec::new(CONTROLLER)
        });
        pods.add_indexers(&[POD_CONTROLLER_INDEX, POD_NODE_NAME_INDEX]);
        let mut nodes = cx.informers.informer_for(&NODES);
        nodes.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| match notice {
                // `addNode`
                Notice::Added { new, .. } => NODE_UPDATE_QUEUE.add(rx, new.object.name().into()),
                // `updateNode`
                Notice::Updated { old, new } if !should_ignore_node_update(old, new) => {
                    NODE_UPDATE_QUEUE.add(rx, new.object.name().into());
                }
                _ => {}
            })),
            ..HandlerSpec::new(CONTROLLER)
        });
    }

    fn set(&self, rx: Rx, notice: &Notice) {
        match notice {
            Notice::Added { new, .. } => enqueue(rx, &new.object),
            // `updateDaemonset`, which upstream calls with the old set as the new one: of a set that was made anew it forgets what
            // is known of the new one.
            Notice::Updated { old, new } => {
                if old.object.uid() != new.object.uid() {
                    self.delete_daemonset(rx, &new.object);
                }
                enqueue(rx, &old.object);
            }
            Notice::Deleted(gone) => {
                if let Some(last) = &gone.last {
                    self.delete_daemonset(rx, &last.object);
                }
            }
        }
    }

    /// `deleteDaemonset`
    fn delete_daemonset(&self, rx: Rx, set: &Object) {
        let key = pod_key(set);
        self.consistency.clear(rx, &key, Some(set.uid()));
        EXPECTATIONS.delete_expectations(rx, &key);
        QUEUE.add(rx, key);
    }

    fn history(&self, rx: Rx, notice: &Notice) {
        match notice {
            Notice::Added { new, .. } => self.add_history(rx, &new.object),
            Notice::Updated { old, new } => self.update_history(rx, old, new),
            Notice::Deleted(gone) => {
                if let Some(last) = &gone.last {
                    self.delete_history(rx, &last.object);
                }
            }
        }
    }

    /// `addHistory`
    fn add_history(&self, rx: Rx, history: &Object) {
        if history.is_being_deleted() {
            self.delete_history(rx, history);
        } else if get_controller_of(history.json()).is_none() {
            self.enqueue_matching(rx, history);
        }
    }

    /// `updateHistory`
    fn update_history(&self, rx: Rx, old: &Stored, new: &Stored) {
        if old.resource_version == new.resource_version {
            return;
        }
        let (old, new) = (&old.object, &new.object);
        let (was, is) = (get_controller_of(old.json()), get_controller_of(new.json()));
        self.enqueue_former(rx, old, new);
        match is {
            Some(_) => self.delete_history(rx, new),
            None if labels(old) != labels(new) || was.is_some() => self.enqueue_matching(rx, new),
            None => {}
        }
    }

    /// `deleteHistory`, and what is done with one that has a controller.
    fn delete_history(&self, rx: Rx, history: &Object) {
        if let Some(set) = self.controller_of(rx, history) {
            enqueue(rx, &set.object);
        }
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
        if get_controller_of(pod.json()).is_none() {
            return self.enqueue_matching(rx, pod);
        }
        if let Some(set) = self.controller_of(rx, pod) {
            EXPECTATIONS.creation_observed(rx, &pod_key(&set.object));
            enqueue(rx, &set.object);
        }
    }

    /// `updatePod`
    fn update_pod(&self, rx: Rx, old: &Stored, new: &Stored) {
        if old.resource_version == new.resource_version {
            return;
        }
        let (old, new) = (&old.object, &new.object);
        if new.is_being_deleted() {
            return self.delete_pod(rx, new);
        }
        self.enqueue_former(rx, old, new);
        let was = get_controller_of(old.json());
        if get_controller_of(new.json()).is_some() {
            let Some(set) = self.controller_of(rx, new) else {
                return;
            };
            enqueue(rx, &set.object);
            let became_ready =
                is_pod_ready(old.json()).is_none() && is_pod_ready(new.json()).is_some();
            let min_ready = of_spec(set.object.json(), "minReadySeconds");
            if became_ready && min_ready > 0 {
                let after = Duration::from_secs(min_ready.unsigned_abs() + 1);
                QUEUE.add_after(rx, pod_key(&set.object), after);
            }
        } else if labels(old) != labels(new) || was.is_some() {
            self.enqueue_matching(rx, new);
        }
    }

    /// `deletePod`: a pod is gone, or marked as going. It is counted both times.
    fn delete_pod(&self, rx: Rx, pod: &Object) {
        if let Some(set) = self.controller_of(rx, pod) {
            EXPECTATIONS.lower_deletions(rx, &pod_key(&set.object));
            enqueue(rx, &set.object);
        }
    }

    /// Who had it, if somebody else has it now.
    fn enqueue_former(&self, rx: Rx, old: &Object, new: &Object) {
        let (was, is) = (get_controller_of(old.json()), get_controller_of(new.json()));
        if was.is_some()
            && was != is
            && let Some(set) = self.controller_of(rx, old)
        {
            enqueue(rx, &set.object);
        }
    }

    /// Upstream's `resolveControllerRef`, of an object.
    fn controller_of(&self, rx: Rx, object: &Object) -> Option<Stored> {
        let reference = get_controller_of(object.json())?;
        if reference["kind"] != *DAEMON_SETS.kind {
            return None;
        }
        let name = json::text(reference, &["name"]);
        let set = self
            .sets
            .get(rx, &format!("{}/{name}", object.namespace()))?;
        (reference["uid"] == *set.object.uid()).then_some(set)
    }

    /// Upstream's `getDaemonSetsForPod`, `getDaemonSetsForHistory`, and what is done with them.
    fn enqueue_matching(&self, rx: Rx, object: &Object) {
        for set in self.sets.list(rx) {
            let is_near = set.object.namespace() == object.namespace();
            let selector = json::at(set.object.json(), &["spec", "selector"]);
            let selector = selector.and_then(label_selector_as_selector);
            let selects =
                selector.is_some_and(|own| !own.0.is_empty() && own.matches(object.json()));
            if is_near && selects {
                enqueue(rx, &set.object);
            }
        }
    }
}

/// `enqueue`
fn enqueue(rx: Rx, set: &Object) {
    QUEUE.add(rx, pod_key(set));
}

/// `shouldIgnoreNodeUpdate`
fn should_ignore_node_update(old: &Stored, new: &Stored) -> bool {
    let taints = |node: &Stored| json::list(node.object.json(), &["spec", "taints"]).to_vec();
    labels(&old.object) == labels(&new.object) && taints(old) == taints(new)
}
