//! The status manager (`pkg/kubelet/status/status_manager.go`, v1.36.2): the newest status of each pod with a version, and one
//! routine that writes what the API does not have yet. It deletes a pod from the API once all of it has stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::json::{self, Json, Map};
use wavetank_api::kinds::PODS;
use wavetank_api::{Method, Object, Reason, Request, Stamp};
use wavetank_components::conditions::patch_of_conditions;
use wavetank_engine::{Cell, Channel, Cx, Name, Outcome, Payload, Rx, Task, Timer};
use wavetank_version::Set;

use crate::conditions::{
    condition_for_terminal_phase, generate_ready_condition, pod_condition_by_kubelet,
};
use crate::defects::KubeletDefect;
use crate::kubelet::Kubelet;
use crate::notes::DeletesPod;
use crate::pod::{
    self, is_mirror_pod, is_pod_phase_terminal, is_static_pod, named, phase, restart_policy,
};
use crate::pod_manager;
use crate::runtime::cri::Uid;
use merge::{
    check_container_state_transition, is_pod_status_by_kubelet_equal, merge_pod_status,
    patch_of_status, update_last_transition_times,
};

mod merge;
mod terminate;

pub(crate) use terminate::terminate_pod;

pub(crate) const SYNC: Name = Name::new("status-manager");
/// `syncPeriod`
const SYNC_PERIOD: Duration = Duration::from_secs(10);
const TICK: Timer = Timer::new(Name::new("sync-all-statuses"), 0);
/// How long a request may take: the client's timeout.
const LIMIT: Duration = Duration::from_secs(30);
/// The fields of a status that list containers.
const LISTS: [&str; 2] = ["containerStatuses", INIT_STATUSES];
const INIT_STATUSES: &str = "initContainerStatuses";
const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";
/// `podStatusChannel` and the ticker: false and true.
const UPDATES: Channel = Channel::new("pod-status-channel", 0);
const TICKS: Channel = Channel::new("pod-status-ticks", 0);

/// `versionedPodStatus`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Versioned {
    status: Object,
    version: u64,
    name: Arc<str>,
    namespace: Arc<str>,
    is_finished: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Statuses {
    /// `podStatuses`
    pods: BTreeMap<Uid, Versioned>,
    /// `apiStatusVersions`
    written: BTreeMap<Uid, u64>,
}

static STATUSES: Cell<Statuses> = Cell::new("pod-statuses");

/// `Start`
pub(crate) fn start(cx: &mut Cx<'_>) {
    cx.make(UPDATES, 1);
    cx.make(TICKS, 1);
    cx.arm(TICK, SYNC_PERIOD);
    cx.spawn(Task::new(SYNC, ()));
}

/// The ticker; false if the timer is none of these.
pub(crate) fn timer(cx: &mut Cx<'_>, timer: Timer) -> bool {
    if timer != TICK {
        return false;
    }
    cx.try_send(TICKS, ());
    cx.arm(TICK, SYNC_PERIOD);
    true
}

/// `GetPodStatus`
pub(crate) fn get_pod_status(rx: Rx, uid: &str) -> Option<Object> {
    rx.look(&STATUSES, |own| {
        own.pods.get(uid).map(|own| own.status.clone())
    })
}

/// `SetPodStatus`
pub(crate) fn set_pod_status(kubelet: &Kubelet, rx: Rx, pod: &Object, status: Json) {
    set_status(kubelet, rx, pod, status, false);
}

/// The same where somebody has killed the pod, and says so.
pub(crate) fn set_status_of_killed(kubelet: &Kubelet, rx: Rx, pod: &Object, status: Json) {
    set_status(kubelet, rx, pod, status, true);
}

fn set_status(kubelet: &Kubelet, rx: Rx, pod: &Object, mut status: Json, is_killed: bool) {
    if pod::generation(pod) != 0 {
        status["observedGeneration"] = pod::generation(pod).into();
    }
    let flags = Flags {
        force: pod.is_being_deleted(),
        is_killed,
        ..Flags::default()
    };
    update_status_internal(kubelet, rx, pod, status, flags);
}

