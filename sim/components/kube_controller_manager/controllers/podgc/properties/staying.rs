//! Which pods the collector leaves alone. It may act on what an apiserver has told it, whatever happens meanwhile, but not on
//! what its cache shows.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_api::Object;
use wavetank_api::kinds::{NODES, PODS};
use wavetank_engine::{Check, Note, ProcId, Property, World};

use super::super::controller::{is_out_of_service, is_pod_terminated, node_name};
use super::super::notes::{AsksForNode, AsksToDeletePod, Collects, Why};
use crate::pods_were_seen::Deletions;
use wavetank_components::changes::changes;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// What a node has been since a collector asked for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Seen {
    was_gone: bool,
    was_out_of_service: bool,
}

impl Seen {
    fn of(node: Option<&Object>) -> Seen {
        Seen {
            was_gone: node.is_none(),
            was_out_of_service: node.is_some_and(|node| is_out_of_service(node.json())),
        }
    }

    fn now(world: &World, name: &str) -> Seen {
        let stored = ClusterView(world).get(&NODES.key("", name));
        Seen::of(stored.map(|kv| &kv.value))
    }

    fn add(&mut self, other: Seen) {
        self.was_gone |= other.was_gone;
        self.was_out_of_service |= other.was_out_of_service;
    }
}

/// The nodes that collectors have asked for, and why.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct PodsInServiceStay {
    asked: BTreeMap<(ProcId, Why, Arc<str>), Seen>,
}

impl PodsInServiceStay {
    /// Why this pod should have stayed.
    fn wrong(&self, world: &World, by: ProcId, collects: &Collects) -> Option<&'static str> {
        let Collects { node, why, pod, .. } = collects;
        let asked = self.asked.get(&(by, *why, node.clone())).copied();
        let seen = || asked.unwrap_or_else(|| Seen::now(world, node));
        let (namespace, name) = pod.split_once('/').unwrap_or_default();
        let stored = ClusterView(world).get(&PODS.key(namespace, name));
        // One that is gone, or another by now, is deleted in vain.
        let own = stored.filter(|kv| kv.value.uid() == &*collects.uid);
        let is = |what: fn(&Object) -> bool| own.is_none_or(|kv| what(&kv.value));
        match why {
            Why::Orphaned if !seen().was_gone => Some("its node is there"),
            Why::OutOfService if !seen().was_out_of_service => Some("its node is in service"),
            Why::Terminated if !is(is_pod_terminated) => Some("it has not ended"),
            Why::Unscheduled if !is(|pod| node_name(pod).is_empty()) => Some("it has a node"),
            _ => None,
        }
    }
}

impl Property for PodsInServiceStay {
    fn name(&self) -> &'static str {
        "pods-in-service-stay"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if note.body.get::<AsksForNode>().is_some() {
            return None;
        }
        if let Some(collects) = note.body.get::<Collects>() {
            let pod = &collects.pod;
            return Some(match self.wrong(world, note.process, collects) {
                Some(why) => violated("pod", pod, format!("the pod {pod} is collected: {why}")),
                None => Check::Held,
            });
        }
        let is_none = self.asked.is_empty() || changes(note, &NODES).next().is_none();
        is_none.then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(AsksForNode { node, why }) = note.body.get() {
            let key = (note.process, *why, node.clone());
            self.asked.insert(key, Seen::now(world, node));
        }
        for change in changes(note, &NODES) {
            let both = [&change.before, &change.now].into_iter().flatten();
            let name = both.map(|kv| kv.value.name()).next().unwrap_or_default();
            let now = Seen::of(change.now.as_ref().map(|kv| &kv.value));
            for ((_, _, node), seen) in &mut self.asked {
                if &**node == name {
                    seen.add(now);
                }
            }
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}

/// Who deletes a pod has seen it.
pub(super) const COLLECTED_PODS_WERE_SEEN: Deletions = Deletions {
    property: "collected-pods-were-seen",
    asks: |note| {
        let by_user = note.body.get().map(|AsksToDeletePod(uid)| uid);
        by_user.or_else(|| note.body.get().map(|Collects { uid, .. }| uid))
    },
    concerns: |_, _| true,
};
