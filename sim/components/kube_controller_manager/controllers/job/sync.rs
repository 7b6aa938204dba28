//! One sync of a Job (`syncJob` of `pkg/controller/job/job_controller.go`): what its pods are, whether it has ended, and what
//! its status says of that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::deployments::label_selector_as_selector;
use wavetank_api::kinds::jobs::is_job_finished;
use wavetank_api::{Object, Stamp, Stored};
use wavetank_client::workqueue::Item;
use wavetank_engine::Rx;

use super::backoff_utils::{
    BackoffRecord, get_finished_time, new_backoff_record, remove_backoff_record,
};
use super::conditions::{new_condition, terminal_condition, true_condition};
use super::controller::{EXPECTATIONS, JobController, QUEUE, controller_ref};
use super::defects::JobDefect;
use super::indexed_job_utils::{
    OrderedIntervals, get_completion_index, get_index_absolute_failure_count,
    get_index_failure_count, get_indexes, has_backoff_limit_per_index, is_indexed_job, valid_index,
};
use super::notes::{AwaitsPods, CountsPods};
use super::orphans::enqueue_orphan_pod;
use super::pod_failure_policy::{match_pod_failure_policy, match_success_policy};
use super::tracking_utils::{
    Uids, delete_expectations, finish_observed, get_expected_uids, is_finish_expected,
};
use super::util::{
    append_job_completion_finalizer_if_not_found, has_job_tracking_finalizer, is_pod_failed,
    job_suspended, managed_by_external_controller, of_spec, of_status, only_replace_failed_pods,
    phase, set_count, uncounted,
};
use crate::controller_utils::{
    Claimed, ControllerRefManager, SyncError, filter_pods_by_owner, is_pod_active, is_pod_ready,
    is_pod_terminating, pod_key,
};
use wavetank_api::kinds::JOBS;

/// `syncJobCtx`
#[derive(Debug)]
pub(super) struct SyncJobCtx {
    pub key: Item,
    /// The Job as the cache shows it: who it is.
    pub own: Object,
    /// The Job as it is to be written.
    pub job: Json,
    pub pods: Vec<Stored>,
    pub active_pods: Vec<Stored>,
    pub finished_condition: Option<Json>,
    pub succeeded: i64,
    pub failed: i64,
    pub prev_succeeded_indexes: OrderedIntervals,
    pub succeeded_indexes: OrderedIntervals,
    pub failed_indexes: Option<OrderedIntervals>,
    pub new_backoff_record: BackoffRecord,
    pub expected_rm_finalizers: Uids,
    pub uncounted_succeeded: BTreeSet<String>,
    pub uncounted_failed: BTreeSet<String>,
    pub pods_with_delayed_deletion_per_index: BTreeMap<i64, Stored>,
    pub terminating: i64,
    pub ready: i64,
    /// `onlyReplaceFailedPods`
    pub only_replace_failed: bool,
}

impl SyncJobCtx {
    pub fn completions(&self) -> i64 {
        of_spec(&self.job, "completions").unwrap_or(0)
    }

    /// `isPodFailed`
    pub fn is_pod_failed(&self, pod: &Json) -> bool {
        is_pod_failed(pod, self.only_replace_failed)
    }

    /// Does the pod have the finalizer, and is it not known that it will be seen without?
    pub fn is_tracked(&self, pod: &Object) -> bool {
        has_job_tracking_finalizer(pod.json()) && !self.expected_rm_finalizers.contains(pod.uid())
    }

    /// `getValidPodsWithFilter`
    fn get_valid_pods_with_filter(
        &self,
        uncounted: Option<&BTreeSet<String>>,
        filter: impl Fn(&Json) -> bool,
    ) -> Vec<Stored> {
        let is_indexed = is_indexed_job(&self.job);
        let all = self.pods.iter().filter(|pod| {
            let (object, json) = (&pod.object, pod.object.json());
            let is_known = uncounted.is_some_and(|own| own.contains(object.uid()));
            let is_valid = !is_indexed || valid_index(json, self.completions()).is_some();
            self.is_tracked(object) && !is_known && is_valid && filter(json)
        });
        all.cloned().collect()
    }

    /// `getNewFinishedPods`: those that have succeeded and that have failed of which the status does not know.
    fn get_new_finished_pods(&self) -> (Vec<Stored>, Vec<Stored>) {
        let succeeded = self.get_valid_pods_with_filter(Some(&self.uncounted_succeeded), |pod| {
            phase(pod) == "Succeeded"
        });
        let failed = self.get_valid_pods_with_filter(Some(&self.uncounted_failed), |pod| {
            self.is_pod_failed(pod)
        });
        (succeeded, failed)
    }

