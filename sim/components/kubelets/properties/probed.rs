//! What is promised of probes at any time.

use wavetank_api::Object;
use wavetank_api::json::{self, Json};
use wavetank_component::PropertyInfo;
use wavetank_components::promises::{always, violated};
use wavetank_engine::{Check, Note, World};

use super::USED;
use super::safe::{changed, containers, stored};
use crate::component::NEEDED;
use crate::notes::KillsContainer;
use crate::pod::{self, Spec};
use crate::runtime::cri::Container;
use crate::status_manager::all_container_statuses;

pub(super) fn all() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "ready-pods-were-probed",
            "no pod is told to be ready whose container has a probe that has not succeeded yet",
            NEEDED,
            |_| Box::new(always("ready-pods-were-probed", ready_were_probed)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "started-containers-were-probed",
            "no container is told to have started up whose startup probe has not succeeded yet, unless its pod is to go",
            NEEDED,
            |_| Box::new(always("started-containers-were-probed", started_were_probed)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "starting-containers-are-left-alone",
            "no container is stopped for another probe before its startup probe has succeeded",
            NEEDED,
            |_| Box::new(always("starting-containers-are-left-alone", starting_are_left_alone)),
        )
        .tested_by(&USED),
    ]
}

/// The containers that a status tells of, by their names in the pod.
fn told_ids(pod: &Object) -> Vec<(Json, String)> {
    let all = all_container_statuses(pod::status(pod)).into_iter();
    let told = all.filter_map(|own| {
        let id = json::text(&own, &["containerID"]).strip_prefix("containerd://")?;
        let id = id.to_owned();
        Some((own, id))
    });
    told.collect()
}

/// The containers that a status tells to be so, and their names at the runtime.
fn told(pod: &Object, field: &str) -> Vec<(String, String)> {
    let all = told_ids(pod).into_iter();
    let all = all.filter(|(own, _)| own[field] == true);
    all.map(|(own, id)| (json::text(&own, &["name"]).to_owned(), id))
        .collect()
}

/// Has a container of this name such a probe?
fn has_probe(pod: &Object, name: &str, is_such: impl Fn(&Spec) -> bool) -> bool {
    let specs = pod::lasting_containers(pod);
    specs.iter().any(|own| *own.name == *name && is_such(own))
}

/// The containers that a commit tells to be so, which they were not told to be before, with their names in their pods.
fn newly_told<'a>(
    world: &'a World,
    before: Option<&Object>,
    now: &Object,
    field: &str,
    is_such: impl Fn(&Spec) -> bool,
) -> Vec<(String, &'a Container)> {
    let before = before.map(|own| told(own, field)).unwrap_or_default();
    let new = told(now, field).into_iter();
    let new = new.filter(|own| !before.contains(own) && has_probe(now, &own.0, &is_such));
    new.filter_map(|(name, id)| {
        let is_it = |own: &&Container| *own.id == *id && *own.pod.uid == *now.uid();
        Some((name, containers(world).find(is_it)?))
    })
    .collect()
}

fn ready_were_probed(world: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for (before, now) in changed(note) {
        let Some(now) = now else { continue };
        for (name, own) in newly_told(world, before, now, "ready", |own| own.readiness.is_some()) {
            checked = Check::Held;
            if !own.was_probed {
                let (pod, id) = (now.name(), &own.id);
                let message = format!(
                    "the container {name} ({id}) of the pod {pod} is told to be ready, and no probe of it has succeeded"
                );
                return violated("pod", pod, message);
            }
        }
    }
    checked
}

fn started_were_probed(world: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for (before, now) in changed(note) {
        let Some(now) = now.filter(|own| !own.is_being_deleted()) else {
            continue;
        };
        for (name, own) in newly_told(world, before, now, "started", |own| own.startup.is_some()) {
            checked = Check::Held;
            if !own.has_started_up {
                let (pod, id) = (now.name(), &own.id);
                let message = format!(
                    "the container {name} ({id}) of the pod {pod} is told to be started, and no startup probe of it has \
                     succeeded"
                );
                return violated("pod", pod, message);
            }
        }
    }
    checked
}

fn starting_are_left_alone(world: &World, note: &Note) -> Check {
    let Some(KillsContainer {
        container,
        pod,
        name,
        failed,
    }) = note.body.get()
    else {
        return Check::Idle;
    };
    let is_it = |own: &&Container| own.id == *container && own.pod.uid == pod.uid;
    let is_probed = |own: &Object| has_probe(own, name, |own| own.startup.is_some());
    let has_probe = stored(world, pod).is_some_and(is_probed);
    match containers(world).find(is_it) {
        Some(own) if has_probe && !own.has_started_up && *failed != "startup" => {
            let message = format!(
                "the container {name} ({container}) of the pod {} is stopped for its {failed} probe, and still starts up",
                pod.name
            );
            violated("pod", &pod.name, message)
        }
        _ if !has_probe => Check::Idle,
        _ => Check::Held,
    }
}
