//! How the sets of a Deployment are scaled, beside a rollout (`pkg/controller/deployment/sync.go`).

use std::cmp::Reverse;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::REPLICA_SETS;
use wavetank_api::{Method, Reason, Request};
use wavetank_engine::{Rx, mutant};

use super::controller::DeploymentController;
use super::defects::DeploymentDefect;
use super::notes::Scales;
use super::sets::Sets;
use super::util::{
    DESIRED_REPLICAS, age, annotation, filter_active, find_active_or_latest,
    get_replica_set_proportion, is_rolling_update, is_saturated, max_surge, name, of_status,
    replica_count, replicas_annotations_need_update, revision, set_replicas_annotations,
    spec_replicas,
};
use crate::controller_utils::SyncError;

impl DeploymentController {
    /// `sync`: of a Deployment that is paused, or was scaled.
    pub(super) async fn sync(
        &self,
        rx: Rx,
        deployment: &mut Json,
        sets: &[Json],
        paused: bool,
    ) -> Result<(), SyncError> {
        let sets = self.get_all_replica_sets_and_sync_revision(rx, deployment, sets, false);
        let sets = sets.await?;
        let scaled = self.scale(rx, deployment, &sets).await?;
        if paused {
            let old = self.as_scaled(&sets.old, &scaled);
            self.cleanup_deployment(rx, deployment, &old).await?;
        }
        self.sync_deployment_status(rx, deployment, &sets).await
    }

    /// The old sets as they are after some were scaled. Upstream goes by what they were before (`fix-keep-what-is-scaled`).
    fn as_scaled(&self, old: &[Json], scaled: &[Json]) -> Vec<Json> {
        let now = |set: &Json| scaled.iter().find(|now| name(now) == name(set)).cloned();
        let after: Vec<Json> = old
            .iter()
            .map(|set| now(set).unwrap_or_else(|| set.clone()))
            .collect();
        match after == old || !self.defects.has(DeploymentDefect::FixKeepWhatIsScaled) {
            true => old.to_vec(),
            false => after,
        }
    }

    /// `syncStatusOnly`
    pub(super) async fn sync_status_only(
        &self,
        rx: Rx,
        deployment: &mut Json,
        sets: &[Json],
    ) -> Result<(), SyncError> {
        let sets = self.get_all_replica_sets_and_sync_revision(rx, deployment, sets, false);
        let sets = sets.await?;
        self.sync_deployment_status(rx, deployment, &sets).await
    }

    /// `isScalingEvent`: does a set with replicas remember another size of the Deployment?
    pub(super) async fn is_scaling_event(
        &self,
        rx: Rx,
        deployment: &mut Json,
        sets: &[Json],
    ) -> Result<bool, SyncError> {
        let sets = self.get_all_replica_sets_and_sync_revision(rx, deployment, sets, false);
        let active = filter_active(&sets.await?.all());
        let desired = spec_replicas(deployment);
        let mut known = active
            .iter()
            .filter_map(|set| annotation(set, DESIRED_REPLICAS).parse::<u32>().ok());
        Ok(known.any(|known| i64::from(known) != desired)
            && !mutant!(
                "scaling-is-not-noticed",
                "a Deployment that is scaled goes on as if it was not"
            ))
    }

    /// `scale`: the sets that it looked at, as they are then.
    async fn scale(&self, rx: Rx, deployment: &Json, sets: &Sets) -> Result<Vec<Json>, SyncError> {
        let mut scaled = Vec::new();
        let desired = spec_replicas(deployment);
        if let Some(only) = find_active_or_latest(sets.new.as_ref(), &sets.old) {
            let is_forced = !self.defects.has(DeploymentDefect::SameSizeKeepsAnnotations);
            let set = self.scale_replica_set(rx, &only, desired, deployment, is_forced);
            scaled.push(set.await?.1);
            return Ok(scaled);
        }
        if is_saturated(deployment, sets.new.as_ref()) {
            for old in filter_active(&sets.old) {
                let set = self.scale_replica_set(rx, &old, 0, deployment, false);
                scaled.push(set.await?.1);
            }
            return Ok(scaled);
        }
        if is_rolling_update(deployment) {
            for (set, size) in proportional_sizes(deployment, sets) {
                let set = self.scale_replica_set(rx, &set, size, deployment, true);
                scaled.push(set.await?.1);
            }
        } else if self.defects.has(DeploymentDefect::FixScaleRecreatedSets) {
            // Upstream does nothing, and so the size has changed for ever. Once the sets know it, the rollout goes on.
            for set in filter_active(&sets.all()) {
                let size = spec_replicas(&set);
                let set = self.scale_replica_set(rx, &set, size, deployment, true);
                scaled.push(set.await?.1);
            }
        }
        Ok(scaled)
    }

