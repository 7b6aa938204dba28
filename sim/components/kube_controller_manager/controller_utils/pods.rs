//! What is said of a pod (`pkg/api/v1/pod/util.go`), who controls an object (`metav1.GetControllerOf`), and how pods are
//! found by their controller.

use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_api::{Object, Stamp, Stored};
use wavetank_client::Index;
use wavetank_client::informer::Lister;
use wavetank_client::workqueue::Item;
use wavetank_engine::{NotState, Rx};

/// `PodControllerIndex`: pods by their controller, and those that have none by their namespace.
pub const POD_CONTROLLER_INDEX: Index = Index {
    name: "podController",
    of: NotState(|pod| {
        let reference = get_controller_of(pod.json());
        vec![controller_index_key(pod.namespace(), reference).into()]
    }),
};

/// `PodNodeNameKeyIndex`: pods by the node that they run on.
pub const POD_NODE_NAME_INDEX: Index = Index {
    name: "spec.nodeName",
    of: NotState(|pod| {
        let node = json::text(pod.json(), &["spec", "nodeName"]);
        let own = Some(node).filter(|node| !node.is_empty());
        own.map(Into::into).into_iter().collect()
    }),
};

/// Upstream's `PodControllerIndexKey`, `ControllerRevisionControllerIndexKey`
pub(super) fn controller_index_key(namespace: &str, reference: Option<&Json>) -> String {
    let Some(reference) = reference else {
        return namespace.to_owned();
    };
    let field = |name| json::text(reference, &[name]);
    let (kind, name, uid) = (field("kind"), field("name"), field("uid"));
    format!("{namespace}/{kind}/{name}/{uid}")
}

/// `GetControllerOf`
pub fn get_controller_of(object: &Json) -> Option<&Json> {
    let references = json::list(object, &["metadata", "ownerReferences"]);
    let is_controller = |reference: &&Json| reference["controller"] == true;
    references.iter().find(is_controller)
}

/// `IsControlledBy`
pub fn is_controlled_by(object: &Json, uid: &str) -> bool {
    get_controller_of(object).is_some_and(|reference| reference["uid"] == uid)
}

/// `FilterPodsByOwner`: the pods of an owner, and those of its namespace that have none, if they are wanted.
pub fn filter_pods_by_owner(
    rx: Rx,
    pods: Lister,
    owner: &Object,
    kind: &str,
    include_orphans: bool,
) -> Vec<Stored> {
    let (namespace, name, uid) = (owner.namespace(), owner.name(), owner.uid());
    let own = format!("{namespace}/{kind}/{name}/{uid}");
    let orphans = controller_index_key(namespace, None);
    let mut all = pods.by_index(rx, &POD_CONTROLLER_INDEX, &own);
    if include_orphans {
        all.extend(pods.by_index(rx, &POD_CONTROLLER_INDEX, &orphans));
    }
    all
}

/// `PodKey`
pub fn pod_key(pod: &Object) -> Item {
    format!("{}/{}", pod.namespace(), pod.name()).into()
}

/// `IsPodTerminal`
fn is_pod_terminal(pod: &Json) -> bool {
    matches!(
        json::text(pod, &["status", "phase"]),
        "Failed" | "Succeeded"
    )
}

fn is_being_deleted(pod: &Json) -> bool {
    json::at(pod, &["metadata", "deletionTimestamp"]).is_some()
}

/// `IsPodActive`
pub fn is_pod_active(pod: &Json) -> bool {
    !is_pod_terminal(pod) && !is_being_deleted(pod)
}

/// `IsPodTerminating`
pub fn is_pod_terminating(pod: &Json) -> bool {
    !is_pod_terminal(pod) && is_being_deleted(pod)
}

/// The condition of a pod that says that it is ready, and since when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Readiness {
    /// `lastTransitionTime`
    pub since: Option<Stamp>,
}

