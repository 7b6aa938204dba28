//! What is said of a Deployment and its ReplicaSets (`pkg/controller/deployment/util/deployment_util.go`). Pure.

use wavetank_api::Stamp;
use wavetank_api::json::{self, Json};

use crate::controller_utils::get_scaled_value_from_int_or_percent;

pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
pub(super) const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
pub(super) const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
pub(super) const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";
/// `DefaultDeploymentUniqueLabelKey`
pub(super) const UNIQUE_LABEL: &str = "pod-template-hash";
/// `annotationsToSkip`
const SKIPPED: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    "deprecated.deployment.rollback.to",
];
/// `maxRevHistoryLengthInChars`
const LONGEST_HISTORY: usize = 2000;

pub(super) fn spec_replicas(object: &Json) -> i64 {
    json::number(object, &["spec", "replicas"]).unwrap_or(0)
}

pub(super) fn of_status(object: &Json, field: &str) -> i64 {
    json::number(object, &["status", field]).unwrap_or(0)
}

pub(super) fn annotation<'a>(object: &'a Json, key: &str) -> &'a str {
    json::text(object, &["metadata", "annotations", key])
}

/// Sets an annotation: was it another?
fn annotate(object: &mut Json, key: &str, value: &str) -> bool {
    let path = ["metadata", "annotations", key];
    let is_news = json::at(object, &path).and_then(Json::as_str) != Some(value);
    json::set(object, &path, value);
    is_news
}

pub(super) fn name(object: &Json) -> &str {
    json::text(object, &["metadata", "name"])
}

/// The sum over sets of what is asked for (`GetReplicaCountForReplicaSets`).
pub(super) fn replica_count(sets: &[Json]) -> i64 {
    sets.iter().map(spec_replicas).sum()
}

/// The sum over sets of a count of their status.
pub(super) fn status_count(sets: &[Json], field: &str) -> i64 {
    sets.iter().map(|set| of_status(set, field)).sum()
}

/// Upstream's `FilterActiveReplicaSets`
pub(super) fn filter_active(sets: &[Json]) -> Vec<Json> {
    let active = sets.iter().filter(|set| spec_replicas(set) > 0);
    active.cloned().collect()
}

/// When it was made, and its name: by this sets are sorted (`ReplicaSetsByCreationTimestamp`).
pub(super) fn age(set: &Json) -> (Option<Stamp>, String) {
    let created = Stamp::parse(json::text(set, &["metadata", "creationTimestamp"]));
    (created, name(set).to_owned())
}

/// `EqualIgnoreHash`
pub(super) fn equal_ignore_hash(first: &Json, second: &Json) -> bool {
    without_hash(first) == without_hash(second)
}

/// A template, whichever set it is of.
pub(super) fn without_hash(template: &Json) -> Json {
    let mut bare = template.clone();
    json::remove(&mut bare, &["metadata", "labels", UNIQUE_LABEL]);
    if let Some(metadata) = bare.get_mut("metadata").and_then(Json::as_object_mut) {
        metadata.retain(|_, own| !own.is_null());
    }
    bare
}

fn template(object: &Json) -> &Json {
    json::at(object, &["spec", "template"]).unwrap_or(&Json::Null)
}

/// `FindNewReplicaSet`: the oldest one with the template of the Deployment.
pub(super) fn find_new_replica_set(deployment: &Json, sets: &[Json]) -> Option<Json> {
    let is_new = |set: &&Json| equal_ignore_hash(template(set), template(deployment));
    sets.iter()
        .filter(is_new)
        .min_by_key(|set| age(set))
        .cloned()
}

/// `FindOldReplicaSets`: all but the new one, the oldest first.
pub(super) fn find_old_replica_sets(deployment: &Json, sets: &[Json]) -> Vec<Json> {
    let new = find_new_replica_set(deployment, sets);
    let uid = |set: &Json| json::text(set, &["metadata", "uid"]).to_owned();
    let new = new.as_ref().map(uid);
    let mut old: Vec<Json> = sets.to_vec();
    old.retain(|set| Some(uid(set)) != new);
    old.sort_by_key(age);
    old
}

/// `FindActiveOrLatest`: the only one with replicas; if none has any, the new one, or the latest.
pub(super) fn find_active_or_latest(new: Option<&Json>, old: &[Json]) -> Option<Json> {
    let all: Vec<Json> = old.iter().chain(new).cloned().collect();
    let active = filter_active(&all);
    match active.as_slice() {
        [] => new.or(old.iter().max_by_key(|set| age(set))).cloned(),
        [only] => Some(only.clone()),
        _ => None,
    }
}

pub(super) fn is_rolling_update(deployment: &Json) -> bool {
    json::text(deployment, &["spec", "strategy", "type"]) == "RollingUpdate"
}

fn rolling<'a>(deployment: &'a Json, field: &str) -> Option<&'a Json> {
    json::at(deployment, &["spec", "strategy", "rollingUpdate", field])
}

