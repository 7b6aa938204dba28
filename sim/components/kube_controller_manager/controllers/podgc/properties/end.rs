//! What is true once all has been well for a while.

use std::collections::BTreeSet;
use std::time::Duration;

use wavetank_api::Object;
use wavetank_api::json;
use wavetank_api::kinds::{NODES, PODS};
use wavetank_engine::{Check, Note, Property, World};
use wavetank_etcd::Change;

use super::super::controller::{CONTROLLER, is_out_of_service, is_pod_terminated, node_name};
use super::super::notes::{Collects, LooksAtPods};
use crate::controller_utils::pod_key;
use crate::quiet::{Act, IsQuiet, Rest, Subject};
use crate::somebody_runs;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// How many pods that have ended may stay, as collectors say.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct LostPodsGo {
    after: Duration,
    threshold: usize,
}

impl LostPodsGo {
    /// The calm has to last so long before they are gone.
    pub fn after(after: Duration) -> LostPodsGo {
        LostPodsGo {
            after,
            threshold: 0,
        }
    }
}

fn finalizers(pod: &Object) -> usize {
    json::list(pod.json(), &["metadata", "finalizers"]).len()
}

/// Why a pod should have been collected, if it should.
fn lost(world: &World, pod: &Object) -> Option<String> {
    let node = node_name(pod);
    if node.is_empty() {
        return pod
            .is_being_deleted()
            .then(|| "is being deleted and has no node".to_owned());
    }
    match ClusterView(world).get(&NODES.key("", node)) {
        None => Some(format!("is on {node}, which is gone")),
        Some(kv) if pod.is_being_deleted() && is_out_of_service(kv.value.json()) => Some(format!(
            "is being deleted on {node}, which is out of service"
        )),
        Some(_) => None,
    }
}

impl Property for LostPodsGo {
    fn name(&self) -> &'static str {
        "lost-pods-go"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let looks = note.body.get::<LooksAtPods>();
        let is_known = looks.is_none_or(|own| own.threshold == self.threshold);
        is_known.then_some(Check::Idle)
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        if let Some(LooksAtPods { threshold }) = note.body.get() {
            self.threshold = *threshold;
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
        let mut pods = ClusterView(world).all(PODS.registry);
        pods.retain(|pod| finalizers(pod) == 0);
        let (ended, most) = (
            pods.iter().filter(|pod| is_pod_terminated(pod)).count(),
            self.threshold,
        );
        if most > 0 && ended > most {
            let message = format!("{ended} pods have ended and stay, where {most} may");
            return violated("pods", CONTROLLER, message);
        }
        for pod in pods {
            if let Some(why) = lost(world, pod) {
                let key = pod_key(pod);
                return violated("pod", &key, format!("the pod {key} {why}"));
            }
        }
        Check::Held
    }
}

/// A pod, by its UID, and any pod where a node changes or there is another that has ended.
const ANY: &str = "any";

fn concerns(change: &Change<Object>) -> Vec<Subject> {
    let is_of = |registry: &str| {
        let rest = change.key.strip_prefix(registry);
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    if is_of(NODES.registry) {
        return vec![ANY.into()];
    }
    if !is_of(PODS.registry) {
        return Vec::new();
    }
    let both = [&change.before, &change.now].into_iter().flatten();
    let mut all: Vec<Subject> = both.map(|kv| kv.value.uid().into()).collect();
    let has_ended = |kv: &wavetank_etcd::KeyValue<Object>| is_pod_terminated(&kv.value);
    let is_new = change.now.as_ref().is_some_and(has_ended)
        && !change.before.as_ref().is_some_and(has_ended);
    all.extend(is_new.then(|| ANY.into()));
    all
}

const REST: Rest = Rest {
    property: "pod-collector-is-quiet",
    controller: CONTROLLER,
    kind: "pod",
    acts: |pod| format!("the pod {pod} is collected"),
    act: |note| {
        let Collects { pod, uid, .. } = note.body.get()?;
        Some(Act {
            on: uid.clone(),
            name: pod.clone(),
        })
    },
    concerns,
    follows: |_, uid, changed: &BTreeSet<Subject>| changed.contains(ANY) || changed.contains(uid),
};

pub(super) fn pod_collector_is_quiet(after: Duration) -> IsQuiet {
    IsQuiet::after(after, REST)
}
