//! Who is adopted, and who is released (`pkg/controller/controller_ref_manager.go`): an orphan that a selector matches
//! gets a controller, and one that it matches no longer loses it.

use std::sync::Arc;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{CONTROLLER_REVISIONS, REPLICA_SETS};
use wavetank_api::selector::LabelSelector;
use wavetank_api::{Method, Object, Reason, Request, Stored};
use wavetank_client::RestClient;
use wavetank_client::workqueue::Item;
use wavetank_engine::{Rx, mutant};
use wavetank_version::Set;

use super::{ControllerRef, PodOwnerDefect, RealPodControl, SyncError, get_controller_of, pod_key};

const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";

/// A controller begins to claim pods, of which these are orphans that its object selects.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Claims {
    /// `namespace/name` of the object.
    pub set: Item,
    /// Its UID.
    pub uid: Arc<str>,
    /// The pods.
    pub orphans: Arc<[Item]>,
}

/// What is claimed, and how it is patched.
#[derive(Clone, Copy, Debug)]
pub enum Claimed<'a> {
    /// Pods (`PodControllerRefManager`).
    Pods(&'a RealPodControl),
    /// ReplicaSets (`ReplicaSetControllerRefManager`, `RealRSControl`).
    ReplicaSets(&'a RestClient),
    /// ControllerRevisions (`ControllerRevisionControllerRefManager`, `RealControllerRevisionControl`).
    ControllerRevisions(&'a RestClient),
}

impl Claimed<'_> {
    fn rest(&self) -> &RestClient {
        match self {
            Claimed::Pods(control) => &control.rest,
            Claimed::ReplicaSets(rest) | Claimed::ControllerRevisions(rest) => rest,
        }
    }

    /// Upstream's `PatchPod`, `PatchReplicaSet`, `PatchControllerRevision`
    async fn patch(
        &self,
        rx: Rx,
        object: &Object,
        kind: &str,
        patch: Json,
    ) -> Result<(), SyncError> {
        let (rest, of) = match self {
            Claimed::Pods(control) => return control.patch_pod(rx, object, kind, patch).await,
            Claimed::ReplicaSets(rest) => (rest, &REPLICA_SETS),
            Claimed::ControllerRevisions(rest) => (rest, &CONTROLLER_REVISIONS),
        };
        let path = of.path(object.namespace(), object.name());
        let mut request = Request::new(Method::Patch, path).with(patch);
        request.content_type = Some(kind.into());
        rest.object(rx, request).await?;
        Ok(())
    }
}

/// `BaseControllerRefManager`, of one sync of a controller.
#[derive(Debug)]
pub struct ControllerRefManager<'a> {
    /// The controller, as its cache shows it.
    pub controller: ControllerRef<'a>,
    /// What it selects.
    pub selector: &'a LabelSelector,
    /// What it claims.
    pub claimed: Claimed<'a>,
    /// What else must be true of what it claims: the controller, and that.
    pub filter: fn(&Object, &Object) -> bool,
    /// The finalizers that who is adopted gets, and who is released loses.
    pub finalizers: &'static [&'static str],
    /// The mistakes that it makes.
    pub defects: Set<PodOwnerDefect>,
    /// `canAdoptErr`, once it was looked at.
    pub can_adopt: Option<Result<(), SyncError>>,
}

