//! The status of a Deployment (`pkg/controller/deployment/sync.go`, `progress.go`).

use std::time::Duration;

use serde_json::json;
use wavetank_api::Stamp;
use wavetank_api::json::{self, Json, Map};
use wavetank_engine::Rx;

use super::controller::{DeploymentController, QUEUE};
use super::defects::DeploymentDefect;
use super::sets::Sets;
use super::util::{
    deployment_complete, deployment_progressing, has_progress_deadline, max_unavailable, name,
    replica_count, spec_replicas, status_count,
};
use crate::controller_utils::SyncError;

/// `NewDeploymentCondition`: of a type, with a status, a reason and a message.
pub(super) fn new_deployment_condition(rx: Rx, says: [&str; 4]) -> Json {
    let [of, status, reason, message] = says;
    let now = Stamp::of(rx.clock()).seconds();
    json!({
        "type": of,
        "status": status,
        "lastUpdateTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    })
}

fn conditions(status: &Map) -> Vec<Json> {
    let all = status.get("conditions").and_then(Json::as_array);
    all.cloned().unwrap_or_default()
}

fn find<'a>(conditions: &'a [Json], of: &Json) -> Option<&'a Json> {
    conditions.iter().find(|own| own["type"] == *of)
}

/// Upstream's `GetDeploymentCondition`
pub(super) fn condition_of(deployment: &Json, of: &str) -> Option<Json> {
    let all = json::list(deployment, &["status", "conditions"]);
    find(all, &of.into()).cloned()
}

/// `SetDeploymentCondition`
pub(super) fn set_deployment_condition(status: &mut Map, mut condition: Json) {
    let mut all = conditions(status);
    if let Some(own) = find(&all, &condition["type"])
        && own["status"] == condition["status"]
    {
        if own["reason"] == condition["reason"] {
            return;
        }
        condition["lastTransitionTime"] = own["lastTransitionTime"].clone();
    }
    all.retain(|own| own["type"] != condition["type"]);
    all.push(condition);
    status.insert("conditions".to_owned(), all.into());
}

/// `RemoveDeploymentCondition`
fn remove_deployment_condition(status: &mut Map, of: &str) {
    let mut all = conditions(status);
    all.retain(|own| own["type"] != of);
    match all.is_empty() {
        true => drop(status.remove("conditions")),
        false => drop(status.insert("conditions".to_owned(), all.into())),
    }
}

/// `calculateStatus`
fn calculate_status(rx: Rx, deployment: &Json, sets: &Sets) -> Map {
    let all = sets.all();
    let available = status_count(&all, "availableReplicas");
    let mut status = Map::new();
    let updated = sets.new.as_slice();
    let counts = [
        ("replicas", status_count(&all, "replicas")),
        ("updatedReplicas", status_count(updated, "replicas")),
        ("readyReplicas", status_count(&all, "readyReplicas")),
        ("availableReplicas", available),
        (
            "unavailableReplicas",
            (replica_count(&all) - available).max(0),
        ),
        (
            "observedGeneration",
            json::number(deployment, &["metadata", "generation"]).unwrap_or(0),
        ),
    ];
    for (field, count) in counts.into_iter().filter(|(_, count)| *count != 0) {
        status.insert(field.to_owned(), count.into());
    }
    if let Some(terminating) = terminating_count(&all) {
        status.insert("terminatingReplicas".to_owned(), terminating.into());
    }
    for field in ["collisionCount", "conditions"] {
        if let Some(own) = json::at(deployment, &["status", field]) {
            status.insert(field.to_owned(), own.clone());
        }
    }
    let least = spec_replicas(deployment) - max_unavailable(deployment);
    let says = match available >= least {
        true => [
            "Available",
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        ],
        false => [
            "Available",
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        ],
    };
    set_deployment_condition(&mut status, new_deployment_condition(rx, says));
    status
}

/// Upstream's `GetTerminatingReplicaCountForReplicaSets`; nothing while a set has not said it.
fn terminating_count(sets: &[Json]) -> Option<i64> {
    let mut total = 0;
    for set in sets {
        let count = json::number(set, &["status", "terminatingReplicas"]);
        let is_new = json::number(set, &["status", "observedGeneration"]).unwrap_or(0) == 0;
        total += match count {
            None if is_new => 0,
            count => count?,
        };
    }
    Some(total)
}

impl DeploymentController {
    /// `checkPausedConditions`
    pub(super) async fn check_paused_conditions(
        &self,
        rx: Rx,
        deployment: &mut Json,
    ) -> Result<(), SyncError> {
        let condition = condition_of(deployment, "Progressing").unwrap_or_default();
        let reason = condition["reason"].as_str().unwrap_or_default();
        if has_progress_deadline(deployment).is_none() || reason == "ProgressDeadlineExceeded" {
            return Ok(());
        }
        let paused = json::at(deployment, &["spec", "paused"]) == Some(&Json::Bool(true));
        let says = match (paused, reason == "DeploymentPaused") {
            (true, false) => ["DeploymentPaused", "Deployment is paused"],
            (false, true) => ["DeploymentResumed", "Deployment is resumed"],
            _ => return Ok(()),
        };
        let says = ["Progressing", "Unknown", says[0], says[1]];
        let condition = new_deployment_condition(rx, says);
        set_deployment_condition(json::map_mut(deployment, &["status"]), condition);
        self.update_status(rx, deployment).await
    }

    /// `syncDeploymentStatus`
    pub(super) async fn sync_deployment_status(
        &self,
        rx: Rx,
        deployment: &mut Json,
        sets: &Sets,
    ) -> Result<(), SyncError> {
        let status = calculate_status(rx, deployment, sets);
        self.put_status(rx, deployment, status).await.map(drop)
    }

