//! Probes (`pkg/kubelet/prober`, v1.36.2): a routine for each probe of a container. Until its startup probe has succeeded the others
//! wait.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_api::{Object, Stamp};
use wavetank_engine::{Cell, Condition, Name, Outcome, Rx, Time};

use crate::back_off::since;
use crate::defects::KubeletDefect;
use crate::kubelet::Kubelet;
use crate::pod::{self, Probe, is_pod_phase_terminal, named, phase};
use crate::runtime::cri::{Answer, Ask, Id, ProbeType as Kind, Uid};
use crate::status_manager::{all_container_statuses, get_pod_status};
use crate::sync_loop::{Input, tell};

pub(crate) const PROBE: Name = Name::new("probe");
/// How far back a container must have begun to be one of before a restart (`kubeletRestartGracePeriod`), in seconds.
const RESTART_GRACE_SECONDS: i64 = 10;
/// The parts of a period of which one is drawn before the first probe.
const PARTS: u64 = 16;

/// `initialValue`
fn initial_value(kind: Kind) -> Found {
    match kind {
        Kind::Startup => Found::Unknown,
        Kind::Readiness => Found::Failure,
        Kind::Liveness => Found::Success,
    }
}

/// What the results managers keep: `Result`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Found {
    Unknown,
    Failure,
    Success,
}

impl From<bool> for Found {
    fn from(succeeds: bool) -> Found {
        match succeeds {
            true => Found::Success,
            false => Found::Failure,
        }
    }
}

/// `probeKey`
pub(crate) type Key = (Uid, Arc<str>, Kind);

/// A worker with its number; does it begin?
pub(crate) type Task = (Key, u64, bool);

/// `worker`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Worker {
    number: u64,
    pod: Object,
    spec: Probe,
    is_stopped: bool,
    container: Option<Id>,
    is_on_hold: bool,
    last: Option<bool>,
    run: i64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Prober {
    /// `start`
    start: Time,
    made: u64,
    workers: BTreeMap<Key, Worker>,
    /// `startupManager`, `readinessManager` and `livenessManager`
    results: BTreeMap<(Kind, Id), Found>,
}

static PROBER: Cell<Prober> = Cell::new("prober");

fn condition(number: u64) -> Condition {
    Condition::new("probe-is-triggered", number)
}

/// When the kubelet began.
pub(crate) fn begin(rx: Rx) {
    let now = rx.clock();
    rx.update(&PROBER, |own| own.start = now);
}

/// `AddPod`: it ends where it meets a probe that there is.
pub(crate) fn add_pod(rx: Rx, pod: &Object) {
    for spec in pod::lasting_containers(pod) {
        let probes = [
            (Kind::Startup, spec.startup),
            (Kind::Readiness, spec.readiness),
            (Kind::Liveness, spec.liveness),
        ];
        for (kind, probe) in probes {
            let Some(probe) = probe else {
                continue;
            };
            let key = (pod::uid(pod), spec.name.clone(), kind);
            let Some(number) = rx.update(&PROBER, |own| own.new_worker(&key, pod, probe)) else {
                return;
            };
            rx.spawn(wavetank_engine::Task::new(PROBE, (key, number, true)));
        }
    }
}

impl Prober {
    /// `newWorker`; none if there is one.
    fn new_worker(&mut self, key: &Key, pod: &Object, spec: Probe) -> Option<u64> {
        if self.workers.contains_key(key) {
            return None;
        }
        self.made += 1;
        let worker = Worker {
            number: self.made,
            pod: pod.clone(),
            spec,
            is_stopped: false,
            container: None,
            is_on_hold: false,
            last: None,
            run: 0,
        };
        self.workers.insert(key.clone(), worker);
        Some(self.made)
    }
}

fn stop(rx: Rx, which: impl Fn(&Key) -> bool) {
    let any = rx.look(&PROBER, |own| own.workers.keys().any(&which));
    if !any {
        return;
    }
    let stopped = rx.update(&PROBER, |own| {
        let those = own.workers.iter_mut().filter(|(key, _)| which(key));
        let those = those.map(|(_, own)| {
            own.is_stopped = true;
            own.number
        });
        those.collect::<Vec<u64>>()
    });
    for number in stopped {
        rx.broadcast(condition(number));
    }
}

