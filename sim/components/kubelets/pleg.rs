//! The generic PLEG (`pkg/kubelet/pleg/generic.go`, v1.36.2) and the cache that it fills (`pkg/kubelet/container/cache.go`): each
//! second it lists what the runtime has, looks at pods that have changed, and tells the sync loop. A worker that has started
//! something asks it to look at its pod at once.
//!
//! A worker waits until the cache is newer than its last sync: until a relist that began after it has come to its pod. So each
//! pod is remembered with whether such a one has begun, and no instant is.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{
    Cell, Channel, Condition, Cx, Either, Name, Outcome, Payload, Rx, Task, Timer,
};

use crate::kubelet::Kubelet;
use crate::runtime::cri::{Answer, Ask, Container, Id, PodStatus, Sandbox, State, Uid};
use crate::sync_loop::{Input, tell};
use crate::sync_pod::SyncError;

pub(crate) const RELIST: Name = Name::new("pleg");
/// `genericPlegRelistPeriod`
const RELIST_PERIOD: Duration = Duration::from_secs(1);
/// `globalRelistTimer`
const TIMER: Timer = Timer::new(Name::new("global-relist-timer"), 0);
const TICKS: Channel = Channel::new("pleg-ticks", 0);
/// `relistRequests`: that there are some, and how many there may be.
const REQUESTS: Channel = Channel::new("pleg-requests", 0);
const CAPACITY: usize = 200;
const CACHE_CHANGED: Condition = Condition::new("pod-cache-changed", 0);

/// What the cache has of a pod.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Cached {
    pub status: PodStatus,
    /// Its address, also once its sandbox has stopped.
    pub address: Option<Arc<str>>,
}

impl Cached {
    /// What is known of a pod, after what was known before.
    pub(crate) fn of(status: PodStatus, before: Option<&Cached>) -> Cached {
        let ready = status.sandboxes.first().filter(|own| own.is_ready);
        let address = ready.and_then(|own| own.address.clone());
        let address = address.or_else(|| before.and_then(|own| own.address.clone()));
        Cached { status, address }
    }

    /// Upstream's `ActiveContainerStatuses`: the containers of the newest sandbox, if that is ready.
    pub(crate) fn active(&self) -> impl Iterator<Item = &Container> {
        let newest = self.status.sandboxes.first().filter(|own| own.is_ready);
        let all = self.status.containers.iter();
        all.filter(move |own| newest.is_some_and(|sandbox| sandbox.id == own.sandbox))
    }

    /// Upstream's `FindContainerStatusByName`: the newest.
    pub(crate) fn find(&self, name: &str) -> Option<&Container> {
        self.status.containers.iter().find(|own| *own.name == *name)
    }
}

/// `plegContainerState`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Seen {
    Running,
    Exited,
    Unknown,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Wait {
    ForABegin,
    ForItsEnd,
}

type Record = BTreeMap<Id, Seen>;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Pleg {
    has_relisted: bool,
    records: BTreeMap<Uid, Record>,
    reinspect: BTreeSet<Uid>,
    cache: BTreeMap<Uid, Result<Arc<Cached>, ()>>,
    waits: BTreeMap<Uid, Wait>,
    /// `relistRequests`: of which pods, and has a relist of all begun since?
    requests: VecDeque<(Uid, bool)>,
}

impl Pleg {
    fn begins_to_relist(&mut self) {
        for wait in self.waits.values_mut() {
            *wait = Wait::ForItsEnd;
        }
        for (_, begun) in &mut self.requests {
            *begun = true;
        }
    }

    /// Upstream's `updateRelistTime`: what was asked for before it began is served.
    fn has_listed(&mut self) {
        self.requests.retain(|(_, begun)| !begun);
    }

    /// What a worker has synced meanwhile waits for the next one.
    fn has_relisted(&mut self) {
        self.has_relisted = true;
        self.waits.retain(|_, wait| *wait == Wait::ForABegin);
    }

    fn begins_to_relist_pod(&mut self, uid: &str) {
        if let Some(wait) = self.waits.get_mut(uid) {
            *wait = Wait::ForItsEnd;
        }
    }