/// `findContainerStatus`
fn find_container_status<'a>(status: &'a mut Json, container: &str) -> Option<&'a mut Json> {
    let id = format!("containerd://{container}");
    let lists = status.as_object_mut()?.iter_mut();
    let lists = lists.filter(|(field, _)| LISTS.contains(&field.as_str()));
    let mut all = lists.filter_map(|(_, list)| list.as_array_mut()).flatten();
    all.find(|own| own["containerID"] == id.as_str())
}

/// The statuses of all containers.
pub(crate) fn all_container_statuses(status: &Json) -> Vec<Json> {
    let lists = LISTS.iter().flat_map(|list| json::list(status, &[list]));
    lists.cloned().collect()
}

/// `SetContainerReadiness`
pub(crate) fn set_container_readiness(
    kubelet: &Kubelet,
    rx: Rx,
    uid: &str,
    container: &str,
    ready: bool,
) {
    let Some(pod) = pod_manager::get_pod_by_uid(rx, uid) else {
        return;
    };
    let Some(old) = get_pod_status(rx, uid) else {
        return;
    };
    let mut status = old.json().clone();
    let found = find_container_status(&mut status, container);
    let Some(found) = found.filter(|own| own["ready"] != ready) else {
        return;
    };
    found["ready"] = ready.into();
    let statuses = all_container_statuses(&status);
    let phase = phase(&status).to_owned();
    let mut conditions = json::list(&status, &["conditions"]).to_vec();
    for kind in ["Ready", "ContainersReady"] {
        let new = generate_ready_condition(&pod, kind, &statuses, &phase);
        match conditions.iter_mut().find(|own| own["type"] == kind) {
            Some(old) => *old = new,
            None => conditions.push(new),
        }
    }
    status["conditions"] = conditions.into();
    update_status_internal(kubelet, rx, &pod, status, Flags::default());
}

/// `SetContainerStartup`
pub(crate) fn set_container_startup(
    kubelet: &Kubelet,
    rx: Rx,
    uid: &str,
    container: &str,
    started: bool,
) {
    let Some(pod) = pod_manager::get_pod_by_uid(rx, uid) else {
        return;
    };
    let Some(old) = get_pod_status(rx, uid) else {
        return;
    };
    let mut status = old.json().clone();
    let found = find_container_status(&mut status, container);
    let Some(found) = found.filter(|own| own["started"] != started) else {
        return;
    };
    found["started"] = started.into();
    update_status_internal(kubelet, rx, &pod, status, Flags::default());
}

/// How a status is taken.
#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    /// Also if it is the same.
    force: bool,
    is_finished: bool,
    /// Somebody has killed the pod.
    is_killed: bool,
}

/// `updateStatusInternal`
fn update_status_internal(kubelet: &Kubelet, rx: Rx, pod: &Object, status: Json, flags: Flags) {
    let now = Stamp::of(rx.clock()).seconds();
    let uid = pod::uid(pod);
    let cached = rx.look(&STATUSES, |own| own.pods.get(&uid).cloned());
    // What the API shows of a static pod is its mirror pod.
    let mirror = pod_manager::get_mirror_pod_by_pod(rx, pod);
    let shown = pod::status(mirror.as_ref().unwrap_or(pod));
    let new = next_version(kubelet.defects, pod, shown, cached, status, &now, flags);
    let Some(new) = new else {
        return;
    };
    rx.update(&STATUSES, |own| {
        own.pods.insert(uid, new);
    });
    rx.try_send(UPDATES, Payload::new(()));
}