    /// `scaleReplicaSet`: was it, and what it is then.
    pub(super) async fn scale_replica_set(
        &self,
        rx: Rx,
        set: &Json,
        size: i64,
        deployment: &Json,
        force: bool,
    ) -> Result<(bool, Json), SyncError> {
        let is_resized = spec_replicas(set) != size;
        if !force && !is_resized {
            return Ok((false, set.clone()));
        }
        if !is_resized && !replicas_annotations_need_update(set, deployment) {
            return Ok((false, set.clone()));
        }
        let mut scaled = set.clone();
        json::set(&mut scaled, &["spec", "replicas"], size);
        set_replicas_annotations(&mut scaled, deployment);
        let updated = self.update_set(rx, scaled).await?;
        if is_resized {
            rx.note(Scales {
                deployment: DeploymentController::key(deployment),
                set: name(set).to_owned(),
                to: size,
            });
        }
        Ok((is_resized, updated))
    }

    /// `cleanupDeployment`: old sets beyond the limit of its history go, those of the oldest revisions first.
    pub(super) async fn cleanup_deployment(
        &self,
        rx: Rx,
        deployment: &Json,
        old: &[Json],
    ) -> Result<(), SyncError> {
        let limit = json::number(deployment, &["spec", "revisionHistoryLimit"]);
        let Some(limit) = limit.filter(|limit| *limit != i64::from(i32::MAX)) else {
            return Ok(());
        };
        let is_going = |set: &Json| json::at(set, &["metadata", "deletionTimestamp"]).is_some();
        let mut sets = old.to_vec();
        sets.retain(|set| !is_going(set));
        let limit = usize::try_from(limit).unwrap_or(0);
        let surplus = sets.len().saturating_sub(limit);
        sets.sort_by_key(|set| (revision(set).unwrap_or(0), age(set)));
        for set in sets.iter().take(surplus) {
            let generation = json::number(set, &["metadata", "generation"]).unwrap_or(0);
            let is_used = of_status(set, "replicas") != 0
                || spec_replicas(set) != 0
                || generation > of_status(set, "observedGeneration");
            if is_used
                && !(of_status(set, "replicas") == 0
                    && mutant!(
                        "used-set-is-cleaned-up",
                        "a set that is wanted, but has no pods, is cleaned up"
                    ))
                && !self.defects.has(DeploymentDefect::CleansUpSetsInUse)
            {
                continue;
            }
            let namespace = json::text(set, &["metadata", "namespace"]);
            let path = REPLICA_SETS.path(namespace, name(set));
            match self
                .rest
                .request(rx, Request::new(Method::Delete, path))
                .await
            {
                Err(error) if !error.is(Reason::NotFound) => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Of several sets with replicas, in a rollout: each gets its part of what is added or taken away.
fn proportional_sizes(deployment: &Json, sets: &Sets) -> Vec<(Json, i64)> {
    let mut active = filter_active(&sets.all());
    let desired = spec_replicas(deployment);
    let allowed = match desired > 0 {
        true => desired + max_surge(deployment),
        false => 0,
    };
    let to_add = allowed - replica_count(&active);
    // `ReplicaSetsBySizeNewer`, `ReplicaSetsBySizeOlder`
    match to_add > 0 {
        true => active.sort_by_key(|set| (Reverse(spec_replicas(set)), Reverse(age(set)))),
        false if to_add < 0 => active.sort_by_key(|set| (Reverse(spec_replicas(set)), age(set))),
        false => {}
    }
    let mut added = 0;
    let mut sized: Vec<(Json, i64)> = Vec::new();
    for set in active {
        let part = get_replica_set_proportion(&set, deployment, to_add, added);
        added += part;
        let size = spec_replicas(&set) + part;
        sized.push((set, size));
    }
    if let Some((_, first)) = sized.first_mut()
        && to_add != 0
        && !mutant!(
            "remainder-is-lost",
            "what proportional scaling leaves over is not given to the largest set"
        )
    {
        *first = (*first + to_add - added).max(0);
    }
    sized
}
