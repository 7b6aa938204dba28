//! Volumes: claims, what they claim, and what drivers say (`kubernetes/pkg/registry/core/persistentvolume`,
//! `core/persistentvolumeclaim`, `storage`, with `defaults.go` of their groups). The finalizers are those of the admission
//! plugin `StorageObjectInUseProtection`.

use serde_json::json;

use super::declared::{Declared, Generation, fill, immutable};
use crate::discovery::Shown;
use crate::json::{self, Json};
use crate::strategy::{Context, Part};
use crate::validation::ErrorList;

pub(super) const PERSISTENT_VOLUMES: Declared = Declared {
    shown: Shown::called(&["pv"]),
    status: true,
    default: |volume| {
        fill(volume, &["spec", "persistentVolumeReclaimPolicy"], "Retain");
        fill(volume, &["spec", "volumeMode"], "Filesystem");
        if let Some(path) = volume
            .pointer_mut("/spec/hostPath")
            .and_then(Json::as_object_mut)
        {
            path.entry("type").or_insert_with(|| "".into());
        }
        if json::text(volume, &["status", "phase"]).is_empty() {
            json::set(volume, &["status", "phase"], "Pending");
        }
    },
    create: |cx, volume| {
        let now = cx.now.seconds();
        let status = json!({"phase": "Pending", "lastPhaseTransitionTime": now});
        json::set(volume, &["status"], status);
        protect(volume, "kubernetes.io/pv-protection");
    },
    update: |cx: &Context, part, volume: &mut Json, old: &Json| {
        let phase = |of| json::text(of, &["status", "phase"]).to_owned();
        if part == Part::Status && phase(volume) != phase(old) {
            let time = ["status", "lastPhaseTransitionTime"];
            if json::at(volume, &time) == json::at(old, &time) {
                json::set(volume, &time, cx.now.seconds());
            }
        }
    },
    validate: |volume, errors| {
        let modes = json::list(volume, &["spec", "accessModes"]);
        if modes.is_empty() {
            errors.required("spec.accessModes", "");
        }
        if json::at(volume, &["spec", "capacity"]).is_none() {
            errors.required("spec.capacity", "");
        }
    },
    validate_update: |new, old, errors| {
        if source(new) != source(old) {
            let why = "spec.persistentvolumesource is immutable after creation";
            errors.forbidden("spec.persistentvolumesource", why);
        }
        immutable_mode(new, old, errors);
    },
    returns_deleted: true,
    ..Declared::CLUSTER
};

/// Where a volume is: what remains of the specification of a volume.
fn source(volume: &Json) -> Vec<(&String, &Json)> {
    const OTHERS: [&str; 9] = [
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    ];
    let spec = json::at(volume, &["spec"]).and_then(Json::as_object);
    let fields = spec.into_iter().flatten();
    fields
        .filter(|(name, _)| !OTHERS.contains(&name.as_str()))
        .collect()
}

fn immutable_mode(new: &Json, old: &Json, errors: &mut ErrorList) {
    let mode = |of| json::at(of, &["spec", "volumeMode"]);
    if mode(new) != mode(old) {
        let bad = mode(new).cloned().unwrap_or_default();
        errors.invalid("volumeMode", &bad, crate::metadata::IMMUTABLE);
    }
}

/// `ValidatePersistentVolumeClaimUpdate`: a claim gets its volume once, and its class if it has none; what is bound may ask for more.
fn validate_persistent_volume_claim_update(new: &Json, old: &Json, errors: &mut ErrorList) {
    let spec = |of: &Json| json::at(of, &["spec"]).cloned().unwrap_or_default();
    let (mut asked, mut before) = (spec(new), spec(old));
    let mut as_asked = |path: &[&str]| match json::at(&asked, path) {
        Some(value) => json::set(&mut before, path, value.clone()),
        None => drop(json::remove(&mut before, path)),
    };
    if json::text(old, &["spec", "volumeName"]).is_empty() {
        as_asked(&["volumeName"]);
    }
    if json::at(old, &["spec", "storageClassName"]).is_none() {
        as_asked(&["storageClassName"]);
    }
    let storage = ["resources", "requests", "storage"];
    if json::text(new, &["status", "phase"]) == "Bound" {
        as_asked(&storage);
        as_asked(&["volumeAttributesClassName"]);
    }
    // How a quantity is written does not matter.
    for of in [&mut asked, &mut before] {
        if let Some(bytes) = json::at(of, &storage).and_then(crate::quota::milli_value) {
            json::set(of, &storage, bytes);
        }
    }
    if asked != before {
        let why = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n";
        errors.forbidden("spec", why);
    }
    let size = |of, path: &[&str]| json::at(of, path).and_then(crate::quota::milli_value);
    let requested = ["spec", "resources", "requests", "storage"];
    let shrinks = size(new, &requested) < size(old, &requested);
    if shrinks && size(new, &requested) <= size(old, &["status", "capacity", "storage"]) {
        let why = "field can not be less than status.capacity";
        errors.forbidden(requested.join("."), why);
    }
    immutable_mode(new, old, errors);
}

