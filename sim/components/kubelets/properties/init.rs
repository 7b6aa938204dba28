//! What is promised of init containers and sidecars at any time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Object;
use wavetank_component::PropertyInfo;
use wavetank_components::promises::violated;
use wavetank_engine::{Check, Note, ProcId, Property, Time, World};

use super::safe::{containers, spec_of};
use super::{USED, is, tells};
use crate::component::NEEDED;
use crate::notes::{
    Exits, KillsContainer, MakesSandbox, Starts, StopsAll, StopsOrphan, Terminates,
};
use crate::pod::{self, Spec};
use crate::runtime::TERMINATED;
use crate::runtime::cri::{Container, Id, PodRef, State, Uid};

pub(super) fn all() -> Vec<PropertyInfo> {
    let order = |name, of, about| {
        PropertyInfo::new(name, about, NEEDED, move |_| {
            Box::new(InOrder {
                name,
                of,
                done: BTreeMap::new(),
            })
        })
        .tested_by(&USED)
    };
    vec![
        order(
            "regular-containers-wait-for-init-containers",
            Of::Regular,
            "no regular container starts before all init containers of its pod have succeeded in its sandbox, or started up if \
             they are sidecars",
        ),
        order(
            "init-containers-run-in-order",
            Of::Init,
            "no init container starts before those before it have succeeded in its sandbox, or started up if they are sidecars, \
             and one that is no sidecar runs alone: beside no other one, and no regular container",
        ),
        PropertyInfo::new(
            "sidecars-outlive-regular-containers",
            "no sidecar is stopped while a regular container of its pod runs, unless that takes longer than its grace period; not \
             counted where a probe of the sidecar fails",
            NEEDED,
            |_| Box::new(Outlive::default()),
        )
        .tested_by(&USED),
    ]
}

/// Whose starts are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Of {
    Regular,
    Init,
}

/// Which init containers of a pod have succeeded in its newest sandbox, or started up.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct InOrder {
    name: &'static str,
    of: Of,
    done: BTreeMap<(ProcId, Uid), BTreeSet<Arc<str>>>,
}

fn container<'a>(world: &'a World, id: &str, pod: &PodRef) -> Option<&'a Container> {
    containers(world).find(|own| *own.id == *id && own.pod.uid == pod.uid)
}

impl InOrder {
    /// The sidecars of the pod that have started up in this sandbox.
    fn has_started_up(world: &World, sandbox: &Id, uid: &str, spec: &Spec) -> bool {
        let mut all = containers(world);
        all.any(|own| {
            let is_it = own.sandbox == *sandbox && *own.pod.uid == *uid && own.name == spec.name;
            let has_begun = own.state != State::Created;
            is_it && has_begun && (spec.startup.is_none() || own.has_started_up)
        })
    }

    fn starts(&mut self, world: &World, note: &Note, own: &Container) -> Check {
        let Some(pod) = spec_of(world, &own.pod) else {
            return Check::Idle;
        };
        let init = pod::init_containers(&pod);
        if init.is_empty() {
            return Check::Idle;
        }
        let key = (note.process, own.pod.uid.clone());
        let done = self.done.entry(key).or_default();
        for spec in init.iter().filter(|spec| spec.is_restartable) {
            if InOrder::has_started_up(world, &own.sandbox, &own.pod.uid, spec) {
                done.insert(spec.name.clone());
            }
        }
        let at = init.iter().position(|spec| spec.name == own.name);
        let concerns = match self.of {
            Of::Regular => at.is_none(),
            Of::Init => at.is_some(),
        };
        if !concerns {
            return Check::Idle;
        }
        let before = &init[..at.unwrap_or(init.len())];
        let name = &own.name;
        if let Some(spec) = before.iter().find(|spec| !done.contains(&spec.name)) {
            let message = format!(
                "the container {name} of the pod {} starts, and {} before it is not done",
                own.pod.name, spec.name
            );
            return violated("pod", &own.pod.name, message);
        }
        if at.is_some_and(|at| !init[at].is_restartable)
            && let Some(other) = beside(world, &pod, own)
        {
            let message = format!(
                "the init container {name} of the pod {} starts, and {} runs",
                own.pod.name, other.name
            );
            return violated("pod", &own.pod.name, message);
        }
        Check::Held
    }
}