    /// The cache was set, or found to be as it is, by a relist of all or of this pod.
    fn has_observed(&mut self, uid: &str) {
        if self.waits.get(uid) == Some(&Wait::ForItsEnd) {
            self.waits.remove(uid);
        }
    }

    /// Upstream's `getIfNewerThan` of the last sync.
    fn is_newer_than_last_sync(&self, uid: &str) -> bool {
        let was_asked_for = self.cache.contains_key(uid);
        (self.has_relisted || was_asked_for) && !self.waits.contains_key(uid)
    }
}

pub(crate) fn start(cx: &mut Cx<'_>) {
    cx.make(TICKS, 1);
    cx.make(REQUESTS, 1);
    cx.arm(TIMER, Duration::ZERO);
    cx.spawn(Task::new(RELIST, ()));
}

/// The timer of relists; false if it is another one.
pub(crate) fn timer(cx: &mut Cx<'_>, timer: Timer) -> bool {
    if timer == TIMER {
        cx.try_send(TICKS, ());
    }
    timer == TIMER
}

/// `RequestRelist`
pub(crate) fn request_relist(rx: Rx, uid: Uid) {
    rx.update(&PLEG, |own| {
        if own.requests.len() < CAPACITY {
            own.requests.push_back((uid, false));
        }
    });
    rx.try_send(REQUESTS, Payload::new(()));
}

static PLEG: Cell<Pleg> = Cell::new("pleg");

/// `isPodStatusCacheTerminal` of what `podCache.Get` gives.
pub(crate) fn is_pod_status_cache_terminal(rx: Rx, uid: &str) -> bool {
    rx.look(&PLEG, |own| match own.cache.get(uid) {
        None => true,
        Some(Err(())) => false,
        Some(Ok(cached)) => {
            let status = &cached.status;
            !status.containers.iter().any(Container::is_running)
                && !status.sandboxes.iter().any(|own| own.is_ready)
        }
    })
}

/// `podCache.Get`, if there is no error.
pub(crate) fn get(rx: Rx, uid: &str) -> Option<Arc<Cached>> {
    rx.look(&PLEG, |own| match own.cache.get(uid) {
        None => Some(Arc::default()),
        Some(found) => found.clone().ok(),
    })
}

/// A worker of a pod begins: any relist will do.
pub(crate) fn never_synced(rx: Rx, uid: &str) {
    rx.update(&PLEG, |own| {
        own.waits.remove(uid);
    });
}

/// A worker has synced a pod.
pub(crate) fn synced(rx: Rx, uid: &Uid) {
    rx.update(&PLEG, |own| {
        own.waits.insert(uid.clone(), Wait::ForABegin);
    });
}

/// `GetNewerThan` the last sync.
pub(crate) async fn get_newer_than(rx: Rx, uid: &Uid) -> Result<Arc<Cached>, SyncError> {
    loop {
        if rx.look(&PLEG, |own| own.is_newer_than_last_sync(uid)) {
            return get(rx, uid).ok_or(SyncError::Other("error determining status"));
        }
        rx.changed(CACHE_CHANGED).await;
    }
}

fn records(sandboxes: &[Sandbox], containers: &[Container]) -> BTreeMap<Uid, Record> {
    let mut all: BTreeMap<Uid, Record> = BTreeMap::new();
    for own in sandboxes {
        let seen = if own.is_ready {
            Seen::Running
        } else {
            Seen::Exited
        };
        all.entry(own.pod.uid.clone())
            .or_default()
            .insert(own.id.clone(), seen);
    }
    for own in containers {
        let seen = match own.state {
            State::Created => Seen::Unknown,
            State::Running(_) => Seen::Running,
            State::Exited { .. } => Seen::Exited,
        };
        all.entry(own.pod.uid.clone())
            .or_default()
            .insert(own.id.clone(), seen);
    }
    all
}

/// What is told of a pod: `computeEvents`, as far as the sync loop heeds them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Events {
    /// One of any kind.
    any: bool,
    /// One that makes the loop sync the pod.
    worthy: bool,
    /// `ContainerDied`
    died: Vec<Id>,
}

