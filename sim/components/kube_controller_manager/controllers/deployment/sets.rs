//! Which sets a Deployment has, and the new one if it has none yet (`pkg/controller/deployment/sync.go`).

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{DEPLOYMENTS, REPLICA_SETS};
use wavetank_api::{Method, Object, Reason, Request};
use wavetank_client::Failure;
use wavetank_engine::{Rx, mutant};

use super::controller::DeploymentController;
use super::defects::DeploymentDefect;
use super::notes::Scales;
use super::status::{condition_of, new_deployment_condition, set_deployment_condition};
use super::util;
use super::util::{
    UNIQUE_LABEL, annotation, equal_ignore_hash, find_new_replica_set, find_old_replica_sets,
    has_progress_deadline, max_revision, name, new_rs_new_replicas, set_deployment_revision,
    set_new_replica_set_annotations,
};
use crate::controller_utils::{ControllerRef, SyncError, compute_hash, is_controlled_by};

/// The new set, if there is one, and all old ones.
#[derive(Clone, Debug)]
pub(super) struct Sets {
    pub new: Option<Json>,
    /// The oldest first.
    pub old: Vec<Json>,
}

impl Sets {
    pub fn all(&self) -> Vec<Json> {
        self.old.iter().chain(&self.new).cloned().collect()
    }
}

const TEMPLATE: [&str; 2] = ["spec", "template"];

fn template(object: &Json) -> Json {
    json::at(object, &TEMPLATE).cloned().unwrap_or_default()
}

impl DeploymentController {
    /// `getAllReplicaSetsAndSyncRevision`
    pub(super) async fn get_all_replica_sets_and_sync_revision(
        &self,
        rx: Rx,
        deployment: &mut Json,
        sets: &[Json],
        create: bool,
    ) -> Result<Sets, SyncError> {
        let old = find_old_replica_sets(deployment, sets);
        let existing = find_new_replica_set(deployment, sets);
        let next = i64::from(!mutant!(
            "revision-stays",
            "a new rollout has the revision of the last one"
        ));
        let revision = max_revision(&old) + next;
        let new = match existing {
            Some(existing) => Some(
                self.sync_revision(rx, deployment, existing, revision)
                    .await?,
            ),
            None if create => Some(self.create_new(rx, deployment, &old, revision).await?),
            None => None,
        };
        Ok(Sets { new, old })
    }

    /// Upstream's `getNewReplicaSet`, where there is one.
    async fn sync_revision(
        &self,
        rx: Rx,
        deployment: &mut Json,
        existing: Json,
        revision: i64,
    ) -> Result<Json, SyncError> {
        let mut set = existing;
        let changed = set_new_replica_set_annotations(deployment, &mut set, revision, true);
        let min_ready = |of: &Json| json::number(of, &["spec", "minReadySeconds"]).unwrap_or(0);
        let wanted = min_ready(deployment);
        if changed || min_ready(&set) != wanted {
            json::set(&mut set, &["spec", "minReadySeconds"], wanted);
            return self.update_set(rx, set).await;
        }
        let revision = annotation(&set, util::REVISION).to_owned();
        let mut needs_update = set_deployment_revision(deployment, &revision);
        let has_deadline = has_progress_deadline(deployment).is_some();
        if has_deadline && condition_of(deployment, "Progressing").is_none() {
            let message = format!("Found new replica set {:?}", name(&set));
            let found = ["Progressing", "True", "FoundNewReplicaSet", &message];
            let condition = new_deployment_condition(rx, found);
            set_deployment_condition(json::map_mut(deployment, &["status"]), condition);
            needs_update = true;
        }
        if needs_update {
            self.update_status(rx, deployment).await?;
        }
        Ok(set)
    }

    /// Upstream's `Update` of a set.
    pub(super) async fn update_set(&self, rx: Rx, set: Json) -> Result<Json, SyncError> {
        let namespace = json::text(&set, &["metadata", "namespace"]);
        let path = REPLICA_SETS.path(namespace, name(&set));
        let put = Request::new(Method::Put, path).with(set);
        Ok(self.rest.object(rx, put).await?.json())
    }

