//! Probes (`pkg/kubelet/prober`, v1.36.2): a routine for each probe of a container. Startup probes are left out.

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
use crate::runtime::cri::{Answer, Ask, Id, Uid};
use crate::status_manager::get_pod_status;
use crate::sync_loop::{Input, tell};

pub(crate) const PROBE: Name = Name::new("probe");
/// How far back a container must have begun to be one of before a restart (`kubeletRestartGracePeriod`), in seconds.
const RESTART_GRACE_SECONDS: i64 = 10;
/// The parts of a period of which one is drawn before the first probe.
const PARTS: u64 = 16;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Kind {
    Readiness,
    Liveness,
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
    /// `readinessManager` and `livenessManager`
    results: BTreeMap<(Kind, Id), bool>,
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

/// `AddPod`
pub(crate) fn add_pod(rx: Rx, pod: &Object) {
    for spec in pod::containers(pod) {
        let probes = [
            (Kind::Readiness, spec.readiness),
            (Kind::Liveness, spec.liveness),
        ];
        for (kind, probe) in probes {
            let Some(probe) = probe else {
                continue;
            };
            let key = (pod::uid(pod), spec.name.clone(), kind);
            let made = rx.update(&PROBER, |own| {
                if own.workers.contains_key(&key) {
                    return None;
                }
                own.made += 1;
                let worker = Worker {
                    number: own.made,
                    pod: pod.clone(),
                    spec: probe,
                    is_stopped: false,
                    container: None,
                    is_on_hold: false,
                    last: None,
                    run: 0,
                };
                own.workers.insert(key.clone(), worker);
                Some(own.made)
            });
            if let Some(number) = made {
                rx.spawn(wavetank_engine::Task::new(PROBE, (key, number, true)));
            }
        }
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

/// Upstream's `StopLivenessAndStartup`
pub(crate) fn stop_liveness(rx: Rx, uid: &str) {
    stop(rx, |(own, _, kind)| {
        **own == *uid && *kind == Kind::Liveness
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

/// Has the liveness probe of this container failed?
pub(crate) fn liveness_has_failed(rx: Rx, id: &Id) -> bool {
    rx.look(&PROBER, |own| {
        own.results.get(&(Kind::Liveness, id.clone())) == Some(&false)
    })
}

/// The results manager's `Set`: is it news?
fn set(rx: Rx, kind: Kind, id: &Id, uid: &Uid, result: bool) {
    let before = rx.update(&PROBER, |own| {
        own.results.insert((kind, id.clone()), result)
    });
    if before == Some(result) {
        return;
    }
    match kind {
        Kind::Readiness => tell(rx, Input::Readiness(uid.clone(), id.clone(), result)),
        Kind::Liveness if !result => tell(rx, Input::Sync(uid.clone())),
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

/// `UpdatePodStatus`, with `setReadyStateOnKubeletRestart`.
pub(crate) fn update_pod_status(kubelet: &Kubelet, rx: Rx, pod: &Object, statuses: &mut [Json]) {
    let specs = pod::containers(pod);
    for own in statuses {
        let is_running = json::at(own, &["state", "running"]).is_some();
        own["started"] = is_running.into();
        if !is_running {
            own["ready"] = false.into();
            continue;
        }
        let name: Arc<str> = json::text(own, &["name"]).into();
        let id: Id = container_id(own).unwrap_or_default().into();
        let key = (pod::uid(pod), name.clone(), Kind::Readiness);
        let (result, worker) = rx.look(&PROBER, |all| {
            let result = all.results.get(&(Kind::Readiness, id.clone())).copied();
            (result, all.workers.get(&key).map(|own| own.number))
        });
        let mut ready = result == Some(true);
        if !ready {
            ready = worker.is_none();
            if let Some(number) = worker {
                rx.broadcast(condition(number));
            }
            let spec = specs.iter().find(|own| own.name == name);
            let is_probed = spec.is_some_and(|own| own.readiness.is_some());
            if is_of_before(rx, own) {
                ready |= result.is_none();
                let of_api = pod::condition(pod::status(pod), "Ready");
                if is_probed && !of_api.is_some_and(|own| own["status"] == "True") {
                    ready = false;
                }
            }
            ready |= is_probed
                && kubelet.defects.has(KubeletDefect::ReadyBeforeItsProbe)
                && result.is_none();
        }
        own["ready"] = ready.into();
    }
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

/// `doProbe`: does it go on?
async fn do_probe(kubelet: &Kubelet, rx: Rx, key: &Key) -> bool {
    let (uid, name, kind) = key;
    let Some(status) = get_pod_status(rx, uid) else {
        return true;
    };
    if is_pod_phase_terminal(phase(status.json())) {
        return false;
    }
    let statuses = json::list(status.json(), &["containerStatuses"]);
    let own = named(statuses, name);
    let Some((own, id)) = own.and_then(|own| Some((own, Id::from(container_id(own)?)))) else {
        return true;
    };
    let Some(worker) = rx.look(&PROBER, |own| own.workers.get(key).cloned()) else {
        return false;
    };
    let mut is_on_hold = worker.is_on_hold;
    if worker.container.as_ref() != Some(&id) {
        rx.update(&PROBER, |all| {
            if let Some(old) = &worker.container {
                all.results.remove(&(*kind, old.clone()));
            }
        });
        change(rx, key, |own| {
            own.container = Some(id.clone());
            own.is_on_hold = false;
        });
        is_on_hold = false;
        if !is_of_before(rx, own) {
            set(rx, *kind, &id, uid, *kind == Kind::Liveness);
        }
    }
    if is_on_hold {
        return true;
    }
    if json::at(own, &["state", "running"]).is_none() {
        set(rx, *kind, &id, uid, false);
        let code = json::number(own, &["state", "terminated", "exitCode"]);
        return code.is_none_or(|code| pod::container_should_restart(&worker.pod, code));
    }
    if worker.pod.is_being_deleted() && *kind == Kind::Liveness {
        set(rx, *kind, &id, uid, true);
        return false;
    }
    let begun = Stamp::parse(json::text(own, &["state", "running", "startedAt"]));
    let due = begun.map(|begun| begun.plus_seconds(worker.spec.initial_delay_seconds));
    if due.is_some_and(|due| Stamp::of(rx.clock()) < due) {
        return true;
    }
    let result = matches!(
        kubelet.ask_runtime(rx, Ask::Probe(id.clone())).await,
        Ok(Answer::Done)
    );
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
    set(rx, *kind, &id, uid, result);
    if *kind == Kind::Liveness && !result {
        change(rx, key, |own| {
            own.is_on_hold = true;
            own.run = 0;
        });
    }
    true
}
