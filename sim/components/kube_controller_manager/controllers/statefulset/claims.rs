//! Who owns the claims of pods, so that they go when they are to (`persistentVolumeClaimRetentionPolicy`; the second half of
//! `pkg/controller/statefulset/stateful_set_utils.go`). Pure.

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{PODS, STATEFUL_SETS};
use wavetank_api::{Object, Resource};

use super::util::{name, pod_in_ordinal_range, uid};
use crate::controller_utils::ControllerRef;

/// An owner that a claim may have.
#[derive(Clone, Copy, Debug)]
struct Owner<'a> {
    of: &'static Resource,
    object: &'a Json,
}

/// The set and the pod of a claim.
fn owners<'a>(set: &'a Json, pod: &'a Json) -> [Owner<'a>; 2] {
    let set = Owner {
        of: &STATEFUL_SETS,
        object: set,
    };
    let pod = Owner {
        of: &PODS,
        object: pod,
    };
    [set, pod]
}

pub(super) fn references(claim: &Json) -> &[Json] {
    json::list(claim, &["metadata", "ownerReferences"])
}

/// `matchesRef`
fn matches_ref(reference: &Json, owner: Owner<'_>) -> bool {
    reference["apiVersion"] == *owner.of.api_version()
        && reference["kind"] == *owner.of.kind
        && reference["name"] == *name(owner.object)
}

fn is_controller(reference: &Json) -> bool {
    reference["controller"] == true
}

/// When claims go: with whoever no longer needs them, or never.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Policy {
    deleted: bool,
    scaled: bool,
}

/// `getPersistentVolumeClaimRetentionPolicy`: is it `Delete`?
fn get_persistent_volume_claim_retention_policy(set: &Json) -> Policy {
    let deletes = |field| {
        let path = ["spec", "persistentVolumeClaimRetentionPolicy", field];
        json::text(set, &path) == "Delete"
    };
    Policy {
        deleted: deletes("whenDeleted"),
        scaled: deletes("whenScaled"),
    }
}

/// Do claims go when a set is scaled down?
pub(super) fn deletes_when_scaled(set: &Json) -> bool {
    get_persistent_volume_claim_retention_policy(set).scaled
}

/// Who is to own a claim: its set, its pod.
fn wanted(set: &Json, pod: &Json) -> [bool; 2] {
    let policy = get_persistent_volume_claim_retention_policy(set);
    let scaled_down = !pod_in_ordinal_range(pod, set);
    match (policy.scaled, policy.deleted) {
        (false, deleted) => [deleted, false],
        (true, deleted) => [deleted && !scaled_down, scaled_down],
    }
}

/// `hasUnexpectedController`
fn has_unexpected_controller(claim: &Json, set: &Json, pod: &Json) -> bool {
    let policy = get_persistent_volume_claim_retention_policy(set);
    if !policy.scaled && !policy.deleted {
        return false;
    }
    references(claim).iter().any(|reference| {
        let mut own = owners(set, pod).into_iter();
        match own.find(|owner| matches_ref(reference, *owner)) {
            Some(owner) => reference["uid"] != *uid(owner.object),
            None => is_controller(reference),
        }
    })
}

/// `hasNonControllerOwner`
fn has_non_controller_owner(claim: &Json, set: &Json, pod: &Json) -> bool {
    references(claim).iter().any(|reference| {
        let is_own = [set, pod].iter().any(|own| reference["uid"] == *uid(own));
        is_own && !is_controller(reference)
    })
}

/// `hasOwnerRef`
fn has_owner_ref(claim: &Json, owner: &Json) -> bool {
    let mut all = references(claim).iter();
    all.any(|reference| reference["uid"] == *uid(owner))
}

/// Upstream's `hasStaleOwnerRef`, to an owner of this kind.
fn is_stale(claim: &Json, owner: Owner<'_>) -> bool {
    let mut all = references(claim).iter();
    let own = all.find(|reference| matches_ref(reference, owner));
    own.is_some_and(|reference| reference["uid"] != *uid(owner.object))
}

