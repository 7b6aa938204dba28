//! What has ended is removed from the runtime: the last container of each name stays while its pod does
//! (`pkg/kubelet/pod_container_deletor.go`, `pkg/kubelet/kuberuntime/kuberuntime_gc.go`, v1.36.2).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{Name, Outcome, Rx, Task};

use crate::kubelet::Kubelet;
use crate::pleg;
use crate::runtime::cri::{Answer, Ask, Container, Id, Sandbox, Uid};
use crate::sync_loop::{is_exited, sources_are_ready};
use crate::workers::should_pod_content_be_removed;

pub(crate) const COLLECT: Name = Name::new("container-gc");
/// `ContainerGCPeriod`
const PERIOD: Duration = Duration::from_secs(60);

/// `cleanUpContainersInPod`. Upstream hands what is to be removed to a routine of its own.
pub(crate) async fn clean_up_containers_in_pod(kubelet: &Kubelet, rx: Rx, uid: &Uid) {
    let keep = match should_pod_content_be_removed(rx, uid) {
        true => 0,
        false => 1,
    };
    delete_containers_in_pod(kubelet, rx, uid, keep).await;
}

/// `deleteContainersInPod`: of each name so many stay that have ended.
pub(crate) async fn delete_containers_in_pod(kubelet: &Kubelet, rx: Rx, uid: &Uid, keep: usize) {
    let Some(cached) = pleg::get(rx, uid) else {
        return;
    };
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for own in cached.status.containers.iter().filter(|own| is_exited(own)) {
        let count = seen.entry(&own.name).or_default();
        *count += 1;
        if *count > keep {
            let _ = kubelet
                .ask_runtime(rx, Ask::RemoveContainer(own.id.clone()))
                .await;
        }
    }
}

/// Upstream's `evictContainers`: the names of those that go.
fn evictable(rx: Rx, containers: &mut [Container], ready: bool) -> Vec<Id> {
    containers.sort_by_key(|own| std::cmp::Reverse(own.number));
    let mut seen: BTreeSet<(Uid, Arc<str>)> = BTreeSet::new();
    let mut gone = Vec::new();
    for own in containers.iter().filter(|own| !own.is_running()) {
        let is_first = seen.insert((own.pod.uid.clone(), own.name.clone()));
        let is_over = ready && should_pod_content_be_removed(rx, &own.pod.uid);
        if !is_first || is_over {
            gone.push(own.id.clone());
        }
    }
    gone
}

/// Upstream's `evictSandboxes`: of each pod that is there the newest stays.
fn evictable_sandboxes(rx: Rx, sandboxes: &[Sandbox], containers: &[Container]) -> Vec<Id> {
    let is_active = |own: &Sandbox| {
        own.is_ready
            || containers
                .iter()
                .any(|container| container.sandbox == own.id)
    };
    let is_newest = |own: &Sandbox| {
        let mut others = sandboxes
            .iter()
            .filter(|other| other.pod.uid == own.pod.uid);
        others.all(|other| other.number <= own.number)
    };
    let gone = sandboxes.iter().filter(|own| {
        !is_active(own) && (!is_newest(own) || should_pod_content_be_removed(rx, &own.pod.uid))
    });
    gone.map(|own| own.id.clone()).collect()
}

async fn collect(kubelet: &Kubelet, rx: Rx) {
    let Ok(Answer::Pods(_, mut containers)) = kubelet.ask_runtime(rx, Ask::ListPods).await else {
        return;
    };
    for id in evictable(rx, &mut containers, sources_are_ready(kubelet, rx)) {
        let _ = kubelet.ask_runtime(rx, Ask::RemoveContainer(id)).await;
    }
    let Ok(Answer::Pods(sandboxes, containers)) = kubelet.ask_runtime(rx, Ask::ListPods).await
    else {
        return;
    };
    for id in evictable_sandboxes(rx, &sandboxes, &containers) {
        let _ = kubelet.ask_runtime(rx, Ask::RemovePodSandbox(id)).await;
    }
}

/// One turn of `StartGarbageCollection`.
pub(crate) async fn run(kubelet: Arc<Kubelet>, rx: Rx) -> Outcome {
    rx.sleep(PERIOD).await;
    collect(&kubelet, rx).await;
    Outcome::Become(Task::new(COLLECT, ()))
}