impl ControllerRefManager<'_> {
    /// Upstream's `ClaimPods`, `ClaimReplicaSets`, `ClaimControllerRevisions`: those of these that are the controller's from now on.
    ///
    /// # Errors
    /// The first thing that went wrong; all were tried.
    pub async fn claim(&mut self, rx: Rx, pods: Vec<Stored>) -> Result<Vec<Stored>, SyncError> {
        self.tell(rx, &pods);
        let mut claimed = Vec::new();
        let mut first = None;
        for pod in pods {
            match self.claim_object(rx, &pod.object).await {
                Ok(true) => claimed.push(pod),
                Ok(false) => {}
                Err(error) => first = first.or(Some(error)),
            }
        }
        first.map_or(Ok(claimed), Err)
    }

    /// Says which orphans it is about to adopt.
    fn tell(&self, rx: Rx, pods: &[Stored]) {
        let own = self.controller.object;
        let all = pods.iter().map(|pod| &pod.object);
        let free = all.filter(|pod| get_controller_of(pod.json()).is_none());
        let orphans = free.filter(|pod| self.selector.matches(pod.json()));
        let orphans: Arc<[Item]> = orphans.map(pod_key).collect();
        if !orphans.is_empty() && !own.is_being_deleted() {
            rx.note(Claims {
                set: pod_key(own),
                uid: own.uid().into(),
                orphans,
            });
        }
    }

    /// `ClaimObject`
    async fn claim_object(&mut self, rx: Rx, object: &Object) -> Result<bool, SyncError> {
        let own = self.controller.object;
        let matches = self.selector.matches(object.json()) && (self.filter)(own, object);
        if let Some(reference) = get_controller_of(object.json()) {
            if reference["uid"] != *own.uid() {
                if matches
                    && mutant!(
                        "pods-of-others-count",
                        "a set counts pods that another one owns"
                    )
                {
                    return Ok(true);
                }
                return Ok(false);
            }
            if matches || own.is_being_deleted() {
                return Ok(matches);
            }
            if mutant!(
                "unmatched-pod-is-kept",
                "a pod that a set does not select any more is not released"
            ) {
                return Ok(false);
            }
            return match self.release(rx, object).await {
                Err(error) if !error.is(Reason::NotFound) => Err(error),
                _ => Ok(false),
            };
        }
        let is_for_us = matches && own.namespace() == object.namespace();
        if own.is_being_deleted() || !is_for_us || object.is_being_deleted() {
            return Ok(false);
        }
        if mutant!("orphans-are-left", "nobody adopts a pod without an owner") {
            return Ok(false);
        }
        match self.adopt(rx, object).await {
            Ok(()) => Ok(true),
            Err(error) if error.is(Reason::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Upstream's `AdoptPod`, `AdoptReplicaSet`
    async fn adopt(&mut self, rx: Rx, pod: &Object) -> Result<(), SyncError> {
        if let Err(why) = self.can_adopt(rx).await {
            let (namespace, name, uid) = (pod.namespace(), pod.name(), pod.uid());
            let kind = json::text(pod.json(), &["kind"]);
            let why = format!("can't adopt {kind} {namespace}/{name} ({uid}): {why}");
            return Err(SyncError::Worded(why));
        }
        let mut patch = owner_ref_controller_patch(&self.controller, pod.uid());
        if !self.finalizers.is_empty() {
            json::set(&mut patch, &["metadata", "finalizers"], self.finalizers);
        }
        let kind = match self.defects.has(PodOwnerDefect::AdoptsByReplacing) {
            true => MERGE_PATCH,
            false => STRATEGIC_MERGE_PATCH,
        };
        self.claimed.patch(rx, pod, kind, patch).await
    }

    /// `CanAdopt`: asked once, when somebody is to be adopted.
    async fn can_adopt(&mut self, rx: Rx) -> Result<(), SyncError> {
        if self.can_adopt.is_none() && !self.defects.has(PodOwnerDefect::AdoptsUnchecked) {
            let rest = self.claimed.rest();
            self.can_adopt = Some(recheck_deletion_timestamp(rx, rest, self.controller).await);
        }
        self.can_adopt.clone().unwrap_or(Ok(()))
    }

    /// Upstream's `ReleasePod`, `ReleaseReplicaSet`
    async fn release(&self, rx: Rx, pod: &Object) -> Result<(), SyncError> {
        let uid = self.controller.object.uid();
        let mut patch = generate_delete_owner_ref_strategic_merge_bytes(pod.uid(), uid);
        if !self.finalizers.is_empty() {
            let path = ["metadata", "$deleteFromPrimitiveList/finalizers"];
            json::set(&mut patch, &path, self.finalizers);
        }
        let patched = self.claimed.patch(rx, pod, STRATEGIC_MERGE_PATCH, patch);
        match patched.await {
            // It is gone, has no reference, or is another by now.
            Err(error) if error.is(Reason::NotFound) || error.is(Reason::Invalid) => Ok(()),
            other => other,
        }
    }
}

/// `RecheckDeletionTimestamp`, with a fresh read: is the controller still there, and to stay?
pub(super) async fn recheck_deletion_timestamp(
    rx: Rx,
    rest: &RestClient,
    controller: ControllerRef<'_>,
) -> Result<(), SyncError> {
    let ControllerRef { of, object } = controller;
    let (namespace, name) = (object.namespace(), object.name());
    let get = Request::new(Method::Get, of.path(namespace, name));
    let worded = |why: String| Err(SyncError::Worded(why));
    let fresh = match rest.object(rx, get).await {
        Ok(fresh) => fresh.object,
        Err(error) => return worded(format!("can't recheck DeletionTimestamp: {error}")),
    };
    if fresh.uid() != object.uid() {
        let (kind, got, wanted) = (of.kind, fresh.uid(), object.uid());
        return worded(format!(
            "can't recheck DeletionTimestamp: original {kind} {namespace}/{name} is gone: got uid {got}, wanted {wanted}"
        ));
    }
    match fresh.is_being_deleted() {
        true => worded(format!("{namespace}/{name} has just been deleted")),
        false => Ok(()),
    }
}

/// `ownerRefControllerPatch`
pub(super) fn owner_ref_controller_patch(controller: &ControllerRef<'_>, uid: &str) -> Json {
    json!({"metadata": {"uid": uid, "ownerReferences": [controller.json()]}})
}

/// `GenerateDeleteOwnerRefStrategicMergeBytes`
fn generate_delete_owner_ref_strategic_merge_bytes(uid: &str, owner: &str) -> Json {
    let delete = json!({"$patch": "delete", "uid": owner});
    json!({"metadata": {"uid": uid, "ownerReferences": [delete]}})
}
