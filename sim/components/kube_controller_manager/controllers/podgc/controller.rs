//! The collector (`pkg/controller/podgc/gc_controller.go`, v1.36.2): every 20 s it looks at all pods that its cache shows.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{NODES, PODS};
use wavetank_api::{Method, Object, Reason, Request, Stamp, Stored};
use wavetank_client::informer::Lister;
use wavetank_client::leader_election::Leading;
use wavetank_client::wait::{Every, Member, Turn, wait_group};
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{Failure, RestClient};
use wavetank_engine::{Name, Rx};
use wavetank_version::Set;

use super::defects::PodGcDefect;
use super::notes::{AsksForNode, Collects, LooksAtPods, Why};
use crate::controller::{Controller, ControllerContext, Work};
use crate::controller_utils::{pod_key, prepare_patch_bytes_for_pod_status, update_pod_condition};
use wavetank_components::elected::DRAIN;

/// Its name in `--controllers`.
pub(super) const CONTROLLER: &str = "pod-garbage-collector-controller";
/// That of its service account.
pub(super) const ACCOUNT: &str = "pod-garbage-collector";
/// Nodes that pods have and the cache does not.
const NODE_QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "orphaned_pods_nodes");
/// `gcCheckPeriod`
pub(super) const GC_CHECK_PERIOD: Duration = Duration::from_secs(20);
/// `quarantineTime`
pub(super) const QUARANTINE_TIME: Duration = Duration::from_secs(40);
/// `TaintNodeOutOfService`
pub(super) const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";
const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";

/// `PodGCController`
#[derive(Debug)]
struct PodGcController {
    rest: RestClient,
    pods: Lister,
    nodes: Lister,
    terminated_pod_threshold: usize,
    defects: Set<PodGcDefect>,
}

/// Upstream's `NewPodGC`
pub(super) fn new(cx: &mut ControllerContext, threshold: usize) -> Arc<dyn Controller> {
    Arc::new(PodGcController {
        pods: cx.informers.informer_for(&PODS).lister(),
        nodes: cx.informers.informer_for(&NODES).lister(),
        rest: cx.rest.clone(),
        terminated_pod_threshold: threshold,
        defects: cx.defects.of(),
    })
}

fn phase(pod: &Json) -> &str {
    json::text(pod, &["status", "phase"])
}

pub(super) fn node_name(pod: &Object) -> &str {
    json::text(pod.json(), &["spec", "nodeName"])
}

/// `isPodTerminated`
pub(super) fn is_pod_terminated(pod: &Object) -> bool {
    !matches!(phase(pod.json()), "Pending" | "Running" | "Unknown")
}

/// `IsNodeReady`
pub(super) fn is_node_ready(node: &Json) -> bool {
    let conditions = json::list(node, &["status", "conditions"]);
    let ready = conditions.iter().find(|own| own["type"] == "Ready");
    ready.is_some_and(|own| own["status"] == "True")
}

/// May pods be taken from this node without its word?
pub(super) fn is_out_of_service(node: &Json) -> bool {
    let mut taints = json::list(node, &["spec", "taints"]).iter();
    !is_node_ready(node) && taints.any(|own| own["key"] == OUT_OF_SERVICE)
}

/// Has its deletion been accepted, so that nothing but finalizers holds it?
pub(super) fn is_held(pod: &Object) -> bool {
    let grace = json::number(pod.json(), &["metadata", "deletionGracePeriodSeconds"]);
    let is_held = !json::list(pod.json(), &["metadata", "finalizers"]).is_empty();
    pod.is_being_deleted() && grace == Some(0) && is_held && is_pod_terminated(pod)
}

/// Sorts pods as `byEvictionAndCreationTimestamp`.
fn sort_by_eviction_and_creation_timestamp(pods: &mut [Stored]) {
    pods.sort_by_cached_key(|pod| {
        let json = pod.object.json();
        let is_evicted =
            phase(json) == "Failed" && json::text(json, &["status", "reason"]) == "Evicted";
        let created = json::text(json, &["metadata", "creationTimestamp"]).to_owned();
        (!is_evicted, created, pod.object.name().to_owned())
    });
}

impl PodGcController {
    /// `gc`
    async fn gc(&self, rx: Rx) {
        rx.note(LooksAtPods {
            threshold: self.terminated_pod_threshold,
        });
        let pods = self.pods.list(rx);
        let nodes = self.nodes.list(rx);
        if self.terminated_pod_threshold > 0 {
            self.gc_terminated(rx, &pods).await;
        }
        if !self.defects.has(PodGcDefect::OutOfServiceIsNotHeeded) {
            self.gc_terminating(rx, &pods).await;
        }
        self.gc_orphaned(rx, &pods, &nodes).await;
        self.gc_unscheduled_terminating(rx, &pods).await;
    }

