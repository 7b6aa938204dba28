//! Pod workers (`pkg/kubelet/pod_workers.go`, v1.36.2): one for each pod, which goes from syncing through terminating to
//! terminated and never back. Nobody else starts or stops containers of a pod. What upstream does under `podLock` happens in
//! place here, since nothing in it waits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Object;
use wavetank_client::wait::{JITTER, jitter};
use wavetank_engine::{Cell, Channel, Cx, Name, Outcome, Payload, Rx, Task, Timer};
use wavetank_version::Set;

use crate::defects::KubeletDefect;
use crate::kubelet::Kubelet;
use crate::notes::WaitsInLine;
use crate::pleg;
use crate::pod::{self, full_name, is_static_pod};
use crate::runtime::cri::{Answer, Ask, PodRef, Uid};
use crate::sync_pod::{Grace, SyncError, Synced};
use line::Line;

mod line;
mod run;

pub(crate) use run::pod_worker_loop;

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

/// `SyncPodType`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum UpdateType {
    Sync,
    Update,
    Create,
    Kill,
}

/// `PodWorkerState`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum WorkerState {
    Syncing,
    Terminating,
    Terminated,
}

/// `UpdatePodOptions`, with what is used of `KillPodOptions`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Update {
    pub kind: UpdateType,
    pub pod: Option<Object>,
    /// What the API shows of a static pod.
    pub mirror: Option<Object>,
    /// What runs of a pod of which no configuration is known.
    pub running: Option<PodRef>,
    pub grace: Option<i64>,
}

impl Update {
    pub(crate) fn of(kind: UpdateType, pod: &Object) -> Update {
        Update {
            kind,
            pod: Some(pod.clone()),
            mirror: None,
            running: None,
            grace: None,
        }
    }
}

/// `podSyncStatus`, whose instants are whether they are set.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct PodSyncStatus {
    /// `podUpdates`: closed when the worker is to end.
    updates: Option<u64>,
    working: bool,
    pending: Option<Update>,
    active: Option<Update>,
    started: bool,
    terminating: bool,
    terminated: bool,
    grace_period: i64,
    started_terminating: bool,
    deleted: bool,
    finished: bool,
    restart_requested: bool,
    observed_runtime: bool,
    /// `fullname`, of static pods.
    full_name: Option<Arc<str>>,
}

/// `podWorkers`
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct PodWorkers {
    pods_synced: bool,
    statuses: BTreeMap<Uid, PodSyncStatus>,
    workers: u64,
    /// Of static pods, by full name: that which has started, and those that are to start after it.
    line: Line,
}

impl PodSyncStatus {
    fn work_type(&self) -> WorkerState {
        match (self.terminated, self.terminating) {
            (true, _) => WorkerState::Terminated,
            (_, true) => WorkerState::Terminating,
            _ => WorkerState::Syncing,
        }
    }

    /// `mergeLastUpdate`
    fn merge_last_update(&mut self, other: &Update) {
        let own = self.active.get_or_insert_with(|| Update {
            pod: None,
            ..other.clone()
        });
        if own.pod.is_none() || other.running.is_none() {
            own.pod = other.pod.clone();
        }
        own.running = other.running.clone();
        if other.mirror.is_some() {
            own.mirror = other.mirror.clone();
        }
        if other.grace.is_some() {
            own.grace = other.grace;
        }
    }

    /// `requeueLastPodUpdate`: the channel to tell, if any.
    fn requeue_last_pod_update(&mut self) -> Option<u64> {
        if self.pending.is_some() || self.active.is_none() {
            return None;
        }
        self.pending = self.active.clone();
        self.working = true;
        self.updates
    }
}

/// `calculateEffectiveGracePeriod`: the period, and whether it was shortened.
fn calculate_effective_grace_period(own: i64, pod: &Object, asked: Option<i64>) -> (i64, bool) {
    let mut grace = own;
    let mut overridden = false;
    for other in [pod::deletion_grace_period(pod), asked]
        .into_iter()
        .flatten()
    {
        if grace == 0 || other < grace {
            grace = other;
            overridden = true;
        }
    }
    if let Some(spec) = pod::termination_grace_period(pod)
        && !overridden
        && grace == 0
    {
        grace = spec;
    }
    let grace = grace.max(1);
    (grace, own != 0 && own != grace)
}

fn channel(number: u64) -> Channel {
    Channel::new("pod-updates", number)
}

fn tell(rx: Rx, updates: Option<u64>) {
    if let Some(number) = updates {
        rx.try_send(channel(number), Payload::new(()));
    }
}

