//! What wakes the controller up (handlers of `pkg/controller/disruption/disruption.go`): a budget changes, or a pod that one
//! selects.

use std::sync::Arc;

use wavetank_api::kinds::pod_eviction::guards;
use wavetank_api::kinds::{
    DEPLOYMENTS, POD_DISRUPTION_BUDGETS, PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS,
};
use wavetank_api::{Object, Stamp, Stored, json};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_engine::{NotState, Rx};
use wavetank_version::Set;

use super::controller::{CONTROLLER, QUEUE, STALE_QUEUE};
use super::defects::DisruptionDefect;
use super::stale::non_terminating_pod_has_stale_disruption_condition;
use crate::controller::ControllerContext;
use crate::controller_utils::pod_key;

/// The handlers of the controller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Events {
    pub budgets: Lister,
    pub defects: Set<DisruptionDefect>,
}

/// What is scaled.
const SCALED: [&wavetank_api::Resource; 4] = [
    &REPLICATION_CONTROLLERS,
    &REPLICA_SETS,
    &DEPLOYMENTS,
    &STATEFUL_SETS,
];

impl Events {
    /// Adds them at the informers.
    pub fn add_event_handlers(self, cx: &mut ControllerContext) {
        let mut budgets = cx.informers.informer_for(&POD_DISRUPTION_BUDGETS);
        budgets.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(|rx, _, notice| budget(rx, notice))),
            ..HandlerSpec::new(CONTROLLER)
        });
        let mut pods = cx.informers.informer_for(&PODS);
        pods.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| self.pod(rx, notice))),
            ..HandlerSpec::new(CONTROLLER)
        });
        // Upstream looks at scales when it syncs, and hears of none.
        if self
            .defects
            .contains(DisruptionDefect::FixTellBudgetsOfScales)
        {
            for resource in SCALED {
                let mut scaled = cx.informers.informer_for(resource);
                scaled.add_event_handler(HandlerSpec {
                    on: NotState(Arc::new(move |rx, _, notice| self.scaled(rx, notice))),
                    ..HandlerSpec::new(CONTROLLER)
                });
            }
        }
    }

    fn pod(self, rx: Rx, notice: &Notice) {
        match notice {
            Notice::Added { new, .. } => self.add_pod(rx, &new.object),
            Notice::Updated { old, new } => self.update_pod(rx, old, new),
            Notice::Deleted(gone) => {
                if let Some(last) = &gone.last {
                    self.enqueue_pdb_for_pod(rx, &last.object);
                }
            }
        }
    }

    /// `addPod`
    fn add_pod(self, rx: Rx, pod: &Object) {
        self.enqueue_pdb_for_pod(rx, pod);
        let now = Stamp::of(rx.clock());
        if let Some(left) = non_terminating_pod_has_stale_disruption_condition(pod, now)
            && !self.defects.has(DisruptionDefect::StaleDisruptionsStay)
        {
            STALE_QUEUE.add_after(rx, pod_key(pod), left);
        }
    }

    /// `updatePod`. Upstream does not look at which budget the pod was in.
    fn update_pod(self, rx: Rx, old: &Stored, new: &Stored) {
        let labels = |pod: &Stored| json::at(pod.object.json(), &["metadata", "labels"]).cloned();
        if labels(old) != labels(new) && !self.defects.has(DisruptionDefect::LostPodsAreNotTold) {
            self.enqueue_pdb_for_pod(rx, &old.object);
        }
        self.add_pod(rx, &new.object);
    }

    /// The budget that `getPdbForPod` chooses of those that select a pod: the first.
    fn enqueue_pdb_for_pod(self, rx: Rx, pod: &Object) {
        let mut all = self.budgets.list(rx);
        all.retain(|budget| guards(budget.object.json(), pod.json()));
        if all.len() > 1 && !self.defects.has(DisruptionDefect::FixTellAllBudgets) {
            all.truncate(1);
        }
        for budget in all {
            QUEUE.add(rx, pod_key(&budget.object));
        }
    }

    /// Something is scaled to another number, has come or has gone.
    fn scaled(self, rx: Rx, notice: &Notice) {
        let replicas = |of: &Stored| json::number(of.object.json(), &["spec", "replicas"]);
        let of = match notice {
            Notice::Added { new, .. } => new,
            Notice::Updated { old, new } if replicas(old) != replicas(new) => new,
            Notice::Updated { .. } => return,
            Notice::Deleted(gone) => match &gone.last {
                Some(last) => last,
                None => return,
            },
        };
        for budget in self.budgets.list(rx) {
            if budget.object.namespace() == of.object.namespace() {
                QUEUE.add(rx, pod_key(&budget.object));
            }
        }
    }
}

/// Upstream's `addDB`, `updateDB`, `removeDB`
fn budget(rx: Rx, notice: &Notice) {
    let of = match notice {
        Notice::Added { new, .. } | Notice::Updated { new, .. } => Some(new),
        Notice::Deleted(gone) => gone.last.as_ref(),
    };
    if let Some(of) = of {
        QUEUE.add(rx, pod_key(&of.object));
    }
}