/// `StopLivenessAndStartup`: those of sidecars go on.
pub(crate) fn stop_liveness_and_startup(rx: Rx, pod: &Object) {
    let specs = pod::containers(pod);
    stop(rx, |(own, name, kind)| {
        let is_regular = specs.iter().any(|spec| spec.name == *name);
        **own == *pod.uid() && *kind != Kind::Readiness && is_regular
    });
}

/// `RemovePod`
pub(crate) fn remove_pod(rx: Rx, uid: &str) {
    stop(rx, |(own, ..)| **own == *uid);
}

/// `CleanupPods`
pub(crate) fn cleanup_pods(rx: Rx, keep: impl Fn(&Uid) -> bool) {
    stop(rx, |(own, ..)| !keep(own));
}

/// For which probe that fails a container is to be stopped.
pub(crate) fn failed(rx: Rx, id: &Id) -> Option<Kind> {
    rx.look(&PROBER, |own| {
        let mut kinds = [Kind::Liveness, Kind::Startup].into_iter();
        kinds.find(|kind| own.results.get(&(*kind, id.clone())) == Some(&Found::Failure))
    })
}

/// The results manager's `Get`
pub(crate) fn result(rx: Rx, kind: Kind, id: &Id) -> Option<Found> {
    rx.look(&PROBER, |own| own.results.get(&(kind, id.clone())).copied())
}

/// The results manager's `Set`: is it news?
fn set(rx: Rx, kind: Kind, id: &Id, uid: &Uid, result: Found) {
    let before = rx.update(&PROBER, |own| {
        own.results.insert((kind, id.clone()), result)
    });
    if before == Some(result) {
        return;
    }
    let succeeds = result == Found::Success;
    match kind {
        Kind::Startup => tell(rx, Input::Startup(uid.clone(), id.clone(), succeeds)),
        Kind::Readiness => tell(rx, Input::Readiness(uid.clone(), id.clone(), succeeds)),
        Kind::Liveness if result == Found::Failure => tell(rx, Input::Sync(uid.clone())),
        Kind::Liveness => {}
    }
}

fn container_id(status: &Json) -> Option<&str> {
    json::text(status, &["containerID"]).strip_prefix("containerd://")
}

/// `containerStartTime.Before(kubeletRestartGracePeriod(m.start))`: was it there before this kubelet?
fn is_of_before(rx: Rx, status: &Json) -> bool {
    let begun = Stamp::parse(json::text(status, &["state", "running", "startedAt"]));
    let start = rx.look(&PROBER, |own| own.start);
    begun.is_some_and(|begun| begun.plus_seconds(RESTART_GRACE_SECONDS) < Stamp::of(start))
}

/// Was it there before this kubelet, and does the API know it?
fn is_known_of_before(kubelet: &Kubelet, rx: Rx, pod: &Object, own: &Json) -> bool {
    let inherits = KubeletDefect::ReplacedContainersInheritReadiness;
    is_of_before(rx, own) && (api_names(pod, own) || kubelet.defects.has(inherits))
}

/// Does the status of a pod as the API has it name this container?
fn api_names(pod: &Object, own: &Json) -> bool {
    let id = container_id(own);
    let all = all_container_statuses(pod::status(pod));
    id.is_some() && all.iter().any(|own| container_id(own) == id)
}

/// `isContainerStarted`
fn is_container_started(kubelet: &Kubelet, rx: Rx, pod: &Object, own: &Json) -> bool {
    if json::at(own, &["state", "running"]).is_none() {
        return false;
    }
    let id: Id = container_id(own).unwrap_or_default().into();
    let name: Arc<str> = json::text(own, &["name"]).into();
    let key = (pod::uid(pod), name, Kind::Startup);
    let (result, exists) = rx.look(&PROBER, |all| {
        let result = all.results.get(&(Kind::Startup, id)).copied();
        (result, all.workers.contains_key(&key))
    });
    if let Some(result) = result {
        return result == Found::Success;
    }
    if own["started"] == true {
        return true;
    }
    if exists {
        return false;
    }
    let specs = pod::lasting_containers(pod);
    let mut those = specs.iter().filter(|spec| spec.name == key.1);
    let is_probed = those.any(|spec| spec.startup.is_some());
    !is_probed || kubelet.defects.has(KubeletDefect::RestartsEndStartups)
}