    /// Was it another?
    async fn put_status(
        &self,
        rx: Rx,
        deployment: &mut Json,
        status: Map,
    ) -> Result<bool, SyncError> {
        let status = Json::Object(status);
        if deployment.get("status") == Some(&status) {
            return Ok(false);
        }
        json::set(deployment, &["status"], status);
        self.update_status(rx, deployment).await?;
        Ok(true)
    }

    /// `syncRolloutStatus`
    pub(super) async fn sync_rollout_status(
        &self,
        rx: Rx,
        deployment: &mut Json,
        sets: &Sets,
    ) -> Result<(), SyncError> {
        let mut status = calculate_status(rx, deployment, sets);
        let deadline = has_progress_deadline(deployment);
        let current = condition_of(deployment, "Progressing").unwrap_or_default();
        let count = |field: &str| status.get(field).and_then(Json::as_i64).unwrap_or(0);
        let is_complete = count("replicas") == count("updatedReplicas")
            && current["reason"] == "NewReplicaSetAvailable";
        match deadline {
            None => remove_deployment_condition(&mut status, "Progressing"),
            Some(deadline) if !is_complete => {
                judge_progress(rx, deployment, sets, &mut status, deadline);
            }
            Some(_) => {}
        }
        match replica_failure(sets) {
            Some(failure) => set_deployment_condition(&mut status, failure),
            None => remove_deployment_condition(&mut status, "ReplicaFailure"),
        }
        if !self.put_status(rx, deployment, status).await? {
            self.requeue_stuck_deployment(rx, deployment);
        }
        Ok(())
    }

    /// `requeueStuckDeployment`, of a Deployment with the status that it has.
    fn requeue_stuck_deployment(&self, rx: Rx, deployment: &Json) {
        let Some(deadline) = has_progress_deadline(deployment) else {
            return;
        };
        let Some(current) = condition_of(deployment, "Progressing") else {
            return;
        };
        let status = deployment.get("status").unwrap_or(&Json::Null);
        let is_over = current["reason"] == "ProgressDeadlineExceeded";
        if deployment_complete(deployment, status) || is_over {
            return;
        }
        // `deployment_timed_out` says never of such a one, so no deadline will pass.
        let is_rolled_out = current["reason"] == "NewReplicaSetAvailable";
        if is_rolled_out && self.defects.has(DeploymentDefect::FixCompleteIsNotStuck) {
            return;
        }
        if self.defects.has(DeploymentDefect::DeadlineIsNotAwaited) {
            return;
        }
        let updated = Stamp::parse(json::text(&current, &["lastUpdateTime"]));
        let left = updated.map_or(0, |updated| {
            updated.plus_seconds(deadline).nanos() - Stamp::of(rx.clock()).nanos()
        });
        let left = Duration::from_nanos(u64::try_from(left).unwrap_or(0));
        let key = DeploymentController::key(deployment);
        match left < Duration::from_secs(1) {
            true => QUEUE.add_rate_limited(rx, key),
            false => QUEUE.add_after(rx, key, left + Duration::from_secs(1)),
        }
    }
}

/// Is a rollout complete, does it go on, or has it stood still for too long?
fn judge_progress(rx: Rx, deployment: &Json, sets: &Sets, status: &mut Map, deadline: i64) {
    let now = Json::Object(status.clone());
    let what = match &sets.new {
        Some(new) => format!("ReplicaSet {:?}", name(new)),
        None => format!("Deployment {:?}", name(deployment)),
    };
    let current = condition_of(deployment, "Progressing");
    if deployment_complete(deployment, &now) {
        let message = format!("{what} has successfully progressed.");
        let says = ["Progressing", "True", "NewReplicaSetAvailable", &message];
        set_deployment_condition(status, new_deployment_condition(rx, says));
    } else if deployment_progressing(deployment, &now) {
        let message = format!("{what} is progressing.");
        let says = ["Progressing", "True", "ReplicaSetUpdated", &message];
        let mut condition = new_deployment_condition(rx, says);
        if let Some(current) = current {
            if current["status"] == "True" {
                condition["lastTransitionTime"] = current["lastTransitionTime"].clone();
            }
            remove_deployment_condition(status, "Progressing");
        }
        set_deployment_condition(status, condition);
    } else if deployment_timed_out(rx, current.as_ref(), deadline) {
        let message = format!("{what} has timed out progressing.");
        let says = ["Progressing", "False", "ProgressDeadlineExceeded", &message];
        set_deployment_condition(status, new_deployment_condition(rx, says));
    }
}

/// `DeploymentTimedOut`
fn deployment_timed_out(rx: Rx, condition: Option<&Json>, deadline: i64) -> bool {
    let Some(condition) = condition else {
        return false;
    };
    match condition["reason"].as_str().unwrap_or_default() {
        "NewReplicaSetAvailable" => false,
        "ProgressDeadlineExceeded" => true,
        _ => {
            let since = Stamp::parse(json::text(condition, &["lastUpdateTime"]));
            since.is_some_and(|since| since.plus_seconds(deadline) < Stamp::of(rx.clock()))
        }
    }
}

/// Upstream's `getReplicaFailures`: that of the new set, or the first one.
fn replica_failure(sets: &Sets) -> Option<Json> {
    let of = |set: &Json| {
        let all = json::list(set, &["status", "conditions"]);
        find(all, &"ReplicaFailure".into()).cloned()
    };
    let new = sets.new.as_ref().and_then(of);
    let mut failure = new.or_else(|| sets.old.iter().find_map(of))?;
    failure["lastUpdateTime"] = failure["lastTransitionTime"].clone();
    Some(failure)
}
