//! What is said of a set and its pods (`pkg/controller/statefulset/stateful_set_utils.go`): which number a pod has, whether it is
//! what it should be, and what a new one is. Pure.

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::STATEFUL_SETS;
use wavetank_api::{Object, Stamp};

use crate::controller_utils::{
    ControllerRef, get_pod_from_template, is_pod_available, is_pod_ready,
};

/// `StatefulSetPodNameLabel`
const POD_NAME_LABEL: &str = "statefulset.kubernetes.io/pod-name";
/// `PodIndexLabel`
const POD_INDEX_LABEL: &str = "apps.kubernetes.io/pod-index";
/// `StatefulSetRevisionLabel`
pub(super) const REVISION_LABEL: &str = "controller-revision-hash";

pub(super) fn name(object: &Json) -> &str {
    json::text(object, &["metadata", "name"])
}

pub(super) fn namespace(object: &Json) -> &str {
    json::text(object, &["metadata", "namespace"])
}

pub(super) fn uid(object: &Json) -> &str {
    json::text(object, &["metadata", "uid"])
}

pub(super) fn of_spec(set: &Json, field: &str) -> i64 {
    json::number(set, &["spec", field]).unwrap_or(0)
}

pub(super) fn of_status(set: &Json, field: &str) -> i64 {
    json::number(set, &["status", field]).unwrap_or(0)
}

/// `getParentNameAndOrdinal` of a name; upstream's -1 is `None` here.
fn get_parent_name_and_ordinal(name: &str) -> (&str, Option<i64>) {
    let Some((parent, digits)) = name.rsplit_once('-') else {
        return ("", None);
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|own| own.is_ascii_digit());
    match is_number {
        true => (parent, digits.parse::<i32>().ok().map(i64::from)),
        false => ("", None),
    }
}

/// `getOrdinal`
pub(super) fn get_ordinal(pod: &Json) -> Option<i64> {
    get_parent_name_and_ordinal(name(pod)).1
}

/// `getStartOrdinal`
pub(super) fn get_start_ordinal(set: &Json) -> i64 {
    json::number(set, &["spec", "ordinals", "start"]).unwrap_or(0)
}

/// `getEndOrdinal`
fn get_end_ordinal(set: &Json) -> i64 {
    get_start_ordinal(set) + of_spec(set, "replicas") - 1
}

/// Is this number one of those that the set has?
pub(super) fn has_ordinal(set: &Json, ordinal: i64) -> bool {
    (get_start_ordinal(set)..=get_end_ordinal(set)).contains(&ordinal)
}

/// `podInOrdinalRange`
pub(super) fn pod_in_ordinal_range(pod: &Json, set: &Json) -> bool {
    get_ordinal(pod).is_some_and(|ordinal| has_ordinal(set, ordinal))
}

/// `getPodName`
pub(super) fn get_pod_name(set: &Json, ordinal: i64) -> String {
    format!("{}-{ordinal}", name(set))
}

/// `isMemberOf`
pub(super) fn is_member_of(set: &Object, pod: &Object) -> bool {
    get_parent_name_and_ordinal(pod.name()).0 == set.name()
}

/// `identityMatches`
pub(super) fn identity_matches(set: &Json, pod: &Json) -> bool {
    let (parent, ordinal) = get_parent_name_and_ordinal(name(pod));
    let label = json::text(pod, &["metadata", "labels", POD_NAME_LABEL]);
    ordinal.is_some_and(|ordinal| get_pod_name(set, ordinal) == name(pod))
        && parent == name(set)
        && namespace(pod) == namespace(set)
        && label == name(pod)
}

/// `updateIdentity`
pub(super) fn update_identity(set: &Json, pod: &mut Json) {
    let ordinal = get_ordinal(pod).unwrap_or(-1);
    let name = get_pod_name(set, ordinal);
    json::set(pod, &["metadata", "namespace"], namespace(set));
    json::set(pod, &["metadata", "labels", POD_NAME_LABEL], name.as_str());
    let index = ordinal.to_string();
    json::set(pod, &["metadata", "labels", POD_INDEX_LABEL], index);
    json::set(pod, &["metadata", "name"], name);
}

fn templates(set: &Json) -> &[Json] {
    json::list(set, &["spec", "volumeClaimTemplates"])
}

/// Upstream's `getPersistentVolumeClaimName` of each template, and the template.
pub(super) fn claim_names(set: &Json, ordinal: i64) -> Vec<(String, &Json)> {
    let name_of = |template| format!("{}-{}-{ordinal}", name(template), name(set));
    let all = templates(set).iter();
    all.map(|template| (name_of(template), template)).collect()
}

