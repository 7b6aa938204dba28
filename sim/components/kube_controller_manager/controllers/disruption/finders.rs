//! Whose pods a budget selects, and to how many these are scaled (`finders` of `pkg/controller/disruption/disruption.go`).

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{DEPLOYMENTS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS};
use wavetank_api::{Method, Reason, Request, Resource, Stored};
use wavetank_client::RestClient;
use wavetank_client::informer::Lister;
use wavetank_engine::Rx;

use crate::controller_utils::discovery::{Mapping, rest_mapping};
use crate::controller_utils::{SyncError, get_controller_of};

/// `[]string{"apps", "extensions"}`
const APPS: &[&str] = &["apps", "extensions"];

/// Where they look.
#[derive(Debug)]
pub(super) struct Finders {
    pub rest: RestClient,
    pub controllers: Lister,
    pub replica_sets: Lister,
    pub deployments: Lister,
    pub stateful_sets: Lister,
}

/// `controllerAndScale`
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ControllerAndScale {
    pub uid: String,
    pub scale: i64,
}

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// `verifyGroupKind`
pub(super) fn verify_group_kind(reference: &Json, kind: &Resource, groups: &[&str]) -> bool {
    let api_version = json::text(reference, &["apiVersion"]);
    reference["kind"] == *kind.kind && groups.contains(&group(api_version))
}

fn scale_of(object: &Json) -> ControllerAndScale {
    ControllerAndScale {
        uid: json::text(object, &["metadata", "uid"]).to_owned(),
        scale: json::number(object, &["spec", "replicas"]).unwrap_or(0),
    }
}

/// The one that a reference names, if it is that one still.
fn referred(rx: Rx, from: Lister, namespace: &str, reference: &Json) -> Option<Stored> {
    let name = json::text(reference, &["name"]);
    let found = from.get(rx, &format!("{namespace}/{name}"))?;
    (reference["uid"] == *found.object.uid()).then_some(found)
}

impl Finders {
    /// The first that one of `finders` knows.
    ///
    /// # Errors
    /// If the scale cannot be had.
    pub async fn find(
        &self,
        rx: Rx,
        reference: &Json,
        namespace: &str,
    ) -> Result<Option<ControllerAndScale>, SyncError> {
        let known = self
            .get_pod_replication_controller(rx, reference, namespace)
            .or_else(|| self.get_pod_deployment(rx, reference, namespace))
            .or_else(|| self.get_pod_replica_set(rx, reference, namespace))
            .or_else(|| self.get_pod_stateful_set(rx, reference, namespace));
        match known {
            Some(known) => Ok(Some(known)),
            None => self.get_scale_controller(rx, reference, namespace).await,
        }
    }

    /// `getPodReplicationController`
    fn get_pod_replication_controller(
        &self,
        rx: Rx,
        reference: &Json,
        namespace: &str,
    ) -> Option<ControllerAndScale> {
        if !verify_group_kind(reference, &REPLICATION_CONTROLLERS, &[""]) {
            return None;
        }
        let found = referred(rx, self.controllers, namespace, reference)?;
        Some(scale_of(found.object.json()))
    }

    /// `getPodDeployment`
    fn get_pod_deployment(
        &self,
        rx: Rx,
        reference: &Json,
        namespace: &str,
    ) -> Option<ControllerAndScale> {
        if !verify_group_kind(reference, &REPLICA_SETS, APPS) {
            return None;
        }
        let set = referred(rx, self.replica_sets, namespace, reference)?;
        let reference = get_controller_of(set.object.json())?;
        if !verify_group_kind(reference, &DEPLOYMENTS, APPS) {
            return None;
        }
        let found = referred(rx, self.deployments, namespace, reference)?;
        Some(scale_of(found.object.json()))
    }

    /// `getPodReplicaSet`: one that no Deployment controls.
    fn get_pod_replica_set(
        &self,
        rx: Rx,
        reference: &Json,
        namespace: &str,
    ) -> Option<ControllerAndScale> {
        if !verify_group_kind(reference, &REPLICA_SETS, APPS) {
            return None;
        }
        let found = referred(rx, self.replica_sets, namespace, reference)?;
        let owner = get_controller_of(found.object.json());
        if owner.is_some_and(|owner| owner["kind"] == *DEPLOYMENTS.kind) {
            return None;
        }
        Some(scale_of(found.object.json()))
    }

    /// `getPodStatefulSet`
    fn get_pod_stateful_set(
        &self,
        rx: Rx,
        reference: &Json,
        namespace: &str,
    ) -> Option<ControllerAndScale> {
        if !verify_group_kind(reference, &STATEFUL_SETS, &["apps"]) {
            return None;
        }
        let found = referred(rx, self.stateful_sets, namespace, reference)?;
        Some(scale_of(found.object.json()))
    }

    /// `getScaleController`: what is not in a cache is asked for its Scale.
    async fn get_scale_controller(
        &self,
        rx: Rx,
        reference: &Json,
        namespace: &str,
    ) -> Result<Option<ControllerAndScale>, SyncError> {
        let text = |field| json::text(reference, &[field]);
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let mapping = rest_mapping(rx, &self.rest, api_version, kind).await;
        let mapping = mapping.map_err(|_| {
            let quoted = wavetank_api::quote::quote(kind);
            let version = wavetank_api::quote::quote(api_version);
            SyncError::Worded(format!("no matches for kind {quoted} in version {version}"))
        })?;
        let path = format!("{}/scale", mapping.path(namespace, text("name")));
        let scale = self.rest.object(rx, Request::new(Method::Get, path)).await;
        let scale = match scale {
            Ok(scale) => scale,
            // It is gone, or it has none.
            Err(failure) if failure.is(Reason::NotFound) => {
                return match self.implements_scale(rx, &mapping).await? {
                    true => Ok(None),
                    false => Err(SyncError::Worded(format!(
                        "{} does not implement the scale subresource",
                        group_resource(&mapping)
                    ))),
                };
            }
            Err(failure) => return Err(failure.into()),
        };
        let is_it = reference["uid"] == *scale.object.uid();
        Ok(is_it.then(|| scale_of(scale.object.json())))
    }

    /// `implementsScale`
    async fn implements_scale(&self, rx: Rx, mapping: &Mapping) -> Result<bool, SyncError> {
        let root = match mapping.group() {
            "" => "api",
            _ => "apis",
        };
        let get = Request::new(Method::Get, format!("/{root}/{}", mapping.api_version));
        let list = self.rest.object(rx, get).await?;
        let wanted = format!("{}/scale", mapping.resource);
        let mut all = json::list(list.object.json(), &["resources"]).iter();
        Ok(all.any(|own| json::text(own, &["name"]) == wanted && own["kind"] == "Scale"))
    }
}

/// Upstream's `GroupResource.String`
fn group_resource(mapping: &Mapping) -> String {
    match mapping.group() {
        "" => mapping.resource.to_string(),
        group => format!("{}.{group}", mapping.resource),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_kind_is_one_of_its_group() {
        let reference = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet"});
        assert!(verify_group_kind(&reference, &REPLICA_SETS, APPS));
        assert!(!verify_group_kind(&reference, &STATEFUL_SETS, APPS));
        let other = json!({"apiVersion": "example.com/v1", "kind": "ReplicaSet"});
        assert!(!verify_group_kind(&other, &REPLICA_SETS, APPS));
        let core = json!({"apiVersion": "v1", "kind": "ReplicationController"});
        assert!(verify_group_kind(&core, &REPLICATION_CONTROLLERS, &[""]));
    }
}
