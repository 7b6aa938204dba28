//! What claims of volumes use (`evaluator/core/persistent_volume_claims.go`).

use std::collections::BTreeSet;

use super::check::Attributes;
use super::resources::ResourceList;
use super::scopes::Selector;
use crate::decode::values::Quantity;
use crate::json::{self, Json};

/// `pvcResources`
const RESOURCES: [&str; 2] = ["persistentvolumeclaims", "requests.storage"];
/// `storageClassSuffix`
const STORAGE_CLASS_SUFFIX: &str = ".storageclass.storage.k8s.io/";

/// Upstream's `Handles`
pub(super) fn handles(request: &Attributes) -> bool {
    match (request.subresource, &request.old) {
        ("", _) => true,
        ("status", Some(old)) => requires_quota_replenish(request.object.json(), old.json()),
        _ => false,
    }
}

/// Upstream's `MatchingResources`
pub(super) fn measures(name: &str) -> bool {
    let of_class = name.split_once(STORAGE_CLASS_SUFFIX);
    RESOURCES.contains(&of_class.map_or(name, |(_, resource)| resource))
}

/// `GetPersistentVolumeClaimClass`
fn get_persistent_volume_claim_class(claim: &Json) -> &str {
    const BETA: &str = "volume.beta.kubernetes.io/storage-class";
    match json::at(claim, &["metadata", "annotations", BETA]).and_then(Json::as_str) {
        Some(class) => class,
        None => json::text(claim, &["spec", "storageClassName"]),
    }
}

/// Upstream's `Usage`
pub(super) fn usage(claim: &Json) -> ResourceList {
    let class = get_persistent_volume_claim_class(claim);
    let mut used = ResourceList::default();
    let mut charge = |name: &str, quantity| {
        used.insert(name, quantity);
        if !class.is_empty() {
            used.insert(format!("{class}{STORAGE_CLASS_SUFFIX}{name}"), quantity);
        }
    };
    charge("persistentvolumeclaims", Quantity::whole(1));
    if let Some(storage) = get_storage_usage(claim) {
        charge("requests.storage", storage);
    }
    used
}

/// `getStorageUsage`: what is asked for, or what was given where that is more.
fn get_storage_usage(claim: &Json) -> Option<Quantity> {
    let storage = |path: &[&str]| {
        let text = json::at(claim, path)?.as_str()?;
        Quantity::parse(text).ok().map(Quantity::round_up)
    };
    let asked = storage(&["spec", "resources", "requests", "storage"])?;
    let given = storage(&["status", "allocatedResources", "storage"]);
    Some(match given {
        Some(given) if given.nanos > asked.nanos => given,
        _ => asked,
    })
}

/// `RequiresQuotaReplenish`. Upstream compares pointers to what was given, of which each look makes another: it holds for
/// each update.
pub(super) fn requires_quota_replenish(_: &Json, _: &Json) -> bool {
    true
}

/// `getReferencedVolumeAttributesClassNames`
fn get_referenced_volume_attributes_class_names(claim: &Json) -> BTreeSet<&str> {
    let all = [
        json::text(claim, &["spec", "volumeAttributesClassName"]),
        json::text(claim, &["status", "currentVolumeAttributesClassName"]),
        json::text(
            claim,
            &[
                "status",
                "modifyVolumeStatus",
                "targetVolumeAttributesClassName",
            ],
        ),
    ];
    all.into_iter().filter(|name| !name.is_empty()).collect()
}

/// `pvcMatchesScopeFunc`
pub(super) fn pvc_matches_scope_func(scope: &Selector<'_>, claim: &Json) -> bool {
    let names = get_referenced_volume_attributes_class_names(claim);
    if scope.scope != "VolumeAttributesClass" {
        return false;
    }
    match names.is_empty() {
        true => scope.selects(&[]),
        // One that is selected is enough.
        false => names.iter().any(|name| scope.selects(&[name])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn storage_counts_in_whole_bytes_and_by_class() {
        let used = usage(&json!({"spec": {
            "storageClassName": "gold", "resources": {"requests": {"storage": "1500m"}},
        }}));
        assert_eq!(
            used.to_json(),
            json!({
                "persistentvolumeclaims": "1",
                "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
                "requests.storage": "2",
                "gold.storageclass.storage.k8s.io/requests.storage": "2",
            })
        );
        let names = used.names();
        assert!(names.iter().all(|name| measures(name)));
        assert!(!measures("gold.storageclass.storage.k8s.io/pods"));
    }

    #[test]
    fn what_was_given_counts_where_it_is_more() {
        let of = |given: &str| {
            let claim = json!({
                "spec": {"resources": {"requests": {"storage": "2Gi"}}},
                "status": {"allocatedResources": {"storage": given}},
            });
            usage(&claim).mask(&["requests.storage"]).pretty_print()
        };
        assert_eq!(of("3Gi"), "requests.storage=3Gi");
        assert_eq!(of("1Gi"), "requests.storage=2Gi");
    }
}