/// The number of the pod whose claim has this name.
pub(super) fn get_claim_ordinal(set: &Json, claim: &str) -> Option<i64> {
    let number = |template: &Json| -> Option<i64> {
        let rest = claim.strip_prefix(name(template))?.strip_prefix('-')?;
        rest.strip_prefix(name(set))?
            .strip_prefix('-')?
            .parse()
            .ok()
    };
    templates(set).iter().find_map(number)
}

/// `getPersistentVolumeClaims`
pub(super) fn get_persistent_volume_claims(set: &Json, pod: &Json) -> Vec<Json> {
    let ordinal = get_ordinal(pod).unwrap_or(-1);
    let labels = json::at(set, &["spec", "selector", "matchLabels"]);
    let labels = labels.and_then(Json::as_object);
    let all = claim_names(set, ordinal).into_iter();
    let claims = all.map(|(name, template)| {
        let mut claim = template.clone();
        claim["apiVersion"] = "v1".into();
        claim["kind"] = "PersistentVolumeClaim".into();
        json::set(&mut claim, &["metadata", "name"], name);
        json::set(&mut claim, &["metadata", "namespace"], namespace(set));
        for (key, value) in labels.into_iter().flatten() {
            json::set(&mut claim, &["metadata", "labels", key], value.clone());
        }
        claim
    });
    claims.collect()
}

/// `storageMatches`
pub(super) fn storage_matches(set: &Json, pod: &Json) -> bool {
    let Some(ordinal) = get_ordinal(pod) else {
        return false;
    };
    let volumes = json::list(pod, &["spec", "volumes"]);
    claim_names(set, ordinal).iter().all(|(claim, template)| {
        let mut own = volumes.iter().filter(|own| own["name"] == *name(template));
        own.next_back()
            .is_some_and(|own| own["persistentVolumeClaim"]["claimName"] == **claim)
    })
}

/// `updateStorage`; upstream adds the claims in the order of a Go map.
pub(super) fn update_storage(set: &Json, pod: &mut Json) {
    let ordinal = get_ordinal(pod).unwrap_or(-1);
    let claims = claim_names(set, ordinal);
    let volume = |(claim, template): &(String, &Json)| json!({"name": name(template), "persistentVolumeClaim": {"claimName": claim}});
    let mut volumes: Vec<Json> = claims.iter().map(volume).collect();
    let is_claimed = |own: &Json| {
        let mut all = claims.iter();
        all.any(|(_, template)| own["name"] == *name(template))
    };
    let kept = json::list(pod, &["spec", "volumes"]).iter();
    volumes.extend(kept.filter(|own| !is_claimed(own)).cloned());
    if !volumes.is_empty() {
        json::set(pod, &["spec", "volumes"], volumes);
    }
}

fn phase(pod: &Json) -> &str {
    json::text(pod, &["status", "phase"])
}

/// `isCreated`
pub(super) fn is_created(pod: &Json) -> bool {
    !phase(pod).is_empty()
}

/// `isPending`
pub(super) fn is_pending(pod: &Json) -> bool {
    phase(pod) == "Pending"
}

/// Upstream's `isFailed`, `isSucceeded`
pub(super) fn has_ended(pod: &Json) -> bool {
    matches!(phase(pod), "Failed" | "Succeeded")
}

/// `isTerminating`
pub(super) fn is_terminating(pod: &Json) -> bool {
    json::at(pod, &["metadata", "deletionTimestamp"]).is_some()
}

/// `isRunningAndReady`
pub(super) fn is_running_and_ready(pod: &Json) -> bool {
    phase(pod) == "Running" && is_pod_ready(pod).is_some()
}

/// When this is, and how long a pod must have been ready by then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Availability {
    pub min_ready: i64,
    /// Nothing where nothing depends on it.
    pub now: Option<Stamp>,
}

impl Availability {
    /// `isRunningAndAvailable`
    pub fn is_running_and_available(self, pod: &Json) -> bool {
        is_pod_available(pod, self.min_ready, self.now)
    }

    /// `isUnavailable`
    pub fn is_unavailable(self, pod: &Json) -> bool {
        !self.is_running_and_available(pod) || is_terminating(pod)
    }
}

/// `allowsBurst`
pub(super) fn allows_burst(set: &Json) -> bool {
    json::text(set, &["spec", "podManagementPolicy"]) == "Parallel"
}

/// `getPodRevision`
pub(super) fn get_pod_revision(pod: &Json) -> &str {
    json::text(pod, &["metadata", "labels", REVISION_LABEL])
}

