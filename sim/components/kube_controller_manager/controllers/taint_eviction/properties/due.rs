//! Which pods are not evicted, or not yet. The controller may act on what an apiserver has told it, whatever happens meanwhile,
//! but not on what it has decided once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use wavetank_api::json;
use wavetank_api::kinds::{NODES, PODS};
use wavetank_api::{Object, Stamp};
use wavetank_client::workqueue::Item;
use wavetank_components::scheduling::tolerates_taint;
use wavetank_engine::{Check, Instant, Note, ProcId, Property, Time, World};

use super::super::controller::node_name;
use super::super::notes::{Asks, AsksToDelete, Evicts, IsDone};
use super::super::timed_workers::Ticket;
use super::super::tolerations::{get_no_execute_taints, tolerations};
use super::since::TaintedSince;
use crate::controller_utils::taints;
use crate::pods_were_seen::Deletions;
use wavetank_components::changes::changes;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// A clock may run so much faster than it should, in parts of a hundred, and stamps have whole seconds.
const TOLERANCE: u32 = 10;
const WHOLE_SECONDS: Duration = Duration::from_secs(1);

/// Since when nodes have each of their taints, and since when there is each pod; and what controllers asked for.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct PodsStayAsLongAsTheyTolerate {
    since: TaintedSince,
    made: BTreeMap<Item, Instant>,
    /// By the worker of a controller.
    asked: BTreeMap<(ProcId, Ticket), Asked>,
}

/// A pod that a controller asked for: which one of its name was due, then or since; and which one will be, and when, if nothing
/// changes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Asked {
    /// `namespace/name`
    pod: Item,
    was_due: BTreeSet<Item>,
    next: Option<(Item, Instant)>,
}

fn stored<'a>(world: &'a World, pod: &str) -> Option<&'a Object> {
    let (namespace, name) = pod.split_once('/').unwrap_or_default();
    let stored = ClusterView(world).get(&PODS.key(namespace, name));
    stored.map(|kv| &kv.value)
}

impl PodsStayAsLongAsTheyTolerate {
    /// When this pod has to go, as it and its node are stored now, if at all.
    fn due(&self, world: &World, pod: &Object) -> Option<Time> {
        let node = node_name(pod);
        let kv = ClusterView(world).get(&NODES.key("", node))?;
        let made = self.made.get(pod.uid()).map_or(Time::ZERO, |own| own.0);
        let all = get_no_execute_taints(taints(kv.value.json()));
        let due = all.iter().filter_map(|taint| {
            let mut all = tolerations(pod.json()).iter();
            let since = self.since.get(node, taint).map_or(world.now(), |own| own.0);
            let seconds = match all.find(|own| tolerates_taint(own, taint)) {
                None => 0,
                Some(own) => json::number(own, &["tolerationSeconds"])?,
            };
            let tolerated = Duration::from_secs(seconds.max(0).unsigned_abs());
            let least = (tolerated * (100 - TOLERANCE) / 100).saturating_sub(WHOLE_SECONDS);
            Some(since.max(made) + least)
        });
        due.min()
    }

    /// Takes note of what is stored.
    fn learn(&mut self, world: &World, note: &Note) {
        let now = world.now();
        self.since.learn(note, Instant(now));
        for change in changes(note, &PODS) {
            match (&change.before, &change.now) {
                (None, Some(kv)) => {
                    self.made.insert(kv.value.uid().into(), Instant(now));
                }
                (Some(kv), None) => {
                    self.made.remove(kv.value.uid());
                }
                _ => {}
            }
        }
    }

    /// Time has passed: who was to be due by now was.
    fn become_due(&mut self, now: Time) {
        for asked in self.asked.values_mut() {
            if let Some((uid, at)) = &asked.next
                && at.0 <= now
            {
                asked.was_due.insert(uid.clone());
            }
        }
    }

    /// What is stored now says who will be due.
    fn look_ahead(&mut self, world: &World) {
        let next = |asked: &Asked| {
            let object = stored(world, &asked.pod)?;
            let due = self.due(world, object)?;
            Some((object.uid().into(), Instant(due)))
        };
        let all: Vec<_> = self.asked.values().map(next).collect();
        for (asked, next) in self.asked.values_mut().zip(all) {
            asked.next = next;
        }
    }
}

impl Property for PodsStayAsLongAsTheyTolerate {
    fn name(&self) -> &'static str {
        "pods-stay-as-long-as-they-tolerate"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let concerns = note.body.get::<Asks>().is_some()
            || note.body.get::<Evicts>().is_some()
            || note.body.get::<IsDone>().is_some()
            || changes(note, &NODES).next().is_some()
            || changes(note, &PODS).next().is_some();
        (!concerns).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(IsDone(worker)) = note.body.get() {
            self.asked.remove(&(note.process, *worker));
            return Check::Idle;
        }
        // What was due until now may be acted on, though this change ends it.
        self.become_due(world.now());
        self.learn(world, note);
        if let Some(Asks { pod, worker }) = note.body.get() {
            let asked = Asked {
                pod: pod.clone(),
                was_due: BTreeSet::new(),
                next: None,
            };
            self.asked.insert((note.process, *worker), asked);
        }
        self.look_ahead(world);
        self.become_due(world.now());
        let Some(Evicts { pod, uid, worker }) = note.body.get() else {
            return Check::Idle;
        };
        // Who did not ask goes by what is stored now.
        let is_due_now = || {
            stored(world, pod).is_none_or(|own| {
                let due = self.due(world, own);
                own.uid() != &**uid || due.is_some_and(|due| due <= world.now())
            })
        };
        let asked = self.asked.get(&(note.process, *worker));
        let is_due = asked.map_or_else(is_due_now, |own| own.was_due.contains(uid));
        match is_due {
            true => Check::Held,
            false => {
                let node = stored(world, pod).map_or("", node_name);
                let message = format!(
                    "the pod {pod} is evicted from {node} at {}, where it may stay",
                    Stamp::of(world.now()).seconds()
                );
                violated("pod", pod, message)
            }
        }
    }
}

/// Who deletes a pod has seen it.
pub(super) const EVICTED_PODS_WERE_SEEN: Deletions = Deletions {
    property: "evicted-pods-were-seen",
    asks: |note| {
        let by_user = note.body.get().map(|AsksToDelete(uid)| uid);
        by_user.or_else(|| note.body.get().map(|Evicts { uid, .. }| uid))
    },
    concerns: |_, _| true,
};
