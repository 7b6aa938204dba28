//! The status of a set (`pkg/controller/replicaset/replica_set_utils.go`).

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::{Method, Request, Stamp, Stored};
use wavetank_engine::{Rx, mutant};

use super::controller::ReplicaSetController;
use crate::controller_utils::{SyncError, is_pod_available, is_pod_ready};

/// `statusUpdateRetries`
const STATUS_UPDATE_RETRIES: u32 = 1;
/// `ReplicaSetReplicaFailure`
const REPLICA_FAILURE: &str = "ReplicaFailure";

/// What a status says.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatusOf<'a> {
    pub active: &'a [Stored],
    /// How many are on their way out, where that is counted.
    pub terminating: Option<usize>,
    /// What went wrong when pods were made or deleted.
    pub failed: Option<&'a SyncError>,
    /// When this is, where something depends on it.
    pub now: Option<Stamp>,
}

/// A count as Go writes it: one that is 0 is left out.
fn set_count(status: &mut Json, field: &str, count: usize) {
    match count {
        0 => drop(json::remove(status, &[field])),
        _ => json::set(status, &[field], count),
    }
}

/// `calculateStatus`
pub(super) fn calculate_status(rx: Rx, set: &Json, of: StatusOf<'_>) -> Json {
    let mut status = set.get("status").cloned().unwrap_or_else(|| json!({}));
    let template = json::at(set, &["spec", "template", "metadata", "labels"]);
    let template = template.and_then(Json::as_object);
    let min_ready = json::number(set, &["spec", "minReadySeconds"]).unwrap_or(0);
    let pods = || of.active.iter().map(|pod| pod.object.json());
    let is_labelled = |pod: &&Json| {
        let mut all = template.into_iter().flatten();
        all.all(|(key, value)| json::at(pod, &["metadata", "labels", key]) == Some(value))
    };
    let ready = pods().filter(|pod| is_pod_ready(pod).is_some()).count();
    let available = pods().filter(|pod| is_pod_available(pod, min_ready, of.now));
    calculate_conditions(rx, &mut status, set, of);
    let less = !of.active.is_empty()
        && mutant!("status-lacks-a-pod", "a set's status counts a pod too few");
    json::set(
        &mut status,
        &["replicas"],
        of.active.len() - usize::from(less),
    );
    let labelled = pods().filter(is_labelled).count();
    set_count(&mut status, "fullyLabeledReplicas", labelled);
    set_count(&mut status, "readyReplicas", ready);
    set_count(&mut status, "availableReplicas", available.count());
    match of.terminating {
        Some(count) => json::set(&mut status, &["terminatingReplicas"], count),
        None => drop(json::remove(&mut status, &["terminatingReplicas"])),
    }
    status
}

/// The condition that says that pods could not be made or deleted. One that says so already stays as it is.
fn calculate_conditions(rx: Rx, status: &mut Json, set: &Json, of: StatusOf<'_>) {
    let is_it = |condition: &Json| condition["type"] == REPLICA_FAILURE;
    let mut conditions = json::list(status, &["conditions"]).to_vec();
    let known = conditions.iter().any(is_it);
    match of.failed {
        Some(error) if !known => {
            let replicas = json::number(set, &["spec", "replicas"]).unwrap_or(0);
            let wanted = usize::try_from(replicas).unwrap_or(0);
            let reason = match of.active.len() < wanted {
                true => "FailedCreate",
                false => "FailedDelete",
            };
            conditions.push(json!({
                "type": REPLICA_FAILURE,
                "status": "True",
                "lastTransitionTime": Stamp::of(rx.clock()).seconds(),
                "reason": reason,
                "message": error.to_string(),
            }));
        }
        None if known => conditions.retain(|condition| !is_it(condition)),
        _ => return,
    }
    match conditions.is_empty() {
        true => drop(json::remove(status, &["conditions"])),
        false => json::set(status, &["conditions"], conditions),
    }
}

impl ReplicaSetController {
    /// `updateReplicaSetStatus`: the set as it is then.
    pub(super) async fn update_replica_set_status(
        &self,
        rx: Rx,
        set: Stored,
        mut status: Json,
    ) -> Result<Stored, SyncError> {
        let json = set.object.json();
        let generation = json::number(json, &["metadata", "generation"]).unwrap_or(0);
        let observed = json::number(json, &["status", "observedGeneration"]).unwrap_or(0);
        let is_same = json.get("status").is_some_and(|own| *own == status);
        if is_same && generation == observed {
            return Ok(set);
        }
        if !mutant!(
            "generation-is-not-observed",
            "a set's status does not say which generation it is of"
        ) {
            json::set(&mut status, &["observedGeneration"], generation);
        }
        let (namespace, name) = (set.object.namespace(), set.object.name());
        let path = self.kind.resource().path(namespace, name);
        let mut fresh = set.clone();
        for tries in 0.. {
            let mut object = fresh.json();
            object["status"] = status.clone();
            let put = Request::new(Method::Put, format!("{path}/status")).with(object);
            match self.rest.object(rx, put).await {
                Ok(updated) => return Ok(updated),
                Err(error) if tries >= STATUS_UPDATE_RETRIES => return Err(error.into()),
                Err(_) => {}
            }
            let get = Request::new(Method::Get, path.clone());
            fresh = self.rest.object(rx, get).await?;
        }
        unreachable!("tries end")
    }
}
