//! The status of a set (`computeReplicaStatus`, `updateStatus`, `updateStatefulSetStatus` of `stateful_set_control.go`, and
//! `pkg/controller/statefulset/stateful_set_status_updater.go`).

use serde_json::json;
use wavetank_api::json::Json;
use wavetank_api::kinds::STATEFUL_SETS;
use wavetank_api::{Method, Reason, Request};
use wavetank_client::wait::DEFAULT_RETRY;
use wavetank_engine::Rx;

use super::control::StatefulSetControl;
use super::notes::StatusIsInvalid;
use super::pod_control::key;
use super::util::{
    Availability, get_pod_revision, is_created, is_running_and_ready, is_terminating, name,
    namespace, of_spec, of_status,
};
use crate::controller_utils::SyncError;

/// The counts that a status has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Counts {
    replicas: i64,
    ready: i64,
    available: i64,
    current: i64,
    updated: i64,
}

/// `StatefulSetStatus`
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SetStatus {
    generation: i64,
    current_revision: String,
    update_revision: String,
    collisions: i64,
    counts: Counts,
}

impl SetStatus {
    /// Without counts.
    pub fn new(set: &Json, current: &str, update: &str, collisions: i64) -> SetStatus {
        let generation = set["metadata"]["generation"].as_i64().unwrap_or(0);
        SetStatus {
            generation,
            current_revision: current.to_owned(),
            update_revision: update.to_owned(),
            collisions,
            counts: Counts::default(),
        }
    }

    /// Upstream's `updateStatus`: counts these pods.
    pub fn count<'a>(&mut self, pods: impl Iterator<Item = &'a Json>, available: Availability) {
        let mut counts = Counts::default();
        let one = |is: bool| i64::from(is);
        for pod in pods {
            counts.replicas += one(is_created(pod));
            let is_ready = is_running_and_ready(pod);
            counts.ready += one(is_ready);
            counts.available += one(is_ready && available.is_running_and_available(pod));
            if is_created(pod) && !is_terminating(pod) {
                let revision = get_pod_revision(pod);
                counts.current += one(revision == self.current_revision);
                counts.updated += one(revision == self.update_revision);
            }
        }
        self.counts = counts;
    }

    /// One of the current pods is about to go.
    pub fn lower_current(&mut self) {
        self.counts.current -= 1;
    }

    /// Are there pods that are ready, and not yet for long enough?
    pub fn awaits_availability(&self) -> bool {
        self.counts.ready != self.counts.available
    }

    pub fn current_revision(&self) -> &str {
        &self.current_revision
    }

    /// `completeRollingUpdate`
    fn complete_rolling_update(&mut self, set: &Json) {
        let replicas = of_spec(set, "replicas");
        let Counts {
            replicas: made,
            ready,
            updated,
            ..
        } = self.counts;
        if set["spec"]["updateStrategy"]["type"] == "RollingUpdate"
            && [updated, ready, made] == [replicas; 3]
        {
            self.counts.current = updated;
            self.current_revision = self.update_revision.clone();
        }
    }

    /// Upstream's `inconsistentStatus`
    fn is_inconsistent_with(&self, set: &Json) -> bool {
        let count = |field| of_status(set, field);
        let text = |field| set["status"][field].as_str().unwrap_or_default();
        let own = Counts {
            replicas: count("replicas"),
            ready: count("readyReplicas"),
            available: count("availableReplicas"),
            current: count("currentReplicas"),
            updated: count("updatedReplicas"),
        };
        self.generation > count("observedGeneration")
            || self.counts != own
            || self.current_revision != text("currentRevision")
            || self.update_revision != text("updateRevision")
    }

    /// As it is written: what is nothing is left out.
    fn json(&self) -> Json {
        let Counts {
            replicas,
            ready,
            available,
            current,
            updated,
        } = self.counts;
        let mut status = json!({
            "replicas": replicas,
            "availableReplicas": available,
            "collisionCount": self.collisions,
            "currentRevision": self.current_revision,
            "updateRevision": self.update_revision,
        });
        let others = [
            ("observedGeneration", self.generation),
            ("readyReplicas", ready),
            ("currentReplicas", current),
            ("updatedReplicas", updated),
        ];
        for (field, count) in others.into_iter().filter(|(_, count)| *count != 0) {
            status[field] = count.into();
        }
        status
    }
}

impl StatefulSetControl {
    /// `updateStatefulSetStatus`
    pub(super) async fn update_stateful_set_status(
        &self,
        rx: Rx,
        set: &Json,
        status: &mut SetStatus,
    ) -> Result<(), SyncError> {
        status.complete_rolling_update(set);
        if !status.is_inconsistent_with(set) {
            return Ok(());
        }
        let path = STATEFUL_SETS.path(namespace(set), name(set));
        let mut set = set.clone();
        let mut backoff = DEFAULT_RETRY;
        loop {
            set["status"] = status.json();
            let put = Request::new(Method::Put, format!("{path}/status")).with(set.clone());
            let error = match self.pod_control.rest.object(rx, put).await {
                Ok(updated) => {
                    let (of, revision) = (&STATEFUL_SETS, updated.resource_version);
                    let uid = updated.object.uid();
                    self.pod_control
                        .consistency
                        .wrote_at(rx, &key(&set), uid, of, revision);
                    return Ok(());
                }
                Err(error) => error,
            };
            if error.is(Reason::Invalid) {
                rx.note(StatusIsInvalid {
                    set: key(&set),
                    why: error.to_string(),
                });
            }
            if let Some(updated) = self.sets.get(rx, &key(&set)) {
                set = updated.json();
            }
            if !error.is(Reason::Conflict) || !backoff.wait(rx).await {
                return Err(error.into());
            }
        }
    }
}
