//! Volumes, what claims them, and quotas.

use super::cells::{Cells, flag, joined, name, or, or_none, text};
use super::duration::age;
use crate::json::{self, Json};
use crate::metadata;
use crate::times::Stamp;

/// `GetAccessModesAsString`
fn get_access_modes_as_string(object: &Json, path: &[&str]) -> Json {
    const MODES: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let all = json::list(object, path);
    let has = |mode: &str| all.iter().any(|own| own == mode);
    let shown = MODES
        .into_iter()
        .filter(|(mode, _)| has(mode))
        .map(|(_, short)| short);
    shown.collect::<Vec<_>>().join(",").into()
}

/// A class that an annotation named, before there was a field for it.
fn storage_class(own: &Json) -> Json {
    let old = [
        "metadata",
        "annotations",
        "volume.beta.kubernetes.io/storage-class",
    ];
    match text(own, &old) {
        "" => text(own, &["spec", "storageClassName"]).into(),
        class => class.into(),
    }
}

fn phase(own: &Json) -> Json {
    match text(own, &["metadata", "deletionTimestamp"]) {
        "" => text(own, &["status", "phase"]).into(),
        _ => "Terminating".into(),
    }
}

pub(super) fn volume_cells(own: &Json, now: Stamp) -> Cells {
    let at = |path: &[&str]| text(own, path);
    let claim = match json::at(own, &["spec", "claimRef"]) {
        Some(Json::Object(_)) => {
            let of = |field| at(&["spec", "claimRef", field]);
            format!("{}/{}", of("namespace"), of("name"))
        }
        _ => String::new(),
    };
    vec![
        name(own),
        or(at(&["spec", "capacity", "storage"]), "0"),
        get_access_modes_as_string(own, &["spec", "accessModes"]),
        at(&["spec", "persistentVolumeReclaimPolicy"]).into(),
        phase(own),
        claim.into(),
        storage_class(own),
        or(at(&["spec", "volumeAttributesClassName"]), "<unset>"),
        at(&["status", "reason"]).into(),
        age(own, now),
        or(at(&["spec", "volumeMode"]), "<unset>"),
    ]
}

pub(super) fn claim_cells(own: &Json, now: Stamp) -> Cells {
    let at = |path: &[&str]| text(own, path);
    let volume = at(&["spec", "volumeName"]);
    let (capacity, modes) = match volume {
        "" => ("".into(), "".into()),
        _ => (
            or(at(&["status", "capacity", "storage"]), "0"),
            get_access_modes_as_string(own, &["status", "accessModes"]),
        ),
    };
    vec![
        name(own),
        phase(own),
        volume.into(),
        capacity,
        modes,
        storage_class(own),
        or(at(&["spec", "volumeAttributesClassName"]), "<unset>"),
        age(own, now),
        or(at(&["spec", "volumeMode"]), "<unset>"),
    ]
}

pub(super) fn quota_cells(own: &Json, now: Stamp) -> Cells {
    let column = |limits: bool| {
        let hard = metadata::entries(own, &["status", "hard"]);
        let own = hard
            .filter(|(name, _)| name.starts_with("limits.") == limits)
            .map(|(name, hard)| {
                let used = text(own, &["status", "used", name]);
                format!(
                    "{name}: {}/{hard}",
                    if used.is_empty() { "0" } else { used }
                )
            });
        own.collect::<Vec<_>>().join(", ").into()
    };
    vec![name(own), column(false), column(true), age(own, now)]
}

pub(super) fn driver_cells(own: &Json, now: Stamp) -> Cells {
    let spec = |field| flag(own, &["spec", field], false);
    let tokens = match json::at(own, &["spec", "tokenRequests"]) {
        Some(Json::Array(all)) => {
            let audiences: Vec<&str> = all.iter().map(|own| text(own, &["audience"])).collect();
            audiences.join(",").into()
        }
        _ => "<unset>".into(),
    };
    vec![
        name(own),
        flag(own, &["spec", "attachRequired"], true),
        spec("podInfoOnMount"),
        spec("storageCapacity"),
        tokens,
        spec("requiresRepublish"),
        or_none(&joined(own, &["spec", "volumeLifecycleModes"], ",")),
        age(own, now),
    ]
}