/// `ResolveFenceposts`: how many more, and how many fewer pods there may be.
fn resolve_fenceposts(deployment: &Json) -> (i64, i64) {
    let desired = spec_replicas(deployment);
    let surge =
        get_scaled_value_from_int_or_percent(rolling(deployment, "maxSurge"), desired, true);
    let unavailable =
        get_scaled_value_from_int_or_percent(rolling(deployment, "maxUnavailable"), desired, false);
    match (surge, unavailable) {
        (0, 0) => (0, 1),
        both => both,
    }
}

pub(super) fn max_surge(deployment: &Json) -> i64 {
    match is_rolling_update(deployment) {
        true => resolve_fenceposts(deployment).0,
        false => 0,
    }
}

pub(super) fn max_unavailable(deployment: &Json) -> i64 {
    let desired = spec_replicas(deployment);
    match is_rolling_update(deployment) && desired > 0 {
        true => resolve_fenceposts(deployment).1.min(desired),
        false => 0,
    }
}

/// `NewRSNewReplicas`: how many pods the new set may have beside all others.
pub(super) fn new_rs_new_replicas(deployment: &Json, all: &[Json], own: i64) -> i64 {
    let desired = spec_replicas(deployment);
    if !is_rolling_update(deployment) {
        return desired;
    }
    let surge =
        get_scaled_value_from_int_or_percent(rolling(deployment, "maxSurge"), desired, true);
    let (current, most) = (replica_count(all), desired + surge);
    match current >= most {
        true => own,
        false => own + (most - current).min(desired - own),
    }
}

/// `IsSaturated`
pub(super) fn is_saturated(deployment: &Json, set: Option<&Json>) -> bool {
    let desired = spec_replicas(deployment);
    set.is_some_and(|set| {
        spec_replicas(set) == desired
            && annotation(set, DESIRED_REPLICAS).parse() == Ok(desired)
            && of_status(set, "availableReplicas") == desired
    })
}

/// `SetReplicasAnnotations`
pub(super) fn set_replicas_annotations(set: &mut Json, deployment: &Json) -> bool {
    let desired = spec_replicas(deployment);
    let most = desired + max_surge(deployment);
    let first = annotate(set, DESIRED_REPLICAS, &desired.to_string());
    annotate(set, MAX_REPLICAS, &most.to_string()) || first
}

/// `ReplicasAnnotationsNeedUpdate`
pub(super) fn replicas_annotations_need_update(set: &Json, deployment: &Json) -> bool {
    set_replicas_annotations(&mut set.clone(), deployment)
}

/// `SetDeploymentRevision`
pub(super) fn set_deployment_revision(deployment: &mut Json, revision: &str) -> bool {
    annotate(deployment, REVISION, revision)
}

/// `Revision`; nothing if it is no number.
pub(super) fn revision(set: &Json) -> Option<i64> {
    match annotation(set, REVISION) {
        "" => Some(0),
        text => text.parse().ok(),
    }
}

/// `MaxRevision`
pub(super) fn max_revision(sets: &[Json]) -> i64 {
    sets.iter().filter_map(revision).max().unwrap_or(0).max(0)
}

/// `SetNewReplicaSetAnnotations`
pub(super) fn set_new_replica_set_annotations(
    deployment: &Json,
    set: &mut Json,
    new: i64,
    exists: bool,
) -> bool {
    let mut changed = false;
    let own = json::at(deployment, &["metadata", "annotations"]).and_then(Json::as_object);
    for (key, value) in own.into_iter().flatten() {
        if !SKIPPED.contains(&key.as_str()) {
            changed |= annotate(set, key, value.as_str().unwrap_or_default());
        }
    }
    let before = annotation(set, REVISION).to_owned();
    let Some(old) = revision(set) else {
        return false;
    };
    if old < new {
        changed |= annotate(set, REVISION, &new.to_string());
        if !before.is_empty() {
            append_history(set, &before);
        }
    }
    if !exists {
        changed |= set_replicas_annotations(set, deployment);
    }
    changed
}

/// The revisions that a set was before; the oldest go when there are too many.
fn append_history(set: &mut Json, before: &str) {
    let history = annotation(set, REVISION_HISTORY).to_owned();
    let mut all: Vec<&str> = history.split(',').filter(|own| !own.is_empty()).collect();
    all.push(before);
    while all.len() > 1 && all.join(",").len() > LONGEST_HISTORY {
        all.remove(0);
    }
    annotate(set, REVISION_HISTORY, &all.join(","));
}

/// `GetReplicaSetProportion`: how much of what is to be added a set gets.
pub(super) fn get_replica_set_proportion(
    set: &Json,
    deployment: &Json,
    to_add: i64,
    added: i64,
) -> i64 {
    if spec_replicas(set) == 0 || to_add == 0 || to_add == added {
        return 0;
    }
    let fraction = get_replica_set_fraction(set, deployment);
    match to_add > 0 {
        true => fraction.min(to_add - added),
        false => fraction.max(to_add - added),
    }
}

