//! The sync loop (`syncLoopIteration` of `pkg/kubelet/kubelet.go`, v1.36.2) and its housekeeping (`HandlePodCleanups` of
//! `kubelet_pods.go`). What comes in is taken in the order in which it came.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::{Object, json};
use wavetank_engine::{Cell, Channel, Cx, Name, Outcome, Payload, Rx, Task, Timer};

use crate::config::Change;
use crate::defects::KubeletDefect;
use crate::kubelet::Kubelet;
use crate::pod::{self, is_pod_phase_terminal, phase};
use crate::pod_manager;
use crate::pod_status::should_sync;
use crate::runtime::cri::{Answer, Ask, Container, Id, PodRef, State, Uid};
use crate::workers::{self, Update, UpdateType, WorkerState, WorkerSync};
use crate::{back_off, eviction, gc, kuberuntime, pleg, prober, status_manager};

pub(crate) const LOOP: Name = Name::new("sync-loop");
const INPUTS: Channel = Channel::new("sync-loop", 0);
/// As many as upstream's channel of PLEG events holds.
const CAPACITY: u32 = 1000;
/// The tickers.
const SYNC: Timer = Timer::new(Name::new("sync-ticker"), 0);
const HOUSEKEEPING: Timer = Timer::new(Name::new("housekeeping-ticker"), 0);
const SYNC_PERIOD: Duration = Duration::from_secs(1);
/// `housekeepingPeriod`
const HOUSEKEEPING_PERIOD: Duration = Duration::from_secs(2);

/// A tick that was not taken yet: a ticker holds one.
static TICKED: Cell<(bool, bool)> = Cell::new("ticked");
/// `sourcesSeen`: these have told of all their pods.
static SOURCES_SEEN: Cell<BTreeSet<&'static str>> = Cell::new("sources-seen");

/// What comes to the loop.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Input {
    /// `configCh`: from this source.
    Config(&'static str, Vec<Change>),
    /// `plegCh`: a pod has changed, and these of its containers have died.
    Pleg(Uid, Vec<Id>),
    /// `readinessManager.Updates`
    Readiness(Uid, Id, bool),
    /// `startupManager.Updates`
    Startup(Uid, Id, bool),
    /// `livenessManager.Updates`
    Sync(Uid),
    /// `syncCh`
    SyncTick,
    /// `housekeepingCh`
    HousekeepingTick,
}

pub(crate) fn tell(rx: Rx, input: Input) {
    rx.try_send(INPUTS, Payload::new(input));
}

/// Upstream's `AllReady`: have all sources told of their pods?
pub(crate) fn sources_are_ready(kubelet: &Kubelet, rx: Rx) -> bool {
    let all = if kubelet.has_static_pods { 2 } else { 1 };
    rx.look(&SOURCES_SEEN, |own| own.len() == all)
}

pub(crate) fn start(cx: &mut Cx<'_>) {
    cx.make(INPUTS, CAPACITY);
    cx.arm(SYNC, SYNC_PERIOD);
    cx.arm(HOUSEKEEPING, HOUSEKEEPING_PERIOD);
    cx.spawn(Task::new(LOOP, ()));
}

/// A ticker; false if the timer is none of these.
pub(crate) fn timer(cx: &mut Cx<'_>, timer: Timer) -> bool {
    let ticked = cx.cell(&TICKED);
    let (was, input, every) = if timer == SYNC {
        let was = std::mem::replace(&mut ticked.0, true);
        (was, Input::SyncTick, SYNC_PERIOD)
    } else if timer == HOUSEKEEPING {
        let was = std::mem::replace(&mut ticked.1, true);
        (was, Input::HousekeepingTick, HOUSEKEEPING_PERIOD)
    } else {
        return false;
    };
    if !was {
        cx.try_send(INPUTS, input);
    }
    cx.arm(timer, every);
    true
}

