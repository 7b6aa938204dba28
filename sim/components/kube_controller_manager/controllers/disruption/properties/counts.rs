//! What a budget has let go does not count any more.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_api::kinds::{POD_DISRUPTION_BUDGETS, PODS};
use wavetank_api::{Object, Stamp};
use wavetank_apiserver::{Evicts, LetGoBy};
use wavetank_engine::{Check, Note, ProcId, Property, World};
use wavetank_etcd::{Change, Revision};

use super::super::notes::WritesBudget;
use super::super::status::{deletion_is_expected, disrupted_pods};
use wavetank_components::changes::changes;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// A life of a process.
type Life = (ProcId, u32);

/// A pod that a budget has let go.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct LetGo {
    uid: Arc<str>,
    name: Arc<str>,
    spent: Revision,
    at: Stamp,
    /// Who no longer notes it.
    dropped_by: Option<Life>,
}

/// The pods that budgets have let go, by the UID of these.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct EvictedPodsDoNotCount {
    let_go: BTreeMap<Arc<str>, Vec<LetGo>>,
}

/// The pods that a write of a budget notes.
fn newly_noted(world: &World, change: &Change<Object>) -> Vec<LetGo> {
    let (Some(before), Some(now)) = (&change.before, &change.now) else {
        return Vec::new();
    };
    let known = disrupted_pods(before.value.json());
    let noted = disrupted_pods(now.value.json()).into_iter();
    let new = noted.filter(|(name, at)| known.get(name) != Some(at));
    let namespace = now.value.namespace();
    let pods = new.filter_map(|(name, at)| {
        let stored = ClusterView(world).get(&PODS.key(namespace, &name))?;
        Some(LetGo {
            uid: stored.value.uid().into(),
            name: name.as_str().into(),
            spent: change.revision,
            at,
            dropped_by: None,
        })
    });
    pods.collect()
}

impl EvictedPodsDoNotCount {
    fn add(&mut self, budget: &str, new: LetGo) {
        let all = self.let_go.entry(budget.into()).or_default();
        if !all.iter().any(|own| own.spent == new.spent) {
            all.push(new);
        }
    }

    fn written(&mut self, life: Life, writes: &WritesBudget) -> Check {
        let Some(all) = self.let_go.get_mut(&writes.uid) else {
            return Check::Idle;
        };
        all.retain(|own| deletion_is_expected(own.at) > writes.now);
        let mut checked = Check::Idle;
        for own in all.iter_mut().filter(|own| own.spent <= writes.read) {
            let is_unseen = own.dropped_by.is_some_and(|by| by != life);
            if writes.healthy.contains(&own.uid) && !is_unseen {
                let (budget, pod) = (&writes.budget, &own.name);
                let message = format!(
                    "the budget {budget} counts the pod {pod} as healthy, which it has let go at revision {}",
                    own.spent
                );
                return violated("budget", budget, message);
            }
            checked = Check::Held;
            if own.dropped_by.is_none() && !writes.disrupted.contains(&own.name) {
                own.dropped_by = Some(life);
            }
        }
        checked
    }
}

impl Property for EvictedPodsDoNotCount {
    fn name(&self) -> &'static str {
        "evicted-pods-do-not-count"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let is_news = note.body.get::<Evicts>().is_some()
            || note.body.get::<WritesBudget>().is_some()
            || changes(note, &POD_DISRUPTION_BUDGETS).next().is_some();
        (!is_news).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(writes) = note.body.get::<WritesBudget>() {
            let life = (note.process, world.incarnation(note.process));
            return self.written(life, writes);
        }
        if let Some(Evicts { pod, uid, by }) = note.body.get()
            && let LetGoBy::Budget { budget, spent, at } = by
        {
            let name = pod.split_once('/').map_or("", |(_, name)| name);
            let new = LetGo {
                uid: uid.clone(),
                name: name.into(),
                spent: *spent,
                at: *at,
                dropped_by: None,
            };
            self.add(budget, new);
        }
        for change in changes(note, &POD_DISRUPTION_BUDGETS) {
            let Some(now) = &change.now else {
                if let Some(before) = &change.before {
                    self.let_go.remove(before.value.uid());
                }
                continue;
            };
            for new in newly_noted(world, change) {
                self.add(now.value.uid(), new);
            }
        }
        Check::Idle
    }
}