/// `hasStaleOwnerRef`, to a pod.
pub(super) fn has_stale_owner_ref(claim: &Json, pod: &Json) -> bool {
    is_stale(
        claim,
        Owner {
            of: &PODS,
            object: pod,
        },
    )
}

/// Has it a stale owner of either kind?
pub(super) fn goes_with_another(claim: &Json, set: &Json, pod: &Json) -> bool {
    owners(set, pod).into_iter().any(|own| is_stale(claim, own))
}

/// `isClaimOwnerUpToDate`
pub(super) fn is_claim_owner_up_to_date(claim: &Json, set: &Json, pod: &Json) -> bool {
    if goes_with_another(claim, set, pod) {
        return true;
    }
    if has_unexpected_controller(claim, set, pod) {
        return !has_owner_ref(claim, set) && !has_owner_ref(claim, pod);
    }
    if has_non_controller_owner(claim, set, pod) {
        return false;
    }
    [set, pod].map(|own| has_owner_ref(claim, own)) == wanted(set, pod)
}

/// `updateClaimOwnerRefForSetAndPod`
pub(super) fn update_claim_owner_ref_for_set_and_pod(claim: &mut Json, set: &Json, pod: &Json) {
    let unexpected = has_unexpected_controller(claim, set, pod);
    let both = owners(set, pod);
    let mut kept = references(claim).to_vec();
    kept.retain(|own| !both.iter().any(|owner| matches_ref(own, *owner)));
    let wanted = if unexpected {
        [false; 2]
    } else {
        wanted(set, pod)
    };
    for (owner, _) in both.into_iter().zip(wanted).filter(|(_, wanted)| *wanted) {
        let is_there = kept.iter().any(|own| own["uid"] == *uid(owner.object));
        if !is_there {
            let object = Object::new(owner.object.clone());
            let reference = ControllerRef {
                of: owner.of,
                object: &object,
            };
            kept.push(reference.json());
        }
    }
    match kept.is_empty() {
        true => drop(json::remove(claim, &["metadata", "ownerReferences"])),
        false => json::set(claim, &["metadata", "ownerReferences"], kept),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn set(deleted: &str, scaled: &str) -> Json {
        json!({
            "metadata": {"name": "db", "uid": "s"},
            "spec": {
                "replicas": 1,
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": deleted, "whenScaled": scaled},
            },
        })
    }

    fn pod(ordinal: u32) -> Json {
        json!({"metadata": {"name": format!("db-{ordinal}"), "uid": format!("p{ordinal}")}})
    }

    /// The owners that a claim has after an update.
    fn owned(set: &Json, pod: &Json) -> Vec<String> {
        let mut claim = json!({"metadata": {"name": "d"}});
        update_claim_owner_ref_for_set_and_pod(&mut claim, set, pod);
        assert!(is_claim_owner_up_to_date(&claim, set, pod));
        let all = references(&claim).iter();
        all.map(|own| own["uid"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn the_policy_says_who_owns_a_claim() {
        let (stays, goes) = (pod(0), pod(1));
        let none: [&str; 0] = [];
        assert_eq!(owned(&set("Retain", "Retain"), &goes), none);
        assert_eq!(owned(&set("Delete", "Retain"), &goes), ["s"]);
        assert_eq!(owned(&set("Retain", "Delete"), &stays), none);
        assert_eq!(owned(&set("Retain", "Delete"), &goes), ["p1"]);
        assert_eq!(owned(&set("Delete", "Delete"), &stays), ["s"]);
        assert_eq!(owned(&set("Delete", "Delete"), &goes), ["p1"]);
    }

    #[test]
    fn a_claim_of_somebody_else_is_left_alone() {
        let set = set("Delete", "Delete");
        let other = json!({"apiVersion": "v1", "kind": "Pod", "name": "db-1", "uid": "older", "controller": true});
        let claim = json!({"metadata": {"ownerReferences": [other]}});
        assert!(has_stale_owner_ref(&claim, &pod(1)) && !has_stale_owner_ref(&claim, &pod(0)));
        assert!(is_claim_owner_up_to_date(&claim, &set, &pod(1)));
    }
}