/// What `UpdatePod` leads to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Told {
    Nothing,
    Pending { updates: u64, is_new: bool },
}

/// What a worker is to do next.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Started {
    Idle,
    /// The pod may not start yet.
    Later,
    /// It never may: the channel to close.
    Never(Option<u64>),
    Work(WorkerState, Update),
}

/// `canStart` and `canEverStart`
enum Start {
    Now,
    Later,
    Never,
}

fn has<T: wavetank_engine::Message + Clone + Eq + std::hash::Hash>(
    rx: Rx,
    look: impl FnOnce(&PodWorkers) -> T,
) -> T {
    rx.look(&WORKERS, look)
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
    let Told::Pending { updates, is_new } = told else {
        return;
    };
    if is_new {
        rx.make(channel(updates), 1);
        pleg::never_synced(rx, &uid);
        rx.spawn(Task::new(WORKER, (uid, updates)));
    }
    tell(rx, Some(updates));
}

impl PodWorkers {
    fn update_pod(
        &mut self,
        uid: &Uid,
        mut update: Update,
        is_over: bool,
        finished_at_start: bool,
    ) -> Told {
        let is_runtime_pod = update.pod.is_none();
        let first_time = !self.statuses.contains_key(uid);
        if first_time {
            // Terminal for the API and for the runtime: its end was seen before, maybe by a kubelet before this one.
            let status = PodSyncStatus {
                terminating: is_over,
                terminated: is_over,
                started_terminating: is_over,
                finished: is_over && finished_at_start,
                full_name: update
                    .pod
                    .as_ref()
                    .filter(|pod| is_static_pod(pod))
                    .map(full_name),
                ..PodSyncStatus::default()
            };
            self.statuses.insert(uid.clone(), status);
        }
        let status = self.statuses.get_mut(uid).expect("just there");
        if is_runtime_pod {
            status.observed_runtime = true;
            let known = [&status.pending, &status.active].into_iter().flatten();
            if let Some(known) = known.filter_map(|own| own.pod.clone()).next() {
                update.pod = Some(known);
                update.running = None;
            }
        }
        if !first_time && status.terminating && update.kind == UpdateType::Create {
            status.restart_requested = true;
            return Told::Nothing;
        }
        if status.finished {
            return Told::Nothing;
        }
        if !status.terminating {
            let own = update.pod.as_ref();
            let is_deleted = own.is_some_and(Object::is_being_deleted);
            let phase = own.map_or("", |own| pod::phase(pod::status(own)));
            if is_runtime_pod || is_deleted {
                status.deleted = true;
                status.terminating = true;
            } else if pod::is_pod_phase_terminal(phase) || update.kind == UpdateType::Kill {
                status.terminating = true;
            }
        }
        if status.terminated {
            if is_runtime_pod {
                return Told::Nothing;
            }
            update.grace = None;
        } else if status.terminating {
            let grace = match &update.pod {
                Some(pod) => {
                    calculate_effective_grace_period(status.grace_period, pod, update.grace).0
                }
                None => update.grace.unwrap_or(1),
            };
            status.grace_period = grace;
            update.grace = Some(grace);
        } else {
            update.grace = None;
        }
        let is_new = status.updates.is_none();
        if is_new {
            self.workers += 1;
            status.updates = Some(self.workers);
            if let Some(name) = &status.full_name {
                self.line.joins(name, uid);
            }
        }
        status.pending = Some(update);
        status.working = true;
        let updates = status.updates.expect("just made");
        Told::Pending { updates, is_new }
    }

    /// `startPodSync`
    fn start_pod_sync(&mut self, uid: &Uid, defects: Set<KubeletDefect>) -> Started {
        let Some(status) = self.statuses.get_mut(uid) else {
            return Started::Idle;
        };
        let Some(update) = status.pending.take() else {
            status.working = false;
            return Started::Idle;
        };
        if !status.started && update.pod.is_some() {
            match self.allow_pod_start(uid, defects) {
                Start::Now => {}
                Start::Later => {
                    let status = self.statuses.get_mut(uid).expect("just there");
                    status.pending = Some(update);
                    status.working = false;
                    return Started::Later;
                }
                Start::Never => return Started::Never(self.cleanup_unstarted_pod(uid)),
            }
        }
        let status = self.statuses.get_mut(uid).expect("just there");
        status.started |= update.pod.is_some();
        status.merge_last_update(&update);
        Started::Work(status.work_type(), update)
    }

