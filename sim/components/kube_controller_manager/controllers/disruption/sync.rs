//! One sync of a budget (`sync`, `trySync`, `failSafe`), and how many pods it wants.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::POD_DISRUPTION_BUDGETS;
use wavetank_api::kinds::pod_eviction::guards;
use wavetank_api::{Method, Reason, Request, Stamp, Stored};
use wavetank_client::workqueue::Item;
use wavetank_engine::Rx;
use wavetank_version::Set;

use super::controller::{DisruptionController, RECHECK_QUEUE};
use super::defects::DisruptionDefect;
use super::notes::WritesBudget;
use super::status::{
    Counted, Disrupted, conditions_are_up_to_date, deletion_is_expected, disrupted_pods, fail,
    is_said, of_spec, with_status,
};
use crate::controller_utils::{
    SyncError, get_controller_of, get_scaled_value_from_int_or_percent, is_pod_ready,
};

/// A status over a newer one is tried so often more (`statusUpdateRetries` of v1.16).
const STATUS_UPDATE_RETRIES: usize = 2;

/// Of how many pods a budget speaks, and how many of these it wants healthy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Expected {
    pub count: i64,
    pub desired: i64,
}

/// What a budget wants, of so many pods as it selects and as their controllers are scaled to.
pub(super) fn expected(budget: &Json, pods: usize, scale: Option<i64>) -> Expected {
    let scaled =
        |bound, total| get_scaled_value_from_int_or_percent(of_spec(budget, bound), total, true);
    let count = scale.unwrap_or(i64::try_from(pods).unwrap_or(i64::MAX));
    if of_spec(budget, "maxUnavailable").is_some() {
        let desired = count - scaled("maxUnavailable", count);
        return Expected {
            count,
            desired: desired.max(0),
        };
    }
    match of_spec(budget, "minAvailable") {
        Some(_) => Expected {
            count,
            desired: scaled("minAvailable", count),
        },
        None => Expected::default(),
    }
}

/// Does what it wants hang on what the controllers of its pods are scaled to?
pub(super) fn asks_for_scale(budget: &Json) -> bool {
    of_spec(budget, "maxUnavailable").is_some()
        || of_spec(budget, "minAvailable").is_some_and(Json::is_string)
}

/// `countHealthyPods`, as the UIDs of those.
fn count_healthy_pods(
    defects: Set<DisruptionDefect>,
    pods: &[Stored],
    disrupted: &Disrupted,
    now: Stamp,
) -> Vec<Arc<str>> {
    let counts = |pod: &&Stored| {
        let object = &pod.object;
        if is_pod_ready(object.json()).is_none() {
            return false;
        }
        if object.is_being_deleted() {
            return defects.has(DisruptionDefect::GoingPodsCount);
        }
        let goes = disrupted.get(object.name());
        let goes = goes.is_some_and(|since| deletion_is_expected(*since) > now);
        !goes || defects.has(DisruptionDefect::EvictedPodsCount)
    };
    let healthy = pods.iter().filter(counts);
    healthy.map(|pod| pod.object.uid().into()).collect()
}

impl DisruptionController {
    /// `sync`
    pub(super) async fn sync(&self, rx: Rx, key: Item) -> Result<(), SyncError> {
        let Some(budget) = self.budgets.get(rx, &key) else {
            return Ok(());
        };
        let Err(error) = self.try_sync(rx, &key, &budget).await else {
            return Ok(());
        };
        if error.is(Reason::Conflict) {
            return Err(error);
        }
        self.fail_safe(rx, &key, &budget, &error).await?;
        // Upstream takes a budget that says that its sync has failed for done.
        match self.defects.has(DisruptionDefect::FixTryAgainAfterFailSafe) {
            true => Err(error),
            false => Ok(()),
        }
    }

