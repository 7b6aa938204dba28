//! The controller (`pkg/controller/volume/pvcprotection/pvc_protection_controller.go`).

use std::sync::Arc;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{PERSISTENT_VOLUME_CLAIMS, PODS};
use wavetank_api::{Method, Object, Request, Stored};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{Failure, Index, RestClient};
use wavetank_engine::{Name, NotState, Rx};
use wavetank_version::{Defect, Gate, Set, defects};

use crate::controller::{Controller, ControllerContext, Work};
use crate::controller_utils::pod_key;
use crate::controller_utils::protectionutil::{
    is_deletion_candidate, need_to_add_finalizer, update_finalizers,
};
use crate::gates;
use wavetank_components::elected::process_next_work_item;

/// Its name in `--controllers`.
pub(super) const CONTROLLER: &str = "persistentvolumeclaim-protection-controller";
const QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "pvcprotection");
/// `PVCProtectionFinalizer`
pub(super) const FINALIZER: &str = "kubernetes.io/pvc-protection";

const ASKS_THE_CACHE_ONLY: Defect = Defect::known(
    "asks-the-cache-only",
    "`askAPIServer`, left out",
    "a claim is let go because the cache shows no pod that uses it yet",
)
.ships(Gate::NEVER)
.fits_only(gates::CLAIM_PROTECTION_CONTROLLER);

defects! {
    /// A mistake in the controller that protects claims.
    pub enum ProtectionDefect in "controllers that protect claims" {
        AsksTheCacheOnly = ASKS_THE_CACHE_ONLY,
    }
}

/// It lets a claim go.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct LetsClaimGo {
    /// `namespace/name`
    pub claim: Item,
}

/// `PodPVCIndex`
const POD_PVC_INDEX: Index = Index {
    name: "pod-pvc-index",
    of: NotState(|pod| claims_of(pod).map(|claim| (*claim).into()).collect()),
};

/// The claims that a pod uses. Those of ephemeral volumes are left out.
fn claims_of(pod: &Object) -> impl Iterator<Item = Item> {
    let volumes = json::list(pod.json(), &["spec", "volumes"]).iter();
    let claims = volumes.map(|own| json::text(own, &["persistentVolumeClaim", "claimName"]));
    let claims = claims.filter(|claim| !claim.is_empty());
    claims.map(|claim| format!("{}/{claim}", pod.namespace()).into())
}

fn is_scheduled(pod: &Object) -> bool {
    !json::text(pod.json(), &["spec", "nodeName"]).is_empty()
}

/// `podUsesPVCForDeletion`
pub(super) fn pod_uses_pvc_for_deletion(pod: &Object, claim: &Item) -> bool {
    is_scheduled(pod) && claims_of(pod).any(|own| own == *claim)
}

/// `IsPodTerminated`
fn is_pod_terminated(pod: &Object) -> bool {
    let statuses = json::list(pod.json(), &["status", "containerStatuses"]);
    let state = |of: &Json, state| json::at(of, &["state", state]).is_some();
    let mut runs = statuses
        .iter()
        .filter(|own| !state(own, "terminated") && !state(own, "waiting"));
    let phase = json::text(pod.json(), &["status", "phase"]);
    matches!(phase, "Failed" | "Succeeded") || pod.is_being_deleted() && runs.next().is_none()
}

/// Upstream's `Controller`
#[derive(Debug)]
struct ProtectionController {
    rest: RestClient,
    claims: Lister,
    pods: Lister,
    defects: Set<ProtectionDefect>,
    workers: u32,
}

/// Upstream's `NewPVCProtectionController`
pub(super) fn new(cx: &mut ControllerContext, workers: u32) -> Arc<dyn Controller> {
    let mut claims = cx.informers.informer_for(&PERSISTENT_VOLUME_CLAIMS);
    claims.add_event_handler(HandlerSpec {
        on: NotState(Arc::new(|rx, _, notice| {
            if let Notice::Added { new, .. } | Notice::Updated { new, .. } = notice {
                pvc_added_updated(rx, &new.object);
            }
        })),
        ..HandlerSpec::new(CONTROLLER)
    });
    let claims = claims.lister();
    let mut pods = cx.informers.informer_for(&PODS);
    pods.add_event_handler(HandlerSpec {
        on: NotState(Arc::new(|rx, _, notice| {
            pod_added_deleted_updated(rx, notice);
        })),
        ..HandlerSpec::new(CONTROLLER)
    });
    pods.add_indexers(&[POD_PVC_INDEX]);
    Arc::new(ProtectionController {
        pods: pods.lister(),
        claims,
        rest: cx.rest.clone(),
        defects: cx.defects.of(),
        workers,
    })
}