    /// `allowPodStart`
    fn allow_pod_start(&mut self, uid: &Uid, defects: Set<KubeletDefect>) -> Start {
        let status = &self.statuses[uid];
        let Some(name) = status.full_name.clone() else {
            return Start::Now;
        };
        if status.terminating {
            return Start::Never;
        }
        let statuses = &self.statuses;
        let is_over = |own: &Uid| statuses.get(own).is_none_or(|own| own.terminating);
        let keeps_places = defects.has(KubeletDefect::EndedStaticPodsStayInLine);
        let may = self
            .line
            .allow_static_pod_start(&name, uid, |own| is_over(own) && !keeps_places);
        match may || defects.has(KubeletDefect::StaticPodsDoNotWait) {
            true => Start::Now,
            false => Start::Later,
        }
    }

    /// `cleanupUnstartedPod`: the channel to close.
    fn cleanup_unstarted_pod(&mut self, uid: &Uid) -> Option<u64> {
        let status = self.statuses.get_mut(uid)?;
        status.finished = true;
        status.working = false;
        status.terminated = true;
        let name = status.full_name.clone();
        let updates = status.updates;
        self.line.leaves(name.as_ref(), uid);
        updates
    }

    /// Is it a static pod that has not started yet, but is to?
    fn begins_static_pod(&self, uid: &str) -> Option<PodRef> {
        let status = self.statuses.get(uid)?;
        let pod = status.pending.as_ref()?.pod.as_ref()?;
        let begins = !status.started && !status.terminating && status.full_name.is_some();
        begins.then(|| pod::pod_ref(pod))
    }

    /// `removeTerminatedWorker`: was it removed? And the channel to tell, and the one to close.
    fn remove_terminated_worker(
        &mut self,
        uid: &Uid,
        is_orphan: bool,
    ) -> (bool, Option<u64>, Option<u64>) {
        let status = self.statuses.get_mut(uid).expect("it is known");
        if !status.finished {
            if !is_orphan {
                return (false, None, None);
            }
            status.deleted = true;
            let never_started = !status.started && !status.observed_runtime;
            if !never_started {
                if !status.terminating {
                    status.terminating = true;
                    let active = status.active.as_ref().and_then(|own| own.pod.as_ref());
                    status.grace_period = active.map_or(1, |pod| {
                        calculate_effective_grace_period(status.grace_period, pod, None).0
                    });
                }
                return (false, status.requeue_last_pod_update(), None);
            }
        }
        let gone = self.statuses.remove(uid).expect("it is known");
        self.line.leaves(gone.full_name.as_ref(), uid);
        (true, None, gone.updates)
    }
}

/// `PodWorkerSync`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct WorkerSync {
    pub state: WorkerState,
    pub is_orphan: bool,
}

/// `SyncKnownPods`
pub(crate) fn sync_known_pods(
    kubelet: &Kubelet,
    rx: Rx,
    desired: &BTreeSet<Uid>,
) -> BTreeMap<Uid, WorkerSync> {
    let heeds_restarts = || {
        let ignores = KubeletDefect::StaticPodsAreNotMadeAnew;
        !kubelet.defects.has(ignores)
    };
    let (all, told, closed) = rx.update(&WORKERS, |own| {
        own.pods_synced = true;
        let (mut all, mut told, mut closed) = (BTreeMap::new(), Vec::new(), Vec::new());
        let uids: Vec<Uid> = own.statuses.keys().cloned().collect();
        for uid in uids {
            let is_orphan = !desired.contains(&uid);
            if (own.statuses[&uid].restart_requested && heeds_restarts()) || is_orphan {
                let (removed, tell, close) = own.remove_terminated_worker(&uid, is_orphan);
                told.extend(tell);
                closed.extend(close);
                if removed {
                    continue;
                }
            }
            let state = own.statuses[&uid].work_type();
            all.insert(uid, WorkerSync { state, is_orphan });
        }
        (all, told, closed)
    });
    for number in told {
        tell(rx, Some(number));
    }
    for number in closed {
        rx.close(channel(number));
    }
    all
}

/// `acknowledgeTerminating`
fn acknowledge_terminating(rx: Rx, uid: &str) {
    rx.update(&WORKERS, |own| {
        if let Some(status) = own.statuses.get_mut(uid)
            && status.terminating
        {
            status.started_terminating = true;
        }
    });
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
    let updates = rx.update(&WORKERS, |own| {
        let status = own.statuses.get_mut(uid)?;
        status.terminated = true;
        status.requeue_last_pod_update()
    });
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