fn compute_events(old: Option<&Record>, new: Option<&Record>) -> Events {
    let mut events = Events::default();
    let mut ids: BTreeSet<&Id> = BTreeSet::new();
    for record in [old, new].into_iter().flatten() {
        ids.extend(record.keys());
    }
    for id in ids {
        let of = |record: Option<&Record>| record.and_then(|own| own.get(id)).copied();
        let (old, new) = (of(old), of(new));
        if old == new {
            continue;
        }
        events.any = true;
        match new {
            Some(Seen::Running) => events.worthy = true,
            Some(Seen::Exited) => {
                events.worthy = true;
                events.died.push(id.clone());
            }
            // ContainerChanged is not told.
            Some(Seen::Unknown) => {}
            None if old == Some(Seen::Exited) => {}
            None => {
                events.worthy = true;
                events.died.push(id.clone());
            }
        }
    }
    events
}

/// `Relist`
async fn relist(kubelet: &Kubelet, rx: Rx) {
    rx.update(&PLEG, Pleg::begins_to_relist);
    let Ok(Answer::Pods(sandboxes, containers)) = kubelet.ask_runtime(rx, Ask::ListPods).await
    else {
        return;
    };
    rx.update(&PLEG, Pleg::has_listed);
    let current = records(&sandboxes, &containers);
    let mut uids: BTreeSet<Uid> = current.keys().cloned().collect();
    uids.extend(rx.look(&PLEG, |own| own.records.keys().cloned().collect::<Vec<_>>()));
    for uid in uids {
        reconcile_pod_record(kubelet, rx, &uid, current.get(&uid)).await;
    }
    rx.update(&PLEG, Pleg::has_relisted);
    rx.broadcast(CACHE_CHANGED);
}

/// `reconcilePodRecord`
async fn reconcile_pod_record(kubelet: &Kubelet, rx: Rx, uid: &Uid, new: Option<&Record>) {
    let (events, reinspect) = rx.update(&PLEG, |own| {
        let events = compute_events(own.records.get(uid), new);
        (events, own.reinspect.remove(uid))
    });
    if !events.any && !reinspect {
        return;
    }
    if new.is_none() {
        rx.update(&PLEG, |own| {
            own.cache.remove(uid);
            own.records.remove(uid);
        });
    } else {
        let status = kubelet.ask_runtime(rx, Ask::PodStatus(uid.clone())).await;
        let status = match status {
            Ok(Answer::Status(status)) => Some(status),
            _ => None,
        };
        let failed = status.is_none();
        rx.update(&PLEG, |own| {
            let before = own.cache.get(uid).and_then(|own| own.as_ref().ok());
            let new = status.map(|status| Arc::new(Cached::of(status, before.map(|own| &**own))));
            own.cache.insert(uid.clone(), new.ok_or(()));
            own.has_observed(uid);
        });
        rx.broadcast(CACHE_CHANGED);
        if failed {
            rx.update(&PLEG, |own| {
                own.reinspect.insert(uid.clone());
            });
            return;
        }
        rx.update(&PLEG, |own| {
            let record = new.expect("just looked").clone();
            own.records.insert(uid.clone(), record);
        });
    }
    if events.worthy || (!events.any && reinspect) {
        tell(rx, Input::Pleg(uid.clone(), events.died));
    }
}

/// `relistPod`
async fn relist_pod(kubelet: &Kubelet, rx: Rx, uid: &Uid) {
    rx.update(&PLEG, |own| own.begins_to_relist_pod(uid));
    let Ok(Answer::Status(found)) = kubelet.ask_runtime(rx, Ask::PodStatus(uid.clone())).await
    else {
        return;
    };
    let all = records(&found.sandboxes, &found.containers);
    // `ErrPodNotFound`
    let Some(record) = all.get(uid) else {
        return;
    };
    reconcile_pod_record(kubelet, rx, uid, Some(record)).await;
    rx.update(&PLEG, |own| own.has_observed(uid));
    rx.broadcast(CACHE_CHANGED);
}

