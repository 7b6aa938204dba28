//! What is true once all has been well for a while.

use std::time::Duration;

use wavetank_api::Object;
use wavetank_api::json;
use wavetank_api::kinds::PODS;
use wavetank_component::PropertyInfo;
use wavetank_components::pod_runners::{FAILING_TASK, TASK};
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;
use wavetank_engine::{Check, Stable, World};

use super::safe::{containers, static_pods};
use crate::component::{NEEDED, STATIC_PODS};
use crate::pod::{self, CONFIG_MIRROR, is_mirror_pod, is_pod_phase_terminal, named, phase};
use crate::runtime::ContainerRuntime;
use crate::status_manager::all_container_statuses;

pub(super) fn all() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "deleted-pods-go",
            "some time after calm no pod of a kubelet is still being deleted",
            NEEDED,
            |settled| Box::new(stable("deleted-pods-go", settled, deleted_pods_go)),
        ),
        PropertyInfo::new(
            "gone-pods-do-not-run",
            "some time after calm no container runs whose pod is gone from the API",
            NEEDED,
            |settled| {
                Box::new(stable(
                    "gone-pods-do-not-run",
                    settled,
                    gone_pods_do_not_run,
                ))
            },
        ),
        PropertyInfo::new(
            "mirror-pods-agree",
            "some time after calm each manifest on the disk of a node has a mirror pod of its hash, which is to stay, and each mirror \
             pod has its manifest",
            STATIC_PODS,
            |settled| Box::new(stable("mirror-pods-agree", settled, mirror_pods_agree)),
        ),
        PropertyInfo::new(
            "pods-say-what-runs",
            "some time after calm pods that run for ever do, and say so: phase, readiness, address",
            NEEDED,
            |settled| Box::new(stable("pods-say-what-runs", settled, pods_say_what_runs)),
        ),
    ]
}

fn stable(name: &'static str, after: Duration, holds: fn(&World) -> Check) -> Stable {
    Stable::new(name, after, |_, _| Check::Idle, holds)
}

fn pods(world: &World) -> Vec<&Object> {
    ClusterView(world).all(PODS.registry)
}

fn deleted_pods_go(world: &World) -> Check {
    match pods(world).into_iter().find(|pod| pod.is_being_deleted()) {
        None => Check::Held,
        Some(pod) => {
            let name = pod.name();
            violated("pod", name, format!("the pod {name} is to go, and stays"))
        }
    }
}

fn gone_pods_do_not_run(world: &World) -> Check {
    let pods = pods(world);
    let manifests: Vec<Object> = static_pods(world).collect();
    let is_gone = |uid: &str| {
        let mut all = pods.iter().copied().chain(&manifests);
        !all.any(|pod| pod.uid() == uid)
    };
    match containers(world).find(|own| own.is_running() && is_gone(&own.pod.uid)) {
        None => Check::Held,
        Some(own) => {
            let name = &own.pod.name;
            violated(
                "pod",
                name,
                format!("the container {} runs, and its pod {name} is gone", own.id),
            )
        }
    }
}

/// The UID under which a pod runs: that of its static pod, if it is a mirror pod.
fn runs_as(pod: &Object) -> &str {
    pod::annotation(pod, CONFIG_MIRROR).unwrap_or(pod.uid())
}

/// What is wrong with a pod that is to run for ever.
fn wrong(world: &World, pod: &Object) -> Option<String> {
    let status = pod::status(pod);
    let own: Vec<_> = containers(world)
        .filter(|own| *own.pod.uid == *runs_as(pod) && own.is_running())
        .collect();
    let told = all_container_statuses(status);
    let mut is_well = true;
    for spec in pod::lasting_containers(pod) {
        let Some(running) = own.iter().find(|own| own.name == spec.name) else {
            return Some(format!("does not run {}", spec.name));
        };
        is_well &= running.is_well;
        let told = named(&told, &spec.name);
        if told.is_none_or(|told| json::at(told, &["state", "running"]).is_none()) {
            return Some(format!("runs {}, and does not say so", spec.name));
        }
    }
    if phase(status) != "Running" {
        return Some(format!("runs, and says that it is {}", phase(status)));
    }
    let is = |kind| pod::condition(status, kind).is_some_and(|own| own["status"] == "True");
    if is("Ready") != is_well {
        return Some(format!(
            "says that its readiness is {}, and it is not",
            is("Ready")
        ));
    }
    if !is("Initialized") {
        return Some("runs, and says that it is not initialized".to_owned());
    }
    let running = own.first()?;
    let mut all = world
        .processes()
        .filter_map(|process| world.process::<ContainerRuntime>(process));
    let sandbox = all.find_map(|own| {
        own.sandboxes
            .iter()
            .find(|own| own.id == running.sandbox && own.pod.uid == running.pod.uid)
    });
    let address = sandbox
        .and_then(|own| own.address.as_deref())
        .unwrap_or_default();
    let told = json::text(status, &["podIP"]);
    (told != address).then(|| format!("says that its address is {told}, and it is {address}"))
}

fn pods_say_what_runs(world: &World) -> Check {
    let mut checked = Check::Idle;
    for pod in pods(world) {
        let is_task = pod::containers(pod)
            .iter()
            .any(|own| [TASK, FAILING_TASK].contains(&&*own.image))
            || pod::init_containers(pod)
                .iter()
                .any(|own| *own.image == *FAILING_TASK);
        let is_over = is_pod_phase_terminal(phase(pod::status(pod)));
        let is_bound = !pod::node_name(pod).is_empty();
        if is_task || is_over || pod.is_being_deleted() || !is_bound {
            continue;
        }
        checked = Check::Held;
        if let Some(wrong) = wrong(world, pod) {
            let name = pod.name();
            return violated("pod", name, format!("the pod {name} {wrong}"));
        }
    }
    checked
}

fn mirror_pods_agree(world: &World) -> Check {
    let manifests: Vec<Object> = static_pods(world).collect();
    let mut mirrors = pods(world);
    mirrors.retain(|pod| is_mirror_pod(pod));
    let is_of = |mirror: &Object, pod: &Object| {
        mirror.name() == pod.name() && pod::annotation(mirror, CONFIG_MIRROR) == Some(pod.uid())
    };
    for pod in &manifests {
        let mut found = mirrors.iter().filter(|mirror| is_of(mirror, pod));
        if !found.any(|mirror| !mirror.is_being_deleted()) {
            let name = pod.name();
            let message = format!("the static pod {name} ({}) has no mirror pod", pod.uid());
            return violated("pod", name, message);
        }
    }
    for mirror in &mirrors {
        if !manifests.iter().any(|pod| is_of(mirror, pod)) {
            let name = mirror.name();
            return violated(
                "pod",
                name,
                format!("the mirror pod {name} has no manifest"),
            );
        }
    }
    match manifests.is_empty() {
        true => Check::Idle,
        false => Check::Held,
    }
}
