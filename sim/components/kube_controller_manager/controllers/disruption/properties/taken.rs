//! Which pod an eviction takes: the one that it has read, not another one that has come in its place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wavetank_api::Object;
use wavetank_api::kinds::pod_eviction::guards;
use wavetank_api::kinds::{POD_DISRUPTION_BUDGETS, PODS};
use wavetank_apiserver::{Evicts, LetGoBy};
use wavetank_engine::{Check, Note, Property, World};

use super::evictions::newly_evicted;
use crate::controller_utils::{is_pod_ready, pod_key};
use wavetank_components::changes::changes;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// What evictions have read of the pods of a name.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Read {
    uids: BTreeSet<Arc<str>>,
    /// A budget was spent: on whoever has the name.
    is_paid: bool,
}

/// The pods that evictions are about to take, by `namespace/name`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct EvictionsTakeThePodTheyRead {
    read: BTreeMap<Arc<str>, Read>,
}

impl Read {
    /// What is wrong with the eviction of this pod, which these budgets guard; nothing if it was not put to the test.
    fn judge(&self, pod: &Object, budgets: &[&Object]) -> Check {
        if self.uids.contains(pod.uid()) {
            return Check::Held;
        }
        match budgets.first() {
            Some(budget) if !self.is_paid && is_pod_ready(pod.json()).is_some() => {
                let (key, name) = (pod_key(pod), budget.name());
                let message = format!(
                    "the pod {key} is ready, and is evicted without asking its budget {name}: the eviction has read another pod"
                );
                violated("pod", &key, message)
            }
            _ => Check::Idle,
        }
    }
}

fn judge(read: &BTreeMap<Arc<str>, Read>, world: &World, pod: &Object) -> Check {
    let Some(read) = read.get(&*pod_key(pod)) else {
        return Check::Idle;
    };
    let mut budgets = ClusterView(world).all(POD_DISRUPTION_BUDGETS.registry);
    budgets.retain(|budget| guards(budget.json(), pod.json()));
    read.judge(pod, &budgets)
}

impl Property for EvictionsTakeThePodTheyRead {
    fn name(&self) -> &'static str {
        "evictions-take-the-pod-they-read"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if note.body.get::<Evicts>().is_some() {
            return None;
        }
        let mut checked = Check::Idle;
        for pod in changes(note, &PODS).filter_map(newly_evicted) {
            match judge(&self.read, world, pod) {
                Check::Idle => {}
                Check::Held => checked = Check::Held,
                violated => return Some(violated),
            }
        }
        Some(checked)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(Evicts { pod, uid, by }) = note.body.get() {
            let read = self.read.entry(pod.clone()).or_default();
            read.uids.insert(uid.clone());
            read.is_paid |= matches!(by, LetGoBy::Budget { .. });
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(uid: &str, ready: &str) -> Object {
        Object::new(json!({
            "metadata": {"name": "web-0", "namespace": "default", "uid": uid},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]},
        }))
    }

    #[test]
    fn a_budget_has_to_be_asked_for_the_pod_that_goes() {
        let budget = Object::new(json!({"metadata": {"name": "web", "namespace": "default"}}));
        let read = |is_paid| Read {
            uids: BTreeSet::from(["old".into()]),
            is_paid,
        };
        let judged = |is_paid, uid, ready| read(is_paid).judge(&pod(uid, ready), &[&budget]);
        assert_eq!(judged(false, "old", "True"), Check::Held);
        assert!(matches!(judged(false, "new", "True"), Check::Violated(_)));
        for (is_paid, ready) in [(true, "True"), (false, "False")] {
            assert_eq!(judged(is_paid, "new", ready), Check::Idle);
        }
        assert_eq!(read(false).judge(&pod("new", "True"), &[]), Check::Idle);
    }
}
