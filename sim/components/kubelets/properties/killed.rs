//! What is promised of pods that a kubelet kills since its node needs that.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use wavetank_api::kinds::PODS;
use wavetank_api::{Object, json};
use wavetank_component::PropertyInfo;
use wavetank_components::promises::{always, violated};
use wavetank_components::view::ClusterView;
use wavetank_engine::{Check, Note, ProcId, Property, World};

use super::safe::{changed, is_ready, running, spec_of};
use super::{USED, is, tells};
use crate::component::NEEDED;
use crate::conditions::{DISRUPTION_TARGET, TERMINATION_BY_KUBELET};
use crate::notes::{KillsPod, Terminates};
use crate::pod::{self, is_mirror_pod, is_pod_phase_terminal, phase};
use crate::runtime::cri::Uid;

pub(super) fn all() -> Vec<PropertyInfo> {
    let killed = |name, of, about| {
        PropertyInfo::new(name, about, NEEDED, move |settled| {
            Box::new(Killed {
                name,
                of,
                settled,
                killed: BTreeMap::new(),
                terminating: BTreeSet::new(),
                any: false,
            })
        })
    };
    vec![
        killed(
            "killed-pods-say-why",
            Of::Why,
            "a pod whose containers ran when its kubelet killed it for its node says why if it fails, and that it was disrupted; \
             not counted are pods that were on their way out, and those that have a deadline",
        )
        .tested_by(&USED),
        killed(
            "killed-pods-end",
            Of::End,
            "some time after calm each pod that a kubelet has killed for its node has ended or is gone, unless the kubelet has \
             begun anew",
        ),
        PropertyInfo::new(
            "ended-pods-are-not-ready",
            "no pod ends and is told to be ready",
            NEEDED,
            |_| Box::new(always("ended-pods-are-not-ready", ended_are_not_ready)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "disrupted-pods-have-ended",
            "no kubelet tells that a pod is disrupted which has not ended; mirror pods are not counted",
            NEEDED,
            |_| Box::new(always("disrupted-pods-have-ended", disrupted_have_ended)),
        )
        .tested_by(&USED),
    ]
}

/// Is it told of a pod that its kubelet had to kill it?
fn is_disrupted(pod: &Object) -> bool {
    let own = pod::condition(pod::status(pod), DISRUPTION_TARGET);
    own.is_some_and(|own| own["status"] == "True" && own["reason"] == TERMINATION_BY_KUBELET)
}

fn is_over(pod: &Object) -> bool {
    is_pod_phase_terminal(phase(pod::status(pod)))
}

fn ended_are_not_ready(_: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for (before, now) in changed(note) {
        let Some(now) = now.filter(|own| is_over(own)) else {
            continue;
        };
        if before.is_some_and(is_over) {
            continue;
        }
        checked = Check::Held;
        if is_ready(now) {
            let name = now.name();
            let message = format!("the pod {name} is {} and ready", phase(pod::status(now)));
            return violated("pod", name, message);
        }
    }
    checked
}

fn disrupted_have_ended(_: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for (before, now) in changed(note) {
        let Some(now) = now.filter(|own| is_disrupted(own) && !is_mirror_pod(own)) else {
            continue;
        };
        if before.is_some_and(is_disrupted) {
            continue;
        }
        checked = Check::Held;
        if !is_over(now) {
            let name = now.name();
            let message = format!("the pod {name} is told to be disrupted, and has not ended");
            return violated("pod", name, message);
        }
    }
    checked
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Of {
    Why,
    End,
}

/// In which life of which kubelet a pod was killed, and why.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Life {
    kubelet: ProcId,
    incarnation: u32,
    reason: &'static str,
    /// It ran then, and nothing else had ended it.
    says_why: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Killed {
    name: &'static str,
    of: Of,
    settled: Duration,
    killed: BTreeMap<Uid, Life>,
    /// Pods that are being stopped already.
    terminating: BTreeSet<Uid>,
    /// Has one of them ended?
    any: bool,
}

impl Killed {
    fn kills(&mut self, world: &World, note: &Note, own: &KillsPod) {
        let uid = &own.pod.uid;
        if self.killed.contains_key(uid) {
            return;
        }
        let runs = running(world).any(|container| container.pod.uid == *uid);
        let spec = spec_of(world, &own.pod);
        let goes = spec.as_ref().is_none_or(Object::is_being_deleted);
        let deadline = ["spec", "activeDeadlineSeconds"];
        let deadline = spec.is_some_and(|own| json::at(own.json(), &deadline).is_some());
        let life = Life {
            kubelet: note.process,
            incarnation: world.incarnation(note.process),
            reason: own.reason,
            says_why: runs && !goes && !deadline && !self.terminating.contains(uid),
        };
        self.killed.insert(uid.clone(), life);
    }

    fn says_why(&mut self, world: &World, note: &Note) -> Check {
        let mut checked = Check::Idle;
        for (before, now) in changed(note) {
            let Some(now) = now.filter(|own| is_over(own)) else {
                continue;
            };
            let Some(life) = self.killed.remove(now.uid()) else {
                continue;
            };
            self.any = true;
            let is_same = world.incarnation(life.kubelet) == life.incarnation;
            let status = pod::status(now);
            let counts = life.says_why && is_same && phase(status) == "Failed";
            if before.is_some_and(is_over) || !counts || self.of != Of::Why {
                continue;
            }
            checked = Check::Held;
            let name = now.name();
            let reason = json::text(status, &["reason"]);
            if reason != life.reason || !is_disrupted(now) {
                let message = format!(
                    "the pod {name} was killed ({}), and fails with the reason '{reason}'{}",
                    life.reason,
                    if is_disrupted(now) {
                        ""
                    } else {
                        ", not disrupted"
                    },
                );
                return violated("pod", name, message);
            }
        }
        checked
    }
}

impl Property for Killed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let concerned = tells(note, &[is::<KillsPod>, is::<Terminates>])
            || (!self.killed.is_empty() && changed(note).next().is_some());
        (!concerned).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(Terminates { pod, .. }) = note.body.get() {
            self.terminating.insert(pod.uid.clone());
        }
        if let Some(own) = note.body.get::<KillsPod>() {
            self.kills(world, note, own);
        }
        self.says_why(world, note)
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        (self.of == Of::End).then_some(self.settled)
    }

    fn deadline(&mut self, world: &World) -> Check {
        let mut checked = if self.any { Check::Held } else { Check::Idle };
        for (uid, life) in &self.killed {
            if world.incarnation(life.kubelet) != life.incarnation {
                continue;
            }
            checked = Check::Held;
            let mut all = ClusterView(world).all(PODS.registry).into_iter();
            if let Some(own) = all.find(|own| *own.uid() == **uid && !is_over(own)) {
                let name = own.name();
                let message = format!("the pod {name} was killed for its node, and is not over");
                return violated("pod", name, message);
            }
        }
        checked
    }
}
