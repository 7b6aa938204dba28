//! A controller acts on a view that has its own writes: those that it knows to have been done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wavetank_api::kinds::PODS;
use wavetank_client::workqueue::Item;
use wavetank_engine::{Check, Note, ProcId, Property, World};

use super::super::notes::{Deleted, Made, Manages};
use super::controller_uid;
use crate::controller_utils::is_pod_active;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// A life of a process, and the UID of a set.
type Of = (ProcId, u32, Arc<str>);

/// What each life of each controller has made and deleted, by set.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct SetsKnowTheirPods {
    made: BTreeMap<Of, BTreeSet<Item>>,
    deleted: BTreeMap<Of, BTreeSet<Item>>,
}

/// Is this pod one of the set now?
fn is_active_of(world: &World, pod: &Item, set: &str) -> bool {
    let (namespace, name) = pod.split_once('/').unwrap_or(("", pod));
    let stored = ClusterView(world).get(&PODS.key(namespace, name));
    let pod = stored.map(|kv| &kv.value);
    pod.is_some_and(|pod| controller_uid(pod) == Some(set) && is_pod_active(pod.json()))
}

impl SetsKnowTheirPods {
    fn manages(&self, world: &World, of: &Of, manages: &Manages) -> Check {
        let counts = |pod: &Item| manages.active.contains(pod);
        let (set, kind) = (&manages.set, manages.kind.resource().kind);
        let mut deleted = self.deleted.get(of).into_iter().flatten();
        if let Some(pod) = deleted.find(|pod| counts(pod)) {
            let message = format!("{kind} {set}: the pod {pod} is counted, and was deleted before");
            return violated("set", set, message);
        }
        let mut made = self.made.get(of).into_iter().flatten();
        let unseen = made.find(|pod| !counts(pod) && is_active_of(world, pod, &manages.uid));
        match unseen {
            None => Check::Held,
            Some(pod) => {
                let message = format!("{kind} {set}: the pod {pod} was made, and is not counted");
                violated("set", set, message)
            }
        }
    }
}

impl Property for SetsKnowTheirPods {
    fn name(&self) -> &'static str {
        "sets-know-their-pods"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        let is_news = note.body.get::<Made>().is_some() || note.body.get::<Deleted>().is_some();
        if is_news {
            return None;
        }
        let Some(manages) = note.body.get::<Manages>() else {
            return Some(Check::Idle);
        };
        let life = world.incarnation(note.process);
        let of = (note.process, life, manages.uid.clone());
        Some(self.manages(world, &of, manages))
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let of = |set: &Arc<str>| {
            let life = world.incarnation(note.process);
            (note.process, life, set.clone())
        };
        if let Some(Made { set, pod }) = note.body.get() {
            let own = self.made.entry(of(set)).or_default();
            own.insert(pod.clone());
        }
        if let Some(Deleted { set, pod }) = note.body.get() {
            let own = self.deleted.entry(of(set)).or_default();
            own.insert(pod.clone());
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}
