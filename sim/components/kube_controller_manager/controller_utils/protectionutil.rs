//! Finalizers that keep an object while it is used (`pkg/controller/volume/protectionutil/utils.go`).

use wavetank_api::json::{self, Json};
use wavetank_api::{Method, Object, Request, Resource, Stored};
use wavetank_client::{Failure, RestClient};
use wavetank_engine::Rx;

/// Does the finalizer hold it?
pub fn is_protected(object: &Object, finalizer: &str) -> bool {
    let own = json::list(object.json(), &["metadata", "finalizers"]);
    own.iter().any(|own| *own == finalizer)
}

/// `IsDeletionCandidate`
pub fn is_deletion_candidate(object: &Object, finalizer: &str) -> bool {
    object.is_being_deleted() && is_protected(object, finalizer)
}

/// `NeedToAddFinalizer`
pub fn need_to_add_finalizer(object: &Object, finalizer: &str) -> bool {
    !object.is_being_deleted() && !is_protected(object, finalizer)
}

/// Upstream's `addFinalizer` and `removeFinalizer` of who protects claims and volumes: the version that was read is written with
/// other finalizers.
///
/// # Errors
/// If the request fails, as when the object has changed.
pub async fn update_finalizers(
    rx: Rx,
    rest: &RestClient,
    of: &Resource,
    stored: &Stored,
    change: impl FnOnce(&mut Vec<Json>),
) -> Result<(), Failure> {
    let mut object = stored.json();
    let mut finalizers = json::list(&object, &["metadata", "finalizers"]).to_vec();
    change(&mut finalizers);
    json::set(&mut object, &["metadata", "finalizers"], finalizers);
    let path = of.path(stored.object.namespace(), stored.object.name());
    rest.object(rx, Request::new(Method::Put, path).with(object))
        .await?;
    Ok(())
}
