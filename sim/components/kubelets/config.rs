//! How a kubelet comes to know of its pods (`pkg/kubelet/config/config.go`, `apiserver.go`, v1.36.2): what a source has is compared
//! with what was known of it, as a whole, at each change. `config_file` is the other source.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_api::Object;
use wavetank_api::json;
use wavetank_engine::{Cell, Channel, Cx, Name, Outcome, Payload, Rx, Task};

use crate::kubelet::Kubelet;
use crate::pod::{self, API_SOURCE, CONFIG_MIRROR, CONFIG_SOURCE};
use crate::runtime::cri::Uid;
use crate::sync_loop::{Input, tell};

pub(crate) const MERGE: Name = Name::new("pod-config");
/// The informer's cache has changed.
const CHANGES: Channel = Channel::new("pod-config-changes", 0);

type Pods = BTreeMap<Uid, Object>;

/// What `podStorage` has of each source: the loop has not heard of all yet.
static CONFIG: Cell<BTreeMap<&'static str, Pods>> = Cell::new("pod-config");

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
    let fields: [&[&str]; 4] = [
        &["spec"],
        &["metadata", "labels"],
        &["metadata", "deletionTimestamp"],
        &["metadata", "deletionGracePeriodSeconds"],
    ];
    let mut fields = fields.into_iter();
    fields.any(|path| json::at(old.json(), path) != json::at(new.json(), path))
        || !is_annotation_map_equal(old, new)
}

/// `isAnnotationMapEqual`
fn is_annotation_map_equal(old: &Object, new: &Object) -> bool {
    let own = |pod: &Object| {
        let mut all = json::at(pod.json(), &["metadata", "annotations"]).cloned();
        for key in [CONFIG_SOURCE, CONFIG_MIRROR] {
            all.as_mut().and_then(|all| json::remove(all, &[key]));
        }
        all
    };
    own(old) == own(new)
}

/// Which source a pod has is said before anything is compared. Those of the API have none, unless they are mirror pods.
fn annotate(source: &'static str, pod: Object) -> Object {
    let is_of_api = source == API_SOURCE;
    if is_of_api && pod::annotation(&pod, CONFIG_SOURCE).is_none() {
        return pod;
    }
    let mut own = pod.json().clone();
    json::set(
        &mut own,
        &["metadata", "annotations", CONFIG_SOURCE],
        source,
    );
    Object::new(own)
}

/// Upstream's `Merge`: tells the loop what has changed at a source.
pub(crate) fn update(rx: Rx, source: &'static str, pods: impl Iterator<Item = Object>) {
    let new: Pods = pods
        .map(|pod| (pod::uid(&pod), annotate(source, pod)))
        .collect();
    let changes = rx.update(&CONFIG, |known| {
        merge(known.entry(source).or_default(), new)
    });
    tell(rx, Input::Config(source, changes));
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
        update(rx, API_SOURCE, own);
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
