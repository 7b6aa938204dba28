//! What is promised of nodes that run out of memory.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use wavetank_component::PropertyInfo;
use wavetank_components::promises::{always, reaches, violated};
use wavetank_engine::{Check, Note, ProcId, Property, Time, World};

use super::safe::spec_of;
use super::{EVICT, is, tells};
use crate::component::EVICTIONS;
use crate::eviction::{IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS, REASON};
use crate::kubelet::Kubelet;
use crate::notes::{Evicts, KillsPod, PressureEnds, Rejects, SeesPressure, Terminated};
use crate::pod::is_critical_pod;
use crate::runtime::cri::{PodRef, Uid};

pub(super) fn all() -> Vec<PropertyInfo> {
    let mut all = vec![
        PropertyInfo::new(
            "critical-pods-are-not-evicted",
            "no kubelet evicts or refuses a static or critical pod since its node runs out of memory",
            EVICTIONS,
            |_| Box::new(always("critical-pods-are-not-evicted", critical_stay)),
        )
        .tested_by(&EVICT),
        PropertyInfo::new(
            "pods-are-evicted-one-by-one",
            "no kubelet evicts a pod before the one that it has evicted before has stopped, or was waited for",
            EVICTIONS,
            |_| Box::new(OneByOne::default()),
        )
        .tested_by(&EVICT),
        PropertyInfo::new(
            "hard-thresholds-kill-at-once",
            "no kubelet gives a pod a grace period that it evicts while its node has less memory than the hard threshold says",
            EVICTIONS,
            |_| Box::new(always("hard-thresholds-kill-at-once", hard_ones_kill)),
        )
        .tested_by(&EVICT),
        PropertyInfo::new(
            "pressure-does-not-flap",
            "no kubelet says that its node has enough memory again within the time of transition since it has seen the opposite \
             last",
            EVICTIONS,
            |_| Box::new(Flaps::default()),
        )
        .tested_by(&EVICT),
    ];
    all.extend([
        reaches(
            "pod-was-evicted-under-pressure",
            "a kubelet evicted a pod since its node ran out of memory",
            EVICTIONS,
            |_, note| {
                let own = note.body.get::<KillsPod>();
                own.is_some_and(|own| own.reason == REASON)
            },
        )
        .tested_by(&EVICT),
        reaches(
            "pod-was-refused-under-pressure",
            "a kubelet refused a pod since its node ran out of memory",
            EVICTIONS,
            |_, note| {
                let own = note.body.get::<Rejects>();
                own.is_some_and(|own| own.reason == REASON)
            },
        )
        .tested_by(&EVICT),
    ]);
    all
}

/// The pod that a note tells to be evicted or refused.
fn hit(note: &Note) -> Option<&PodRef> {
    let killed = note.body.get::<KillsPod>();
    let killed = killed.map(|own| (&own.pod, own.reason));
    let refused = note.body.get::<Rejects>();
    let found = killed.or(refused.map(|own| (&own.pod, own.reason)));
    found.and_then(|(pod, reason)| (reason == REASON).then_some(pod))
}

fn critical_stay(world: &World, note: &Note) -> Check {
    let Some(own) = hit(note) else {
        return Check::Idle;
    };
    match spec_of(world, own).is_some_and(|pod| is_critical_pod(&pod)) {
        false => Check::Held,
        true => {
            let name = &own.name;
            let message = format!("the pod {name} is critical, and has to go for its node");
            violated("pod", name, message)
        }
    }
}

fn hard_ones_kill(world: &World, note: &Note) -> Check {
    let evicted = note.body.get::<Evicts>();
    let (Some(own), Some(kubelet)) = (evicted, world.process::<Kubelet>(note.process)) else {
        return Check::Idle;
    };
    let hard = kubelet.eviction.hard.map(|own| own.value);
    if hard.is_none_or(|hard| hard <= own.available) {
        return Check::Idle;
    }
    match own.grace <= IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS {
        true => Check::Held,
        false => {
            let (name, grace, available) = (&own.pod.name, own.grace, own.available);
            let message = format!(
                "the pod {name} has {grace} s to end, and {available}Mi of memory are left"
            );
            violated("pod", name, message)
        }
    }
}

/// The pod that each kubelet has evicted last: in which life, and until when it is waited for.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct OneByOne {
    waits: BTreeMap<ProcId, (u32, Uid, Time)>,
    /// Those that have stopped: nobody waits for them.
    stopped: BTreeSet<(ProcId, Uid)>,
}

impl Property for OneByOne {
    fn name(&self) -> &'static str {
        "pods-are-evicted-one-by-one"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let concerned = tells(note, &[is::<KillsPod>, is::<Terminated>]);
        (!concerned).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(Terminated(pod)) = note.body.get() {
            let own = self.waits.get(&note.process);
            if own.is_some_and(|(_, uid, _)| *uid == pod.uid) {
                self.waits.remove(&note.process);
            }
            self.stopped.insert((note.process, pod.uid.clone()));
        }
        let own = note.body.get::<KillsPod>();
        let Some(own) = own.filter(|own| own.reason == REASON) else {
            return Check::Idle;
        };
        if self.stopped.contains(&(note.process, own.pod.uid.clone())) {
            return Check::Idle;
        }
        let (now, life) = (world.now(), world.incarnation(note.process));
        let until = now + Duration::from_secs(own.seconds.unsigned_abs());
        let new = (life, own.pod.uid.clone(), until);
        let before = self.waits.insert(note.process, new);
        let waits = before.filter(|(of, _, until)| *of == life && now < *until);
        match waits {
            None => Check::Held,
            Some(_) => {
                let name = &own.pod.name;
                let message = format!("the pod {name} is evicted while another one is");
                violated("pod", name, message)
            }
        }
    }
}

/// When each kubelet has seen pressure last: in which life.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Flaps(BTreeMap<ProcId, (u32, Time)>);

impl Property for Flaps {
    fn name(&self) -> &'static str {
        "pressure-does-not-flap"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if is::<SeesPressure>(note) {
            return None;
        }
        if !is::<PressureEnds>(note) {
            return Some(Check::Idle);
        }
        let own = self.0.get(&note.process);
        let kubelet = world.process::<Kubelet>(note.process);
        let (Some((life, seen)), Some(kubelet)) = (own, kubelet) else {
            return Some(Check::Idle);
        };
        let until = *seen + kubelet.eviction.pressure_transition_period;
        if *life != world.incarnation(note.process) || until <= world.now() {
            return Some(Check::Held);
        }
        let name = kubelet.node_name();
        let message =
            format!("the node {name} ran out of memory, and says too early that it has enough");
        Some(violated("node", name, message))
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if is::<SeesPressure>(note) {
            let now = (world.incarnation(note.process), world.now());
            self.0.insert(note.process, now);
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}