    /// `getFailJobMessage`
    fn get_fail_job_message(&self) -> Option<String> {
        let mut all = self.pods.iter().map(|pod| pod.object.json());
        all.find_map(|pod| {
            let failed = self.is_pod_failed(pod);
            failed.then(|| match_pod_failure_policy(&self.job, pod).fails_job)?
        })
    }

    /// `pastBackoffLimitOnFailure`
    fn past_backoff_limit_on_failure(&self) -> bool {
        let restarts = json::text(&self.job, &["spec", "template", "spec", "restartPolicy"]);
        if restarts != "OnFailure" {
            return false;
        }
        let running = self.pods.iter().map(|pod| pod.object.json());
        let running = running.filter(|pod| matches!(phase(pod), "Running" | "Pending"));
        let count: i64 = running
            .map(|pod| {
                let of = |list| json::list(pod, &["status", list]).iter();
                let all = of("initContainerStatuses").chain(of("containerStatuses"));
                all.map(|own| json::number(own, &["restartCount"]).unwrap_or(0))
                    .sum::<i64>()
            })
            .sum();
        match of_spec(&self.job, "backoffLimit").unwrap_or(0) {
            0 => count > 0,
            limit => count >= limit,
        }
    }

    /// `calculateSucceededIndexes`
    fn calculate_succeeded_indexes(&mut self) {
        let text = json::text(&self.job, &["status", "completedIndexes"]);
        let before = OrderedIntervals::parse_indexes_from_string(text, self.completions());
        let new = self
            .pods
            .iter()
            .map(|pod| pod.object.json())
            .filter(|pod| phase(pod) == "Succeeded" && has_job_tracking_finalizer(pod));
        let new: BTreeSet<i64> = new
            .filter_map(|pod| valid_index(pod, self.completions()))
            .collect();
        self.succeeded_indexes = before.with_ordered_indexes(new);
        self.prev_succeeded_indexes = before;
    }

    /// `calculateFailedIndexes`
    fn calculate_failed_indexes(&self) -> OrderedIntervals {
        let text = json::text(&self.job, &["status", "failedIndexes"]);
        let before = OrderedIntervals::parse_indexes_from_string(text, self.completions());
        let new = self.pods.iter().map(|pod| pod.object.json());
        let new = new.filter(|pod| has_job_tracking_finalizer(pod) && self.is_index_failed(pod));
        let new: BTreeSet<i64> = new
            .filter_map(|pod| valid_index(pod, self.completions()))
            .collect();
        before.with_ordered_indexes(new)
    }

    /// `isIndexFailed`
    fn is_index_failed(&self, pod: &Json) -> bool {
        if !self.is_pod_failed(pod) {
            return false;
        }
        let matched = match_pod_failure_policy(&self.job, pod);
        let limit = of_spec(&self.job, "backoffLimitPerIndex").unwrap_or(0);
        matched.fails_index || (matched.counts && get_index_failure_count(pod) >= limit)
    }

    /// `getPodsWithDelayedDeletionPerIndex`: the last failed pod of each index that is to be tried again.
    fn get_pods_with_delayed_deletion_per_index(&self) -> BTreeMap<i64, Stored> {
        let active = get_indexes(&self.active_pods);
        let failed = self.get_valid_pods_with_filter(None, |pod| self.is_pod_failed(pod));
        let has_failed = |index| {
            self.failed_indexes
                .as_ref()
                .is_some_and(|own| own.has(index))
        };
        let mut last: BTreeMap<i64, Stored> = BTreeMap::new();
        for pod in failed {
            let json = pod.object.json();
            let Some(index) = valid_index(json, self.completions()) else {
                continue;
            };
            if self.succeeded_indexes.has(index) || has_failed(index) || active.contains(&index) {
                continue;
            }
            let is_later = last.get(&index).is_none_or(|known| {
                let known = known.object.json();
                get_index_absolute_failure_count(known) <= get_index_absolute_failure_count(json)
                    && get_finished_time(json) >= get_finished_time(known)
            });
            if is_later {
                last.insert(index, pod);
            }
        }
        last
    }
}

pub(super) fn now(rx: Rx) -> Stamp {
    Stamp::of(rx.clock())
}

