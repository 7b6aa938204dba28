//! Pod workers (`pkg/kubelet/pod_workers.go`, v1.36.2): one for each pod, which goes from syncing through terminating to
//! terminated and never back. Nobody else starts or stops containers of a pod. What upstream does under `podLock` happens in
//! place here, since nothing in it waits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Object;
use wavetank_client::wait::{JITTER, jitter};
use wavetank_engine::{Cell, Channel, Cx, Name, Outcome, Payload, ProcId, Rx, Task, Timer, World};
use wavetank_version::Set;

use crate::defects::KubeletDefect;
use crate::kubelet::Kubelet;
use crate::notes::WaitsInLine;
use crate::pleg;
use crate::pod::{self, full_name, is_static_pod};
use crate::runtime::cri::{Answer, Ask, PodRef, Uid};
use crate::sync_pod::{Grace, SyncError, Synced};
use line::Line;
use state::{PodWorkers, Started, Told};

mod kill;
mod line;
mod run;
mod state;

pub(crate) use kill::{StatusAfter, kill_pod_now, timeout_of_kill};
pub(crate) use run::pod_worker_loop;
pub(crate) use state::{Kill, Update, UpdateType, WorkerState};

pub(crate) const WORKER: Name = Name::new("pod-worker");
/// A pod of the queue is due: `workQueue`.
const DUE: Name = Name::new("pod-is-due");
/// `syncFrequency`
const RESYNC_INTERVAL: Duration = Duration::from_secs(60);
/// `backOffPeriod`
pub(crate) const BACK_OFF_PERIOD: Duration = Duration::from_secs(10);
/// `workerResyncIntervalJitterFactor` and `workerBackOffPeriodJitterFactor`, in thousandths.
const JITTER_FACTOR: u32 = 500;

static WORKERS: Cell<PodWorkers> = Cell::new("pod-workers");
/// What `GetWork` gives out.
static WORK: Cell<BTreeSet<Uid>> = Cell::new("pods-that-are-due");

fn channel(number: u64) -> Channel {
    Channel::new("pod-updates", number)
}

fn tell(rx: Rx, updates: Option<u64>) {
    if let Some(number) = updates {
        rx.try_send(channel(number), Payload::new(()));
    }
}

fn has<T: wavetank_engine::Message + Clone + Eq + std::hash::Hash>(
    rx: Rx,
    look: impl FnOnce(&PodWorkers) -> T,
) -> T {
    rx.look(&WORKERS, look)
}

/// Is there a worker of this pod, or was there one that is remembered?
pub(crate) fn is_known(rx: Rx, uid: &str) -> bool {
    has(rx, |own| own.statuses.contains_key(uid))
}

/// Does a worker of this kubelet have this pod, which has not ended?
pub(crate) fn works_on(world: &World, kubelet: ProcId, uid: &str) -> bool {
    let all = world.cell(kubelet, &WORKERS).statuses;
    all.get(uid).is_some_and(|own| !own.terminated)
}

/// `IsPodKnownTerminated`
pub(crate) fn is_pod_known_terminated(rx: Rx, uid: &str) -> bool {
    has(rx, |own| {
        own.statuses.get(uid).is_some_and(|own| own.terminated)
    })
}

/// `CouldHaveRunningContainers`
pub(crate) fn could_have_running_containers(rx: Rx, uid: &str) -> bool {
    has(rx, |own| match own.statuses.get(uid) {
        Some(status) => !status.terminated,
        None => !own.pods_synced,
    })
}

/// `IsPodTerminationRequested`
pub(crate) fn is_pod_termination_requested(rx: Rx, uid: &str) -> bool {
    has(rx, |own| {
        own.statuses.get(uid).is_some_and(|own| own.terminating)
    })
}

/// `IsPodForMirrorPodTerminatingByFullName`
pub(crate) fn is_pod_for_mirror_pod_terminating_by_full_name(rx: Rx, name: &str) -> bool {
    has(rx, |own| {
        let status = own.line.started(name).and_then(|uid| own.statuses.get(uid));
        status.is_some_and(|own| own.terminating && !own.terminated)
    })
}

/// `ShouldPodBeFinished`
pub(crate) fn should_pod_be_finished(rx: Rx, uid: &str) -> bool {
    has(rx, |own| match own.statuses.get(uid) {
        Some(status) => status.finished,
        None => own.pods_synced,
    })
}

/// `ShouldPodContentBeRemoved`
pub(crate) fn should_pod_content_be_removed(rx: Rx, uid: &str) -> bool {
    has(rx, |own| match own.statuses.get(uid) {
        Some(status) => status.deleted && status.terminated,
        None => own.pods_synced,
    })
}

/// `UpdatePod`
pub(crate) fn update_pod(kubelet: &Kubelet, rx: Rx, update: Update) {
    let uid: Uid = match (&update.pod, &update.running) {
        (Some(pod), _) => pod::uid(pod),
        (None, Some(running)) => running.uid.clone(),
        (None, None) => return,
    };
    let is_over = match &update.pod {
        Some(own) if pod::is_pod_phase_terminal(pod::phase(pod::status(own))) => {
            pleg::is_pod_status_cache_terminal(rx, &uid)
        }
        _ => false,
    };
    let finished_at_start = kubelet.defects.has(KubeletDefect::TerminalPodsAreFinished);
    let told = rx.update(&WORKERS, |own| {
        own.update_pod(&uid, update, is_over, finished_at_start)
    });
    let Told::Pending {
        updates,
        is_new,
        completed,
    } = told
    else {
        return;
    };
    kill::completes(rx, completed);
    if is_new {
        rx.make(channel(updates), 1);
        pleg::never_synced(rx, &uid);
        rx.spawn(Task::new(WORKER, (uid, updates)));
    }
    tell(rx, Some(updates));
}

