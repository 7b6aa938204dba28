//! Which pod an eviction takes: the one that it has read, not another one that has come in its place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wavetank_api::Object;
use wavetank_api::kinds::pod_eviction::{can_ignore_pdb, guards};
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
    /// How often a budget was spent for each, and none has gone by that: it was spent on whoever has the name.
    paid: BTreeMap<Arc<str>, usize>,
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
        let needs_one = is_pod_ready(pod.json()).is_some() && !can_ignore_pdb(pod.json());
        match budgets.first() {
            Some(budget) if needs_one && self.paid.is_empty() => {
                let (key, name) = (pod_key(pod), budget.name());
                let message = format!(
                    "the pod {key} is ready, and is evicted without asking its budget {name}: the eviction has read another pod"
                );
                violated("pod", &key, message)
            }
            _ => Check::Idle,
        }
    }

    /// The pod goes by what was spent for it, or for another one if it was not read.
    fn goes(&mut self, pod: &Object) {
        let paid = match self.uids.contains(pod.uid()) {
            true => Some(pod.uid().into()),
            false => self.paid.keys().next().cloned(),
        };
        let Some(uid) = paid else { return };
        if let Some(times) = self.paid.get_mut(&uid) {
            *times -= 1;
        }
        self.paid.retain(|_, times| *times > 0);
    }
}

impl EvictionsTakeThePodTheyRead {
    fn tell(&mut self, Evicts { pod, uid, by }: &Evicts) {
        let read = self.read.entry(pod.clone()).or_default();
        read.uids.insert(uid.clone());
        if let LetGoBy::Budget { .. } = by {
            *read.paid.entry(uid.clone()).or_default() += 1;
        }
    }

    fn evicted(&mut self, world: &World, pod: &Object) -> Check {
        let Some(read) = self.read.get_mut(&*pod_key(pod)) else {
            return Check::Idle;
        };
        let mut budgets = ClusterView(world).all(POD_DISRUPTION_BUDGETS.registry);
        budgets.retain(|budget| guards(budget.json(), pod.json()));
        let check = read.judge(pod, &budgets);
        read.goes(pod);
        check
    }
}

impl Property for EvictionsTakeThePodTheyRead {
    fn name(&self) -> &'static str {
        "evictions-take-the-pod-they-read"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let is_news = note.body.get::<Evicts>().is_some()
            || changes(note, &PODS).any(|change| newly_evicted(change).is_some());
        (!is_news).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(evicts) = note.body.get() {
            self.tell(evicts);
        }
        let mut checked = Check::Idle;
        for pod in changes(note, &PODS).filter_map(newly_evicted) {
            match self.evicted(world, pod) {
                Check::Idle => {}
                Check::Held => checked = Check::Held,
                violated => return violated,
            }
        }
        checked
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
        let read = |is_paid: bool| Read {
            uids: BTreeSet::from(["old".into()]),
            paid: BTreeMap::from_iter(is_paid.then(|| ("old".into(), 1))),
        };
        let judged = |is_paid, uid, ready| read(is_paid).judge(&pod(uid, ready), &[&budget]);
        assert_eq!(judged(false, "old", "True"), Check::Held);
        assert!(matches!(judged(false, "new", "True"), Check::Violated(_)));
        for (is_paid, ready) in [(true, "True"), (false, "False")] {
            assert_eq!(judged(is_paid, "new", ready), Check::Idle);
        }
        assert_eq!(read(false).judge(&pod("new", "True"), &[]), Check::Idle);
        let mut going = pod("new", "True").json().clone();
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let going = Object::new(going);
        assert_eq!(read(false).judge(&going, &[&budget]), Check::Idle);
    }

    #[test]
    fn what_was_spent_excuses_one_pod() {
        let twice = || Read {
            uids: BTreeSet::from(["old".into()]),
            paid: BTreeMap::from([("old".into(), 2)]),
        };
        for first in ["old", "new"] {
            let mut read = twice();
            read.goes(&pod(first, "True"));
            assert_eq!(read.paid, BTreeMap::from([("old".into(), 1)]));
            read.goes(&pod("new", "True"));
            assert!(read.paid.is_empty());
        }
    }
}