/// What follows the status that is cached of a pod; none if that stays.
fn next_version(
    defects: Set<KubeletDefect>,
    pod: &Object,
    of_api: &Json,
    cached: Option<Versioned>,
    mut status: Json,
    now: &str,
    flags: Flags,
) -> Option<Versioned> {
    let old = cached.as_ref().map_or(of_api, |own| own.status.json());
    // Of sidecars it was a mistake to refuse it at all, which is not to be hidden.
    let is_told_anyway = || {
        flags.is_killed
            && !defects.has(KubeletDefect::StatusesOfSidecarsStay)
            && defects.has(KubeletDefect::FixKilledPodsAreTold)
    };
    if !check_container_state_transition(defects, pod, old, &status) && !is_told_anyway() {
        return None;
    }
    update_last_transition_times(&mut status, old, now);
    let begun = json::text(old, &["startTime"]);
    status["startTime"] = if begun.is_empty() { now } else { begun }.into();
    let observed = json::number(old, &["observedGeneration"]).unwrap_or(0);
    if json::number(&status, &["observedGeneration"]).unwrap_or(0) < observed {
        status["observedGeneration"] = observed.into();
    }
    let was_finished = cached.as_ref().is_some_and(|own| own.is_finished) && !is_static_pod(pod);
    let is_same = cached
        .as_ref()
        .is_some_and(|own| is_pod_status_by_kubelet_equal(own.status.json(), &status));
    if is_same && !flags.force {
        return None;
    }
    Some(Versioned {
        status: Object::new(status),
        version: cached.map_or(1, |own| own.version + 1),
        name: pod.name().into(),
        namespace: pod.namespace().into(),
        is_finished: flags.is_finished || was_finished,
    })
}

/// `deletePodStatus`
pub(crate) fn delete_pod_status(rx: Rx, uid: &str) {
    rx.update(&STATUSES, |own| {
        own.pods.remove(uid);
    });
}

/// `RemoveOrphanedStatuses`
pub(crate) fn remove_orphaned_statuses(rx: Rx, keep: &BTreeSet<Uid>) {
    let any = rx.look(&STATUSES, |own| {
        own.pods.keys().any(|uid| !keep.contains(uid))
    });
    if any {
        rx.update(&STATUSES, |own| {
            own.pods.retain(|uid, _| keep.contains(uid))
        });
    }
}

/// One turn of what `Start` starts.
pub(crate) async fn run(kubelet: Arc<Kubelet>, rx: Rx) -> Outcome {
    let all = match rx.select(rx.recv(UPDATES), rx.recv(TICKS)).await {
        wavetank_engine::Either::Left(_) => false,
        wavetank_engine::Either::Right(_) => true,
    };
    kubelet.sync_batch(rx, all).await;
    Outcome::Become(Task::new(SYNC, ()))
}

impl Kubelet {
    /// `syncBatch`
    async fn sync_batch(&self, rx: Rx, all: bool) {
        let pods = rx.look(&STATUSES, |own| own.pods.clone());
        let (pod_to_mirror, mirror_to_pod) = pod_manager::get_uid_translations(rx);
        if all {
            rx.update(&STATUSES, |own| {
                let Statuses { pods, written } = own;
                written.retain(|uid, _| pods.contains_key(uid) || mirror_to_pod.contains_key(uid));
            });
        }
        let mut updated = Vec::new();
        for (uid, status) in pods {
            let uid_of_status = match pod_to_mirror.get(&uid) {
                // A static pod of which the API has no mirror.
                Some(None) => continue,
                Some(Some(mirror)) => mirror.clone(),
                None => uid.clone(),
            };
            let written = rx.look(&STATUSES, |own| own.written.get(&uid_of_status).copied());
            let is_new = written.is_none_or(|written| written < status.version);
            if is_new || (all && self.needs_update(rx, &uid_of_status, &status)) {
                updated.push((uid, status));
            } else if all && self.needs_reconcile(rx, &uid, &status) {
                rx.update(&STATUSES, |own| {
                    own.written.remove(&uid_of_status);
                });
                updated.push((uid, status));
            }
        }
        for (uid, status) in updated {
            self.sync_pod_status(rx, &uid, status).await;
        }
    }

