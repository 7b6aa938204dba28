//! Conditions, finalizers and versions of a definition (`pkg/apihelpers/helpers.go`).

use serde_json::json;

use crate::json::{self, Json};
use crate::quote;
use crate::times::Stamp;

const CONDITIONS: [&str; 2] = ["status", "conditions"];

/// A condition to be set.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Condition {
    /// `type`
    pub ty: &'static str,
    /// `status`
    pub status: &'static str,
    /// `reason`
    pub reason: &'static str,
    /// `message`
    pub message: String,
}

/// `FindCRDCondition`
pub fn find_crd_condition<'a>(crd: &'a Json, ty: &str) -> Option<&'a Json> {
    let mut all = json::list(crd, &CONDITIONS).iter();
    all.find(|condition| condition["type"] == ty)
}

/// `IsCRDConditionTrue`
pub fn is_crd_condition_true(crd: &Json, ty: &str) -> bool {
    find_crd_condition(crd, ty).is_some_and(|condition| condition["status"] == "True")
}

/// `IsCRDConditionEquivalent`
pub fn is_crd_condition_equivalent(condition: &Condition, other: Option<&Json>) -> bool {
    other.is_some_and(|other| {
        let same = |field: &str, own: &str| other[field].as_str().unwrap_or_default() == own;
        same("type", condition.ty)
            && same("status", condition.status)
            && same("reason", condition.reason)
            && same("message", &condition.message)
    })
}

/// `SetCRDCondition`: the instant moves with the status.
pub fn set_crd_condition(crd: &mut Json, condition: &Condition, now: Stamp) {
    let mut all = json::list(crd, &CONDITIONS).to_vec();
    let new = json!({
        "type": condition.ty,
        "status": condition.status,
        "lastTransitionTime": now.seconds(),
        "reason": condition.reason,
        "message": condition.message,
    });
    match all.iter_mut().find(|old| old["type"] == condition.ty) {
        None => all.push(new),
        Some(old) => {
            let since = old["lastTransitionTime"].clone();
            let stays = old["status"] == condition.status && !since.is_null();
            *old = new;
            if stays {
                old["lastTransitionTime"] = since;
            }
        }
    }
    json::set(crd, &CONDITIONS, all);
}

/// `RemoveCRDCondition`
pub fn remove_crd_condition(crd: &mut Json, ty: &str) {
    let all = json::list(crd, &CONDITIONS).iter();
    let rest: Vec<Json> = all
        .filter(|condition| condition["type"] != ty)
        .cloned()
        .collect();
    json::set(crd, &CONDITIONS, rest);
}

/// `CRDHasFinalizer`
pub fn crd_has_finalizer(crd: &Json, finalizer: &str) -> bool {
    json::list(crd, &["metadata", "finalizers"])
        .iter()
        .any(|own| own == finalizer)
}

/// `CRDRemoveFinalizer`
pub fn crd_remove_finalizer(crd: &mut Json, finalizer: &str) {
    let all = json::list(crd, &["metadata", "finalizers"]).iter();
    let rest: Vec<Json> = all.filter(|own| *own != finalizer).cloned().collect();
    match rest.is_empty() {
        true => {
            json::remove(crd, &["metadata", "finalizers"]);
        }
        false => json::set(crd, &["metadata", "finalizers"], rest),
    }
}

/// `HasServedCRDVersion`
pub fn has_served_crd_version(crd: &Json, version: &str) -> bool {
    let mut all = json::list(crd, &["spec", "versions"]).iter();
    all.any(|own| own["name"] == version && own["served"] == true)
}

/// `GetCRDStorageVersion`
pub fn get_crd_storage_version(crd: &Json) -> Option<&str> {
    let mut all = json::list(crd, &["spec", "versions"]).iter();
    all.find(|version| version["storage"] == true)?["name"].as_str()
}

/// `IsProtectedCommunityGroup`
pub fn is_protected_community_group(group: &str) -> bool {
    let of = |domain: &str| group == domain || group.ends_with(&format!(".{domain}"));
    of("k8s.io") || of("kubernetes.io")
}

/// `KubeAPIApprovedAnnotation`
pub(super) const KUBE_API_APPROVED_ANNOTATION: &str = "api-approved.kubernetes.io";

/// `APIApprovalState`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ApiApprovalState {
    /// The annotation says nothing that is known.
    Invalid,
    /// It is a URL.
    Approved,
    /// It says that the API is not approved, and is to be made anyway.
    Bypassed,
    /// There is none.
    Missing,
}

/// `GetAPIApprovalState`: what the annotation of a definition says, with the reason.
pub fn get_api_approval_state(crd: &Json) -> (ApiApprovalState, String) {
    const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";
    let annotation = json::text(
        crd,
        &["metadata", "annotations", KUBE_API_APPROVED_ANNOTATION],
    );
    let name = quote::quote(KUBE_API_APPROVED_ANNOTATION);
    let has_host = annotation.split_once("://").is_some_and(|(scheme, rest)| {
        !scheme.is_empty() && !rest.is_empty() && !rest.starts_with('/')
    });
    if annotation.is_empty() {
        let why = format!("protected groups must have approval annotation {name}, {SEE}");
        return (ApiApprovalState::Missing, why);
    }
    if annotation.starts_with("unapproved") {
        let why = format!("not approved: {}", quote::quote(annotation));
        return (ApiApprovalState::Bypassed, why);
    }
    if has_host {
        return (
            ApiApprovalState::Approved,
            format!("approved in {annotation}"),
        );
    }
    let why = format!(
        "protected groups must have approval annotation {name} with either a URL or a reason \
         starting with \"unapproved\", {SEE}"
    );
    (ApiApprovalState::Invalid, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(status: &'static str) -> Condition {
        Condition {
            ty: "Established",
            status,
            reason: "R",
            message: String::new(),
        }
    }

    #[test]
    fn an_instant_moves_with_its_status() {
        let mut crd = json!({});
        let at = |seconds| Stamp::of(wavetank_engine::Time::ZERO).plus_seconds(seconds);
        let since = |crd: &Json| crd["status"]["conditions"][0]["lastTransitionTime"].clone();
        set_crd_condition(&mut crd, &condition("False"), at(1));
        let first = since(&crd);
        set_crd_condition(&mut crd, &condition("False"), at(2));
        assert_eq!(since(&crd), first);
        set_crd_condition(&mut crd, &condition("True"), at(3));
        assert_ne!(since(&crd), first);
        assert!(is_crd_condition_true(&crd, "Established"));
        remove_crd_condition(&mut crd, "Established");
        assert!(find_crd_condition(&crd, "Established").is_none());
    }

    #[test]
    fn protected_groups_want_an_approval() {
        assert!(is_protected_community_group("x.k8s.io") && !is_protected_community_group("x.io"));
        let state = |text: &str| {
            let crd = json!({"metadata": {"annotations": {KUBE_API_APPROVED_ANNOTATION: text}}});
            get_api_approval_state(&crd).0
        };
        assert_eq!(state("https://a/b"), ApiApprovalState::Approved);
        assert_eq!(state("unapproved, later"), ApiApprovalState::Bypassed);
        assert_eq!(state("bogus"), ApiApprovalState::Invalid);
        assert_eq!(state(""), ApiApprovalState::Missing);
    }
}
