//! Our proposal for claims that are to go when a set is scaled down, and whose pods were away by then: upstream gives each to its
//! pod, with which it goes, and there is none.

use serde_json::json;
use wavetank_api::json::Json;
use wavetank_api::kinds::{PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS};
use wavetank_api::{Method, Object, Reason, Request};
use wavetank_engine::Rx;

use super::claims::{deletes_when_scaled, references};
use super::control::StatefulSetControl;
use super::defects::StatefulSetDefect;
use super::util::{get_claim_ordinal, get_pod_name, has_ordinal, name, namespace, uid};
use crate::controller_utils::SyncError;

/// Is this the claim of a pod that the set had, and does not ask for any more? One that is older than the set was left by another
/// one of its name.
pub(super) fn is_left(set: &Json, claim: &Object) -> bool {
    let Some(ordinal) = get_claim_ordinal(set, claim.name()) else {
        return false;
    };
    let made = |of: &Json| {
        of["metadata"]["creationTimestamp"]
            .as_str()
            .map(str::to_owned)
    };
    let goes_with_pod = references(claim.json())
        .iter()
        .any(|own| own["kind"] == *PODS.kind);
    deletes_when_scaled(set)
        && claim.namespace() == namespace(set)
        && !has_ordinal(set, ordinal)
        && !goes_with_pod
        && !claim.is_being_deleted()
        && made(claim.json()) >= made(set)
}

/// The pod of a claim.
pub(super) fn pod_of_claim(set: &Json, claim: &Object) -> Option<String> {
    get_claim_ordinal(set, claim.name()).map(|ordinal| get_pod_name(set, ordinal))
}

impl StatefulSetControl {
    /// Deletes the claims of a set that are left. A cache may be late, and data goes: the set is read once more.
    pub(super) async fn delete_left_claims<'a>(
        &self,
        rx: Rx,
        set: &Json,
        pods: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<(), SyncError> {
        if !deletes_when_scaled(set) {
            return Ok(());
        }
        let mut left = self.pod_control.claims.list(rx);
        left.retain(|claim| {
            let pod = pod_of_claim(set, &claim.object);
            is_left(set, &claim.object) && pod.is_some_and(|pod| pods.clone().all(|own| own != pod))
        });
        if left.is_empty() || !self.defects.has(StatefulSetDefect::FixClaimsWithoutPodsGo) {
            return Ok(());
        }
        let path = STATEFUL_SETS.path(namespace(set), name(set));
        let rest = &self.pod_control.rest;
        let fresh = rest.object(rx, Request::new(Method::Get, path)).await?;
        left.retain(|claim| {
            fresh.object.uid() == uid(set) && is_left(fresh.object.json(), &claim.object)
        });
        for claim in left {
            let claim = &claim.object;
            let options = json!({
                "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": claim.uid()},
            });
            let path = PERSISTENT_VOLUME_CLAIMS.path(claim.namespace(), claim.name());
            match rest
                .request(rx, Request::new(Method::Delete, path).with(options))
                .await
            {
                Err(failure) if !failure.is(Reason::NotFound) => return Err(failure.into()),
                _ => {}
            }
        }
        Ok(())
    }
}