/// `newStatefulSetPod`, of this revision.
fn new_stateful_set_pod(set: &Json, ordinal: i64, revision: &str) -> Json {
    let object = Object::new(set.clone());
    let controller = ControllerRef {
        of: &STATEFUL_SETS,
        object: &object,
    };
    let template = json::at(set, &["spec", "template"]).unwrap_or(&Json::Null);
    let mut pod = get_pod_from_template(template, &controller);
    let name = get_pod_name(set, ordinal);
    json::set(&mut pod, &["metadata", "name"], name.as_str());
    update_identity(set, &mut pod);
    json::set(&mut pod, &["spec", "hostname"], name);
    let service = json::text(set, &["spec", "serviceName"]);
    if !service.is_empty() {
        json::set(&mut pod, &["spec", "subdomain"], service);
    }
    update_storage(set, &mut pod);
    json::set(&mut pod, &["metadata", "labels", REVISION_LABEL], revision);
    pod
}

/// A set as one of its revisions has it, and the name of that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Versioned<'a> {
    pub set: &'a Json,
    pub revision: &'a str,
}

/// `newVersionedStatefulSetPod`
pub(super) fn new_versioned_stateful_set_pod(
    current: Versioned<'_>,
    update: Versioned<'_>,
    ordinal: i64,
) -> Json {
    let strategy = json::at(current.set, &["spec", "updateStrategy"]).unwrap_or(&Json::Null);
    let rolling = strategy
        .get("rollingUpdate")
        .filter(|rolling| !rolling.is_null());
    let start = get_start_ordinal(current.set);
    let is_of_current = match rolling {
        None => {
            let kept = start + of_status(current.set, "currentReplicas");
            strategy["type"] == "RollingUpdate" && ordinal < kept
        }
        Some(rolling) => ordinal < start + json::number(rolling, &["partition"]).unwrap_or(0),
    };
    let of = if is_of_current { current } else { update };
    new_stateful_set_pod(of.set, ordinal, of.revision)
}

/// The pods below this number stay as they are in a rollout.
pub(super) fn partition(set: &Json) -> i64 {
    let path = ["spec", "updateStrategy", "rollingUpdate", "partition"];
    json::number(set, &path).unwrap_or(0)
}

/// `ApplyRevision`: the patch replaces the template.
pub(super) fn apply_revision(set: &Json, revision: &Json) -> Json {
    let mut restored = set.clone();
    let template = json::at(revision, &["data", "spec", "template"]);
    if let Some(mut template) = template.cloned() {
        json::remove(&mut template, &["$patch"]);
        json::set(&mut restored, &["spec", "template"], template);
    }
    restored
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller_utils::get_patch;

    fn set() -> Json {
        json!({
            "metadata": {"name": "db", "namespace": "ns", "uid": "s"},
            "spec": {
                "replicas": 3,
                "serviceName": "svc",
                "selector": {"matchLabels": {"app": "db"}},
                "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"image": "2"}]}},
                "volumeClaimTemplates": [{"metadata": {"name": "d"}}],
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}},
            },
        })
    }

    #[test]
    fn a_name_says_whose_pod_it_is_and_which() {
        let of = |name: &str| {
            let (parent, ordinal) = get_parent_name_and_ordinal(name);
            (parent.to_owned(), ordinal)
        };
        assert_eq!(of("db-12"), ("db".to_owned(), Some(12)));
        assert_eq!(of("db-1-2"), ("db-1".to_owned(), Some(2)));
        assert_eq!(of("db-x"), (String::new(), None));
        assert_eq!(of("db-99999999999"), ("db".to_owned(), None));
        assert_eq!(of("db"), (String::new(), None));
    }

    #[test]
    fn a_new_pod_has_its_identity_its_storage_and_its_revision() {
        let set = set();
        let old = json!({"data": {"spec": {"template": {
            "$patch": "replace", "metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"image": "1"}]},
        }}}});
        let old = apply_revision(&set, &old);
        let current = Versioned {
            set: &old,
            revision: "db-1",
        };
        let update = Versioned {
            set: &set,
            revision: "db-2",
        };
        let of = |ordinal| new_versioned_stateful_set_pod(current, update, ordinal);
        let image = |pod: &Json| pod["spec"]["containers"][0]["image"].clone();
        let (kept, new) = (of(0), of(1));
        assert_eq!(
            (image(&kept), get_pod_revision(&kept)),
            ("1".into(), "db-1")
        );
        assert_eq!((image(&new), get_pod_revision(&new)), ("2".into(), "db-2"));
        assert!(identity_matches(&set, &new) && storage_matches(&set, &new));
        assert_eq!(
            new["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"],
            "d-db-1"
        );
        assert_eq!(
            (&new["spec"]["hostname"], &new["spec"]["subdomain"]),
            (&"db-1".into(), &"svc".into())
        );
        let claims = get_persistent_volume_claims(&set, &new);
        assert_eq!(claims[0]["metadata"]["labels"]["app"], "db");
        assert_eq!(get_patch(&old)["spec"]["template"]["$patch"], "replace");
    }
}