/// The defaults of a claim.
pub(super) fn default_claim(claim: &mut Json) {
    fill(claim, &["spec", "volumeMode"], "Filesystem");
    if json::text(claim, &["status", "phase"]).is_empty() {
        json::set(claim, &["status", "phase"], "Pending");
    }
}

pub(super) const PERSISTENT_VOLUME_CLAIMS: Declared = Declared {
    shown: Shown::called(&["pvc"]),
    status: true,
    default: default_claim,
    create: |_, claim| {
        json::set(claim, &["status"], json!({"phase": "Pending"}));
        protect(claim, "kubernetes.io/pvc-protection");
    },
    validate: |claim, errors| {
        if json::list(claim, &["spec", "accessModes"]).is_empty() {
            errors.required("spec.accessModes", "at least 1 access mode is required");
        }
        let storage = ["spec", "resources", "requests", "storage"];
        if json::at(claim, &storage).is_none() {
            errors.required("spec.resources[storage]", "");
        }
    },
    validate_update: validate_persistent_volume_claim_update,
    returns_deleted: true,
    ..Declared::NAMESPACED
};

pub(super) const STORAGE_CLASSES: Declared = Declared {
    shown: Shown::called(&["sc"]),
    default: |class| {
        fill(class, &["reclaimPolicy"], "Delete");
        fill(class, &["volumeBindingMode"], "Immediate");
    },
    validate: |class, errors| {
        if json::text(class, &["provisioner"]).is_empty() {
            errors.required("provisioner", "");
        }
    },
    validate_update: |new, old, errors| {
        for field in [
            "parameters",
            "provisioner",
            "reclaimPolicy",
            "volumeBindingMode",
        ] {
            if new.get(field) != old.get(field) {
                errors.forbidden(field, format!("updates to {field} are forbidden."));
            }
        }
    },
    returns_deleted: true,
    ..Declared::CLUSTER
};

pub(super) const VOLUME_ATTRIBUTES_CLASSES: Declared = Declared {
    shown: Shown::called(&["vac"]),
    create: |_, class| protect(class, "kubernetes.io/vac-protection"),
    validate: |class, errors| {
        if json::text(class, &["driverName"]).is_empty() {
            errors.required("driverName", "");
        }
    },
    validate_update: |new, old, errors| {
        for field in ["driverName", "parameters"] {
            if new.get(field) != old.get(field) {
                errors.forbidden(field, format!("updates to {field} are forbidden."));
            }
        }
    },
    returns_deleted: true,
    ..Declared::CLUSTER
};

pub(super) const CSI_DRIVERS: Declared = Declared {
    unconditional: false,
    generation: Generation::CountsOnly(&[
        &["spec", "tokenRequests"],
        &["spec", "requiresRepublish"],
        &["spec", "seLinuxMount"],
        &["spec", "nodeAllocatableUpdatePeriodSeconds"],
        &["spec", "serviceAccountTokenInSecrets"],
    ]),
    default: |driver| {
        if json::list(driver, &["spec", "volumeLifecycleModes"]).is_empty() {
            json::set(
                driver,
                &["spec", "volumeLifecycleModes"],
                json!(["Persistent"]),
            );
        }
        for (field, value) in [
            ("attachRequired", json!(true)),
            ("podInfoOnMount", json!(false)),
            ("storageCapacity", json!(false)),
            ("fsGroupPolicy", json!("ReadWriteOnceWithFSType")),
            ("requiresRepublish", json!(false)),
            ("seLinuxMount", json!(false)),
        ] {
            fill(driver, &["spec", field], value);
        }
    },
    validate_update: |new, old, errors| {
        for field in ["attachRequired", "volumeLifecycleModes"] {
            immutable(new, old, &["spec", field], errors);
        }
    },
    returns_deleted: true,
    ..Declared::CLUSTER
};