    /// `gcTerminating`
    async fn gc_terminating(&self, rx: Rx, pods: &[Stored]) {
        let mut going = pods.to_vec();
        going.retain(|pod| {
            let node = self.nodes.get(rx, node_name(&pod.object));
            pod.object.is_being_deleted()
                && node.is_some_and(|node| is_out_of_service(node.object.json()))
        });
        sort_by_eviction_and_creation_timestamp(&mut going);
        let all = going.iter().map(|pod| {
            let one = self.collect_from_node(rx, pod);
            Box::pin(one) as Member<'_, ()>
        });
        wait_group(all.collect()).await;
    }

    /// Upstream trusts the cache (`trusts-cached-taints`); here the node is asked for once more, as its proposal does.
    async fn collect_from_node(&self, rx: Rx, pod: &Stored) {
        if !self.defects.has(PodGcDefect::TrustsCachedTaints) {
            let name = node_name(&pod.object);
            let node = self.ask_for_node(rx, name, Why::OutOfService).await;
            if !node.is_ok_and(|node| is_out_of_service(node.object.json())) {
                return;
            }
        }
        self.mark_failed_and_delete_pod(rx, pod, Why::OutOfService)
            .await;
    }

    /// `gcTerminated`
    async fn gc_terminated(&self, rx: Rx, pods: &[Stored]) {
        let mut ended = pods.to_vec();
        ended.retain(|pod| is_pod_terminated(&pod.object));
        let count = ended.len().saturating_sub(self.terminated_pod_threshold);
        sort_by_eviction_and_creation_timestamp(&mut ended);
        let all = ended[..count].iter().map(|pod| {
            let one = self.mark_failed_and_delete_pod(rx, pod, Why::Terminated);
            Box::pin(one) as Member<'_, ()>
        });
        wait_group(all.collect()).await;
    }

    /// `gcOrphaned`
    async fn gc_orphaned(&self, rx: Rx, pods: &[Stored], nodes: &[Stored]) {
        let existing: BTreeSet<&str> = nodes.iter().map(|node| node.object.name()).collect();
        for pod in pods {
            let node = node_name(&pod.object);
            if !node.is_empty() && !existing.contains(node) {
                NODE_QUEUE.add_after(rx, node.into(), QUARANTINE_TIME);
            }
        }
        let deleted = self.discover_deleted_nodes(rx, &existing).await;
        for pod in pods {
            if deleted.contains(node_name(&pod.object)) {
                let generation = json::number(pod.object.json(), &["metadata", "generation"]);
                let condition = json!({
                    "type": "DisruptionTarget",
                    "observedGeneration": generation.unwrap_or(0),
                    "status": "True",
                    "reason": "DeletionByPodGC",
                    "message": "PodGC: node no longer exists",
                });
                self.mark_failed_and_delete_pod_with_condition(
                    rx,
                    pod,
                    Some(condition),
                    Why::Orphaned,
                )
                .await;
            }
        }
    }

    /// `discoverDeletedNodes`
    async fn discover_deleted_nodes(&self, rx: Rx, existing: &BTreeSet<&str>) -> BTreeSet<Item> {
        let mut deleted = BTreeSet::new();
        while !NODE_QUEUE.is_empty(rx) {
            let node = NODE_QUEUE.get(rx).await;
            if !existing.contains(&*node) && !self.check_if_node_exists(rx, &node).await {
                deleted.insert(node.clone());
            }
            NODE_QUEUE.done(rx, &node);
        }
        deleted
    }

    /// `checkIfNodeExists`. One of which that is not known comes to the queue again if somebody needs it.
    async fn check_if_node_exists(&self, rx: Rx, name: &str) -> bool {
        if self.defects.has(PodGcDefect::OrphansAreNotLookedUp) {
            return false;
        }
        match self.ask_for_node(rx, name, Why::Orphaned).await {
            Ok(_) => true,
            Err(error) => !error.is(Reason::NotFound),
        }
    }

    async fn ask_for_node(&self, rx: Rx, name: &str, why: Why) -> Result<Stored, Failure> {
        rx.note(AsksForNode {
            node: name.into(),
            why,
        });
        let get = Request::new(Method::Get, NODES.path("", name));
        self.rest.object(rx, get).await
    }

    /// `gcUnscheduledTerminating`
    async fn gc_unscheduled_terminating(&self, rx: Rx, pods: &[Stored]) {
        for pod in pods {
            if pod.object.is_being_deleted() && node_name(&pod.object).is_empty() {
                self.mark_failed_and_delete_pod(rx, pod, Why::Unscheduled)
                    .await;
            }
        }
    }

