//! The generic PLEG (`pkg/kubelet/pleg/generic.go`, v1.36.2) and the cache that it fills (`pkg/kubelet/container/cache.go`): each
//! second it lists what the runtime has, looks at pods that have changed, and tells the sync loop.
//!
//! A worker waits until the cache is newer than its last sync: until a relist that began after it is over. So each pod is
//! remembered with whether such a one has begun, and no instant is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{Cell, Condition, Outcome, Rx, Task};

use crate::kubelet::Kubelet;
use crate::runtime::cri::{Answer, Ask, Container, Id, PodStatus, Sandbox, State, Uid};
use crate::sync_loop::{Input, tell};
use crate::sync_pod::SyncError;

pub(crate) const RELIST: wavetank_engine::Name = wavetank_engine::Name::new("pleg");
/// `genericPlegRelistPeriod`
const RELIST_PERIOD: Duration = Duration::from_secs(1);
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
        let is_newer = rx.look(&PLEG, |own| {
            own.has_relisted && !own.waits.contains_key(uid)
        });
        if is_newer {
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
    rx.update(&PLEG, |own| {
        for wait in own.waits.values_mut() {
            *wait = Wait::ForItsEnd;
        }
    });
    let Ok(Answer::Pods(sandboxes, containers)) = kubelet.ask_runtime(rx, Ask::ListPods).await
    else {
        return;
    };
    let current = records(&sandboxes, &containers);
    let mut uids: BTreeSet<Uid> = current.keys().cloned().collect();
    uids.extend(rx.look(&PLEG, |own| own.records.keys().cloned().collect::<Vec<_>>()));
    for uid in uids {
        reconcile_pod_record(kubelet, rx, &uid, current.get(&uid)).await;
    }
    rx.update(&PLEG, |own| {
        own.has_relisted = true;
        own.waits.retain(|_, wait| *wait == Wait::ForABegin);
    });
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
        });
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

/// One turn of the loop.
pub(crate) async fn run(kubelet: Arc<Kubelet>, rx: Rx) -> Outcome {
    relist(&kubelet, rx).await;
    rx.sleep(RELIST_PERIOD).await;
    Outcome::Become(Task::new(RELIST, ()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
