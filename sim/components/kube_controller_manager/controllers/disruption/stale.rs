//! Pods that were to be disrupted, as they say, and stay: after 2 min they do not say so any more.

use std::time::Duration;

use serde_json::json;
use wavetank_api::kinds::{PODS, pod_binding};
use wavetank_api::{Method, Object, Request, Stamp, json};
use wavetank_client::workqueue::Item;
use wavetank_engine::Rx;

use super::controller::{DisruptionController, STALE_POD_DISRUPTION_TIMEOUT, STALE_QUEUE};
use super::notes::TakesBackDisruption;
use crate::controller_utils::SyncError;

/// `DisruptionTarget`
const DISRUPTION_TARGET: &str = "DisruptionTarget";
/// `PodReasonTerminationByKubelet`
const TERMINATION_BY_KUBELET: &str = "TerminationByKubelet";

/// `nonTerminatingPodHasStaleDisruptionCondition`: after how long a pod is to say so no longer; nothing if it does not, or goes.
pub(super) fn non_terminating_pod_has_stale_disruption_condition(
    pod: &Object,
    now: Stamp,
) -> Option<Duration> {
    let json = pod.json();
    if pod.is_being_deleted() {
        return None;
    }
    let mut conditions = json::list(json, &["status", "conditions"]).iter();
    let condition = conditions.find(|own| own["type"] == DISRUPTION_TARGET)?;
    let has_ended = matches!(
        json::text(json, &["status", "phase"]),
        "Failed" | "Succeeded"
    );
    if condition["status"] != "True" || condition["reason"] == TERMINATION_BY_KUBELET || has_ended {
        return None;
    }
    let since = Stamp::parse(json::text(condition, &["lastTransitionTime"]));
    let due = since?.plus_seconds(STALE_POD_DISRUPTION_TIMEOUT.as_secs() as i64);
    let left = u64::try_from(due.nanos() - now.nanos()).unwrap_or(0);
    Some(Duration::from_nanos(left))
}

impl DisruptionController {
    /// `syncStalePodDisruption`
    pub(super) async fn sync_stale_pod_disruption(
        &self,
        rx: Rx,
        key: Item,
    ) -> Result<(), SyncError> {
        let Some(pod) = self.pods.get(rx, &key) else {
            return Ok(());
        };
        let now = Stamp::of(rx.clock());
        let left = non_terminating_pod_has_stale_disruption_condition(&pod.object, now);
        let Some(left) = left else {
            return Ok(());
        };
        if !left.is_zero() {
            STALE_QUEUE.add_after(rx, key, left);
            return Ok(());
        }
        let mut new = pod.json();
        let mut condition = json!({"type": DISRUPTION_TARGET, "status": "False"});
        if let Some(generation) = json::number(&new, &["metadata", "generation"]) {
            condition["observedGeneration"] = generation.into();
        }
        pod_binding::update_pod_condition(&mut new, condition, now);
        rx.note(TakesBackDisruption {
            pod: key,
            uid: pod.object.uid().into(),
        });
        let path = PODS.path(pod.object.namespace(), pod.object.name());
        let put = Request::new(Method::Put, format!("{path}/status")).with(new);
        self.rest.object(rx, put).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_stale_after_two_minutes() {
        let pod = |reason: &str, status: &str, phase: &str| {
            let condition = json!({
                "type": DISRUPTION_TARGET, "status": status, "reason": reason,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            });
            Object::new(json!({"status": {"phase": phase, "conditions": [condition]}}))
        };
        let left = |pod: &Object, now: &str| {
            let now = Stamp::parse(now).expect("an instant");
            non_terminating_pod_has_stale_disruption_condition(pod, now).map(|left| left.as_secs())
        };
        let evicted = pod("EvictionByEvictionAPI", "True", "Running");
        assert_eq!(left(&evicted, "2026-01-01T00:00:30Z"), Some(90));
        assert_eq!(left(&evicted, "2026-01-01T00:03:00Z"), Some(0));
        for other in [
            pod("EvictionByEvictionAPI", "False", "Running"),
            pod("EvictionByEvictionAPI", "True", "Failed"),
            pod(TERMINATION_BY_KUBELET, "True", "Running"),
        ] {
            assert_eq!(left(&other, "2026-01-01T00:03:00Z"), None);
        }
    }
}