/// `pvcAddedUpdated`
fn pvc_added_updated(rx: Rx, claim: &Object) {
    if need_to_add_finalizer(claim, FINALIZER) || is_deletion_candidate(claim, FINALIZER) {
        QUEUE.add(rx, pod_key(claim));
    }
}

/// `podAddedDeletedUpdated`
fn pod_added_deleted_updated(rx: Rx, notice: &Notice) {
    match notice {
        Notice::Added { new, .. } => enqueue_pvcs(rx, &new.object, false),
        Notice::Updated { old, new } => {
            enqueue_pvcs(rx, &new.object, false);
            if old.object.uid() != new.object.uid() {
                enqueue_pvcs(rx, &old.object, true);
            }
        }
        Notice::Deleted(gone) => {
            if let Some(last) = &gone.last {
                enqueue_pvcs(rx, &last.object, true);
            }
        }
    }
}

/// Upstream's `enqueuePVCs`
fn enqueue_pvcs(rx: Rx, pod: &Object, deleted: bool) {
    if deleted || is_pod_terminated(pod) || !is_scheduled(pod) {
        for claim in claims_of(pod) {
            QUEUE.add(rx, claim);
        }
    }
}

impl ProtectionController {
    /// `processPVC`
    async fn process_pvc(&self, rx: Rx, key: Item) -> Result<(), Failure> {
        let Some(claim) = self.claims.get(rx, &key) else {
            return Ok(());
        };
        if is_deletion_candidate(&claim.object, FINALIZER) {
            if self.is_being_used_with(rx, &key).await? {
                return Ok(());
            }
            rx.note(LetsClaimGo { claim: key });
            let remove = |own: &mut Vec<Json>| own.retain(|own| *own != FINALIZER);
            return self.update(rx, &claim, remove).await;
        }
        if need_to_add_finalizer(&claim.object, FINALIZER) {
            let add = |own: &mut Vec<Json>| own.push(FINALIZER.into());
            return self.update(rx, &claim, add).await;
        }
        Ok(())
    }

    async fn update(
        &self,
        rx: Rx,
        claim: &Stored,
        change: impl FnOnce(&mut Vec<Json>),
    ) -> Result<(), Failure> {
        update_finalizers(rx, &self.rest, &PERSISTENT_VOLUME_CLAIMS, claim, change).await
    }

    /// `isBeingUsedWith`
    async fn is_being_used_with(&self, rx: Rx, claim: &Item) -> Result<bool, Failure> {
        let cached = self.pods.by_index(rx, &POD_PVC_INDEX, claim);
        let uses = |pod: &Object| pod_uses_pvc_for_deletion(pod, claim);
        if cached.iter().any(|pod| uses(&pod.object)) {
            return Ok(true);
        }
        if self.defects.has(ProtectionDefect::AsksTheCacheOnly) {
            return Ok(false);
        }
        self.ask_api_server(rx, claim).await
    }

    /// `askAPIServer`
    async fn ask_api_server(&self, rx: Rx, claim: &Item) -> Result<bool, Failure> {
        let (namespace, _) = claim.split_once('/').unwrap_or_default();
        let list = Request::new(Method::Get, PODS.path(namespace, ""));
        let live = self.rest.list(rx, list).await?;
        let mut live = live.items.iter();
        Ok(live.any(|pod| pod_uses_pvc_for_deletion(&pod.object, claim)))
    }
}

impl Controller for ProtectionController {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![QUEUE]
    }

    fn workers(&self) -> u32 {
        self.workers
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.claims.wait_for_cache_sync(rx).await;
            self.pods.wait_for_cache_sync(rx).await;
            process_next_work_item(rx, leading, QUEUE, |key| self.process_pvc(rx, key)).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_uses_its_claims_once_it_is_scheduled() {
        let pod = |node: &str| {
            let volume = json!({"name": "d", "persistentVolumeClaim": {"claimName": "d-0"}});
            let metadata = json!({"namespace": "ns", "name": "p"});
            let spec = json!({"nodeName": node, "volumes": [volume, {"name": "other"}]});
            Object::new(json!({"metadata": metadata, "spec": spec}))
        };
        let claim: Item = "ns/d-0".into();
        assert!(pod_uses_pvc_for_deletion(&pod("n1"), &claim));
        assert!(!pod_uses_pvc_for_deletion(&pod(""), &claim));
        assert_eq!((*POD_PVC_INDEX.of)(&pod("")).len(), 1);
    }
}
