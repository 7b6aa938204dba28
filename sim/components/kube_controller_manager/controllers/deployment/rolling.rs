//! The two strategies of a rollout (`pkg/controller/deployment/rolling.go`, `recreate.go`).

use wavetank_api::Object;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::REPLICA_SETS;
use wavetank_engine::{Rx, mutant};

use super::controller::DeploymentController;
use super::defects::DeploymentDefect;
use super::sets::Sets;
use super::util::{
    age, deployment_complete, filter_active, max_unavailable, new_rs_new_replicas, of_status,
    replica_count, spec_replicas, status_count,
};
use crate::controller_utils::{SyncError, filter_pods_by_owner};

impl DeploymentController {
    /// `rolloutRolling`
    pub(super) async fn rollout_rolling(
        &self,
        rx: Rx,
        deployment: &mut Json,
        sets: &[Json],
    ) -> Result<(), SyncError> {
        let sets = self.get_all_replica_sets_and_sync_revision(rx, deployment, sets, true);
        let sets = sets.await?;
        let scaled = self
            .reconcile_new_replica_set(rx, deployment, &sets)
            .await?
            || self
                .reconcile_old_replica_sets(rx, deployment, &sets)
                .await?;
        if !scaled {
            self.clean_up_complete(rx, deployment, &sets).await?;
        }
        self.sync_rollout_status(rx, deployment, &sets).await
    }

    async fn clean_up_complete(
        &self,
        rx: Rx,
        deployment: &Json,
        sets: &Sets,
    ) -> Result<(), SyncError> {
        let status = deployment.get("status").unwrap_or(&Json::Null);
        match deployment_complete(deployment, status) {
            true => self.cleanup_deployment(rx, deployment, &sets.old).await,
            false => Ok(()),
        }
    }

    /// `reconcileNewReplicaSet`
    async fn reconcile_new_replica_set(
        &self,
        rx: Rx,
        deployment: &Json,
        sets: &Sets,
    ) -> Result<bool, SyncError> {
        let Some(new) = &sets.new else {
            return Ok(false);
        };
        let (own, desired) = (spec_replicas(new), spec_replicas(deployment));
        let size = match own > desired {
            true => desired,
            false => new_rs_new_replicas(deployment, &sets.all(), own),
        };
        let size = if own == desired { own } else { size };
        let size = match size < desired
            && mutant!("surge-is-ignored", "a rollout makes all new pods at once")
        {
            true => desired,
            false => size,
        };
        let scaled = self.scale_replica_set(rx, new, size, deployment, false);
        Ok(scaled.await?.0)
    }

    /// `reconcileOldReplicaSets`: were any scaled down?
    async fn reconcile_old_replica_sets(
        &self,
        rx: Rx,
        deployment: &Json,
        sets: &Sets,
    ) -> Result<bool, SyncError> {
        let mut old = filter_active(&sets.old);
        let Some(new) = sets.new.as_ref().filter(|_| replica_count(&old) > 0) else {
            return Ok(false);
        };
        let least = spec_replicas(deployment) - max_unavailable(deployment);
        let lacking = spec_replicas(new) - of_status(new, "availableReplicas");
        let counted = match lacking > 0
            && mutant!(
                "unready-counts-as-ready",
                "a rollout counts new pods as ready at once"
            ) {
            true => 0,
            false => lacking,
        };
        let most = replica_count(&sets.all()) - least - counted;
        if most <= 0 {
            return Ok(false);
        }
        old.sort_by_key(age);
        let cleaned = self.cleanup_unhealthy_replicas(rx, deployment, &mut old, most);
        let cleaned = match cleaned.await {
            Ok(cleaned) => cleaned,
            Err(error) => return self.not_scaled_down(error),
        };
        let all: Vec<Json> = old.iter().chain([new]).cloned().collect();
        let available = status_count(&all, "availableReplicas");
        let more = available > least
            && mutant!(
                "one-too-many-goes-down",
                "a rollout takes away a pod more than may be missing"
            );
        let down = self.scale_down_old(rx, deployment, &old, available - least + i64::from(more));
        match down.await {
            Ok(down) => Ok(cleaned + down > 0),
            Err(error) => self.not_scaled_down(error),
        }
    }