    /// `markFailedAndDeletePod`
    async fn mark_failed_and_delete_pod(&self, rx: Rx, pod: &Stored, why: Why) {
        self.mark_failed_and_delete_pod_with_condition(rx, pod, None, why)
            .await;
    }

    /// `markFailedAndDeletePodWithCondition`. What fails is logged, and looked at again the next time.
    async fn mark_failed_and_delete_pod_with_condition(
        &self,
        rx: Rx,
        pod: &Stored,
        condition: Option<Json>,
        why: Why,
    ) {
        if is_held(&pod.object) && !self.defects.has(PodGcDefect::HeldPodsAreDeletedAgain) {
            return;
        }
        rx.note(Collects {
            pod: pod_key(&pod.object),
            uid: pod.object.uid().into(),
            node: node_name(&pod.object).into(),
            why,
        });
        if !is_pod_terminated(&pod.object) && self.mark_failed(rx, pod, condition).await.is_err() {
            return;
        }
        let mut options = json!({
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "gracePeriodSeconds": 0,
        });
        if !self.defects.has(PodGcDefect::CollectsPodsByName) {
            options["preconditions"] = json!({"uid": pod.object.uid()});
        }
        let path = PODS.path(pod.object.namespace(), pod.object.name());
        let delete = Request::new(Method::Delete, path).with(options);
        let _ = self.rest.request(rx, delete).await;
    }

    /// Nobody else would say that a pod has failed that no kubelet runs.
    async fn mark_failed(
        &self,
        rx: Rx,
        pod: &Stored,
        condition: Option<Json>,
    ) -> Result<(), Failure> {
        let old = &pod.object.json()["status"];
        let mut new = old.clone();
        new["phase"] = "Failed".into();
        if let Some(generation) = json::number(pod.object.json(), &["metadata", "generation"]) {
            new["observedGeneration"] = generation.into();
        }
        if let Some(condition) = condition {
            update_pod_condition(&mut new, condition, &Stamp::of(rx.clock()).seconds());
        }
        let path = PODS.path(pod.object.namespace(), pod.object.name());
        let patch = prepare_patch_bytes_for_pod_status(pod.object.uid(), old, &new);
        let mut request = Request::new(Method::Patch, format!("{path}/status")).with(patch);
        request.content_type = Some(STRATEGIC_MERGE_PATCH.into());
        self.rest.object(rx, request).await.map(drop)
    }
}

impl Controller for PodGcController {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![NODE_QUEUE]
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            for cache in [self.pods, self.nodes] {
                cache.wait_for_cache_sync(rx).await;
            }
            let leadership = leading.leadership();
            let turn = Every::period(GC_CHECK_PERIOD).sliding(rx, &DRAIN, async {
                rx.select(leadership.closed(rx), self.gc(rx)).await;
                match leadership.is_closed(rx) {
                    true => Turn::Over,
                    false => Turn::Again,
                }
            });
            turn.await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, created: u8, status: Json) -> Stored {
        let created = format!("2026-01-01T00:00:0{created}Z");
        let metadata = json!({"name": name, "namespace": "ns", "creationTimestamp": created});
        Stored {
            object: Object::new(json!({"metadata": metadata, "status": status})),
            resource_version: 1,
        }
    }

    #[test]
    fn evicted_pods_go_first_and_then_the_oldest() {
        let ended = || json!({"phase": "Succeeded"});
        let evicted = json!({"phase": "Failed", "reason": "Evicted"});
        let mut pods = [
            pod("b", 1, ended()),
            pod("a", 1, ended()),
            pod("c", 0, ended()),
            pod("d", 2, evicted),
        ];
        sort_by_eviction_and_creation_timestamp(&mut pods);
        let names: Vec<&str> = pods.iter().map(|pod| pod.object.name()).collect();
        assert_eq!(names, ["d", "c", "a", "b"]);
    }

    #[test]
    fn a_node_is_out_of_service_if_it_is_tainted_and_not_ready() {
        let node = |key: &str, ready: &str| {
            let condition = json!({"type": "Ready", "status": ready});
            let taint = json!({"key": key, "effect": "NoExecute"});
            json!({"spec": {"taints": [taint]}, "status": {"conditions": [condition]}})
        };
        assert!(is_out_of_service(&node(OUT_OF_SERVICE, "Unknown")));
        assert!(!is_out_of_service(&node(OUT_OF_SERVICE, "True")));
        assert!(!is_out_of_service(&node("other", "False")));
    }
}
