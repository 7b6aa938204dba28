//! Fields and annotations of claims and volumes (`component-helpers/storage/volume/pv_helpers.go`, `helpers.go`).

use wavetank_api::json::{self, Json};
use wavetank_api::quota::milli_value;
use wavetank_api::{Object, Stored};
use wavetank_client::workqueue::Item;

use crate::controller_utils::pod_key;

/// `AnnBindCompleted`
pub(super) const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// `AnnBoundByController`
pub(super) const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// `AnnSelectedNode`
pub(super) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// `AnnDynamicallyProvisioned`
pub(super) const DYNAMICALLY_PROVISIONED: &str = "pv.kubernetes.io/provisioned-by";
/// `AnnStorageProvisioner`
pub(super) const STORAGE_PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
/// `AnnBetaStorageProvisioner`
pub(super) const BETA_STORAGE_PROVISIONER: &str = "volume.beta.kubernetes.io/storage-provisioner";
/// `BetaStorageClassAnnotation`
const BETA_STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
/// `IsDefaultStorageClassAnnotation`, and the one of before.
const IS_DEFAULT_CLASS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

/// Phases of volumes and claims.
pub(super) const AVAILABLE: &str = "Available";
pub(super) const BOUND: &str = "Bound";
pub(super) const FAILED: &str = "Failed";
pub(super) const LOST: &str = "Lost";
pub(super) const PENDING: &str = "Pending";
pub(super) const RELEASED: &str = "Released";

/// An annotation, if there is one.
pub(super) fn annotation<'a>(of: &'a Json, key: &str) -> Option<&'a str> {
    json::at(of, &["metadata", "annotations", key]).and_then(Json::as_str)
}

/// `HasAnnotation`
pub(super) fn has_annotation(of: &Json, key: &str) -> bool {
    annotation(of, key).is_some()
}

/// `SetMetaDataAnnotation`
pub(super) fn set_meta_data_annotation(of: &mut Json, key: &str, value: &str) {
    json::set(of, &["metadata", "annotations", key], value);
}

pub(super) fn phase(of: &Json) -> &str {
    json::text(of, &["status", "phase"])
}

/// The volume of a claim.
pub(super) fn volume_name(claim: &Json) -> &str {
    json::text(claim, &["spec", "volumeName"])
}

/// Whom a volume is for.
pub(super) fn claim_ref(volume: &Json) -> Option<&Json> {
    json::at(volume, &["spec", "claimRef"]).filter(|own| own.is_object())
}

/// The UID of whom a volume is for; empty as well if nobody claims the volume.
pub(super) fn claim_uid(volume: &Json) -> &str {
    json::text(volume, &["spec", "claimRef", "uid"])
}

/// Upstream's `claimrefToClaimKey`
pub(super) fn claim_key(claim_ref: &Json) -> Item {
    let field = |field| json::text(claim_ref, &[field]);
    format!("{}/{}", field("namespace"), field("name")).into()
}

/// What becomes of a volume that nobody claims any more.
pub(super) fn reclaim_policy(volume: &Json) -> &str {
    json::text(volume, &["spec", "persistentVolumeReclaimPolicy"])
}

/// Upstream's `GetPersistentVolumeClaimClass`, `GetPersistentVolumeClass`
pub(super) fn class_of(of: &Json) -> &str {
    let spec = json::text(of, &["spec", "storageClassName"]);
    annotation(of, BETA_STORAGE_CLASS).unwrap_or(spec)
}

/// `PersistentVolumeClaimHasClass`
pub(super) fn persistent_volume_claim_has_class(claim: &Json) -> bool {
    let named = json::at(claim, &["spec", "storageClassName"]);
    has_annotation(claim, BETA_STORAGE_CLASS) || named.is_some_and(Json::is_string)
}

/// `IsDefaultAnnotation`
pub(super) fn is_default_annotation(class: &Json) -> bool {
    let mut own = IS_DEFAULT_CLASS.iter();
    own.any(|key| annotation(class, key) == Some("true"))
}

pub(super) fn access_modes(of: &Json) -> &[Json] {
    json::list(of, &["spec", "accessModes"])
}

/// What a claim requests, in thousandths of a byte.
pub(super) fn requested(claim: &Json) -> i64 {
    let storage = json::at(claim, &["spec", "resources", "requests", "storage"]);
    storage.and_then(milli_value).unwrap_or(0)
}

/// What a volume holds, in thousandths of a byte.
pub(super) fn capacity(volume: &Json) -> i64 {
    let storage = json::at(volume, &["spec", "capacity", "storage"]);
    storage.and_then(milli_value).unwrap_or(0)
}

/// `CheckVolumeModeMismatches`
pub(super) fn check_volume_mode_mismatches(claim: &Json, volume: &Json) -> bool {
    let mode = |of| match json::text(of, &["spec", "volumeMode"]) {
        "" => "Filesystem",
        other => other,
    };
    mode(claim) != mode(volume)
}

/// `IsVolumeBoundToClaim`: is the volume bound to this claim, or kept for one of its name?
pub(super) fn is_volume_bound_to_claim(volume: &Json, claim: &Object) -> bool {
    claim_ref(volume).is_some_and(|own| {
        let uid = claim_uid(volume);
        claim_key(own) == pod_key(claim) && (uid.is_empty() || uid == claim.uid())
    })
}

/// `GetReference` of a claim.
pub(super) fn get_reference(claim: &Stored) -> Json {
    serde_json::json!({
        "kind": "PersistentVolumeClaim", "apiVersion": "v1",
        "namespace": claim.object.namespace(), "name": claim.object.name(), "uid": claim.object.uid(),
        "resourceVersion": claim.resource_version.to_string(),
    })
}