    /// `trySync`
    async fn try_sync(&self, rx: Rx, key: &Item, budget: &Stored) -> Result<(), SyncError> {
        let pods = self.get_pods_for_pdb(rx, budget);
        let expected = self.get_expected_pod_count(rx, budget, &pods).await?;
        let now = Stamp::of(rx.clock());
        let (disrupted, recheck) = self.build_disrupted_pod_map(rx, &pods, budget, now);
        let healthy = count_healthy_pods(self.defects, &pods, &disrupted, now);
        let counted = Counted::new(healthy.len(), expected, disrupted);
        self.update_pdb_status(rx, key, budget, counted, healthy.into())
            .await?;
        if let Some(at) = recheck
            && !self.defects.has(DisruptionDefect::BudgetsAreNotRechecked)
        {
            let left = u64::try_from(at.nanos() - now.nanos()).unwrap_or(0);
            RECHECK_QUEUE.add_after(rx, key.clone(), Duration::from_nanos(left));
        }
        Ok(())
    }

    /// `getPodsForPdb`
    fn get_pods_for_pdb(&self, rx: Rx, budget: &Stored) -> Vec<Stored> {
        let mut pods = self.pods.list(rx);
        pods.retain(|pod| guards(budget.object.json(), pod.object.json()));
        pods
    }

    /// `getExpectedPodCount`
    async fn get_expected_pod_count(
        &self,
        rx: Rx,
        budget: &Stored,
        pods: &[Stored],
    ) -> Result<Expected, SyncError> {
        let json = budget.object.json();
        let scale = match asks_for_scale(json) {
            true => Some(self.get_expected_scale(rx, pods).await?),
            false => None,
        };
        Ok(expected(json, pods.len(), scale))
    }

    /// `getExpectedScale`. Pods that nobody controls do not count.
    async fn get_expected_scale(&self, rx: Rx, pods: &[Stored]) -> Result<i64, SyncError> {
        let mut scales: BTreeMap<String, i64> = BTreeMap::new();
        for pod in pods {
            let Some(reference) = get_controller_of(pod.object.json()) else {
                continue;
            };
            if scales.contains_key(json::text(reference, &["uid"])) {
                continue;
            }
            let namespace = pod.object.namespace();
            let Some(found) = self.finders.find(rx, reference, namespace).await? else {
                let name = wavetank_api::quote::quote(pod.object.name());
                let why = format!("found no controllers for pod {name}");
                return Err(SyncError::Worded(why));
            };
            scales.insert(found.uid, found.scale);
        }
        Ok(scales.values().sum())
    }

    /// `buildDisruptedPodMap`: which pods stay noted, and when that is to be looked at again. Upstream drops a pod that its
    /// cache does not show, although it may not show it yet.
    fn build_disrupted_pod_map(
        &self,
        rx: Rx,
        pods: &[Stored],
        budget: &Stored,
        now: Stamp,
    ) -> (Disrupted, Option<Stamp>) {
        let (mut result, mut recheck) = (Disrupted::new(), None::<Stamp>);
        for (name, since) in disrupted_pods(budget.object.json()) {
            let selected = pods.iter().find(|pod| pod.object.name() == name);
            let stays = match selected {
                Some(pod) => !pod.object.is_being_deleted(),
                None => {
                    let key = format!("{}/{name}", budget.object.namespace());
                    let seen = self.pods.get(rx, &key);
                    seen.is_none_or(|pod| !pod.object.is_being_deleted())
                        && self.defects.has(DisruptionDefect::FixKeepUnseenDisruptions)
                }
            };
            let until = deletion_is_expected(since);
            if stays && until >= now {
                recheck = Some(recheck.map_or(until, |first| first.min(until)));
                result.insert(name, since);
            }
        }
        (result, recheck)
    }