impl JobController {
    /// `syncJob`
    pub(super) async fn sync_job(&self, rx: Rx, key: Item) -> Result<(), SyncError> {
        let ready = self.consistency.ensure_ready(rx, &key);
        if !self.reads_stale() {
            ready?;
        }
        let Some(stored) = self.jobs.get(rx, &key) else {
            EXPECTATIONS.delete_expectations(rx, &key);
            delete_expectations(rx, &key);
            self.consistency.clear(rx, &key, None);
            remove_backoff_record(rx, &key);
            return Ok(());
        };
        let uid = stored.object.uid();
        if managed_by_external_controller(stored.object.json()) {
            return Ok(());
        }
        if is_job_finished(stored.object.json()) {
            remove_backoff_record(rx, &key);
            self.consistency.clear(rx, &key, Some(uid));
            finish_observed(rx, uid);
            self.release_late_pods(rx, &stored.object);
            return Ok(());
        }
        let unheard = self.defects.has(JobDefect::FinishedJobsAreSynced);
        if is_finish_expected(rx, uid) && !unheard {
            return Ok(());
        }
        let mode = json::text(stored.object.json(), &["spec", "completionMode"]);
        if !matches!(mode, "" | "NonIndexed" | "Indexed") {
            return Ok(());
        }
        self.sync_unfinished(rx, key, stored).await
    }

    /// A request that makes a pod may arrive when its Job has finished. Upstream does not look.
    fn release_late_pods(&self, rx: Rx, job: &Object) {
        // What has lost the finalizer, and is not seen without it yet, is left out.
        let removed = get_expected_uids(rx, &pod_key(job));
        let mut pods = filter_pods_by_owner(rx, self.pods, job, JOBS.kind, false);
        pods.retain(|pod| {
            let pod = &pod.object;
            has_job_tracking_finalizer(pod.json()) && !removed.contains(pod.uid())
        });
        let leaves_them = self.defects.has(JobDefect::OrphansKeepTheFinalizer);
        if !pods.is_empty() && !leaves_them && self.defects.has(JobDefect::FixLatePodsGo) {
            for pod in pods {
                enqueue_orphan_pod(rx, &pod.object);
            }
        }
    }

    /// The rest of `syncJob`, of a Job that is to be worked on.
    async fn sync_unfinished(&self, rx: Rx, key: Item, stored: Stored) -> Result<(), SyncError> {
        // Before pods are looked at: one that sneaks in between is seen with the next sync.
        let satisfied = self.satisfied_expectations(rx, &key, &stored.object);
        let pods = self.get_pods_for_job(rx, &stored.object).await?;
        let mut cx = self.new_sync_job_ctx(rx, key, &stored, pods);
        self.count(rx, &mut cx);
        // `now`, where the Job has just started: what is written has whole seconds only.
        let mut start = Stamp::parse(json::text(&cx.job, &["status", "startTime"]));
        if start.is_none() && !job_suspended(&cx.job) {
            start = Some(now(rx));
            set_start_time(&mut cx.job, start);
        }
        self.evaluate_failure(rx, &mut cx, start);
        self.evaluate_indexes(rx, &mut cx);
        let active = len(&cx.active_pods);
        let acted = match cx.finished_condition.is_some() {
            true => self.finish(rx, &mut cx, active, satisfied).await,
            false => self.carry_on(rx, &mut cx, active, satisfied).await,
        };
        let status = |field| json::number(&cx.job, &["status", field]);
        let needs_update = acted.conditions_changed
            || acted.active != of_status(&cx.job, "active")
            || status("ready") != Some(cx.ready)
            || status("terminating") != Some(cx.terminating);
        set_count(&mut cx.job, "active", acted.active);
        json::set(&mut cx.job, &["status", "ready"], cx.ready);
        json::set(&mut cx.job, &["status", "terminating"], cx.terminating);
        self.track_job_status_and_remove_finalizers(rx, &mut cx, needs_update)
            .await?;
        acted.managed
    }

    fn satisfied_expectations(&self, rx: Rx, key: &Item, job: &Object) -> bool {
        let (creations, deletions) = EXPECTATIONS.awaited(rx, key);
        rx.note(AwaitsPods {
            job: key.clone(),
            uid: job.uid().into(),
            creations,
            deletions,
        });
        EXPECTATIONS.satisfied_expectations(rx, key)
            || self.defects.has(JobDefect::ActWithoutExpectations)
    }