/// `PodWorkerSync`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct WorkerSync {
    pub state: WorkerState,
    pub is_orphan: bool,
}

/// `SyncKnownPods`, and those of which the worker is gone since they are to start anew.
pub(crate) fn sync_known_pods(
    kubelet: &Kubelet,
    rx: Rx,
    desired: &BTreeSet<Uid>,
) -> (BTreeMap<Uid, WorkerSync>, Vec<Uid>) {
    let heeds_restarts = || {
        let ignores = KubeletDefect::StaticPodsAreNotMadeAnew;
        !kubelet.defects.has(ignores)
    };
    let (all, restarted, told, closed) = rx.update(&WORKERS, |own| {
        own.pods_synced = true;
        let (mut all, mut told, mut closed) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut restarted = Vec::new();
        let uids: Vec<Uid> = own.statuses.keys().cloned().collect();
        for uid in uids {
            let is_orphan = !desired.contains(&uid);
            if (own.statuses[&uid].restart_requested && heeds_restarts()) || is_orphan {
                let (removed, tell, close) = own.remove_terminated_worker(&uid, is_orphan);
                told.extend(tell);
                closed.extend(close);
                if removed {
                    restarted.extend((!is_orphan).then_some(uid));
                    continue;
                }
            }
            let state = own.statuses[&uid].work_type();
            all.insert(uid, WorkerSync { state, is_orphan });
        }
        (all, restarted, told, closed)
    });
    for number in told {
        tell(rx, Some(number));
    }
    for number in closed {
        rx.close(channel(number));
    }
    (all, restarted)
}

/// What terminates or has terminated of these is to start anew once it is over.
pub(crate) fn request_restart(rx: Rx, uids: &BTreeSet<Uid>) {
    rx.update(&WORKERS, |own| {
        let those = own.statuses.iter_mut();
        let those = those.filter(|(uid, own)| own.terminating && uids.contains(*uid));
        for (_, own) in those {
            own.restart_requested = true;
        }
    });
}

/// `acknowledgeTerminating`: what its status is to say, if it is killed.
fn acknowledge_terminating(rx: Rx, uid: &str) -> Option<StatusAfter> {
    rx.update(&WORKERS, |own| {
        let status = own.statuses.get_mut(uid)?;
        status.started_terminating |= status.terminating;
        status.status_post_terminating.last().cloned()
    })
}

/// `completeSync`
fn complete_sync(rx: Rx, uid: &str) {
    let updates = rx.update(&WORKERS, |own| {
        let status = own.statuses.get_mut(uid)?;
        status.terminating = true;
        status.started_terminating = true;
        status.requeue_last_pod_update()
    });
    tell(rx, updates);
}

/// `completeTerminating`
fn complete_terminating(rx: Rx, uid: &str) {
    let (completed, updates) = rx.update(&WORKERS, |own| {
        let Some(status) = own.statuses.get_mut(uid) else {
            return (Vec::new(), None);
        };
        status.terminated = true;
        status.status_post_terminating.clear();
        let completed = std::mem::take(&mut status.notify_post_terminating);
        (completed, status.requeue_last_pod_update())
    });
    kill::completes(rx, completed);
    tell(rx, updates);
}

/// `completeTerminatingRuntimePod`: nothing is kept of it.
fn complete_terminating_runtime_pod(rx: Rx, uid: &str) {
    let gone = rx.update(&WORKERS, |own| {
        let gone = own.statuses.remove(uid)?;
        own.line.leaves(gone.full_name.as_ref(), uid);
        gone.updates
    });
    if let Some(number) = gone {
        rx.close(channel(number));
    }
}

/// `completeTerminated`
fn complete_terminated(rx: Rx, uid: &str) {
    let gone = rx.update(&WORKERS, |own| {
        let status = own.statuses.get_mut(uid)?;
        status.finished = true;
        status.working = false;
        let (name, updates) = (status.full_name.clone(), status.updates);
        own.line.leaves(name.as_ref(), uid);
        updates
    });
    if let Some(number) = gone {
        rx.close(channel(number));
    }
}

/// `completeWork`
async fn complete_work(rx: Rx, uid: &Uid, worker: u64, done: Result<bool, SyncError>) {
    let after = match done {
        Ok(true) => Duration::ZERO,
        Ok(false) => RESYNC_INTERVAL,
        Err(SyncError::BackOff(wait)) => wait.min(RESYNC_INTERVAL),
        Err(SyncError::Other(_)) => BACK_OFF_PERIOD,
    };
    let after = match after {
        Duration::ZERO => after,
        _ => jitter(after, JITTER_FACTOR, rx.choose(JITTER).await),
    };
    rx.arm(Timer::new(DUE, worker), after);
    let updates = rx.update(&WORKERS, |own| {
        let status = own.statuses.get_mut(uid)?;
        if status.pending.is_none() {
            status.working = false;
            return None;
        }
        status.updates
    });
    tell(rx, updates);
}

/// A pod is due; false if the timer is none of these.
pub(crate) fn timer(cx: &mut Cx<'_>, timer: Timer) -> bool {
    if timer.tag != DUE {
        return false;
    }
    let all = cx.cell(&WORKERS).statuses.iter();
    let mut found = all.filter(|(_, own)| own.updates == Some(timer.arg));
    if let Some(uid) = found.next().map(|(uid, _)| uid.clone()) {
        cx.cell(&WORK).insert(uid);
    }
    true
}

/// `GetWork`
pub(crate) fn get_work(rx: Rx) -> BTreeSet<Uid> {
    match rx.look(&WORK, BTreeSet::is_empty) {
        true => BTreeSet::new(),
        false => rx.update(&WORK, std::mem::take),
    }
}

#[cfg(test)]
mod tests;
