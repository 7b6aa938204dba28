//! What an eviction may take: one disruption of its budget, or for nothing a pod that is not ready.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wavetank_api::kinds::pod_eviction::is_behind;
use wavetank_api::kinds::{POD_DISRUPTION_BUDGETS, PODS};
use wavetank_api::{Object, json};
use wavetank_apiserver::{Evicts, LetGoBy, RefusesEviction};
use wavetank_engine::{Always, Check, Note, Property, World};
use wavetank_etcd::{Change, Revision};

use super::super::status::disrupted_pods;
use crate::controller_utils::is_pod_ready;
use wavetank_components::changes::changes;
use wavetank_components::promises::{always, violated};

/// So many writes of budgets are remembered: an eviction tells of its own as soon as that is answered.
const REMEMBERED: usize = 64;

/// A budget as it was written, over what.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Written {
    was_behind: bool,
    allowed: i64,
    allows: i64,
    forgets: BTreeSet<String>,
    notes: BTreeSet<String>,
}

/// What was written of budgets, by the revision that did.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct EvictionsSpendBudgets {
    written: BTreeMap<Revision, Written>,
}

/// Who meets another write of a budget reads it again, so often that only a budget that is written all the time is in the way of an
/// eviction for ten seconds.
pub(super) fn evictions_outlast_conflicts() -> Always {
    always("evictions-outlast-conflicts", |_, note| {
        if note.body.get::<Evicts>().is_some() {
            return Check::Held;
        }
        match note.body.get() {
            Some(RefusesEviction { pod, code: 409 }) => {
                let message =
                    format!("{pod} is not evicted since its budget was written meanwhile");
                violated("pod", pod, message)
            }
            Some(_) => Check::Held,
            None => Check::Idle,
        }
    })
}

fn allowed(budget: &Object) -> i64 {
    json::number(budget.json(), &["status", "disruptionsAllowed"]).unwrap_or(0)
}

fn noted(budget: &Object) -> BTreeSet<String> {
    disrupted_pods(budget.json()).into_keys().collect()
}

impl Written {
    fn over(before: &Object, now: &Object) -> Written {
        let (noted_before, notes) = (noted(before), noted(now));
        Written {
            was_behind: is_behind(before.json()),
            allowed: allowed(before),
            allows: allowed(now),
            forgets: noted_before.difference(&notes).cloned().collect(),
            notes,
        }
    }

    /// Why an eviction of this pod should not have written it.
    fn wrong(&self, pod: &str) -> Option<String> {
        let Written {
            allowed, allows, ..
        } = self;
        if self.was_behind {
            return Some("by a status that is older than the spec".to_owned());
        }
        if *allowed < 1 || *allows != allowed - 1 {
            return Some(format!("where {allowed} may go, and then {allows} more"));
        }
        if let Some(other) = self.forgets.first() {
            return Some(format!("and {other} is not noted any more"));
        }
        (!self.notes.contains(pod)).then(|| "and is not noted".to_owned())
    }
}

impl Property for EvictionsSpendBudgets {
    fn name(&self) -> &'static str {
        "evictions-spend-budgets"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        if let Some(Evicts { pod, by, .. }) = note.body.get() {
            let LetGoBy::Budget { spent, .. } = by else {
                return Some(Check::Idle);
            };
            let Some(written) = self.written.get(spent) else {
                return Some(Check::Idle);
            };
            let name = pod.split_once('/').map_or("", |(_, name)| name);
            return Some(match written.wrong(name) {
                None => Check::Held,
                Some(wrong) => violated("pod", pod, format!("the pod {pod} is evicted {wrong}")),
            });
        }
        let is_news = changes(note, &POD_DISRUPTION_BUDGETS).next().is_some();
        (!is_news).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(check) = self.glance(world, note) {
            return check;
        }
        for change in changes(note, &POD_DISRUPTION_BUDGETS) {
            if let (Some(before), Some(now)) = (&change.before, &change.now) {
                let written = Written::over(&before.value, &now.value);
                self.written.insert(change.revision, written);
            }
        }
        while self.written.len() > REMEMBERED {
            self.written.pop_first();
        }
        Check::Idle
    }
}

/// The pods that evictions are about to take, by UID: is it only since they are not ready?
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct ReadyPodsDoNotGoForNothing {
    unready: BTreeMap<Arc<str>, bool>,
}

/// Does a pod say that it is evicted?
fn is_evicted(pod: &Object) -> bool {
    let mut conditions = json::list(pod.json(), &["status", "conditions"]).iter();
    conditions.any(|own| {
        own["type"] == "DisruptionTarget"
            && own["status"] == "True"
            && own["reason"] == "EvictionByEvictionAPI"
    })
}

/// The pod as it was before a change by which it says that it is evicted.
pub(super) fn newly_evicted(change: &Change<Object>) -> Option<&Object> {
    let before = &change.before.as_ref()?.value;
    let now = &change.now.as_ref()?.value;
    (!is_evicted(before) && is_evicted(now)).then_some(before)
}

impl Property for ReadyPodsDoNotGoForNothing {
    fn name(&self) -> &'static str {
        "ready-pods-do-not-go-for-nothing"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        if note.body.get::<Evicts>().is_some() {
            return None;
        }
        let mut checked = Check::Idle;
        for change in changes(note, &PODS) {
            let Some(before) = change.before.as_ref().map(|kv| &kv.value) else {
                continue;
            };
            let Some(only_unready) = self.unready.get(before.uid()) else {
                continue;
            };
            // One that is gone is forgotten.
            change.now.as_ref()?;
            if !only_unready || newly_evicted(change).is_none() {
                continue;
            }
            if is_pod_ready(before.json()).is_some() {
                let name = before.name();
                let message =
                    format!("the pod {name} is evicted for not being ready, and is ready");
                return Some(violated("pod", name, message));
            }
            checked = Check::Held;
        }
        Some(checked)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(check) = self.glance(world, note) {
            return check;
        }
        if let Some(Evicts { uid, by, .. }) = note.body.get() {
            let only_unready = self.unready.entry(uid.clone()).or_insert(true);
            *only_unready &= *by == LetGoBy::Unready;
            return Check::Idle;
        }
        for change in changes(note, &PODS) {
            if let (Some(before), None) = (&change.before, &change.now) {
                self.unready.remove(before.value.uid());
            }
        }
        Check::Idle
    }
}
