//! What holds at any time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use wavetank_api::Object;
use wavetank_api::kinds::PODS;
use wavetank_component::PropertyInfo;
use wavetank_components::changes::changes;
use wavetank_components::promises::{always, violated};
use wavetank_components::view::ClusterView;
use wavetank_engine::{Check, Note, ProcId, Property, Time, World};

use super::{USED, is, tells};
use crate::component::NEEDED;
use crate::kubelet::Kubelet;
use crate::notes::{
    DeletesByForce, Exits, KillsContainer, MakesSandbox, Prunes, Rejects, Starts, StopsOrphan,
};
use crate::pod::{self, is_mirror_pod, is_pod_phase_terminal, phase};
use crate::runtime::ContainerRuntime;
use crate::runtime::cri::{Container, Id, PodRef, Uid};

pub(super) fn all() -> Vec<PropertyInfo> {
    let force = |name, about, check: Judge| {
        PropertyInfo::new(name, about, NEEDED, move |_| {
            Box::new(Unforced {
                name,
                check: wavetank_engine::NotState(check),
                forced: BTreeSet::new(),
            })
        })
        .tested_by(&USED)
    };
    vec![
        force(
            "pods-of-a-name-run-once",
            "no two pods of one name run a container at a time on any nodes, unless one of them was deleted by force",
            runs_once,
        ),
        force(
            "deleted-pods-have-stopped",
            "no pod leaves the API while a container of it runs, unless it was deleted by force",
            has_stopped,
        ),
        PropertyInfo::new(
            "terminal-pods-do-not-run",
            "no container runs of a pod whose phase is terminal, and none is started",
            NEEDED,
            |_| Box::new(always("terminal-pods-do-not-run", terminal_pods_do_not_run)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "terminal-phases-stay",
            "no pod leaves a phase that is terminal; not counted are mirror pods, whose static pods may run again",
            NEEDED,
            |_| Box::new(always("terminal-phases-stay", terminal_phases_stay)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "living-pods-are-not-deleted",
            "no kubelet deletes a pod from the API of which nobody has asked for the deletion",
            NEEDED,
            |_| Box::new(Unforced {
                name: "living-pods-are-not-deleted",
                check: wavetank_engine::NotState(was_to_go),
                forced: BTreeSet::new(),
            }),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "pods-of-a-node-share-no-address",
            "no two sandboxes of a node have one address at a time",
            NEEDED,
            |_| Box::new(always("pods-of-a-node-share-no-address", share_no_address)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "wanted-containers-are-not-stopped",
            "no pod is stopped as an orphan that is in the API and is to stay, unless its kubelet has refused it",
            NEEDED,
            |_| Box::new(Orphans::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "restarts-are-backed-off",
            "no container that has been started twice in a life of its kubelet is started again within 9 s of its end; not \
             counted where that kubelet has stopped it for a probe",
            NEEDED,
            |_| Box::new(RestartsAreBackedOff::default()),
        )
        .tested_by(&USED),
    ]
}

/// The containers of all nodes.
pub(super) fn containers(world: &World) -> impl Iterator<Item = &Container> {
    let all = world.processes().collect::<Vec<_>>().into_iter();
    let all = all.filter_map(|process| world.process::<ContainerRuntime>(process));
    all.flat_map(|own| &own.containers)
}

pub(super) fn running(world: &World) -> impl Iterator<Item = &Container> {
    containers(world).filter(|own| own.is_running())
}

/// The pods that a commit changes: what each was before, and is now.
pub(super) fn changed(note: &Note) -> impl Iterator<Item = (Option<&Object>, Option<&Object>)> {
    changes(note, &PODS).map(|own| {
        let before = own.before.as_ref().map(|own| &own.value);
        (before, own.now.as_ref().map(|own| &own.value))
    })
}

pub(super) fn stored<'a>(world: &'a World, own: &PodRef) -> Option<&'a Object> {
    let found = ClusterView(world).get(&PODS.key(&own.namespace, &own.name));
    found
        .map(|own| &own.value)
        .filter(|pod| *pod.uid() == *own.uid)
}

/// The pod of this UID: one of the API, or that of a manifest.
pub(super) fn spec_of(world: &World, own: &PodRef) -> Option<Object> {
    let found = stored(world, own).cloned();
    found.or_else(|| static_pods(world).find(|pod| *pod.uid() == *own.uid))
}

/// The static pods that the manifests on all nodes mean.
pub(super) fn static_pods(world: &World) -> impl Iterator<Item = Object> {
    let all = world.processes().collect::<Vec<_>>().into_iter();
    let all = all.filter_map(|process| world.process::<Kubelet>(process));
    all.flat_map(Kubelet::static_pods)
}

type Judge = fn(&World, &Note, &BTreeSet<Uid>) -> Check;

/// What is true of pods that nobody has deleted by force.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Unforced {
    name: &'static str,
    check: wavetank_engine::NotState<Judge>,
    forced: BTreeSet<Uid>,
}

impl Property for Unforced {
    fn name(&self) -> &'static str {
        self.name
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        match note.body.get::<DeletesByForce>() {
            Some(_) => None,
            None => Some((self.check.0)(world, note, &self.forced)),
        }
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(DeletesByForce(pod)) = note.body.get() {
            self.forced.insert(pod.uid.clone());
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}

fn runs_once(world: &World, note: &Note, forced: &BTreeSet<Uid>) -> Check {
    let Some(Starts {
        container,
        pod,
        name,
    }) = note.body.get()
    else {
        return Check::Idle;
    };
    if forced.contains(&pod.uid) {
        return Check::Idle;
    }
    let is_other =
        |own: &&Container| own.pod.uid != pod.uid || (own.id != *container && own.name == *name);
    let same = |own: &&Container| own.pod.name == pod.name && own.pod.namespace == pod.namespace;
    let mut others = running(world).filter(is_other).filter(same);
    match others.find(|own| !forced.contains(&own.pod.uid)) {
        None => Check::Held,
        Some(own) => {
            let message = format!(
                "the pod {} starts, and a container of another one ({}) runs",
                pod.name, own.id
            );
            violated("pod", &pod.name, message)
        }
    }
}

fn has_stopped(world: &World, note: &Note, forced: &BTreeSet<Uid>) -> Check {
    let mut checked = Check::Idle;
    for (before, now) in changed(note) {
        let (Some(before), None) = (before, now) else {
            continue;
        };
        checked = Check::Held;
        if forced.contains(before.uid()) {
            continue;
        }
        if let Some(own) = running(world).find(|own| *own.pod.uid == *before.uid()) {
            let name = before.name();
            let message = format!(
                "the pod {name} is gone from the API, and its container {} runs",
                own.id
            );
            return violated("pod", name, message);
        }
    }
    checked
}

/// A pod that goes was to go.
fn was_to_go(_: &World, note: &Note, forced: &BTreeSet<Uid>) -> Check {
    let mut checked = Check::Idle;
    for (before, now) in changed(note) {
        let (Some(before), None) = (before, now) else {
            continue;
        };
        // Those of static pods are their kubelet's.
        if is_mirror_pod(before) {
            continue;
        }
        checked = Check::Held;
        // Those that have ended, or were bound to no node, go at once when a user asks for it.
        let at_once =
            is_pod_phase_terminal(phase(pod::status(before))) || pod::node_name(before).is_empty();
        if !before.is_being_deleted() && !at_once && !forced.contains(before.uid()) {
            let name = before.name();
            let message =
                format!("the pod {name} is deleted at once, and nobody has asked for that");
            return violated("pod", name, message);
        }
    }
    checked
}

fn terminal_pods_do_not_run(world: &World, note: &Note) -> Check {
    if let Some(Starts { pod, .. }) = note.body.get() {
        let is_over =
            stored(world, pod).is_some_and(|own| is_pod_phase_terminal(phase(pod::status(own))));
        return match is_over {
            false => Check::Held,
            true => {
                let message = format!(
                    "a container of the pod {} is started, which has ended",
                    pod.name
                );
                violated("pod", &pod.name, message)
            }
        };
    }
    for (before, now) in changed(note) {
        let Some(now) = now else {
            continue;
        };
        let is_over = |own: &Object| is_pod_phase_terminal(phase(pod::status(own)));
        if !is_over(now) || before.is_some_and(is_over) {
            continue;
        }
        if let Some(own) = running(world).find(|own| *own.pod.uid == *now.uid()) {
            let name = now.name();
            let message = format!(
                "the pod {name} is {}, and its container {} runs",
                phase(pod::status(now)),
                own.id
            );
            return violated("pod", name, message);
        }
        return Check::Held;
    }
    Check::Idle
}

fn terminal_phases_stay(_: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for (before, now) in changed(note) {
        let (Some(before), Some(now)) = (before, now) else {
            continue;
        };
        let (was, is) = (phase(pod::status(before)), phase(pod::status(now)));
        if !is_pod_phase_terminal(was) || is_mirror_pod(now) {
            continue;
        }
        checked = Check::Held;
        if was != is {
            let name = now.name();
            return violated(
                "pod",
                name,
                format!("the pod {name} was {was}, and is {is} now"),
            );
        }
    }
    checked
}

pub(super) fn is_ready(pod: &Object) -> bool {
    pod::condition(pod::status(pod), "Ready").is_some_and(|own| own["status"] == "True")
}

pub(super) fn incarnation_of_kubelet(world: &World, runtime: ProcId) -> u32 {
    let kubelet = world
        .process::<ContainerRuntime>(runtime)
        .map(|own| own.kubelet);
    kubelet.map_or(0, |own| world.incarnation(own))
}

fn share_no_address(world: &World, note: &Note) -> Check {
    let Some(MakesSandbox(pod)) = note.body.get() else {
        return Check::Idle;
    };
    let Some(runtime) = world.process::<ContainerRuntime>(note.process) else {
        return Check::Idle;
    };
    let mut taken = BTreeMap::new();
    for own in &runtime.sandboxes {
        let Some(address) = &own.address else {
            continue;
        };
        if let Some(other) = taken.insert(address, &own.pod) {
            let message = format!(
                "the pods {} and {} have the address {address}",
                other.name, own.pod.name
            );
            return violated("pod", &pod.name, message);
        }
    }
    Check::Held
}

/// Which pods their kubelets have refused.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Orphans(BTreeSet<Uid>);

impl Property for Orphans {
    fn name(&self) -> &'static str {
        "wanted-containers-are-not-stopped"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if is::<Rejects>(note) {
            return None;
        }
        let Some(StopsOrphan(pod)) = note.body.get() else {
            return Some(Check::Idle);
        };
        let is_wanted = |own: &&Object| !own.is_being_deleted() && !self.0.contains(&pod.uid);
        match stored(world, pod).filter(is_wanted) {
            None => Some(Check::Held),
            Some(_) => {
                let message = format!(
                    "the pod {} is stopped as one that is gone, and it is in the API",
                    pod.name
                );
                Some(violated("pod", &pod.name, message))
            }
        }
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(Rejects { pod, .. }) = note.body.get() {
            self.0.insert(pod.uid.clone());
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}

/// How long a container has to run for its back-off to begin anew: twice `MaxCrashLoopBackOff`, and a little less.
const EXPIRES: Duration = Duration::from_secs(590);

/// What a life of a kubelet has done with a container of a pod.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Known {
    incarnation: u32,
    starts: u32,
    started: Option<Time>,
    ended: Option<Time>,
    /// The kubelet stops it for a probe, or has done so: it starts it again at once, and that does not count.
    is_stopped: bool,
    was_stopped: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct RestartsAreBackedOff {
    known: BTreeMap<(ProcId, Uid, Id), Known>,
}

impl RestartsAreBackedOff {
    /// What is removed has not been there for a kubelet: what somebody removes, all init containers before a new sandbox, and all
    /// containers of a static pod that is made anew.
    fn forget(&mut self, world: &World, note: &Note) {
        let all = self.known.iter_mut();
        let forget = |own: &mut Known| (own.ended, own.starts) = (None, 0);
        if let Some(Prunes { pod, name, .. }) = note.body.get() {
            let those = all.filter(|((_, uid, own), _)| *uid == pod.uid && own == name);
            those.for_each(|(_, own)| forget(own));
        } else if let Some(MakesSandbox(pod)) = note.body.get() {
            let regular = stored(world, pod).map_or(Vec::new(), pod::containers);
            let those = all.filter(|((_, uid, own), _)| {
                *uid == pod.uid && !regular.iter().any(|spec| spec.name == *own)
            });
            those.for_each(|(_, own)| forget(own));
        }
    }
}

impl Property for RestartsAreBackedOff {
    fn name(&self) -> &'static str {
        "restarts-are-backed-off"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let which = [
            is::<Starts>,
            is::<Exits>,
            is::<KillsContainer>,
            is::<Prunes>,
            is::<MakesSandbox>,
        ];
        let concerned = tells(note, &which);
        (!concerned).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let now = world.now();
        self.forget(world, note);
        if let Some(KillsContainer { pod, name, .. }) = note.body.get() {
            let those = self.known.iter_mut();
            let those = those.filter(|((_, uid, own), _)| *uid == pod.uid && own == name);
            for (_, own) in those {
                // It may have ended by itself, and the kubelet does not know that yet.
                match own.ended {
                    Some(_) => own.was_stopped = true,
                    None => own.is_stopped = true,
                }
            }
            return Check::Idle;
        }
        if let Some(Exits { pod, name, .. }) = note.body.get() {
            let key = (note.process, pod.uid.clone(), name.clone());
            let own = self.known.entry(key).or_default();
            // Its entry in the back-off has expired by then.
            let ran = own.started.take().map(|at| now.since(at));
            if ran.is_some_and(|ran| ran >= EXPIRES) {
                own.starts = own.starts.min(1);
            }
            own.ended = Some(now);
            own.was_stopped = std::mem::take(&mut own.is_stopped);
            return Check::Idle;
        }
        let Some(Starts { pod, name, .. }) = note.body.get() else {
            return Check::Idle;
        };
        let incarnation = incarnation_of_kubelet(world, note.process);
        let key = (note.process, pod.uid.clone(), name.clone());
        let own = self.known.entry(key).or_default();
        if own.incarnation != incarnation {
            (own.incarnation, own.starts) = (incarnation, 0);
        }
        own.started = Some(now);
        let ended = own.ended.take();
        if std::mem::take(&mut own.was_stopped) {
            return Check::Held;
        }
        own.starts += 1;
        let starts = own.starts;
        let since = ended.map(|ended| now.nanos().saturating_sub(ended.nanos()) / 1_000_000);
        match since {
            Some(since) if starts > 2 && since < 9_000 => {
                let message = format!(
                    "the container {name} of the pod {} is started again {since} ms after its end",
                    pod.name
                );
                violated("pod", &pod.name, message)
            }
            _ => Check::Held,
        }
    }
}