/// `syncLoopIteration`
pub(crate) async fn sync_loop_iteration(kubelet: Arc<Kubelet>, rx: Rx) -> Outcome {
    let Some(input) = rx.recv(INPUTS).await else {
        return Outcome::Done;
    };
    match input.expect::<Input>().clone() {
        Input::Config(source, changes) => {
            let evicted = kubelet.handle_changes(rx, changes);
            for uid in evicted {
                gc::delete_containers_in_pod(&kubelet, rx, &uid, 0).await;
            }
            if !rx.look(&SOURCES_SEEN, |own| own.contains(source)) {
                rx.update(&SOURCES_SEEN, |own| {
                    own.insert(source);
                });
            }
        }
        Input::Pleg(uid, died) => {
            kubelet.handle_pod_sync(rx, &uid);
            if !died.is_empty() {
                gc::clean_up_containers_in_pod(&kubelet, rx, &uid).await;
            }
        }
        Input::Readiness(uid, id, ready) => {
            status_manager::set_container_readiness(&kubelet, rx, &uid, &id, ready);
            kubelet.handle_pod_sync(rx, &uid);
        }
        Input::Startup(uid, id, started) => {
            status_manager::set_container_startup(&kubelet, rx, &uid, &id, started);
            kubelet.handle_pod_sync(rx, &uid);
        }
        Input::Sync(uid) => kubelet.handle_pod_sync(rx, &uid),
        Input::SyncTick => {
            rx.update(&TICKED, |own| own.0 = false);
            // `getPodsToSync`
            let mut due = workers::get_work(rx);
            let late = pod_manager::get_pods(rx).into_iter();
            due.extend(
                late.filter(|pod| should_sync(rx, pod))
                    .map(|pod| pod::uid(&pod)),
            );
            for uid in due {
                kubelet.handle_pod_sync(rx, &uid);
            }
        }
        Input::HousekeepingTick => {
            rx.update(&TICKED, |own| own.1 = false);
            let early = kubelet
                .defects
                .has(KubeletDefect::CleansUpBeforePodsAreKnown);
            if sources_are_ready(&kubelet, rx) || early {
                kubelet.handle_pod_cleanups(rx).await;
            }
        }
    }
    Outcome::Become(Task::new(LOOP, ()))
}

fn created(pod: &Object) -> String {
    json::text(pod.json(), &["metadata", "creationTimestamp"]).to_owned()
}

impl Kubelet {
    fn update(&self, rx: Rx, kind: UpdateType, pod: &Object) {
        workers::update_pod(self, rx, Update::of(kind, pod));
    }

    /// The same with the mirror pod of a static pod.
    fn update_with_mirror(&self, rx: Rx, kind: UpdateType, pod: &Object, mirror: Option<Object>) {
        let own = Update::of(kind, pod);
        workers::update_pod(self, rx, Update { mirror, ..own });
    }

    /// Upstream's `HandlePodAdditions`, `HandlePodUpdates`, `HandlePodRemoves` and `HandlePodReconcile`; and which pods are told
    /// to be evicted: all that has ended of them is removed at once.
    fn handle_changes(&self, rx: Rx, changes: Vec<Change>) -> Vec<Uid> {
        let mut evicted = Vec::new();
        let mut added: Vec<Object> = Vec::new();
        for change in &changes {
            if let Change::Add(pod) = change {
                added.push(pod.clone());
            }
        }
        added.sort_by_key(created);
        let mut added = added.into_iter();
        for change in changes {
            match change {
                Change::Add(_) => {
                    let pod = added.next().expect("as many as there are");
                    pod_manager::set_pod(rx, &pod);
                    self.handle_change(rx, UpdateType::Create, &pod);
                }
                Change::Update(pod) => {
                    pod_manager::set_pod(rx, &pod);
                    self.handle_change(rx, UpdateType::Update, &pod);
                }
                Change::Reconcile(pod) => {
                    pod_manager::set_pod(rx, &pod);
                    let pod = pod_manager::get_pod_and_mirror_pod(rx, &pod).0;
                    let pod = pod.filter(|own| pod_is_evicted(pod::status(own)));
                    evicted.extend(pod.map(|own| pod::uid(&own)));
                }
                Change::Remove(pod) => {
                    pod_manager::remove_pod(rx, &pod);
                    self.handle_change(rx, UpdateType::Kill, &pod);
                }
            }
        }
        evicted
    }

