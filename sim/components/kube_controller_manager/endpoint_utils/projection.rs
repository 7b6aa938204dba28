//! Which Services a change of a pod concerns (`endpointslice/util/controller_utils.go`).

use std::collections::BTreeSet;

use serde_json::json;
use wavetank_api::Stored;
use wavetank_api::json::{self, Json, Map};
use wavetank_client::informer::{Lister, Notice};
use wavetank_client::workqueue::Item;
use wavetank_engine::Rx;

use super::{labels, pod_ips, selector, selects};
use crate::controller_utils::{is_pod_ready, pod_key};

/// `PodProjectionKey`: what has to be known of a change to find the Services. It is written down, so that it can wait in a
/// queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodProjectionKey(Json);

impl PodProjectionKey {
    /// As an item of a queue.
    pub fn item(&self) -> Item {
        self.0.to_string().into()
    }

    /// What an item of a queue says.
    pub fn of(item: &Item) -> PodProjectionKey {
        PodProjectionKey(serde_json::from_str(item).unwrap_or_default())
    }

    fn new(pod: &Stored, old_labels: Option<&Stored>, pod_changed: bool) -> PodProjectionKey {
        let own = |pod: &Stored| labels(pod.object.json()).cloned().unwrap_or_default();
        PodProjectionKey(json!({
            "namespace": pod.object.namespace(),
            "labels": own(pod),
            "oldLabels": old_labels.map(own),
            "podChanged": pod_changed,
        }))
    }
}

/// `GetPodUpdateProjectionKey`
pub fn get_pod_update_projection_key(notice: &Notice) -> Option<PodProjectionKey> {
    let (old, new) = match notice {
        Notice::Added { new, .. } => return Some(PodProjectionKey::new(new, None, false)),
        Notice::Deleted(gone) => {
            let last = gone.last.as_ref()?;
            return Some(PodProjectionKey::new(last, None, false));
        }
        Notice::Updated { old, new } => (old, new),
    };
    if old.resource_version == new.resource_version {
        return None;
    }
    match pod_endpoints_changed(old, new) {
        (false, false) => None,
        (_, false) => Some(PodProjectionKey::new(new, None, false)),
        (pod_changed, true) => Some(PodProjectionKey::new(new, Some(old), pod_changed)),
    }
}

/// `podEndpointsChanged`: may the endpoints of the pod be others, and may its Services be?
fn pod_endpoints_changed(old: &Stored, new: &Stored) -> (bool, bool) {
    let (was, is) = (old.object.json(), new.object.json());
    let spec = |pod: &Json, field| json::text(pod, &["spec", field]).to_owned();
    let other = |field| spec(was, field) != spec(is, field);
    let labels_changed = labels(was) != labels(is) || other("hostname") || other("subdomain");
    // Upstream compares pointers: a pod that goes has changed each time.
    let goes = old.object.is_being_deleted() || new.object.is_being_deleted();
    let readiness = is_pod_ready(was).is_some() != is_pod_ready(is).is_some();
    let moved = pod_ips(was).ne(pod_ips(is));
    (goes || readiness || moved, labels_changed)
}

/// `GetServicesToUpdate`
pub fn get_services_to_update(rx: Rx, services: Lister, key: &PodProjectionKey) -> BTreeSet<Item> {
    let PodProjectionKey(key) = key;
    let namespace = json::text(key, &["namespace"]);
    let of = |labels: &Json| get_services_for_pod(rx, services, namespace, labels.as_object());
    let now = of(&key["labels"]);
    if key["oldLabels"].is_null() {
        return now;
    }
    let before = of(&key["oldLabels"]);
    // `determineNeededServiceUpdates`
    match key["podChanged"] == true {
        true => now.union(&before).cloned().collect(),
        false => now.symmetric_difference(&before).cloned().collect(),
    }
}

/// `getServicesForPod`
fn get_services_for_pod(
    rx: Rx,
    services: Lister,
    namespace: &str,
    labels: Option<&Map>,
) -> BTreeSet<Item> {
    let all = services.list(rx).into_iter();
    let near = all.filter(|service| service.object.namespace() == namespace);
    let those = near.filter(|service| {
        let selector = selector(service.object.json());
        selector.is_some_and(|own| selects(own, labels))
    });
    those.map(|service| pod_key(&service.object)).collect()
}
