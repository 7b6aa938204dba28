//! What is true once all has been well for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use wavetank_api::Object;
use wavetank_api::json;
use wavetank_api::kinds::{NODES, PODS};
use wavetank_client::workqueue::Item;
use wavetank_components::scheduling::tolerates_taint;
use wavetank_engine::{Check, Instant, NotState, Note, Property, World};
use wavetank_etcd::Change;

use super::super::controller::{CONTROLLER, node_name};
use super::super::notes::Evicts;
use super::super::tolerations::{get_no_execute_taints, tolerations};
use super::since::TaintedSince;
use super::{LATE_BY, SETTLES_WITHIN};
use crate::controller_utils::{pod_key, taints};
use crate::quiet::{Act, IsQuiet, Rest, Subject};
use crate::somebody_runs;
use wavetank_components::changes::changes;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// When what is stored of pods and nodes changed last, so that something new was to be done.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct TaintedNodesAreLeft {
    name: &'static str,
    after: Duration,
    /// For how long one stays at most that tolerates a taint for so many seconds, if that is asked.
    at_most: NotState<fn(i64) -> Option<Duration>>,
    since: TaintedSince,
    pods: BTreeMap<Item, Instant>,
}

impl TaintedNodesAreLeft {
    /// The calm has to last so long before they are left.
    pub fn after(after: Duration) -> TaintedNodesAreLeft {
        TaintedNodesAreLeft {
            name: "tainted-nodes-are-left",
            after,
            at_most: NotState(|_| Some(SETTLES_WITHIN)),
            since: TaintedSince::default(),
            pods: BTreeMap::new(),
        }
    }

    /// Pods are not there for much longer than they tolerate what is seen soon after a storm. A controller that begins anew counts
    /// from then on, so that longer times are not asked about here.
    pub fn in_time() -> TaintedNodesAreLeft {
        TaintedNodesAreLeft {
            name: "pods-leave-in-time",
            after: LATE_BY + Duration::from_secs(30),
            at_most: NotState(|seconds| {
                let tolerated = Duration::from_secs(seconds.max(0).unsigned_abs());
                (tolerated < LATE_BY).then_some(LATE_BY + tolerated)
            }),
            ..TaintedNodesAreLeft::after(Duration::ZERO)
        }
    }

    /// The taint for which a pod should have gone: it was there, and so was the pod, for longer than any is tolerated.
    fn overdue(&self, world: &World, pod: &Object) -> Option<String> {
        let node = node_name(pod);
        let kv = ClusterView(world).get(&NODES.key("", node))?;
        let all = get_no_execute_taints(taints(kv.value.json()));
        let mut all = all.into_iter().filter(|taint| {
            let mut own = tolerations(pod.json()).iter();
            let own = own.find(|own| tolerates_taint(own, taint));
            let seconds = own.map_or(Some(0), |own| json::number(own, &["tolerationSeconds"]));
            let Some(at_most) = seconds.and_then(*self.at_most) else {
                return false;
            };
            let since = self.since.get(node, taint);
            let changed = self.pods.get(pod.uid());
            let is_old =
                |at: Option<&Instant>| at.is_none_or(|at| world.now().since(at.0) >= at_most);
            is_old(since) && is_old(changed)
        });
        let taint = all.next()?;
        Some(json::text(&taint, &["key"]).to_owned())
    }
}

impl Property for TaintedNodesAreLeft {
    fn name(&self) -> &'static str {
        self.name
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let mut all = changes(note, &NODES).chain(changes(note, &PODS));
        all.next().is_none().then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let now = Instant(world.now());
        self.since.learn(note, now);
        for change in changes(note, &PODS) {
            let spec = |kv: &Option<wavetank_etcd::KeyValue<Object>>| {
                let kv = kv.as_ref();
                kv.and_then(|kv| json::at(kv.value.json(), &["spec"]).cloned())
            };
            if let Some(kv) = &change.now
                && spec(&change.before) != spec(&change.now)
            {
                self.pods.insert(kv.value.uid().into(), now);
            }
        }
        Check::Idle
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.after)
    }

    fn deadline(&mut self, world: &World) -> Check {
        if !somebody_runs(world, CONTROLLER) {
            return Check::Idle;
        }
        for pod in ClusterView(world).all(PODS.registry) {
            if pod.is_being_deleted() {
                continue;
            }
            if let Some(taint) = self.overdue(world, pod) {
                let key = pod_key(pod);
                let message = format!("the pod {key} stays on a node with the taint {taint}");
                return violated("pod", &key, message);
            }
        }
        Check::Held
    }
}

/// A pod, by its UID, and any where a node changes.
const ANY: &str = "any";

fn concerns(change: &Change<Object>) -> Vec<Subject> {
    let is_of = |registry: &str| {
        let rest = change.key.strip_prefix(registry);
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    if is_of(NODES.registry) {
        let taints = |kv: &Option<wavetank_etcd::KeyValue<Object>>| {
            let kv = kv.as_ref();
            kv.map(|kv| get_no_execute_taints(taints(kv.value.json())))
        };
        let has_changed = taints(&change.before) != taints(&change.now);
        return has_changed.then(|| ANY.into()).into_iter().collect();
    }
    if !is_of(PODS.registry) {
        return Vec::new();
    }
    let both = [&change.before, &change.now].into_iter().flatten();
    both.map(|kv| kv.value.uid().into()).collect()
}

const REST: Rest = Rest {
    property: "taint-eviction-is-quiet",
    controller: CONTROLLER,
    kind: "pod",
    acts: |pod| format!("the pod {pod} is evicted"),
    act: |note| {
        let Evicts { pod, uid, .. } = note.body.get()?;
        Some(Act {
            on: uid.clone(),
            name: pod.clone(),
        })
    },
    concerns,
    follows: |_, uid, changed: &BTreeSet<Subject>| changed.contains(ANY) || changed.contains(uid),
};

pub(super) fn taint_eviction_is_quiet(after: Duration) -> IsQuiet {
    IsQuiet::after(after, REST)
}
