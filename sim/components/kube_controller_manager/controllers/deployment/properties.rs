//! What is promised to users of Deployments, as etcd shows it. Nobody but the controller deletes ReplicaSets whose
//! Deployment stays: by that its cleaning up is known.

use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{DEPLOYMENTS, REPLICA_SETS};
use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_engine::{Check, Note, Reached, Stable, World};
use wavetank_etcd::Keys;

use super::NEEDED;
use super::collisions;
use super::controller::CONTROLLER;
use super::notes::{Scales, SyncsDeployment};
use super::paused;
use super::util::{
    DESIRED_REPLICAS, annotation, deployment_complete, filter_active, find_new_replica_set,
    find_old_replica_sets, is_rolling_update, name, of_status, spec_replicas,
};
use crate::controller_utils::is_controlled_by;
use crate::owners::controller_stays;
use crate::quiet::{Subject, SyncsEnd};
use crate::somebody_runs;
use wavetank_components::changes::changes;
use wavetank_components::pod_runners::NEVER_READY;
use wavetank_components::promises::{always, violated};
use wavetank_components::view::ClusterView;

/// What a rollout takes once sets are kept, and the deadline of one that stands still.
pub(super) const ROLLS_OUT_WITHIN: Duration = Duration::from_secs(180);

/// Somebody has to use Deployments, and to run their pods.
pub(super) const USED: [Entry; 4] = [
    Entry::new("topology", "deployment-users", "2"),
    Entry::new("workload", "use-deployments", "{every: 5s}"),
    Entry::new("topology", "pod-runners", "1"),
    Entry::new("workload", "run-pods", "{every: 1s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(super::USERS) > 0;
    let mut all = vec![
        PropertyInfo::new(
            "cleaned-up-sets-are-empty",
            "no ReplicaSet of a Deployment that stays is deleted while it asks for pods or has some",
            NEEDED,
            |_| {
                Box::new(always(
                    "cleaned-up-sets-are-empty",
                    cleaned_up_sets_are_empty,
                ))
            },
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "rollouts-end",
            "some time after calm the new set of each Deployment has all pods, or its status says that it stands still; \
             one that is paused makes no new set, and where rollouts are rolling all sets with pods remember its size",
            NEEDED,
            |settled| Box::new(rollouts_end(settled)),
        ),
        PropertyInfo::new(
            "deployments-are-quiet",
            "some time after calm no Deployment whose rollout has ended is synced again",
            NEEDED,
            |settled| Box::new(deployments_are_quiet(settled)),
        ),
        PropertyInfo::new(
            "set-was-scaled",
            "the controller scaled a set",
            NEEDED,
            |_| Box::new(set_was_scaled()),
        )
        .fits(users),
    ];
    all.extend(paused::all());
    all.extend(collisions::all());
    all
}

fn cleaned_up_sets_are_empty(world: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for change in changes(note, &REPLICA_SETS).filter(|change| change.now.is_none()) {
        let Some(set) = &change.before else {
            continue;
        };
        if !controller_stays(world, &set.value, &DEPLOYMENTS) {
            continue;
        }
        let set = set.value.json();
        let (asks, has) = (spec_replicas(set), of_status(set, "replicas"));
        if (asks, has) != (0, 0) {
            let name = name(set);
            let message =
                format!("the ReplicaSet {name} is deleted, asks for {asks} pods and has {has}");
            return violated("set", name, message);
        }
        checked = Check::Held;
    }
    checked
}

/// All objects of a resource.
fn stored(world: &World, registry: &str) -> Vec<Json> {
    let prefix = Keys::Prefix(format!("{registry}/").into());
    let store = ClusterView(world).store();
    store
        .iter(&prefix)
        .map(|kv| kv.value.json().clone())
        .collect()
}

fn progressing(deployment: &Json) -> &Json {
    let all = json::list(deployment, &["status", "conditions"]);
    let found = all.iter().find(|own| own["type"] == "Progressing");
    found.unwrap_or(&Json::Null)
}

/// What is wrong with a Deployment and the sets that it owns.
fn is_unfinished(deployment: &Json, sets: &[Json]) -> Option<String> {
    let status = deployment.get("status").unwrap_or(&Json::Null);
    let new = find_new_replica_set(deployment, sets);
    if json::at(deployment, &["spec", "paused"]) == Some(&Json::Bool(true)) {
        let is_said = progressing(deployment)["reason"] == "DeploymentPaused"
            || progressing(deployment)["reason"] == "ProgressDeadlineExceeded";
        return (!is_said).then(|| "is paused, and its status does not say so".to_owned());
    }
    let containers = json::list(deployment, &["spec", "template", "spec", "containers"]);
    let is_broken = containers.iter().any(|own| own["image"] == NEVER_READY);
    let wanted = spec_replicas(deployment);
    if is_broken && wanted > 0 {
        // One that was scaled after its rollout was complete has no deadline.
        let reason = &progressing(deployment)["reason"];
        let is_said = reason == "ProgressDeadlineExceeded" || reason == "NewReplicaSetAvailable";
        return (!is_said).then(|| "stands still, and its status does not say so".to_owned());
    }
    let Some(new) = new else {
        return Some("has no set with its template".to_owned());
    };
    let old = find_old_replica_sets(deployment, sets);
    let left: i64 = old.iter().map(spec_replicas).sum();
    if spec_replicas(&new) != wanted || left != 0 {
        let own = spec_replicas(&new);
        return Some(format!(
            "asks for {wanted} pods; its new set asks for {own}, old ones for {left}"
        ));
    }
    let complete = deployment_complete(deployment, status);
    (!complete).then(|| "has what it asks for, and its status does not say so".to_owned())
}

/// A set with pods that remembers another size of a Deployment whose rollouts are rolling: its part in what the next scaling
/// adds or takes away would be reckoned by that.
fn remembers_another_size(deployment: &Json, sets: &[Json]) -> Option<String> {
    let wanted = spec_replicas(deployment);
    let active = filter_active(sets);
    let known = |set: &Json| annotation(set, DESIRED_REPLICAS).parse::<i64>().ok();
    let differs = |set: &&Json| known(set).is_some_and(|known| known != wanted);
    let set = active.iter().find(differs)?;
    let of = name(set);
    is_rolling_update(deployment)
        .then(|| format!("asks for {wanted} pods, and its set {of} remembers another size"))
}

fn check(world: &World) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    let all = stored(world, REPLICA_SETS.registry);
    let mut checked = Check::Idle;
    for deployment in stored(world, DEPLOYMENTS.registry) {
        let uid = json::text(&deployment, &["metadata", "uid"]);
        let own = all.iter().filter(|set| is_controlled_by(set, uid));
        let own: Vec<Json> = own.cloned().collect();
        let wrong = is_unfinished(&deployment, &own);
        if let Some(wrong) = wrong.or_else(|| remembers_another_size(&deployment, &own)) {
            let name = name(&deployment);
            return violated("deployment", name, format!("the Deployment {name} {wrong}"));
        }
        checked = Check::Held;
    }
    checked
}

fn rollouts_end(after: Duration) -> Stable {
    Stable::new("rollouts-end", after, |_, _| Check::Idle, check)
}

fn is_synced(world: &World, note: &Note) -> Option<Subject> {
    let SyncsDeployment { deployment } = note.body.get()?;
    (check(world) == Check::Held).then(|| deployment.clone())
}

fn deployments_are_quiet(after: Duration) -> SyncsEnd {
    SyncsEnd::new("deployments-are-quiet", "deployment", after, is_synced)
}

fn set_was_scaled() -> Reached {
    Reached {
        name: "set-was-scaled",
        here: |_, note| note.body.get::<Scales>().is_some(),
    }
}