/// `UpdatePodStatus` of regular containers.
pub(crate) fn update_pod_status(kubelet: &Kubelet, rx: Rx, pod: &Object, statuses: &mut [Json]) {
    let specs = pod::containers(pod);
    for own in statuses {
        let started = is_container_started(kubelet, rx, pod, own);
        own["started"] = started.into();
        let name = json::text(own, &["name"]);
        let spec = specs.iter().find(|spec| *spec.name == *name);
        let ready = started && spec.is_some_and(|spec| is_ready(kubelet, rx, pod, spec, own));
        own["ready"] = ready.into();
    }
}

/// The same of init containers: one that is no sidecar is ready once it has succeeded.
pub(crate) fn update_init_statuses(kubelet: &Kubelet, rx: Rx, pod: &Object, statuses: &mut [Json]) {
    for (spec, own) in pod::init_containers(pod).iter().zip(statuses) {
        let started = is_container_started(kubelet, rx, pod, own);
        own["started"] = started.into();
        let ready = match spec.is_restartable {
            false => json::number(own, &["state", "terminated", "exitCode"]) == Some(0),
            true => started && is_ready(kubelet, rx, pod, spec, own),
        };
        own["ready"] = ready.into();
    }
}

/// Is a container ready that has started? With `setReadyStateOnKubeletRestart`.
fn is_ready(kubelet: &Kubelet, rx: Rx, pod: &Object, spec: &pod::Spec, own: &Json) -> bool {
    let id: Id = container_id(own).unwrap_or_default().into();
    let key = (pod::uid(pod), spec.name.clone(), Kind::Readiness);
    let (result, worker) = rx.look(&PROBER, |all| {
        let result = all.results.get(&(Kind::Readiness, id.clone())).copied();
        (result, all.workers.get(&key).map(|own| own.number))
    });
    if result == Some(Found::Success) {
        return true;
    }
    let mut ready = worker.is_none();
    if let Some(number) = worker {
        rx.broadcast(condition(number));
    }
    let is_probed = spec.readiness.is_some();
    let is_of_before = is_known_of_before(kubelet, rx, pod, own);
    // It has a worker in a moment.
    let is_young = ready && is_probed && !is_of_before;
    ready &= !(is_young && kubelet.defects.has(KubeletDefect::FixYoungContainersWait));
    if is_of_before {
        ready |= result.is_none();
        let of_api = pod::condition(pod::status(pod), "Ready");
        if is_probed && !of_api.is_some_and(|own| own["status"] == "True") {
            ready = false;
        }
    }
    let is_early = is_probed && result.is_none();
    ready || (is_early && kubelet.defects.has(KubeletDefect::ReadyBeforeItsProbe))
}

/// One turn of a worker's `run`.
pub(crate) async fn run(kubelet: Arc<Kubelet>, rx: Rx, task: Task) -> Outcome {
    let (key, number, first) = task;
    let found = rx.look(&PROBER, |own| own.workers.get(&key).cloned());
    let Some(worker) = found.filter(|own| own.number == number) else {
        return Outcome::Done;
    };
    let period = Duration::from_secs(worker.spec.period_seconds.unsigned_abs().max(1));
    let start = rx.look(&PROBER, |own| own.start);
    if first && period > since(start, rx.clock()) {
        let part = rx.choose(PARTS).await as u32;
        rx.sleep(period * part / PARTS as u32).await;
    }
    let goes_on = do_probe(&kubelet, rx, &key).await;
    let is_stopped = |rx: Rx| {
        rx.look(&PROBER, |own| {
            own.workers.get(&key).is_none_or(|own| own.is_stopped)
        })
    };
    if goes_on && !is_stopped(rx) {
        let _ = rx.timeout(period, rx.changed(condition(number))).await;
    }
    if goes_on && !is_stopped(rx) {
        return Outcome::Become(wavetank_engine::Task::new(PROBE, (key, number, false)));
    }
    rx.update(&PROBER, |own| {
        let gone = own.workers.remove(&key);
        if let Some(id) = gone.and_then(|own| own.container) {
            own.results.remove(&(key.2, id));
        }
    });
    Outcome::Done
}

