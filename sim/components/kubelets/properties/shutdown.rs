//! What is promised of nodes that shut down.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use wavetank_api::kinds::NODES;
use wavetank_api::{Object, json};
use wavetank_component::PropertyInfo;
use wavetank_components::promises::{always, reaches, violated};
use wavetank_components::view::ClusterView;
use wavetank_engine::{Check, Note, ProcId, Property, Time, World};

use super::safe::{changed, stored};
use super::{SHUT_DOWN, is, tells};
use crate::component::SHUTDOWNS;
use crate::kubelet::Kubelet;
use crate::nodeshutdown::{NOT_ADMITTED_REASON, REASON};
use crate::notes::{
    BeginsShutdown, ComesUp, EndsShutdown, GoesOff, IsTold, KillsPod, MakesSandbox,
    ManifestChanges, Rejects, ShutdownComes, Terminated,
};
use crate::pod::{self, is_pod_phase_terminal, phase};
use crate::runtime::ContainerRuntime;
use crate::runtime::cri::{PodRef, Uid};
use crate::workers;

pub(super) fn all() -> Vec<PropertyInfo> {
    let mut all = vec![
        PropertyInfo::new(
            "pods-do-not-start-in-shutdowns",
            "no kubelet that has heard that its machine is about to go off starts a pod that has come since, unless it was at work on \
             it",
            SHUTDOWNS,
            |_| Box::new(Begun::default()),
        )
        .tested_by(&SHUT_DOWN),
        PropertyInfo::new(
            "critical-pods-outlive-others",
            "no pod is killed in a shutdown before those of lower groups have stopped, or their time is up",
            SHUTDOWNS,
            |_| Box::new(InGroups::default()),
        )
        .tested_by(&SHUT_DOWN),
        PropertyInfo::new(
            "shut-down-pods-have-ended",
            "no kubelet lets its machine go off before the API knows of the end of the pods that it has killed, unless the time is \
             up",
            SHUTDOWNS,
            |_| Box::new(always("shut-down-pods-have-ended", have_ended)),
        )
        .tested_by(&SHUT_DOWN),
        PropertyInfo::new(
            "shutdowns-are-heard",
            "each kubelet that is up hears that its machine is about to go off, before it does. Not of use where kubelets have just \
             begun, or links fail",
            SHUTDOWNS,
            |_| Box::new(Heard::default()),
        )
        .fits(|_| false),
        PropertyInfo::new(
            "nodes-that-go-off-say-so",
            "a node whose shutdown has taken more than 1 s is not ready when its machine may go off. Not of use where apiservers \
             do not answer",
            SHUTDOWNS,
            |_| Box::new(SaySo::default()),
        )
        .fits(|_| false),
    ];
    all.extend([
        reaches(
            "shutdown-was-finished",
            "a kubelet has killed all of its pods before its machine went off",
            SHUTDOWNS,
            |_, note| {
                let own = note.body.get::<EndsShutdown>();
                own.is_some_and(|own| own.is_in_time && !own.pods.is_empty())
            },
        )
        .tested_by(&SHUT_DOWN),
        reaches(
            "shutdown-was-cancelled",
            "a kubelet heard that its machine would not go off after all",
            SHUTDOWNS,
            |_, note| note.body.get::<IsTold>().is_some_and(|own| !own.0),
        )
        .tested_by(&SHUT_DOWN),
        reaches(
            "machine-came-up",
            "a machine came up again",
            SHUTDOWNS,
            |_, note| is::<ComesUp>(note),
        )
        .tested_by(&SHUT_DOWN),
        reaches(
            "pod-was-refused-in-a-shutdown",
            "a kubelet refused a pod since its machine was about to go off",
            SHUTDOWNS,
            |_, note| {
                let own = note.body.get::<Rejects>();
                own.is_some_and(|own| own.reason == NOT_ADMITTED_REASON)
            },
        )
        .tested_by(&SHUT_DOWN),
    ]);
    all
}

fn have_ended(world: &World, note: &Note) -> Check {
    let Some(EndsShutdown { pods, is_in_time }) = note.body.get() else {
        return Check::Idle;
    };
    if !is_in_time || pods.is_empty() {
        return Check::Idle;
    }
    let found = pods.iter().filter_map(|pod| stored(world, pod));
    let mut found = found.filter(|own| !is_pod_phase_terminal(phase(pod::status(own))));
    match found.next() {
        None => Check::Held,
        Some(own) => {
            let name = own.name();
            let message = format!(
                "the machine of the pod {name} may go off, and it is {}",
                phase(pod::status(own))
            );
            violated("pod", name, message)
        }
    }
}

/// A shutdown: the life of the kubelet, and the pods that have come since.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Shutdown {
    incarnation: u32,
    pods: BTreeSet<Uid>,
}

/// Shutdowns that go on, by their kubelets.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Begun(BTreeMap<ProcId, Shutdown>);

impl Begun {
    fn starts(&self, world: &World, runtime: ProcId, pod: &PodRef) -> Check {
        let Some(kubelet) = kubelet_of(world, runtime) else {
            return Check::Idle;
        };
        let own = self.0.get(&kubelet);
        let Some(own) = own.filter(|own| own.incarnation == world.incarnation(kubelet)) else {
            return Check::Idle;
        };
        match own.pods.contains(&pod.uid) {
            false => Check::Held,
            true => {
                let message = format!("the pod {} starts, and its machine goes off", pod.name);
                violated("pod", &pod.name, message)
            }
        }
    }

