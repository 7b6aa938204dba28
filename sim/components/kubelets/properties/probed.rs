//! What is promised of probes at any time.

use wavetank_api::Object;
use wavetank_api::json::{self, Json};
use wavetank_component::PropertyInfo;
use wavetank_components::promises::{always, violated};
use wavetank_engine::{Check, Note, World};

use super::USED;
use super::safe::{changed, containers, is_ready, stored};
use crate::component::NEEDED;
use crate::notes::KillsContainer;
use crate::pod;
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

/// The pods that a commit makes ready and that have a probe.
fn probed_and_ready(note: &Note) -> Vec<&Object> {
    let all = changed(note).filter_map(|(before, now)| {
        now.filter(|own| is_ready(own) && !before.is_some_and(is_ready))
    });
    let is_probed = |pod: &&Object| {
        pod::lasting_containers(pod)
            .iter()
            .any(|own| own.readiness.is_some())
    };
    all.filter(is_probed).collect()
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

/// A container of this pod that has a readiness probe, and that none has reached.
fn unprobed<'a>(world: &'a World, pod: &Object) -> Option<&'a Container> {
    let specs = pod::lasting_containers(pod);
    let probed = |own: &&Container| {
        let mut specs = specs.iter().filter(|spec| spec.name == own.name);
        specs.any(|spec| spec.readiness.is_some())
    };
    let told = told_ids(pod);
    let is_it =
        |own: &&Container| *own.pod.uid == *pod.uid() && told.iter().any(|(_, id)| **id == *own.id);
    let mut all = containers(world).filter(is_it).filter(probed);
    all.find(|own| !own.was_probed)
}

fn ready_were_probed(world: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for pod in probed_and_ready(note) {
        checked = Check::Held;
        if let Some(own) = unprobed(world, pod) {
            let name = pod.name();
            let message = format!(
                "the pod {name} is ready, and no probe of its container {} has succeeded",
                own.id
            );
            return violated("pod", name, message);
        }
    }
    checked
}

/// The containers that a status tells to be started, and their names at the runtime.
fn told_started(pod: &Object) -> Vec<(String, String)> {
    let all = told_ids(pod).into_iter();
    let all = all.filter(|(own, _)| own["started"] == true);
    all.map(|(own, id)| (json::text(&own, &["name"]).to_owned(), id))
        .collect()
}

fn has_startup_probe(pod: &Object, name: &str) -> bool {
    let specs = pod::lasting_containers(pod);
    let mut specs = specs.iter().filter(|own| *own.name == *name);
    specs.any(|own| own.startup.is_some())
}

fn started_were_probed(world: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for (before, now) in changed(note) {
        let Some(now) = now.filter(|own| !own.is_being_deleted()) else {
            continue;
        };
        let before = before.map(told_started).unwrap_or_default();
        let new = told_started(now)
            .into_iter()
            .filter(|own| !before.contains(own));
        for (name, id) in new.filter(|(name, _)| has_startup_probe(now, name)) {
            let is_it = |own: &&Container| *own.id == *id && *own.pod.uid == *now.uid();
            let Some(own) = containers(world).find(is_it) else {
                continue;
            };
            checked = Check::Held;
            if !own.has_started_up {
                let pod = now.name();
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
    let has_probe = stored(world, pod).is_some_and(|own| has_startup_probe(own, name));
    match containers(world).find(is_it) {
        Some(own) if has_probe && !own.has_started_up && *failed != "startup" => {
            let message = format!(
                "the container {name} ({container}) of the pod {} is stopped for its {failed} probe, and still starts up",
                pod.name
            );
            violated("pod", &pod.name, message)
        }
        _ => Check::Held,
    }
}
