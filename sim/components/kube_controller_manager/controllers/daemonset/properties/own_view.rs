//! The controller acts on a view that has its own writes, and waits for what comes.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_api::kinds::PODS;
use wavetank_client::workqueue::Item;
use wavetank_engine::{Check, Note, ProcId, Property, World};

use super::super::notes::{AwaitsDaemons, DaemonWasGone, MadeDaemon, SyncsNodes};
use crate::controller_utils::is_controlled_by;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// A life of a process, and the UID or the name of a set.
type Of = (ProcId, u32, Arc<str>);

fn of(world: &World, note: &Note, set: &Arc<str>) -> Of {
    (note.process, world.incarnation(note.process), set.clone())
}

/// The pods that each life of each controller has made, by set: their UIDs and keys.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct DaemonSetsKnowTheirPods {
    made: BTreeMap<Of, BTreeMap<Arc<str>, Item>>,
}

/// Is the pod there, one of the set, and to stay?
fn is_there(world: &World, pod: &Item, uid: &str, set: &str) -> bool {
    let (namespace, name) = pod.split_once('/').unwrap_or(("", pod));
    let stored = ClusterView(world).get(&PODS.key(namespace, name));
    stored.is_some_and(|kv| {
        let pod = &kv.value;
        pod.uid() == uid && !pod.is_being_deleted() && is_controlled_by(pod.json(), set)
    })
}

impl Property for DaemonSetsKnowTheirPods {
    fn name(&self) -> &'static str {
        "daemon-sets-know-their-pods"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if note.body.get::<MadeDaemon>().is_some() {
            return None;
        }
        let Some(syncs) = note.body.get::<SyncsNodes>() else {
            return Some(Check::Idle);
        };
        let set = &syncs.set;
        let made = self.made.get(&of(world, note, &syncs.uid));
        let mut made = made.into_iter().flatten();
        let unseen = made.find(|(uid, pod)| {
            !syncs.counted.contains(uid) && is_there(world, pod, uid, &syncs.uid)
        });
        Some(match unseen {
            None => Check::Held,
            Some((_, pod)) => {
                let message =
                    format!("DaemonSet {set}: the pod {pod} was made, and is not counted");
                violated("set", set, message)
            }
        })
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(MadeDaemon { set, pod, uid }) = note.body.get() {
            let own = self.made.entry(of(world, note, set)).or_default();
            own.insert(uid.clone(), pod.clone());
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}

/// How many deletions each life of each controller asked for last, and how many of these pods were gone, by the name of a set: that
/// is how they are expected, and a set that is made anew may have to wait for those of the one before it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct GoneDaemonsAreNotAwaited {
    asked: BTreeMap<Of, (i64, i64)>,
}

impl Property for GoneDaemonsAreNotAwaited {
    fn name(&self) -> &'static str {
        "gone-daemons-are-not-awaited"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        let body = &note.body;
        if body.get::<SyncsNodes>().is_some() || body.get::<DaemonWasGone>().is_some() {
            return None;
        }
        let Some(AwaitsDaemons { set, deletions }) = body.get() else {
            return Some(Check::Idle);
        };
        let asked = self.asked.get(&of(world, note, set));
        let (all, gone) = asked.copied().unwrap_or_default();
        if *deletions <= all - gone {
            return Some(Check::Held);
        }
        let message = format!(
            "DaemonSet {set}: {deletions} deletions are waited for, of {all} pods of which {gone} were gone"
        );
        Some(violated("set", set, message))
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(syncs) = note.body.get::<SyncsNodes>() {
            let all = i64::try_from(syncs.deletes.len()).unwrap_or(i64::MAX);
            self.asked.insert(of(world, note, &syncs.set), (all, 0));
        } else if let Some(DaemonWasGone { set }) = note.body.get() {
            self.asked.entry(of(world, note, set)).or_default().1 += 1;
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}