    /// What has become of a mirror pod is news of its static pod, if there is one.
    fn handle_change(&self, rx: Rx, kind: UpdateType, pod: &Object) {
        let (found, mirror, was_mirror) = pod_manager::get_pod_and_mirror_pod(rx, pod);
        let Some(pod) = found else {
            return;
        };
        match kind {
            _ if was_mirror && self.has_to_be_admitted(rx, &pod) => {}
            _ if was_mirror => self.update_with_mirror(rx, UpdateType::Update, &pod, mirror),
            // `deletePod`; before the sources are ready, housekeeping does it.
            UpdateType::Kill if !sources_are_ready(self, rx) => {}
            UpdateType::Kill => self.update(rx, kind, &pod),
            UpdateType::Create if self.is_refused(rx, &pod) => {}
            _ => self.update_with_mirror(rx, kind, &pod, mirror),
        }
    }

    /// A pod that is neither on its way out nor over has to be admitted. Was it refused?
    fn is_refused(&self, rx: Rx, pod: &Object) -> bool {
        let goes = workers::is_pod_termination_requested(rx, pod.uid());
        if goes || is_pod_phase_terminal(phase(pod::status(pod))) {
            return false;
        }
        let refusal = self.can_admit_pod(rx, pod).err();
        let refusal = refusal.filter(|_| !self.is_left_alone(rx, pod));
        if let Some(refusal) = &refusal {
            self.reject_pod(rx, pod, refusal);
        }
        refusal.is_some()
    }

    /// Our proposal: what no worker knows is not started without admission. Was it refused?
    fn has_to_be_admitted(&self, rx: Rx, pod: &Object) -> bool {
        let asks = KubeletDefect::FixRestartedPodsAreAdmitted;
        let may_be = !workers::is_known(rx, pod.uid()) && self.can_admit_pod(rx, pod).is_err();
        may_be && self.defects.has(asks) && self.is_refused(rx, pod)
    }

    /// Our proposal to k/k#83612: a kubelet before this one has admitted what runs.
    fn is_left_alone(&self, rx: Rx, pod: &Object) -> bool {
        let asks = KubeletDefect::RunningPodsAreAdmittedAgain;
        let runs = || {
            let cached = pleg::get(rx, pod.uid());
            let runs = cached.is_some_and(|own| own.active().any(Container::is_running));
            runs || phase(pod::status(pod)) == "Running"
        };
        runs() && !self.defects.has(asks)
    }

    /// Upstream's `HandlePodSyncs` of one pod, if there is such a one.
    fn handle_pod_sync(&self, rx: Rx, uid: &str) {
        if let Some(pod) = pod_manager::get_pod_by_uid(rx, uid) {
            let mirror = pod_manager::get_mirror_pod_by_pod(rx, &pod);
            self.update_with_mirror(rx, UpdateType::Sync, &pod, mirror);
        }
    }

    /// Upstream's `filterOutInactivePods`
    pub(crate) fn is_pod_inactive(&self, rx: Rx, pod: &Object) -> bool {
        if workers::is_pod_known_terminated(rx, pod.uid()) {
            return true;
        }
        let shown = status_manager::get_pod_status(rx, pod.uid());
        let is_terminal = is_pod_phase_terminal(phase(pod::status(pod)))
            || shown.is_some_and(|own| is_pod_phase_terminal(phase(own.json())));
        is_terminal && !workers::is_pod_termination_requested(rx, pod.uid())
    }