    /// `needsUpdate` of a status whose version was written.
    fn needs_update(&self, rx: Rx, uid: &str, status: &Versioned) -> bool {
        let pod = pod_manager::get_pod_by_uid(rx, uid);
        pod.is_some_and(|pod| self.can_be_deleted(&pod, status))
    }

    /// `needsReconcile`
    fn needs_reconcile(&self, rx: Rx, uid: &str, status: &Versioned) -> bool {
        let pod = pod_manager::get_pod_by_uid(rx, uid);
        let shown = pod.and_then(|pod| match is_static_pod(&pod) {
            true => pod_manager::get_mirror_pod_by_pod(rx, &pod),
            false => Some(pod),
        });
        shown.is_some_and(|pod| {
            !is_pod_status_by_kubelet_equal(pod::status(&pod), status.status.json())
        })
    }

    /// `canBeDeleted`
    fn can_be_deleted(&self, pod: &Object, status: &Versioned) -> bool {
        if is_mirror_pod(pod) {
            return false;
        }
        if !pod.is_being_deleted() || !is_pod_phase_terminal(phase(pod::status(pod))) {
            let early = self.defects.has(KubeletDefect::DeletesBeforeTheEnd);
            return pod.is_being_deleted() && early;
        }
        status.is_finished
    }

    /// Upstream's `syncPod` of the status manager.
    async fn sync_pod_status(&self, rx: Rx, uid: &Uid, own: Versioned) {
        let path = PODS.path(&own.namespace, &own.name);
        let get = Request::new(Method::Get, path.clone());
        let (mut pod, version) = match self.rest.object_within(rx, get, LIMIT).await {
            Ok(stored) => (stored.object, stored.resource_version),
            Err(error) => {
                let _ = error.is(Reason::NotFound);
                return;
            }
        };
        let other = pod_manager::translate_pod_uid(rx, pod.uid()) != *uid;
        if other && !self.defects.has(KubeletDefect::StatusesGoByName) {
            let is_static = || {
                let own = pod_manager::get_pod_by_uid(rx, uid);
                own.is_some_and(|own| is_static_pod(&own))
            };
            if !(is_static() && self.defects.has(KubeletDefect::FixRestartedPodsAreAdmitted)) {
                delete_pod_status(rx, uid);
            }
            return;
        }
        let old = pod::status(&pod).clone();
        let could_run = self.pod_could_have_running_containers(rx, pod.uid());
        let could_run = could_run && !self.defects.has(KubeletDefect::TerminalPhasesComeEarly);
        let now = Stamp::of(rx.clock()).seconds();
        let merged = merge_pod_status(self.defects, &pod, &old, own.status.json(), could_run, &now);
        let patch = patch_of_status(&old, &merged);
        if !patch.is_empty() {
            let mut body = json!({"metadata": {"uid": pod.uid()}, "status": patch});
            let names = KubeletDefect::FixStatusesNameTheirVersion;
            if self.defects.has(names) {
                body["metadata"]["resourceVersion"] = version.to_string().into();
            }
            let mut request = Request::new(Method::Patch, format!("{path}/status")).with(body);
            request.content_type = Some(STRATEGIC_MERGE_PATCH.into());
            match self.rest.object_within(rx, request, LIMIT).await {
                Ok(stored) => pod = stored.object,
                Err(_) => return,
            }
        }
        let written = pod::uid(&pod);
        rx.update(&STATUSES, |all| {
            all.written.insert(written, own.version);
        });
        if !self.can_be_deleted(&pod, &own) {
            return;
        }
        let options = json!({
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": pod.uid()},
        });
        rx.note(DeletesPod(pod::pod_ref(&pod)));
        let delete = Request::new(Method::Delete, path).with(options);
        if self.rest.object_within(rx, delete, LIMIT).await.is_ok() {
            delete_pod_status(rx, uid);
        }
    }
}

#[cfg(test)]
mod tests;