    /// `updatePdbStatus`
    async fn update_pdb_status(
        &self,
        rx: Rx,
        key: &Item,
        budget: &Stored,
        counted: Counted,
        healthy: Arc<[Arc<str>]>,
    ) -> Result<(), SyncError> {
        let json = budget.object.json();
        if is_said(json, &counted) && conditions_are_up_to_date(json) {
            let generation = json::number(json, &["metadata", "generation"]);
            let is_observed = json::number(json, &["status", "observedGeneration"]) == generation;
            if is_observed || self.defects.has(DisruptionDefect::ObservedGenerationStays) {
                return Ok(());
            }
        }
        let now = Stamp::of(rx.clock());
        let new = with_status(&budget.json(), &counted, now);
        let names = counted.disrupted.keys().map(String::as_str);
        let note = WritesBudget {
            budget: key.clone(),
            uid: budget.object.uid().into(),
            read: budget.resource_version,
            healthy,
            disrupted: names.map(Into::into).collect(),
            allowed: counted.allowed,
            now,
        };
        self.write_pdb_status(rx, note, new).await
    }

    /// `failSafe`
    async fn fail_safe(
        &self,
        rx: Rx,
        key: &Item,
        budget: &Stored,
        error: &SyncError,
    ) -> Result<(), SyncError> {
        let now = Stamp::of(rx.clock());
        let new = fail(&budget.json(), &error.to_string(), now);
        let is_said = new["status"] == budget.object.json()["status"];
        if is_said && self.defects.has(DisruptionDefect::FixTryAgainAfterFailSafe) {
            return Ok(());
        }
        let disrupted = disrupted_pods(budget.object.json()).into_keys();
        let note = WritesBudget {
            budget: key.clone(),
            uid: budget.object.uid().into(),
            read: budget.resource_version,
            healthy: [].into(),
            disrupted: disrupted.map(Into::into).collect(),
            allowed: 0,
            now,
        };
        self.write_pdb_status(rx, note, new).await
    }

    /// `writePdbStatus`. Before v1.17 a conflict was met by the same status over the newest budget.
    async fn write_pdb_status(
        &self,
        rx: Rx,
        mut note: WritesBudget,
        mut new: Json,
    ) -> Result<(), SyncError> {
        let (namespace, name) = note.budget.split_once('/').unwrap_or_default();
        let path = POD_DISRUPTION_BUDGETS.path(namespace, name);
        for step in 0.. {
            rx.note(note.clone());
            let put = Request::new(Method::Put, format!("{path}/status")).with(new.clone());
            let Err(failure) = self.rest.object(rx, put).await else {
                return Ok(());
            };
            if !failure.is(Reason::Conflict)
                || step == STATUS_UPDATE_RETRIES
                || !self.defects.has(DisruptionDefect::BudgetsAreOverwritten)
            {
                return Err(failure.into());
            }
            let newest = self
                .rest
                .object(rx, Request::new(Method::Get, path.as_str()));
            let newest = newest.await?;
            note.read = newest.resource_version;
            let status = new["status"].take();
            new = newest.json();
            json::set(&mut new, &["status"], status);
        }
        unreachable!("steps end")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_budget_wants_what_its_bounds_say() {
        let want = |spec: Json, scale: Option<i64>| {
            let Expected { count, desired } = expected(&json!({"spec": spec}), 3, scale);
            (count, desired)
        };
        assert_eq!(want(json!({"minAvailable": 2}), None), (3, 2));
        assert_eq!(want(json!({"minAvailable": "50%"}), Some(5)), (5, 3));
        assert_eq!(want(json!({"maxUnavailable": 1}), Some(5)), (5, 4));
        assert_eq!(want(json!({"maxUnavailable": "50%"}), Some(5)), (5, 2));
        assert_eq!(want(json!({"maxUnavailable": 9}), Some(5)), (5, 0));
        assert_eq!(want(json!({}), None), (0, 0));
    }

    #[test]
    fn only_some_bounds_ask_for_scales() {
        let asks = |spec: Json| asks_for_scale(&json!({"spec": spec}));
        assert!(asks(json!({"maxUnavailable": 1})) && asks(json!({"minAvailable": "1%"})));
        assert!(!asks(json!({"minAvailable": 1})) && !asks(json!({})));
    }
}