    /// `getPodsForJob`
    async fn get_pods_for_job(&self, rx: Rx, job: &Object) -> Result<Vec<Stored>, SyncError> {
        let selector = json::at(job.json(), &["spec", "selector"]);
        let Some(selector) = selector.and_then(label_selector_as_selector) else {
            let why = "couldn't convert Job selector".to_owned();
            return Err(SyncError::Worded(why));
        };
        let pods = filter_pods_by_owner(rx, self.pods, job, JOBS.kind, true);
        let mut manager = ControllerRefManager {
            controller: controller_ref(job),
            selector: &selector,
            claimed: Claimed::Pods(&self.pod_control),
            filter: |_, _| true,
            finalizers: &[super::util::JOB_TRACKING_FINALIZER],
            defects: self.of_owners,
            can_adopt: None,
        };
        let mut pods = manager.claim(rx, pods).await?;
        for pod in &mut pods {
            let references = json::list(pod.object.json(), &["metadata", "ownerReferences"]);
            let adopted = references.iter().all(|own| own["uid"] != *job.uid());
            if adopted && !has_job_tracking_finalizer(pod.object.json()) {
                let mut json = pod.object.json().clone();
                append_job_completion_finalizer_if_not_found(&mut json);
                pod.object = Object::new(json);
            }
        }
        Ok(pods)
    }

    fn new_sync_job_ctx(
        &self,
        rx: Rx,
        key: Item,
        stored: &Stored,
        pods: Vec<Stored>,
    ) -> SyncJobCtx {
        let mut job = stored.json();
        if json::at(&job, &["status", "uncountedTerminatedPods"]).is_none_or(Json::is_null) {
            json::set(&mut job, &["status", "uncountedTerminatedPods"], json!({}));
        }
        let active = pods.iter().filter(|pod| is_pod_active(pod.object.json()));
        let active_pods: Vec<Stored> = active.cloned().collect();
        let is_ready = |pod: &&Stored| is_pod_ready(pod.object.json()).is_some();
        let terminating = pods
            .iter()
            .filter(|pod| is_pod_terminating(pod.object.json()));
        let expected = match self.defects.has(JobDefect::PodsCountTwice) {
            true => Uids::new(),
            false => get_expected_uids(rx, &key),
        };
        let replaces = self.defects.has(JobDefect::TerminatingPodsAreReplaced);
        SyncJobCtx {
            ready: active_pods.iter().filter(is_ready).count() as i64,
            terminating: terminating.count() as i64,
            expected_rm_finalizers: expected,
            uncounted_succeeded: uncounted(&job, "succeeded").into_iter().collect(),
            uncounted_failed: uncounted(&job, "failed").into_iter().collect(),
            only_replace_failed: only_replace_failed_pods(&job) && !replaces,
            own: stored.object.clone(),
            key,
            job,
            pods,
            active_pods,
            finished_condition: None,
            succeeded: 0,
            failed: 0,
            prev_succeeded_indexes: OrderedIntervals::default(),
            succeeded_indexes: OrderedIntervals::default(),
            failed_indexes: None,
            new_backoff_record: BackoffRecord::default(),
            pods_with_delayed_deletion_per_index: BTreeMap::new(),
        }
    }

    /// How many have succeeded and failed.
    fn count(&self, rx: Rx, cx: &mut SyncJobCtx) {
        let (succeeded, failed) = cx.get_new_finished_pods();
        let counted = failed.iter().map(|pod| pod.object.json());
        // `nonIgnoredFailedPodsCount`
        let counted = counted.filter(|pod| match_pod_failure_policy(&cx.job, pod).counts);
        cx.failed =
            of_status(&cx.job, "failed") + counted.count() as i64 + len(&cx.uncounted_failed);
        cx.succeeded =
            of_status(&cx.job, "succeeded") + len(&succeeded) + len(&cx.uncounted_succeeded);
        cx.new_backoff_record = new_backoff_record(rx, &cx.key, &succeeded, &failed);
        let mut counts = cx.succeeded;
        if is_indexed_job(&cx.job) {
            cx.calculate_succeeded_indexes();
            counts = cx.succeeded_indexes.total();
        }
        let finished = |pod: &Stored| get_finished_time(pod.object.json());
        // Pods are taken from a Job that goes.
        if cx.own.is_being_deleted() {
            return;
        }
        rx.note(CountsPods {
            job: cx.key.clone(),
            uid: cx.own.uid().into(),
            succeeded: counts,
            failed: failed
                .iter()
                .map(|pod| (pod.object.uid().into(), finished(pod)))
                .collect(),
            successes: succeeded.iter().map(finished).collect(),
        });
    }

