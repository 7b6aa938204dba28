//! How pods and their claims are made, updated and deleted (`pkg/controller/statefulset/stateful_pod_control.go`).

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{PERSISTENT_VOLUME_CLAIMS, PODS};
use wavetank_api::{Method, Reason, Request, Resource, Stored};
use wavetank_client::RestClient;
use wavetank_client::informer::Lister;
use wavetank_client::wait::DEFAULT_BACKOFF;
use wavetank_client::workqueue::Item;
use wavetank_engine::Rx;
use wavetank_version::Set;

use super::claims::{
    deletes_when_scaled, goes_with_another, has_stale_owner_ref, is_claim_owner_up_to_date,
    update_claim_owner_ref_for_set_and_pod,
};
use super::defects::StatefulSetDefect;
use super::notes::{DeletesPod, GaveClaim, MadePod, MakesPod, Why};
use super::util::{
    claim_names, get_ordinal, get_persistent_volume_claims, get_pod_revision, identity_matches,
    name, namespace, storage_matches, uid, update_identity, update_storage,
};
use crate::controller_utils::{ConsistencyStore, SyncError};

/// `StatefulPodControl`, with its `realStatefulPodControlObjectManager`.
#[derive(Clone, Debug)]
pub(super) struct StatefulPodControl {
    pub rest: RestClient,
    pub pods: Lister,
    pub claims: Lister,
    pub consistency: ConsistencyStore,
    pub defects: Set<StatefulSetDefect>,
}

/// `namespace/name`
pub(super) fn key(object: &Json) -> Item {
    format!("{}/{}", namespace(object), name(object)).into()
}

impl StatefulPodControl {
    /// A write for a set, which is recorded.
    async fn write(
        &self,
        rx: Rx,
        set: &Json,
        of: &'static Resource,
        request: Request,
    ) -> Result<Stored, SyncError> {
        let written = self.rest.object(rx, request).await?;
        let revision = written.resource_version;
        self.consistency
            .wrote_at(rx, &key(set), uid(set), of, revision);
        Ok(written)
    }

    fn get_claim(&self, rx: Rx, set: &Json, claim: &str) -> Option<Stored> {
        self.claims.get(rx, &format!("{}/{claim}", namespace(set)))
    }

    /// `CreateStatefulPod`, which says what it is about to do once the claims are there.
    pub async fn create_stateful_pod(
        &self,
        rx: Rx,
        set: &Json,
        pod: &Json,
        makes: MakesPod,
    ) -> Result<(), SyncError> {
        self.create_persistent_volume_claims(rx, set, pod).await?;
        rx.note(makes);
        let post = Request::new(Method::Post, PODS.path(namespace(pod), ""));
        let made = self.write(rx, set, &PODS, post.with(pod.clone())).await;
        match &made {
            Ok(made) => rx.note(MadePod {
                set: uid(set).into(),
                pod: key(pod),
                uid: made.object.uid().into(),
            }),
            Err(error) if error.is(Reason::AlreadyExists) => return made.map(drop),
            Err(_) => {}
        }
        self.update_pod_claim_for_retention_policy(rx, set, pod)
            .await?;
        made.map(drop)
    }

    /// `UpdateStatefulPod`
    pub async fn update_stateful_pod(
        &self,
        rx: Rx,
        set: &Json,
        mut pod: Json,
    ) -> Result<(), SyncError> {
        let mut backoff = DEFAULT_BACKOFF;
        loop {
            match self.try_to_update(rx, set, &mut pod).await {
                Err(error) if error.is(Reason::Conflict) && backoff.wait(rx).await => {}
                done => return done,
            }
        }
    }

    /// Once. A conflict may be that of a claim, too.
    async fn try_to_update(&self, rx: Rx, set: &Json, pod: &mut Json) -> Result<(), SyncError> {
        let mut consistent = true;
        if !identity_matches(set, pod) {
            update_identity(set, pod);
            consistent = false;
        }
        if !storage_matches(set, pod) {
            update_storage(set, pod);
            consistent = false;
            self.create_persistent_volume_claims(rx, set, pod).await?;
        }
        if !self.claims_match_retention_policy(rx, set, pod) {
            self.update_pod_claim_for_retention_policy(rx, set, pod)
                .await?;
            consistent = false;
        }
        if consistent {
            return Ok(());
        }
        let path = PODS.path(namespace(pod), name(pod));
        let put = Request::new(Method::Put, path).with(pod.clone());
        let updated = self.write(rx, set, &PODS, put).await;
        if updated.is_err()
            && let Some(updated) = self.pods.get(rx, &key(pod))
        {
            *pod = updated.json();
        }
        updated.map(drop)
    }

