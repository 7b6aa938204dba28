//! Which pods there are for a kubelet (`pkg/kubelet/pod/pod_manager.go`), and how it comes to know of them
//! (`pkg/kubelet/config/config.go`, `apiserver.go`, v1.36.2): each change in the cache of the informer is compared with what was
//! known, as a whole. There are no other sources than the API.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_api::Object;
use wavetank_api::json;
use wavetank_engine::{Cell, Channel, Cx, Name, Outcome, Payload, Rx, Task};

use crate::kubelet::Kubelet;
use crate::pod;
use crate::runtime::cri::Uid;
use crate::sync_loop::{Input, tell};

pub(crate) const MERGE: Name = Name::new("pod-config");
/// The informer's cache has changed.
const CHANGES: Channel = Channel::new("pod-config-changes", 0);

type Pods = BTreeMap<Uid, Object>;

/// What `podStorage` has of the API, and what the pod manager has: the loop has not heard of all yet.
static CONFIG: Cell<Pods> = Cell::new("pod-config");
static PODS: Cell<Pods> = Cell::new("pod-manager");

/// `GetPodByUID`
pub(crate) fn get_pod_by_uid(rx: Rx, uid: &str) -> Option<Object> {
    rx.look(&PODS, |own| own.get(uid).cloned())
}

/// `GetPods`
pub(crate) fn get_pods(rx: Rx) -> Vec<Object> {
    rx.look(&PODS, |own| own.values().cloned().collect())
}

/// Upstream's `AddPod`, `UpdatePod`
pub(crate) fn set_pod(rx: Rx, pod: &Object) {
    rx.update(&PODS, |own| {
        own.insert(pod::uid(pod), pod.clone());
    });
}

/// `RemovePod`
pub(crate) fn remove_pod(rx: Rx, pod: &Object) {
    rx.update(&PODS, |own| {
        own.remove(pod.uid());
    });
}

pub(crate) fn start(cx: &mut Cx<'_>) {
    cx.make(CHANGES, 1);
    cx.spawn(Task::new(MERGE, true));
}

/// The cache has changed.
pub(crate) fn changed(rx: Rx) {
    rx.try_send(CHANGES, Payload::new(()));
}

/// What a change is for the sync loop.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Change {
    /// `ADD`
    Add(Object),
    /// `UPDATE` and `DELETE`, which are handled alike.
    Update(Object),
    /// `RECONCILE`
    Reconcile(Object),
    /// `REMOVE`
    Remove(Object),
}

/// `podsDifferSemantically`
fn pods_differ_semantically(old: &Object, new: &Object) -> bool {
    let fields: [&[&str]; 5] = [
        &["spec"],
        &["metadata", "labels"],
        &["metadata", "annotations"],
        &["metadata", "deletionTimestamp"],
        &["metadata", "deletionGracePeriodSeconds"],
    ];
    let mut fields = fields.into_iter();
    fields.any(|path| json::at(old.json(), path) != json::at(new.json(), path))
}

/// `merge`
fn merge(known: &mut Pods, new: Pods) -> Vec<Change> {
    let (mut adds, mut others, mut removes, mut reconciles) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (uid, pod) in &new {
        match known.get(uid) {
            None => adds.push(Change::Add(pod.clone())),
            Some(old) if pods_differ_semantically(old, pod) => {
                others.push(Change::Update(pod.clone()));
            }
            Some(old) if pod::status(old) != pod::status(pod) => {
                reconciles.push(Change::Reconcile(pod.clone()));
            }
            Some(_) => {}
        }
    }
    for (uid, old) in known.iter().filter(|(uid, _)| !new.contains_key(*uid)) {
        let _ = uid;
        removes.push(Change::Remove(old.clone()));
    }
    *known = new;
    // The order of `Merge`.
    removes
        .into_iter()
        .chain(adds)
        .chain(others)
        .chain(reconciles)
        .collect()
}

/// One turn: waits for a change, and tells the loop what it is. The first one is all that there is, be it nothing.
pub(crate) async fn run(kubelet: Arc<Kubelet>, rx: Rx, is_first: bool) -> Outcome {
    if is_first {
        kubelet.pods.wait_for_cache_sync(rx).await;
    } else {
        rx.recv(CHANGES).await;
    }
    if kubelet.pods.has_synced(rx) {
        let all = kubelet.pods.list(rx).into_iter().map(|own| own.object);
        let own = all.filter(|pod| pod::node_name(pod) == kubelet.node.name());
        let new: Pods = own.map(|pod| (pod::uid(&pod), pod)).collect();
        let changes = rx.update(&CONFIG, |known| merge(known, new));
        tell(rx, Input::Config(changes));
    }
    Outcome::Become(Task::new(MERGE, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pods(all: &[(&str, &str, i64)]) -> Pods {
        let all = all.iter().map(|(uid, phase, grace)| {
            let metadata = json!({"uid": uid, "deletionGracePeriodSeconds": grace});
            let pod = Object::new(json!({"metadata": metadata, "status": {"phase": phase}}));
            (Uid::from(*uid), pod)
        });
        all.collect()
    }

    #[test]
    fn what_has_changed_is_told_by_what_it_means() {
        let mut known = Pods::new();
        let first = merge(
            &mut known,
            pods(&[("a", "Pending", 30), ("b", "Pending", 30)]),
        );
        assert!(matches!(first[..], [Change::Add(_), Change::Add(_)]));
        let second = merge(
            &mut known,
            pods(&[
                ("a", "Running", 30),
                ("b", "Pending", 5),
                ("c", "Pending", 30),
            ]),
        );
        assert!(matches!(
            second[..],
            [Change::Add(_), Change::Update(_), Change::Reconcile(_)]
        ));
        let third = merge(
            &mut known,
            pods(&[("b", "Pending", 5), ("c", "Pending", 30)]),
        );
        assert!(matches!(third[..], [Change::Remove(_)]));
        assert!(
            merge(
                &mut known,
                pods(&[("b", "Pending", 5), ("c", "Pending", 30)])
            )
            .is_empty()
        );
    }
}