pub(super) const CSI_NODES: Declared = Declared {
    unconditional: false,
    returns_deleted: true,
    ..Declared::CLUSTER
};

pub(super) const CSI_STORAGE_CAPACITIES: Declared = Declared {
    unconditional: false,
    validate: |capacity, errors| {
        if json::text(capacity, &["storageClassName"]).is_empty() {
            errors.required("storageClassName", "");
        }
    },
    validate_update: |new, old, errors| {
        for field in ["nodeTopology", "storageClassName"] {
            immutable(new, old, &[field], errors);
        }
    },
    ..Declared::NAMESPACED
};

pub(super) const VOLUME_ATTACHMENTS: Declared = Declared {
    unconditional: false,
    status: true,
    validate: |attachment, errors: &mut ErrorList| {
        for field in ["attacher", "nodeName"] {
            if json::text(attachment, &["spec", field]).is_empty() {
                errors.required(format!("spec.{field}"), "");
            }
        }
    },
    validate_update: |new, old, errors| immutable(new, old, &["spec"], errors),
    returns_deleted: true,
    ..Declared::CLUSTER
};

/// A finalizer at the end of those that are there.
fn protect(object: &mut Json, finalizer: &str) {
    const FINALIZERS: [&str; 2] = ["metadata", "finalizers"];
    let mut all = json::list(object, &FINALIZERS).to_vec();
    if !all.iter().any(|own| own == finalizer) {
        all.push(finalizer.into());
        json::set(object, &FINALIZERS, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(phase: &str) -> Json {
        json!({
            "spec": {
                "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
                "resources": {"requests": {"storage": "2Gi"}},
            },
            "status": {"phase": phase, "capacity": {"storage": "1Gi"}},
        })
    }

    /// Is a claim in this phase refused with another value at this place, and then with one more?
    fn is_refused(phase: &str, changes: &[(&[&str], &str)]) -> Vec<bool> {
        let mut old = claim(phase);
        let refused = changes.iter().map(|(path, value)| {
            let mut new = old.clone();
            json::set(&mut new, path, *value);
            let mut errors = ErrorList::default();
            validate_persistent_volume_claim_update(&new, &old, &mut errors);
            old = new;
            !errors.is_empty()
        });
        refused.collect()
    }

    #[test]
    fn a_claim_gets_its_volume_and_its_class_once() {
        for path in [["spec", "volumeName"], ["spec", "storageClassName"]] {
            let refused = is_refused("Pending", &[(&path, "a"), (&path, "b")]);
            assert_eq!(refused, [false, true], "{path:?}");
        }
        assert_eq!(
            is_refused("Pending", &[(&["spec", "volumeMode"], "Block")]),
            [true]
        );
    }

    #[test]
    fn only_a_bound_claim_asks_for_more_and_none_for_less_than_it_has() {
        let storage: &[&str] = &["spec", "resources", "requests", "storage"];
        assert_eq!(is_refused("Pending", &[(storage, "3Gi")]), [true]);
        assert_eq!(is_refused("Pending", &[(storage, "2048Mi")]), [false]);
        assert_eq!(is_refused("Bound", &[(storage, "3Gi")]), [false]);
        assert_eq!(is_refused("Bound", &[(storage, "1536Mi")]), [false]);
        assert_eq!(is_refused("Bound", &[(storage, "1Gi")]), [true]);
    }

    #[test]
    fn where_a_volume_is_does_not_change_and_who_claims_it_does() {
        let old = json!({"spec": {"csi": {"volumeHandle": "v"}, "claimRef": {"name": "c"}}});
        let errors = |path: &[&str]| {
            let mut new = old.clone();
            json::set(&mut new, path, "other");
            let mut errors = ErrorList::default();
            (PERSISTENT_VOLUMES.validate_update)(&new, &old, &mut errors);
            !errors.is_empty()
        };
        assert!(errors(&["spec", "csi", "volumeHandle"]));
        assert!(!errors(&["spec", "claimRef", "name"]));
    }
}