/// `IsPodReady`: since when it is, if it is.
pub fn is_pod_ready(pod: &Json) -> Option<Readiness> {
    let conditions = json::list(pod, &["status", "conditions"]);
    let condition = conditions.iter().find(|own| own["type"] == "Ready")?;
    (condition["status"] == "True").then(|| Readiness {
        since: Stamp::parse(json::text(condition, &["lastTransitionTime"])),
    })
}

/// `IsPodAvailable`: has it been ready for so long?
pub fn is_pod_available(pod: &Json, min_ready_seconds: i64, now: Option<Stamp>) -> bool {
    let Some(Readiness { since }) = is_pod_ready(pod) else {
        return false;
    };
    let is_over = |now| since.is_some_and(|since| since.plus_seconds(min_ready_seconds) <= now);
    min_ready_seconds == 0 || now.is_some_and(is_over)
}

/// `nextPodAvailabilityCheck`: how long until it is available, if time alone is lacking.
fn next_pod_availability_check(pod: &Json, min_ready: i64, now: Stamp) -> Option<Duration> {
    let since = is_pod_ready(pod)?.since?;
    let left = since.plus_seconds(min_ready).nanos() - now.nanos();
    let left = u64::try_from(left).ok().filter(|left| *left > 0)?;
    (min_ready > 0).then(|| Duration::from_nanos(left))
}

/// `FindMinNextPodAvailabilityCheck`: how long until the next of these pods is available, of those that were not when
/// their status was evaluated.
pub fn find_min_next_pod_availability_check(
    pods: &[Stored],
    min_ready: i64,
    evaluated: Stamp,
    now: Stamp,
) -> Option<Duration> {
    let next = |pod: &&Stored| next_pod_availability_check(pod.object.json(), min_ready, evaluated);
    let waiting = pods.iter().filter(|pod| next(pod).is_some());
    let first = waiting.min_by_key(next)?;
    let left = next_pod_availability_check(first.object.json(), min_ready, now);
    Some(left.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ready(since: &str) -> Stored {
        let condition = json!({"type": "Ready", "status": "True", "lastTransitionTime": since});
        Stored {
            object: Object::new(json!({"status": {"conditions": [condition]}})),
            resource_version: 1,
        }
    }

    #[test]
    fn a_pod_is_available_once_it_was_ready_for_long_enough() {
        let at = |text| Stamp::parse(text).expect("an instant");
        let pods = [ready("2026-01-01T00:00:10Z"), ready("2026-01-01T00:00:07Z")];
        let now = at("2026-01-01T00:00:12Z");
        let available = |min| is_pod_available(pods[0].object.json(), min, Some(now));
        assert!(available(0) && available(2) && !available(3));
        let next = |min, later| find_min_next_pod_availability_check(&pods, min, now, at(later));
        assert_eq!(next(0, "2026-01-01T00:00:12Z"), None);
        let after = next(6, "2026-01-01T00:00:12Z");
        assert_eq!(after, Some(Duration::from_secs(1)));
        // What passed while the status was written is looked at at once.
        assert_eq!(next(6, "2026-01-01T00:00:20Z"), Some(Duration::ZERO));
        assert_eq!(
            next(5, "2026-01-01T00:00:12Z"),
            Some(Duration::from_secs(3))
        );
    }

    #[test]
    fn pods_are_found_by_their_controller_and_orphans_by_their_namespace() {
        let index = |references: Json| {
            let metadata = json!({"namespace": "ns", "name": "p", "ownerReferences": references});
            let values = (*POD_CONTROLLER_INDEX.of)(&Object::new(json!({"metadata": metadata})));
            values[0].to_string()
        };
        let mut owner = json!({"kind": "ReplicaSet", "name": "a", "uid": "1"});
        assert_eq!(index(json!([owner])), "ns");
        owner["controller"] = true.into();
        assert_eq!(index(json!([owner])), "ns/ReplicaSet/a/1");
    }
}