    /// Upstream's `getNewReplicaSet`, where there is none.
    async fn create_new(
        &self,
        rx: Rx,
        deployment: &mut Json,
        old: &[Json],
        revision: i64,
    ) -> Result<Json, SyncError> {
        let mut set = new_replica_set(deployment);
        let replicas = new_rs_new_replicas(deployment, old, 0);
        json::set(&mut set, &["spec", "replicas"], replicas);
        set_new_replica_set_annotations(deployment, &mut set, revision, false);
        let namespace = json::text(deployment, &["metadata", "namespace"]).to_owned();
        let path = REPLICA_SETS.path(&namespace, "");
        let post = Request::new(Method::Post, path).with(set.clone());
        let (created, existed) = match self.rest.object(rx, post).await {
            Ok(created) => (created.json(), false),
            Err(error) if error.is(Reason::AlreadyExists) => {
                let found = self.existing(rx, deployment, &set, error).await?;
                (found, true)
            }
            Err(error) => return Err(self.failed(rx, deployment, &set, error).await),
        };
        if !existed {
            rx.note(Scales {
                deployment: DeploymentController::key(deployment),
                set: name(&created).to_owned(),
                to: replicas,
            });
        }
        let mut needs_update = set_deployment_revision(deployment, &revision.to_string());
        if !existed && has_progress_deadline(deployment).is_some() {
            let message = format!("Created new replica set {:?}", name(&created));
            let made = ["Progressing", "True", "NewReplicaSetCreated", &message];
            let condition = new_deployment_condition(rx, made);
            set_deployment_condition(json::map_mut(deployment, &["status"]), condition);
            needs_update = true;
        }
        if needs_update {
            self.update_status(rx, deployment).await?;
        }
        Ok(created)
    }

    /// A set of that name is there: the one that is wanted, or another with the same hash.
    async fn existing(
        &self,
        rx: Rx,
        deployment: &mut Json,
        wanted: &Json,
        error: Failure,
    ) -> Result<Json, SyncError> {
        let namespace = json::text(deployment, &["metadata", "namespace"]);
        let key = format!("{namespace}/{}", name(wanted));
        let Some(found) = self.sets.get(rx, &key) else {
            let why = format!("replicaset.apps {:?} not found", name(wanted));
            return Err(SyncError::Worded(why));
        };
        let found = found.json();
        let uid = json::text(deployment, &["metadata", "uid"]);
        let is_own = is_controlled_by(&found, uid);
        let is_wanted = is_own
            && !mutant!(
                "own-set-is-a-collision",
                "a Deployment takes its own set for that of another"
            )
            && equal_ignore_hash(&template(deployment), &template(&found));
        if is_wanted || self.defects.has(DeploymentDefect::TakesAnySetOfItsName) {
            return Ok(found);
        }
        let count = json::number(deployment, &["status", "collisionCount"]).unwrap_or(0);
        json::set(deployment, &["status", "collisionCount"], count + 1);
        // What comes of it is seen the next time.
        let _ = self.update_status(rx, deployment).await;
        Err(error.into())
    }

    /// The set could not be made.
    async fn failed(&self, rx: Rx, deployment: &mut Json, set: &Json, error: Failure) -> SyncError {
        let message = format!("Failed to create new replica set {:?}: {error}", name(set));
        let error = SyncError::from(error);
        let has_deadline = has_progress_deadline(deployment).is_some();
        if has_deadline && !error.is_of_a_namespace_that_ends() {
            let failed = ["Progressing", "False", "ReplicaSetCreateError", &message];
            let condition = new_deployment_condition(rx, failed);
            set_deployment_condition(json::map_mut(deployment, &["status"]), condition);
            let _ = self.update_status(rx, deployment).await;
        }
        error
    }
}

/// The set that a Deployment is to have, without its replicas.
fn new_replica_set(deployment: &Json) -> Json {
    let mut own = template(deployment);
    let collisions = json::number(deployment, &["status", "collisionCount"]);
    let hash = compute_hash(&own, collisions);
    json::set(
        &mut own,
        &["metadata", "labels", UNIQUE_LABEL],
        hash.as_str(),
    );
    let labels = json::at(&own, &["metadata", "labels"]).cloned();
    let mut selector = json::at(deployment, &["spec", "selector"]).cloned();
    let selected = selector.get_or_insert_with(|| json!({}));
    json::set(selected, &["matchLabels", UNIQUE_LABEL], hash.as_str());
    let object = Object::new(deployment.clone());
    let reference = ControllerRef {
        of: &DEPLOYMENTS,
        object: &object,
    };
    let min_ready = json::number(deployment, &["spec", "minReadySeconds"]).unwrap_or(0);
    json!({
        "apiVersion": REPLICA_SETS.api_version(),
        "kind": REPLICA_SETS.kind,
        "metadata": {
            "name": format!("{}-{hash}", name(deployment)),
            "namespace": object.namespace(),
            "labels": labels,
            "ownerReferences": [reference.json()],
        },
        "spec": {"minReadySeconds": min_ready, "selector": selector, "template": own},
    })
}