/// What runs of a pod beside one of its init containers, sidecars aside.
fn beside<'a>(world: &'a World, pod: &Object, own: &Container) -> Option<&'a Container> {
    let mut sidecars = pod::init_containers(pod);
    sidecars.retain(|own| own.is_restartable);
    containers(world).find(|other| {
        let is_other = other.pod.uid == own.pod.uid && other.id != own.id && other.is_running();
        is_other && !sidecars.iter().any(|spec| spec.name == other.name)
    })
}

impl Property for InOrder {
    fn name(&self) -> &'static str {
        self.name
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let succeeds = |note: &Note| note.body.get::<Exits>().is_some_and(|own| own.code == 0);
        let concerned = tells(note, &[is::<Starts>, is::<MakesSandbox>, succeeds]);
        (!concerned).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(MakesSandbox(pod)) = note.body.get() {
            self.done.remove(&(note.process, pod.uid.clone()));
        }
        if let Some(Exits {
            pod, name, code: 0, ..
        }) = note.body.get()
        {
            let key = (note.process, pod.uid.clone());
            self.done.entry(key).or_default().insert(name.clone());
        }
        match note.body.get() {
            Some(Starts {
                container: id, pod, ..
            }) => match container(world, id, pod) {
                Some(own) => self.starts(world, note, own),
                None => Check::Idle,
            },
            None => Check::Idle,
        }
    }
}

/// Pods that are being stopped, and until when sidecars of them wait.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Outlive {
    until: BTreeMap<Uid, Time>,
    /// Nothing is known of these, or their sidecars were stopped for a probe.
    orphans: BTreeSet<Uid>,
    unwell: BTreeSet<(Uid, Id)>,
}

impl Property for Outlive {
    fn name(&self) -> &'static str {
        "sidecars-outlive-regular-containers"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let stops = |note: &Note| {
            let exit = note.body.get::<Exits>();
            exit.is_some_and(|own| own.code == TERMINATED)
        };
        let which = [
            is::<KillsContainer>,
            is::<Terminates>,
            is::<StopsAll>,
            is::<StopsOrphan>,
            is::<MakesSandbox>,
        ];
        let concerned = tells(note, &which) || stops(note);
        (!concerned).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let now = world.now();
        let stops = match (note.body.get(), note.body.get()) {
            (Some(Terminates { pod, grace }), _) | (_, Some(StopsAll { pod, grace })) => {
                Some((pod, grace))
            }
            _ => None,
        };
        if let Some((pod, grace)) = stops {
            let until = now + Duration::from_secs(grace.unsigned_abs());
            let own = self.until.entry(pod.uid.clone()).or_insert(until);
            *own = until.min(*own);
        }
        // What a sync has stopped runs again.
        if let Some(MakesSandbox(pod)) = note.body.get() {
            self.until.remove(&pod.uid);
        }
        if let Some(StopsOrphan(pod)) = note.body.get() {
            self.orphans.insert(pod.uid.clone());
        }
        if let Some(KillsContainer { container, pod, .. }) = note.body.get() {
            self.unwell.insert((pod.uid.clone(), container.clone()));
        }
        let Some(Exits {
            container,
            pod,
            name,
            ..
        }) = note.body.get()
        else {
            return Check::Idle;
        };
        let Some(own) = spec_of(world, pod) else {
            return Check::Idle;
        };
        let mut init = pod::init_containers(&own).into_iter();
        let is_sidecar = init.any(|spec| spec.is_restartable && spec.name == *name);
        let is_late = self.until.get(&pod.uid).is_some_and(|until| *until <= now);
        let was_unwell = self.unwell.contains(&(pod.uid.clone(), container.clone()));
        if !is_sidecar || is_late || was_unwell || self.orphans.contains(&pod.uid) {
            return Check::Idle;
        }
        let regular = pod::containers(&own);
        let running = containers(world).filter(|own| own.is_running() && own.pod.uid == pod.uid);
        let mut running = running.filter(|own| regular.iter().any(|spec| spec.name == own.name));
        match running.next() {
            None => Check::Held,
            Some(other) => {
                let message = format!(
                    "the sidecar {name} of the pod {} was stopped, and {} runs",
                    pod.name, other.name
                );
                violated("pod", &pod.name, message)
            }
        }
    }
}