    fn comes(&mut self, uid: &Uid) {
        for own in self.0.values_mut() {
            own.pods.insert(uid.clone());
        }
    }
}

impl Property for Begun {
    fn name(&self) -> &'static str {
        "pods-do-not-start-in-shutdowns"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if let Some(MakesSandbox(pod)) = note.body.get() {
            return Some(self.starts(world, note.process, pod));
        }
        let grows = is::<ManifestChanges>(note) || changed(note).next().is_some();
        let concerned = is::<IsTold>(note) || (grows && !self.0.is_empty());
        (!concerned).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(IsTold(comes)) = note.body.get() {
            let incarnation = world.incarnation(note.process);
            let pods = BTreeSet::new();
            match comes {
                true => drop(self.0.insert(note.process, Shutdown { incarnation, pods })),
                false => drop(self.0.remove(&note.process)),
            }
        }
        // A file may come back while what it meant before is still being stopped.
        if let Some(ManifestChanges { pod: Some(pod), .. }) = note.body.get()
            && !workers::works_on(world, note.process, &pod.uid)
        {
            self.comes(&pod.uid);
        }
        for (before, now) in changed(note) {
            if let (None, Some(now)) = (before, now) {
                self.comes(&pod::uid(now));
            }
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}

/// The pods that a kubelet kills in a shutdown, by the number of their group: until when others wait for them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct InGroups(BTreeMap<ProcId, BTreeMap<Uid, (usize, Time)>>);

impl Property for InGroups {
    fn name(&self) -> &'static str {
        "critical-pods-outlive-others"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let concerned = tells(
            note,
            &[is::<BeginsShutdown>, is::<KillsPod>, is::<Terminated>],
        );
        (!concerned).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let now = world.now();
        let all = self.0.entry(note.process).or_default();
        if is::<BeginsShutdown>(note) {
            all.clear();
        }
        if let Some(Terminated(pod)) = note.body.get()
            && let Some((_, until)) = all.get_mut(&pod.uid)
        {
            *until = now.min(*until);
        }
        let own = note.body.get::<KillsPod>();
        let Some(own) = own.filter(|own| own.reason == REASON) else {
            return Check::Idle;
        };
        let pod = &own.pod;
        let is_early =
            |other: &(usize, Time)| other.0 > own.group || (other.0 < own.group && other.1 > now);
        if all.values().any(is_early) {
            let message = format!(
                "the pod {} is killed out of turn when its node shuts down",
                pod.name
            );
            return violated("pod", &pod.name, message);
        }
        let until = now + Duration::from_secs(own.seconds.unsigned_abs());
        all.insert(pod.uid.clone(), (own.group, until));
        match all.len() {
            1 => Check::Idle,
            _ => Check::Held,
        }
    }
}

/// Which kubelets have heard of the shutdown that goes on.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Heard(BTreeSet<ProcId>);

fn kubelet_of(world: &World, runtime: ProcId) -> Option<ProcId> {
    let own = world.process::<ContainerRuntime>(runtime)?;
    Some(own.kubelet)
}

impl Property for Heard {
    fn name(&self) -> &'static str {
        "shutdowns-are-heard"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let concerned = tells(note, &[is::<IsTold>, is::<GoesOff>, is::<ShutdownComes>]);
        (!concerned).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if is::<IsTold>(note) {
            self.0.insert(note.process);
        }
        let Some(kubelet) = kubelet_of(world, note.process) else {
            return Check::Idle;
        };
        if is::<ShutdownComes>(note) {
            self.0.remove(&kubelet);
        }
        let is_up = world.status(kubelet) == wavetank_engine::Status::Up;
        if !is::<GoesOff>(note) || !is_up {
            return Check::Idle;
        }
        let Some(node) = world.process::<Kubelet>(kubelet).map(Kubelet::node_name) else {
            return Check::Idle;
        };
        match self.0.contains(&kubelet) {
            true => Check::Held,
            false => {
                let message = format!("the machine {node} goes off, and its kubelet has not heard");
                violated("node", node, message)
            }
        }
    }
}

/// When shutdowns began, by their kubelets.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct SaySo(BTreeMap<ProcId, (u32, Time)>);

fn is_ready(node: &Object) -> bool {
    let all = json::list(node.json(), &["status", "conditions"]);
    let mut all = all.iter().filter(|own| own["type"] == "Ready");
    all.any(|own| own["status"] == "True")
}

impl Property for SaySo {
    fn name(&self) -> &'static str {
        "nodes-that-go-off-say-so"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let concerned = tells(note, &[is::<BeginsShutdown>, is::<EndsShutdown>]);
        (!concerned).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let now = (world.incarnation(note.process), world.now());
        if is::<BeginsShutdown>(note) {
            self.0.insert(note.process, now);
            return Check::Idle;
        }
        let begun = self.0.remove(&note.process);
        let begun = begun.filter(|own| own.0 == now.0);
        let is_long = begun.is_some_and(|own| own.1 + Duration::from_secs(1) < now.1);
        let node = world.process::<Kubelet>(note.process);
        let Some(node) = node.filter(|_| is_long) else {
            return Check::Idle;
        };
        let name = node.node_name();
        let found = ClusterView(world).get(&NODES.key("", name));
        match found.is_some_and(|own| is_ready(&own.value)) {
            false => Check::Held,
            true => {
                let message = format!("the machine {name} may go off, and its node is ready");
                violated("node", name, message)
            }
        }
    }
}