    /// Whether the Job has failed, or had ended before.
    fn evaluate_failure(&self, rx: Rx, cx: &mut SyncJobCtx, start: Option<Stamp>) {
        cx.finished_condition = true_condition(&cx.job, "SuccessCriteriaMet").cloned();
        if cx.finished_condition.is_none() {
            cx.finished_condition = match true_condition(&cx.job, "FailureTarget") {
                Some(target) => Some(terminal_condition(target, "Failed", now(rx))),
                None => cx
                    .get_fail_job_message()
                    .map(|message| failure_target(("PodFailurePolicy", &message), now(rx))),
            };
        }
        if cx.finished_condition.is_some() {
            return;
        }
        let exceeds = cx.failed > of_spec(&cx.job, "backoffLimit").unwrap_or(0);
        if exceeds || cx.past_backoff_limit_on_failure() {
            let why = "Job has reached the specified backoff limit";
            cx.finished_condition = Some(failure_target(("BackoffLimitExceeded", why), now(rx)));
            return;
        }
        let Some(seconds) = of_spec(&cx.job, "activeDeadlineSeconds") else {
            return;
        };
        let Some(start) = start.filter(|_| !job_suspended(&cx.job)) else {
            return;
        };
        // `pastActiveDeadline`
        let left = start.plus_seconds(seconds).nanos() - now(rx).nanos();
        match u64::try_from(left).ok().filter(|left| *left > 0) {
            None => {
                let why = "Job was active longer than specified deadline";
                cx.finished_condition = Some(failure_target(("DeadlineExceeded", why), now(rx)));
            }
            Some(left) => QUEUE.add_after(rx, cx.key.clone(), Duration::from_nanos(left)),
        }
    }

    /// Whether its indexes have failed, or enough of them have succeeded.
    fn evaluate_indexes(&self, rx: Rx, cx: &mut SyncJobCtx) {
        if !is_indexed_job(&cx.job) {
            return;
        }
        cx.succeeded = cx.succeeded_indexes.total();
        if has_backoff_limit_per_index(&cx.job) {
            let failed = cx.calculate_failed_indexes();
            let count = failed.total();
            let most = of_spec(&cx.job, "maxFailedIndexes");
            cx.failed_indexes = Some(failed);
            let why = if most.is_some_and(|most| count > most) {
                let message = "Job has exceeded the specified maximal number of failed indexes";
                Some(("MaxFailedIndexesExceeded", message))
            } else if count > 0 && count + cx.succeeded >= cx.completions() {
                Some(("FailedIndexes", "Job has failed indexes"))
            } else {
                None
            };
            if let Some(why) = why.filter(|_| cx.finished_condition.is_none()) {
                cx.finished_condition = Some(failure_target(why, now(rx)));
            }
            cx.pods_with_delayed_deletion_per_index = cx.get_pods_with_delayed_deletion_per_index();
        }
        if cx.finished_condition.is_none()
            && let Some(message) = match_success_policy(&cx.job, &cx.succeeded_indexes)
        {
            cx.finished_condition = Some(criteria_met(("SuccessPolicy", &message), now(rx)));
        }
    }
}

pub(super) fn set_start_time(job: &mut Json, at: Option<Stamp>) {
    let path = ["status", "startTime"];
    match at {
        Some(at) => json::set(job, &path, at.seconds()),
        None => drop(json::remove(job, &path)),
    }
}

/// Upstream's `newFailureCondition`: what is said before `Failed` is.
fn failure_target(why: (&str, &str), now: Stamp) -> Json {
    new_condition("FailureTarget", "True", why, now)
}

/// Upstream's `newSuccessCondition`: what is said before `Complete` is.
pub(super) fn criteria_met(why: (&str, &str), now: Stamp) -> Json {
    new_condition("SuccessCriteriaMet", "True", why, now)
}

/// How many there are.
pub(super) fn len<'a, T: 'a>(
    of: impl IntoIterator<Item = &'a T, IntoIter: ExactSizeIterator>,
) -> i64 {
    of.into_iter().len() as i64
}

/// The UIDs of pods.
pub(super) fn uids(pods: &[Stored]) -> Arc<[Arc<str>]> {
    pods.iter().map(|pod| pod.object.uid().into()).collect()
}

/// The index of a pod, in the order of the annotations.
pub(super) fn index_of(pod: &Stored) -> Option<i64> {
    get_completion_index(pod.object.json())
}