    /// `DeleteStatefulPod`: no pod of that name is as good. With the fix none but this one goes.
    pub async fn delete_stateful_pod(
        &self,
        rx: Rx,
        pod: &Json,
        why: Why,
        update_revision: &str,
    ) -> Result<(), SyncError> {
        let mut options = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
        if self.defects.has(StatefulSetDefect::FixDeleteThePodItSaw) {
            options["preconditions"] = json!({"uid": uid(pod)});
        }
        rx.note(DeletesPod {
            pod: key(pod),
            uid: uid(pod).into(),
            why,
            revision: get_pod_revision(pod).into(),
            update_revision: update_revision.into(),
        });
        let path = PODS.path(namespace(pod), name(pod));
        let delete = Request::new(Method::Delete, path).with(options);
        match self.rest.request(rx, delete).await {
            Err(failure) if !failure.is(Reason::NotFound) => Err(failure.into()),
            _ => Ok(()),
        }
    }

    /// `ClaimsMatchRetentionPolicy`: claims that are not there yet do.
    pub fn claims_match_retention_policy(&self, rx: Rx, set: &Json, pod: &Json) -> bool {
        let ordinal = get_ordinal(pod).unwrap_or(-1);
        let mut names = claim_names(set, ordinal).into_iter();
        names.all(|(claim, _)| {
            let claim = self.get_claim(rx, set, &claim);
            claim.is_none_or(|claim| is_claim_owner_up_to_date(claim.object.json(), set, pod))
        })
    }

    /// `UpdatePodClaimForRetentionPolicy`
    pub async fn update_pod_claim_for_retention_policy(
        &self,
        rx: Rx,
        set: &Json,
        pod: &Json,
    ) -> Result<(), SyncError> {
        let ordinal = get_ordinal(pod).unwrap_or(-1);
        for (name, _) in claim_names(set, ordinal) {
            let Some(claim) = self.get_claim(rx, set, &name) else {
                continue;
            };
            let mut claim = claim.json();
            if is_claim_owner_up_to_date(&claim, set, pod) {
                continue;
            }
            update_claim_owner_ref_for_set_and_pod(&mut claim, set, pod);
            let path = PERSISTENT_VOLUME_CLAIMS.path(namespace(set), &name);
            let put = Request::new(Method::Put, path).with(claim.clone());
            if let Err(error) = self.write(rx, set, &PERSISTENT_VOLUME_CLAIMS, put).await {
                let why = format!("could not update claim {name} for delete policy ownerRefs");
                return Err(error.wrapped(why));
            }
            let owners = json::list(&claim, &["metadata", "ownerReferences"]);
            let to_pod = owners.iter().find(|own| own["kind"] == "Pod");
            rx.note(GaveClaim {
                claim: key(&claim),
                to: to_pod.and_then(|own| own["uid"].as_str()).map(Into::into),
            });
        }
        Ok(())
    }

    /// `PodClaimIsStale`. Upstream asks only where claims go when a set is scaled down, and only for pods that owned them.
    pub fn pod_claim_is_stale(&self, rx: Rx, set: &Json, pod: &Json) -> bool {
        let ordinal = get_ordinal(pod).unwrap_or(-1);
        let names = claim_names(set, ordinal).into_iter();
        let claims = names.filter_map(|(claim, _)| self.get_claim(rx, set, &claim));
        let claims: Vec<Stored> = claims.collect();
        let all = || claims.iter().map(|claim| claim.object.json());
        let is_stale = deletes_when_scaled(set) && all().any(|own| has_stale_owner_ref(own, pod));
        let is_asked = is_stale
            || all().any(|own| goes_with_another(own, set, pod))
                && self.defects.has(StatefulSetDefect::FixClaimsGoFirst);
        is_asked && !self.defects.has(StatefulSetDefect::StaleClaimIsUsed)
    }

    /// `createMissingPersistentVolumeClaims`
    pub async fn create_missing_persistent_volume_claims(
        &self,
        rx: Rx,
        set: &Json,
        pod: &Json,
    ) -> Result<(), SyncError> {
        self.create_persistent_volume_claims(rx, set, pod).await?;
        self.update_pod_claim_for_retention_policy(rx, set, pod)
            .await
    }

    /// `createPersistentVolumeClaims`; all are tried.
    async fn create_persistent_volume_claims(
        &self,
        rx: Rx,
        set: &Json,
        pod: &Json,
    ) -> Result<(), SyncError> {
        let mut first = None;
        for claim in get_persistent_volume_claims(set, pod) {
            let name = name(&claim).to_owned();
            let wrong = match self.get_claim(rx, set, &name) {
                None => {
                    let path = PERSISTENT_VOLUME_CLAIMS.path(namespace(set), "");
                    let post = Request::new(Method::Post, path).with(claim);
                    let made = self.write(rx, set, &PERSISTENT_VOLUME_CLAIMS, post).await;
                    made.err()
                        .map(|error| format!("failed to create PVC {name}: {error}"))
                }
                Some(there) => there
                    .object
                    .is_being_deleted()
                    .then(|| format!("pvc {name} is being deleted")),
            };
            first = first.or(wrong);
        }
        first.map_or(Ok(()), |why| Err(SyncError::Worded(why)))
    }
}