/// `workerLoopIteration`
pub(crate) async fn worker_loop_iteration(kubelet: Arc<Kubelet>, rx: Rx) -> Outcome {
    match rx.select(rx.recv(TICKS), rx.recv(REQUESTS)).await {
        Either::Left(_) => {
            relist(&kubelet, rx).await;
            rx.arm(TIMER, RELIST_PERIOD);
        }
        Either::Right(_) => {
            let (next, more) = rx.update(&PLEG, |own| {
                let next = own.requests.pop_front();
                (next, !own.requests.is_empty())
            });
            if more {
                rx.try_send(REQUESTS, Payload::new(()));
            }
            if let Some((uid, _)) = next {
                relist_pod(&kubelet, rx, &uid).await;
            }
        }
    }
    Outcome::Become(Task::new(RELIST, ()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(all: &[(&str, Seen)]) -> Record {
        all.iter()
            .map(|(id, seen)| (Id::from(*id), *seen))
            .collect()
    }

    #[test]
    fn what_has_ended_or_begun_is_told_and_what_was_removed_is_not() {
        let (running, exited) = (
            record(&[("c1", Seen::Running)]),
            record(&[("c1", Seen::Exited)]),
        );
        assert!(compute_events(None, Some(&running)).worthy);
        let died = compute_events(Some(&running), Some(&exited));
        assert_eq!(died.died, [Id::from("c1")]);
        assert!(compute_events(Some(&running), None).worthy);
        let removed = compute_events(Some(&exited), None);
        assert!(removed.any && !removed.worthy);
        assert!(!compute_events(Some(&exited), Some(&exited)).any);
    }

    #[test]
    fn a_worker_waits_for_a_relist_that_began_after_its_sync() {
        let uid: Uid = "uid".into();
        let mut own = Pleg::default();
        assert!(!own.is_newer_than_last_sync(&uid));
        own.begins_to_relist();
        own.has_relisted();
        assert!(own.is_newer_than_last_sync(&uid));
        own.begins_to_relist();
        own.waits.insert(uid.clone(), Wait::ForABegin);
        own.has_relisted();
        assert!(!own.is_newer_than_last_sync(&uid));
        own.begins_to_relist();
        assert!(!own.is_newer_than_last_sync(&uid));
        own.has_relisted();
        assert!(own.is_newer_than_last_sync(&uid));
    }

    #[test]
    fn a_worker_that_asks_for_it_waits_for_its_pod_only() {
        let uid: Uid = "uid".into();
        let mut own = Pleg::default();
        own.cache.insert(uid.clone(), Ok(Arc::default()));
        own.waits.insert(uid.clone(), Wait::ForABegin);
        own.has_observed(&uid);
        assert!(!own.is_newer_than_last_sync(&uid));
        own.begins_to_relist_pod(&uid);
        own.has_observed(&uid);
        assert!(own.is_newer_than_last_sync(&uid));
        assert!(!own.is_newer_than_last_sync("other"));

        own.requests.push_back((uid.clone(), false));
        own.begins_to_relist();
        own.requests.push_back((uid, false));
        own.has_listed();
        assert_eq!(own.requests.len(), 1, "the first one is served");
    }

    fn a_record() -> impl Strategy<Value = Record> {
        let seen = prop_oneof![Just(Seen::Running), Just(Seen::Exited), Just(Seen::Unknown)];
        let id = prop_oneof![Just("c1"), Just("c2"), Just("s1")];
        prop::collection::btree_map(id.prop_map(Id::from), seen, 0..4)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// A container is told to have died when it ran last, or was made and did not run, and is seen as ended or not at all.
        #[test]
        fn each_container_dies_once(records in prop::collection::vec(a_record(), 1..6)) {
            let mut before = Record::new();
            for now in records {
                let events = compute_events(Some(&before), Some(&now));
                prop_assert_eq!(events.any, before != now);
                let ids: BTreeSet<&Id> = before.keys().chain(now.keys()).collect();
                let is_over = |own: &Record, id: &Id| own.get(id) == Some(&Seen::Exited);
                let died = ids.into_iter().filter(|id| {
                    let ends = !now.contains_key(*id) || is_over(&now, id);
                    ends && !is_over(&before, id)
                });
                let died: Vec<Id> = died.cloned().collect();
                prop_assert_eq!(&events.died, &died);
                before = now;
            }
        }
    }
}