/// `getReplicaSetFraction`
fn get_replica_set_fraction(set: &Json, deployment: &Json) -> i64 {
    let (desired, own) = (spec_replicas(deployment), spec_replicas(set));
    if desired == 0 {
        return -own;
    }
    let most = desired + max_surge(deployment);
    let before = annotation(set, MAX_REPLICAS).parse().unwrap_or(0);
    let before = match before {
        0 => of_status(deployment, "replicas"),
        before => before,
    };
    if before == 0 {
        return 0;
    }
    // `RoundToInt32` of the quotient.
    (2 * own * most + before).div_euclid(2 * before) - own
}

pub(super) fn has_progress_deadline(deployment: &Json) -> Option<i64> {
    let deadline = json::number(deployment, &["spec", "progressDeadlineSeconds"])?;
    (deadline != i64::from(i32::MAX)).then_some(deadline)
}

/// `DeploymentComplete`, with this status.
pub(super) fn deployment_complete(deployment: &Json, status: &Json) -> bool {
    let desired = spec_replicas(deployment);
    let count = |field| json::number(status, &[field]).unwrap_or(0);
    let generation = json::number(deployment, &["metadata", "generation"]).unwrap_or(0);
    ["updatedReplicas", "replicas", "availableReplicas"].map(count) == [desired; 3]
        && count("observedGeneration") >= generation
}

/// `DeploymentProgressing`, with this status after that of the Deployment.
pub(super) fn deployment_progressing(deployment: &Json, status: &Json) -> bool {
    let new = |field| json::number(status, &[field]).unwrap_or(0);
    let old = |field| of_status(deployment, field);
    new("updatedReplicas") > old("updatedReplicas")
        || new("replicas") - new("updatedReplicas") < old("replicas") - old("updatedReplicas")
        || new("readyReplicas") > old("readyReplicas")
        || new("availableReplicas") > old("availableReplicas")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn deployment(replicas: i64, surge: &str, unavailable: &str) -> Json {
        let rolling = json!({"maxSurge": surge, "maxUnavailable": unavailable});
        json!({
            "metadata": {"name": "d"},
            "spec": {
                "replicas": replicas,
                "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
            },
        })
    }

    fn set(name: &str, replicas: i64, most: i64) -> Json {
        let annotations = json!({MAX_REPLICAS: most.to_string()});
        json!({
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"replicas": replicas},
        })
    }

    #[test]
    fn surge_is_rounded_up_and_what_may_lack_down() {
        let of = |replicas| {
            let deployment = deployment(replicas, "25%", "25%");
            (max_surge(&deployment), max_unavailable(&deployment))
        };
        assert_eq!(
            [of(0), of(1), of(4), of(10)],
            [(0, 0), (1, 0), (1, 1), (3, 2)]
        );
        let none = deployment(3, "0%", "10%");
        assert_eq!((max_surge(&none), max_unavailable(&none)), (0, 1));
    }

    #[test]
    fn the_new_set_gets_what_is_left_up_to_the_surge() {
        let deployment = deployment(4, "25%", "25%");
        let new = |all: &[Json], own| new_rs_new_replicas(&deployment, all, own);
        assert_eq!(new(&[set("old", 4, 5)], 0), 1);
        assert_eq!(new(&[set("old", 2, 5), set("new", 1, 5)], 1), 3);
        assert_eq!(new(&[set("old", 4, 5), set("new", 1, 5)], 1), 1);
        assert_eq!(new(&[], 0), 4);
    }

    #[test]
    fn sets_grow_in_proportion() {
        let deployment = deployment(20, "0%", "25%");
        let sets = [set("a", 6, 10), set("b", 4, 10)];
        let first = get_replica_set_proportion(&sets[0], &deployment, 10, 0);
        let second = get_replica_set_proportion(&sets[1], &deployment, 10, first);
        assert_eq!((first, second), (6, 4));
    }

    #[test]
    fn a_set_that_is_new_again_remembers_its_revisions() {
        let (deployment, mut own) = (deployment(1, "1", "0"), set("a", 1, 2));
        assert!(set_new_replica_set_annotations(
            &deployment,
            &mut own,
            1,
            false
        ));
        assert!(!set_new_replica_set_annotations(
            &deployment,
            &mut own,
            1,
            true
        ));
        assert!(set_new_replica_set_annotations(
            &deployment,
            &mut own,
            3,
            true
        ));
        assert!(set_new_replica_set_annotations(
            &deployment,
            &mut own,
            5,
            true
        ));
        assert_eq!(
            (
                annotation(&own, REVISION),
                annotation(&own, REVISION_HISTORY)
            ),
            ("5", "1,3")
        );
    }
}
