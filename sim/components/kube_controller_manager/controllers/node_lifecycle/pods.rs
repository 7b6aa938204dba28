//! Pods of nodes that are not ready are not ready either (`MarkPodsNotReady`, `processPod`).

use wavetank_api::json;
use wavetank_api::kinds::PODS;
use wavetank_api::{Method, Object, Reason, Request, Stamp, Stored};
use wavetank_client::workqueue::Item;
use wavetank_engine::Rx;

use super::controller::{NodeLifecycleController, STATE};
use super::notes::MarksPod;
use crate::controller_utils::{pod_key, update_pod_condition};

pub(super) fn node_name(pod: &Object) -> &str {
    json::text(pod.json(), &["spec", "nodeName"])
}

impl NodeLifecycleController {
    /// `MarkPodsNotReady`: an error if one of them could not be written.
    pub(super) async fn mark_pods_not_ready(
        &self,
        rx: Rx,
        pods: &[Stored],
        node: &str,
    ) -> Result<(), ()> {
        let mut all = Ok(());
        for pod in pods.iter().filter(|pod| node_name(&pod.object) == node) {
            let conditions = json::list(pod.object.json(), &["status", "conditions"]);
            let ready = conditions.iter().find(|own| own["type"] == "Ready");
            let Some(ready) = ready.filter(|own| own["status"] != "False") else {
                continue;
            };
            let mut changed = pod.json();
            let mut condition = ready.clone();
            condition["status"] = "False".into();
            let now = Stamp::of(rx.clock()).seconds();
            update_pod_condition(&mut changed["status"], condition, &now);
            rx.note(MarksPod {
                pod: pod_key(&pod.object),
                uid: pod.object.uid().into(),
            });
            let path = PODS.path(pod.object.namespace(), pod.object.name());
            let put = Request::new(Method::Put, format!("{path}/status")).with(changed);
            match self.rest.object(rx, put).await {
                Err(error) if !error.is(Reason::NotFound) => all = Err(()),
                _ => {}
            }
        }
        all
    }

    /// `processPod`
    pub(super) async fn process_pod(&self, rx: Rx, key: Item) -> Result<(), ()> {
        let Some(pod) = self.pods.get(rx, &key) else {
            return Ok(());
        };
        let node = node_name(&pod.object).to_owned();
        let health = rx.look(&STATE, |state| state.node_health_map.get(&node));
        let Some(health) = health else {
            return Ok(());
        };
        if self.nodes.get(rx, &node).is_none() {
            return Err(());
        }
        match health.ready {
            Some(ready) if &*ready.status != "True" => {
                self.mark_pods_not_ready(rx, &[pod], &node).await
            }
            _ => Ok(()),
        }
    }
}