    /// Upstream keeps it to itself that a set could not be scaled down, and the sync ends well.
    fn not_scaled_down(&self, error: SyncError) -> Result<bool, SyncError> {
        let fix = DeploymentDefect::FixFailedScaleDownsAreTriedAgain;
        match self.defects.has(fix) {
            true => Err(error),
            false => Ok(false),
        }
    }

    /// `cleanupUnhealthyReplicas`: pods of old sets that are not available go first.
    async fn cleanup_unhealthy_replicas(
        &self,
        rx: Rx,
        deployment: &Json,
        old: &mut [Json],
        most: i64,
    ) -> Result<i64, SyncError> {
        let mut total = 0;
        for set in old {
            let (own, available) = (spec_replicas(set), of_status(set, "availableReplicas"));
            if total >= most {
                break;
            }
            if own == 0 || own == available {
                continue;
            }
            let down = (most - total).min(own - available);
            let scaled = self.scale_replica_set(rx, set, own - down, deployment, false);
            *set = scaled.await?.1;
            total += down;
        }
        Ok(total)
    }

    /// Upstream's `scaleDownOldReplicaSetsForRollingUpdate`: so many at most.
    async fn scale_down_old(
        &self,
        rx: Rx,
        deployment: &Json,
        old: &[Json],
        most: i64,
    ) -> Result<i64, SyncError> {
        let mut total = 0;
        for set in old {
            let own = spec_replicas(set);
            if total >= most {
                break;
            }
            if own == 0 {
                continue;
            }
            let down = own.min(most - total);
            self.scale_replica_set(rx, set, own - down, deployment, false)
                .await?;
            total += down;
        }
        Ok(total)
    }

    /// `rolloutRecreate`
    pub(super) async fn rollout_recreate(
        &self,
        rx: Rx,
        deployment: &mut Json,
        claimed: &[Json],
    ) -> Result<(), SyncError> {
        let sets = self.get_all_replica_sets_and_sync_revision(rx, deployment, claimed, false);
        let mut sets = sets.await?;
        let mut scaled = false;
        for old in filter_active(&sets.old) {
            let down = self.scale_replica_set(rx, &old, 0, deployment, false);
            scaled |= down.await?.0;
        }
        if scaled
            || self.old_pods_running(rx, &sets, claimed)
                && !mutant!(
                    "recreate-does-not-wait",
                    "a Deployment that recreates does not wait until the old pods are gone"
                )
        {
            return self.sync_rollout_status(rx, deployment, &sets).await;
        }
        if sets.new.is_none() {
            let made = self.get_all_replica_sets_and_sync_revision(rx, deployment, claimed, true);
            sets = made.await?;
        }
        if let Some(new) = &sets.new {
            let desired = spec_replicas(deployment);
            self.scale_replica_set(rx, new, desired, deployment, false)
                .await?;
        }
        self.clean_up_complete(rx, deployment, &sets).await?;
        self.sync_rollout_status(rx, deployment, &sets).await
    }

    /// `oldPodsRunning`
    fn old_pods_running(&self, rx: Rx, sets: &Sets, claimed: &[Json]) -> bool {
        if status_count(&sets.old, "replicas") > 0 {
            return true;
        }
        let uid = |set: &Json| json::text(set, &["metadata", "uid"]).to_owned();
        let new = sets.new.as_ref().map(uid);
        let mut others = claimed.iter().filter(|set| Some(uid(set)) != new);
        others.any(|set| {
            let object = Object::new(set.clone());
            let kind = REPLICA_SETS.kind;
            let pods = filter_pods_by_owner(rx, self.pods, &object, kind, false);
            let phase = |pod: &Json| json::text(pod, &["status", "phase"]).to_owned();
            let mut phases = pods.iter().map(|pod| phase(pod.object.json()));
            phases.any(|phase| !matches!(phase.as_str(), "Failed" | "Succeeded"))
        })
    }
}