fn change(rx: Rx, key: &Key, change: impl FnOnce(&mut Worker)) {
    rx.update(&PROBER, |own| {
        if let Some(worker) = own.workers.get_mut(key) {
            change(worker);
        }
    });
}

fn is_sidecar(pod: &Object, name: &str) -> bool {
    let init = pod::init_containers(pod);
    init.iter()
        .any(|own| *own.name == *name && own.is_restartable)
}

/// There is another container: its probe begins.
fn resume(kubelet: &Kubelet, rx: Rx, key: &Key, worker: &Worker, own: &Json, id: &Id) {
    let (uid, name, kind) = key;
    rx.update(&PROBER, |all| {
        if let Some(old) = &worker.container {
            all.results.remove(&(*kind, old.clone()));
        }
    });
    change(rx, key, |own| {
        own.container = Some(id.clone());
        own.is_on_hold = false;
    });
    let has_started = *kind == Kind::Startup && own["started"] == true;
    if has_started && is_sidecar(&worker.pod, name) {
        set(rx, *kind, id, uid, Found::Success);
    }
    if !is_known_of_before(kubelet, rx, &worker.pod, own) {
        set(rx, *kind, id, uid, initial_value(*kind));
    }
}

/// `doProbe`: does it go on?
async fn do_probe(kubelet: &Kubelet, rx: Rx, key: &Key) -> bool {
    let (uid, name, kind) = key;
    let Some(status) = get_pod_status(rx, uid) else {
        return true;
    };
    if is_pod_phase_terminal(phase(status.json())) {
        return false;
    }
    let with_id = |list| {
        let own = named(json::list(status.json(), &[list]), name)?;
        Some((own, Id::from(container_id(own)?)))
    };
    let found = with_id("containerStatuses").or_else(|| with_id("initContainerStatuses"));
    let Some((own, id)) = found else {
        return true;
    };
    let Some(worker) = rx.look(&PROBER, |own| own.workers.get(key).cloned()) else {
        return false;
    };
    let is_new = worker.container.as_ref() != Some(&id);
    if is_new {
        resume(kubelet, rx, key, &worker, own, &id);
    }
    if worker.is_on_hold && !is_new {
        return true;
    }
    if json::at(own, &["state", "running"]).is_none() {
        set(rx, *kind, &id, uid, Found::Failure);
        let code = json::number(own, &["state", "terminated", "exitCode"]);
        let ends = |code| {
            let heeds = || !kubelet.defects.has(KubeletDefect::ProbesOfSidecarsEnd);
            let lasts = || is_sidecar(&worker.pod, name) && heeds();
            !pod::container_should_restart(&worker.pod, code) && !lasts()
        };
        return code.is_none_or(|code| !ends(code));
    }
    if worker.pod.is_being_deleted() && *kind != Kind::Readiness {
        set(rx, *kind, &id, uid, Found::Success);
        return false;
    }
    let begun = Stamp::parse(json::text(own, &["state", "running", "startedAt"]));
    let due = begun.map(|begun| begun.plus_seconds(worker.spec.initial_delay_seconds));
    if due.is_some_and(|due| Stamp::of(rx.clock()) < due) {
        return true;
    }
    // Startup is probed until it has succeeded, all else from then on.
    if (own["started"] == true) == (*kind == Kind::Startup) {
        return true;
    }
    let ask = Ask::Probe(id.clone(), *kind);
    let result = matches!(kubelet.ask_runtime(rx, ask).await, Ok(Answer::Done));
    change(rx, key, |own| {
        own.run = if own.last == Some(result) {
            own.run + 1
        } else {
            1
        };
        own.last = Some(result);
    });
    let run = rx.look(&PROBER, |own| own.workers.get(key).map_or(0, |own| own.run));
    let threshold = match result {
        true => worker.spec.success_threshold,
        false => worker.spec.failure_threshold,
    };
    if run < threshold {
        return true;
    }
    set(rx, *kind, &id, uid, result.into());
    if *kind == Kind::Startup || (*kind == Kind::Liveness && !result) {
        change(rx, key, |own| {
            own.is_on_hold = true;
            own.run = 0;
        });
    }
    true
}
