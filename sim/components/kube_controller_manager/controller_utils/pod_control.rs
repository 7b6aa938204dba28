//! How pods are made, patched and deleted (`RealPodControl` of `pkg/controller/controller_utils.go`).

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::PODS;
use wavetank_api::names::name_is_dns_subdomain;
use wavetank_api::{Method, Object, Reason, Request, Resource, Stored};
use wavetank_client::RestClient;
use wavetank_engine::Rx;

use super::{ConsistencyStore, SyncError, get_controller_of};

/// `RealPodControl`. What it writes for an owner is recorded, but for deletions (`OnWrite`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RealPodControl {
    /// How it reaches apiservers.
    pub rest: RestClient,
    /// Where writes are recorded.
    pub on_write: ConsistencyStore,
}

/// What a controller refers to itself with: `NewControllerRef`.
#[derive(Clone, Copy, Debug)]
pub struct ControllerRef<'a> {
    /// Its kind.
    pub of: &'static Resource,
    /// Itself.
    pub object: &'a Object,
}

impl ControllerRef<'_> {
    /// Upstream's `NewControllerRef`
    pub fn json(&self) -> Json {
        json!({
            "apiVersion": self.of.api_version(),
            "kind": self.of.kind,
            "name": self.object.name(),
            "uid": self.object.uid(),
            "controller": true,
            "blockOwnerDeletion": true,
        })
    }
}

/// `getPodsPrefix`
fn get_pods_prefix(controller: &str) -> String {
    let prefix = format!("{controller}-");
    match name_is_dns_subdomain(&prefix, true).is_empty() {
        true => prefix,
        false => controller.to_owned(),
    }
}

/// `GetPodFromTemplate`
pub fn get_pod_from_template(template: &Json, controller: &ControllerRef<'_>) -> Json {
    let mut metadata = json!({
        "generateName": get_pods_prefix(controller.object.name()),
        "ownerReferences": [controller.json()],
    });
    for field in ["labels", "annotations", "finalizers"] {
        if let Some(own) = json::at(template, &["metadata", field]) {
            metadata[field] = own.clone();
        }
    }
    json!({
        "apiVersion": PODS.api_version(),
        "kind": PODS.kind,
        "metadata": metadata,
        "spec": template.get("spec").cloned().unwrap_or_default(),
    })
}

impl RealPodControl {
    /// `CreatePods`: one pod of this template.
    ///
    /// # Errors
    /// If it has no labels, or was not made.
    pub async fn create_pods(
        &self,
        rx: Rx,
        template: &Json,
        controller: ControllerRef<'_>,
    ) -> Result<Stored, SyncError> {
        self.create_pods_with_generate_name(rx, template, controller, "")
            .await
    }

    /// `CreatePodsWithGenerateName`: the same with a name that begins so, if that is something.
    ///
    /// # Errors
    /// If it has no labels, or was not made.
    pub async fn create_pods_with_generate_name(
        &self,
        rx: Rx,
        template: &Json,
        controller: ControllerRef<'_>,
        generate_name: &str,
    ) -> Result<Stored, SyncError> {
        let mut pod = get_pod_from_template(template, &controller);
        if !generate_name.is_empty() {
            json::set(&mut pod, &["metadata", "generateName"], generate_name);
        }
        let labels = json::at(&pod, &["metadata", "labels"]).and_then(Json::as_object);
        if labels.is_none_or(|labels| labels.is_empty()) {
            let why = "unable to create pods, no labels";
            return Err(SyncError::Worded(why.to_owned()));
        }
        let namespace = controller.object.namespace();
        let post = Request::new(Method::Post, PODS.path(namespace, "")).with(pod);
        let made = self.rest.object(rx, post).await?;
        self.wrote(rx, &made, Some(&controller.json()));
        Ok(made)
    }

    /// `PatchPod`, with a patch of this content type.
    ///
    /// # Errors
    /// If it was not patched.
    pub async fn patch_pod(
        &self,
        rx: Rx,
        pod: &Object,
        kind: &str,
        patch: Json,
    ) -> Result<(), SyncError> {
        let path = PODS.path(pod.namespace(), pod.name());
        let mut request = Request::new(Method::Patch, path).with(patch);
        request.content_type = Some(kind.into());
        let patched = self.rest.object(rx, request).await?;
        self.wrote(rx, &patched, get_controller_of(patched.object.json()));
        Ok(())
    }

    /// `DeletePod`
    ///
    /// # Errors
    /// If that was not accepted: as it is if there is no such pod.
    pub async fn delete_pod(&self, rx: Rx, pod: &Object) -> Result<(), SyncError> {
        let path = PODS.path(pod.namespace(), pod.name());
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
        let delete = Request::new(Method::Delete, path).with(options);
        match self.rest.request(rx, delete).await {
            Ok(_) => Ok(()),
            Err(failure) if failure.is(Reason::NotFound) => Err(failure.into()),
            Err(failure) => {
                let why = format!("unable to delete pods: {failure}");
                Err(SyncError::Worded(why))
            }
        }
    }

    /// Upstream's `OnWrite`
    fn wrote(&self, rx: Rx, pod: &Stored, controller: Option<&Json>) {
        let Some(controller) = controller else {
            return;
        };
        let name = json::text(controller, &["name"]);
        let owner = format!("{}/{name}", pod.object.namespace()).into();
        let uid = json::text(controller, &["uid"]);
        let revision = pod.resource_version;
        self.on_write.wrote_at(rx, &owner, uid, &PODS, revision);
    }
}