    /// `HandlePodCleanups`
    async fn handle_pod_cleanups(&self, rx: Rx) {
        let all = pod_manager::get_pods(rx);
        let uids: BTreeSet<Uid> = all.iter().map(pod::uid).collect();
        let (mut working, restarted) = workers::sync_known_pods(self, rx, &uids);
        let comes_back = KubeletDefect::FixStaticPodsComeBack;
        for uid in restarted.iter().filter(|_| self.defects.has(comes_back)) {
            status_manager::delete_pod_status(rx, uid);
        }
        for pod in self.try_refused_again(rx) {
            let mirror = pod_manager::get_mirror_pod_by_pod(rx, &pod);
            self.update_with_mirror(rx, UpdateType::Create, &pod, mirror);
            let sync = WorkerSync {
                state: WorkerState::Syncing,
                is_orphan: false,
            };
            working.insert(pod::uid(&pod), sync);
        }
        let Ok(Answer::Pods(sandboxes, containers)) = self.ask_runtime(rx, Ask::ListPods).await
        else {
            return;
        };
        // `runtimeCache`: pods that have a container that runs, or a sandbox that is ready.
        let mut running: BTreeMap<Uid, PodRef> = BTreeMap::new();
        let ready = sandboxes
            .iter()
            .filter(|own| own.is_ready)
            .map(|own| &own.pod);
        let runs = containers
            .iter()
            .filter(|own| own.is_running())
            .map(|own| &own.pod);
        for pod in ready.chain(runs) {
            running.insert(pod.uid.clone(), pod.clone());
        }
        let may_run = |uid: &Uid| {
            let own = working.get(uid);
            own.is_some_and(|own| own.state != WorkerState::Terminated)
        };
        prober::cleanup_pods(rx, may_run);
        let (mirrors, orphans) = pod_manager::get_mirror_pods(rx);
        let mut with_status = uids.clone();
        with_status.extend(mirrors);
        status_manager::remove_orphaned_statuses(rx, &with_status);
        for name in orphans {
            if !workers::is_pod_for_mirror_pod_terminating_by_full_name(rx, &name) {
                self.delete_mirror_pod(rx, &name, None).await;
            }
        }
        kuberuntime::forget_reasons(rx, |uid| working.contains_key(uid));
        for pod in all.iter().filter(|pod| !self.is_pod_inactive(rx, pod)) {
            if working.contains_key(pod.uid()) {
                continue;
            }
            if self.has_to_be_admitted(rx, pod) {
                continue;
            }
            let mirror = pod_manager::get_mirror_pod_by_pod(rx, pod);
            self.update_with_mirror(rx, UpdateType::Create, pod, mirror);
            let sync = WorkerSync {
                state: WorkerState::Syncing,
                is_orphan: false,
            };
            working.insert(pod::uid(pod), sync);
        }
        // `filterTerminalPodsToDelete`
        for pod in &all {
            let goes = pod.is_being_deleted() && is_pod_phase_terminal(phase(pod::status(pod)));
            if goes && !working.contains_key(pod.uid()) && !running.contains_key(pod.uid()) {
                self.update(rx, UpdateType::Kill, pod);
            }
        }
        for (uid, pod) in running {
            if working.contains_key(&uid) {
                continue;
            }
            let update = Update {
                kind: UpdateType::Kill,
                pod: None,
                mirror: None,
                running: Some(pod),
                grace: Some(1),
                kill: None,
            };
            workers::update_pod(self, rx, update);
        }
        back_off::gc(rx);
    }
}

/// `PodIsEvicted`
fn pod_is_evicted(status: &json::Json) -> bool {
    phase(status) == "Failed" && json::text(status, &["reason"]) == eviction::REASON
}

/// Has it ended?
pub(crate) fn is_exited(container: &Container) -> bool {
    matches!(container.state, State::Exited { .. })
}
