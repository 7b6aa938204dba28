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

use super::safe::containers;
use crate::component::NEEDED;
use crate::pod::{self, is_pod_phase_terminal, phase};
use crate::runtime::ContainerRuntime;

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
    let is_gone = |uid: &str| !pods.iter().any(|pod| pod.uid() == uid);
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

/// What is wrong with a pod that is to run for ever.
fn wrong(world: &World, pod: &Object) -> Option<String> {
    let status = pod::status(pod);
    let own: Vec<_> = containers(world)
        .filter(|own| *own.pod.uid == *pod.uid())
        .collect();
    let Some(running) = own.iter().find(|own| own.is_running()) else {
        return Some("does not run".to_owned());
    };
    if phase(status) != "Running" {
        return Some(format!("runs, and says that it is {}", phase(status)));
    }
    let ready = pod::condition(status, "Ready").is_some_and(|own| own["status"] == "True");
    if ready != running.is_well {
        return Some(format!("says that its readiness is {ready}, and it is not"));
    }
    let mut all = world
        .processes()
        .filter_map(|process| world.process::<ContainerRuntime>(process));
    let sandbox = all.find_map(|own| {
        own.sandboxes
            .iter()
            .find(|own| own.id == running.sandbox && *own.pod.uid == *pod.uid())
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
        let specs = pod::containers(pod);
        let is_task = specs
            .iter()
            .any(|own| [TASK, FAILING_TASK].contains(&&*own.image));
        let is_over = is_pod_phase_terminal(phase(pod::status(pod)));
        if is_task || is_over || pod.is_being_deleted() {
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
