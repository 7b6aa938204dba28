//! How pods of a Job are made and deleted (`manageJob`, `deleteActivePods`, `deleteJobPods` of
//! `pkg/controller/job/job_controller.go`).

use std::time::Duration;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::{Object, Reason, Stamp, Stored};
use wavetank_client::wait::{Member, wait_group};
use wavetank_engine::Rx;

use super::backoff_utils::{get_finished_time, get_remaining_time_for_failures_count};
use super::controller::{EXPECTATIONS, JobController, QUEUE, controller_ref};
use super::defects::JobDefect;
use super::events::SYNC_JOB_BATCH_PERIOD;
use super::indexed_job_utils::{
    JOB_COMPLETION_INDEX, JOB_INDEX_FAILURE_COUNT, JOB_INDEX_IGNORED_FAILURE_COUNT,
    first_pending_indexes, get_index_absolute_failure_count, get_index_failure_count, get_indexes,
    has_backoff_limit_per_index, ignored_failure_count, is_indexed_job,
    pod_generate_name_with_index, sort_by_completion_index,
};
use super::notes::{DropsJobPods, MadeJobPod, MakesJobPods};
use super::orphans::STRATEGIC_MERGE_PATCH;
use super::pod_failure_policy::match_pod_failure_policy;
use super::sync::{SyncJobCtx, index_of, len, uids};
use super::util::{
    append_job_completion_finalizer_if_not_found, has_job_tracking_finalizer, job_suspended,
    of_spec, remove_tracking_finalizer_patch,
};
use crate::controller_utils::{
    SLOW_START_INITIAL_BATCH_SIZE, SyncError, is_pod_ready, is_pod_terminating, pod_key,
    slow_start_batch, sort_active_pods,
};

/// `MaxPodCreateDeletePerSync`
const MAX_POD_CREATE_DELETE_PER_SYNC: i64 = 500;

/// How the deletion of a pod went: was it ready, and is it on its way?
type Went = (bool, Result<(), SyncError>);

/// How many that were ready were deleted, how many at all, and the first error.
fn tally(all: Vec<Went>) -> (i64, i64, Result<(), SyncError>) {
    let ready = all.iter().filter(|(ready, _)| *ready).count() as i64;
    let deleted = all.iter().filter(|(_, went)| went.is_ok()).count() as i64;
    let mut all = all.into_iter().map(|(_, went)| went);
    (ready, deleted, all.find(Result::is_err).unwrap_or(Ok(())))
}

impl JobController {
    /// `deleteActivePods`: they keep their finalizers, and are counted.
    pub(super) async fn delete_active_pods(
        &self,
        rx: Rx,
        cx: &SyncJobCtx,
    ) -> (i64, i64, Result<(), SyncError>) {
        let one = |pod: &Stored| {
            let pod = pod.object.clone();
            let one = async move {
                let went = match self.pod_control.delete_pod(rx, &pod).await {
                    Err(error) if !error.is(Reason::NotFound) => Err(error),
                    _ => Ok(()),
                };
                (is_pod_ready(pod.json()).is_some(), went)
            };
            Box::pin(one) as Member<'_, Went>
        };
        tally(wait_group(cx.active_pods.iter().map(one).collect()).await)
    }

    /// `deleteJobPods`: they are not counted.
    async fn delete_job_pods(
        &self,
        rx: Rx,
        cx: &SyncJobCtx,
        pods: &[Stored],
    ) -> (i64, i64, Result<(), SyncError>) {
        if !pods.is_empty() {
            rx.note(DropsJobPods {
                job: cx.key.clone(),
                uid: cx.own.uid().into(),
                pods: uids(pods),
            });
        }
        let one = |pod: &Stored| {
            let one = self.delete_job_pod(rx, cx, pod.object.clone());
            Box::pin(one) as Member<'_, Went>
        };
        tally(wait_group(pods.iter().map(one).collect()).await)
    }

    async fn delete_job_pod(&self, rx: Rx, cx: &SyncJobCtx, pod: Object) -> Went {
        // `failDelete`
        let fail = |error: SyncError| {
            EXPECTATIONS.lower_deletions(rx, &cx.key);
            match error.is(Reason::NotFound) {
                true => Ok(()),
                false => Err(error),
            }
        };
        if has_job_tracking_finalizer(pod.json()) {
            let patch = remove_tracking_finalizer_patch();
            let patched = self
                .pod_control
                .patch_pod(rx, &pod, STRATEGIC_MERGE_PATCH, patch);
            if let Err(error) = patched.await {
                return (false, fail(error));
            }
        }
        let went = match self.pod_control.delete_pod(rx, &pod).await {
            Ok(()) => Ok(()),
            Err(error) => fail(error),
        };
        (is_pod_ready(pod.json()).is_some(), went)
    }

    /// Is the Job gone, so that nothing may be expected under its name any more? That was dropped when its deletion was seen,
    /// and this sync began before. Upstream does not look, PR #142236 neither.
    fn forgets(&self, rx: Rx, cx: &SyncJobCtx) -> bool {
        let is_there = |now: Stored| now.object.uid() == cx.own.uid();
        !self.jobs.get(rx, &cx.key).is_some_and(is_there)
            && !self.defects.has(JobDefect::ExpectationsOutliveTheJob)
    }

    /// Deletes these of the active pods: how many are left.
    async fn drop_pods(
        &self,
        rx: Rx,
        cx: &mut SyncJobCtx,
        pods: Vec<Stored>,
    ) -> (i64, Result<(), SyncError>) {
        if self.forgets(rx, cx) {
            return (len(&cx.active_pods), Ok(()));
        }
        EXPECTATIONS.expect(rx, &cx.key, 0, pods.len());
        let (ready, removed, result) = self.delete_job_pods(rx, cx, &pods).await;
        cx.terminating += removed;
        cx.ready -= ready;
        (len(&cx.active_pods) - removed, result)
    }

    /// `manageJob`: how many pods are active then.
    pub(super) async fn manage_job(
        &self,
        rx: Rx,
        cx: &mut SyncJobCtx,
    ) -> (i64, Result<(), SyncError>) {
        let active = len(&cx.active_pods);
        if job_suspended(&cx.job) {
            let pods = active_pods_for_removal(cx, active);
            return self.drop_pods(rx, cx, pods).await;
        }
        let parallelism = of_spec(&cx.job, "parallelism").unwrap_or(0);
        let want_active = match of_spec(&cx.job, "completions") {
            None if cx.succeeded > 0 => active,
            None => parallelism,
            Some(completions) => (completions - cx.succeeded).min(parallelism).max(0),
        };
        let mut pods = active_pods_for_removal(cx, (active - want_active).max(0));
        pods.truncate(MAX_POD_CREATE_DELETE_PER_SYNC as usize);
        if !pods.is_empty() {
            return self.drop_pods(rx, cx, pods).await;
        }
        let terminating = match cx.only_replace_failed {
            true => cx.terminating,
            false => 0,
        };
        let lacking = want_active - terminating - active;
        match lacking > 0 {
            true => self.make_pods(rx, cx, active, lacking).await,
            false => (active, Ok(())),
        }
    }

    /// What is said of active pods while the next ones have to wait.
    fn while_backed_off(&self, active: i64) -> i64 {
        match self.defects.has(JobDefect::BackedOffJobsHaveNoPods) {
            true => 0,
            false => active,
        }
    }

    /// `enqueueSyncJobWithDelay`
    fn enqueue_sync_job_with_delay(&self, rx: Rx, cx: &SyncJobCtx, after: Duration) {
        QUEUE.add_after(rx, cx.key.clone(), after.max(SYNC_JOB_BATCH_PERIOD));
    }

    /// Makes so many pods, once those that have failed were waited for.
    async fn make_pods(
        &self,
        rx: Rx,
        cx: &mut SyncJobCtx,
        active: i64,
        lacking: i64,
    ) -> (i64, Result<(), SyncError>) {
        let by_index = has_backoff_limit_per_index(&cx.job);
        let is_waited_for = !self.defects.has(JobDefect::FailedPodsAreNotWaitedFor);
        let record = cx.new_backoff_record;
        // Nobody asks for the time where no pod has failed.
        if record.last_failure_time.is_some() && !by_index && is_waited_for {
            let left = record.get_remaining_time(Stamp::of(rx.clock()));
            if !left.is_zero() {
                self.enqueue_sync_job_with_delay(rx, cx, left);
                return (self.while_backed_off(active), Ok(()));
            }
        }
        let mut count = lacking.min(MAX_POD_CREATE_DELETE_PER_SYNC) as usize;
        let mut indexes = Vec::new();
        if is_indexed_job(&cx.job) {
            indexes = pending_indexes(cx, count);
            if by_index && is_waited_for {
                let (ready, left) = get_pod_creation_info_for_independent_indexes(rx, cx, &indexes);
                if !left.is_zero() {
                    self.enqueue_sync_job_with_delay(rx, cx, left);
                    return (self.while_backed_off(active), Ok(()));
                }
                indexes = ready;
            }
            count = indexes.len();
        }
        if self.forgets(rx, cx) {
            return (active, Ok(()));
        }
        rx.note(MakesJobPods {
            job: cx.key.clone(),
            uid: cx.own.uid().into(),
            seen: uids(&cx.pods),
            count,
            parallelism: of_spec(&cx.job, "parallelism").unwrap_or(0),
            only_replaces_failed: super::util::only_replace_failed_pods(&cx.job),
            waits_by_index: by_index,
        });
        EXPECTATIONS.expect(rx, &cx.key, count, 0);
        self.create(rx, cx, active, count, &indexes).await
    }

    async fn create(
        &self,
        rx: Rx,
        cx: &SyncJobCtx,
        active: i64,
        count: usize,
        indexes: &[i64],
    ) -> (i64, Result<(), SyncError>) {
        let mut tried = 0;
        let (made, result) = {
            let one = || {
                let index = indexes.get(tried).copied();
                tried += 1;
                Box::pin(self.create_one(rx, cx, index)) as Member<'_, Result<(), SyncError>>
            };
            slow_start_batch(count, SLOW_START_INITIAL_BATCH_SIZE, one).await
        };
        // Those that were not tried are not expected.
        for _ in tried..count {
            EXPECTATIONS.creation_observed(rx, &cx.key);
        }
        (active + made as i64, result)
    }

    async fn create_one(
        &self,
        rx: Rx,
        cx: &SyncJobCtx,
        index: Option<i64>,
    ) -> Result<(), SyncError> {
        let (template, name) = template_of(cx, index);
        let of = controller_ref(&cx.own);
        let made = self
            .pod_control
            .create_pods_with_generate_name(rx, &template, of, &name);
        match made.await {
            Ok(made) => rx.note(MadeJobPod {
                job: cx.own.uid().into(),
                pod: pod_key(&made.object),
                uid: made.object.uid().into(),
            }),
            // No other will be made either; upstream goes on to expect this one.
            Err(error) if error.is_of_a_namespace_that_ends() => {}
            Err(error) => {
                EXPECTATIONS.creation_observed(rx, &cx.key);
                return Err(error);
            }
        }
        Ok(())
    }
}

/// The template of a pod, for one with an index, and what its name begins with, if that is not that of the Job.
fn template_of(cx: &SyncJobCtx, index: Option<i64>) -> (Json, String) {
    let mut template = json::at(&cx.job, &["spec", "template"])
        .cloned()
        .unwrap_or_default();
    if is_indexed_job(&cx.job) {
        add_completion_index_env_variables(&mut template);
    }
    append_job_completion_finalizer_if_not_found(&mut template);
    let Some(index) = index else {
        return (template, String::new());
    };
    let text = index.to_string();
    for field in ["annotations", "labels"] {
        json::set(
            &mut template,
            &["metadata", field, JOB_COMPLETION_INDEX],
            &*text,
        );
    }
    let name = cx.own.name();
    json::set(
        &mut template,
        &["spec", "hostname"],
        format!("{name}-{index}"),
    );
    if has_backoff_limit_per_index(&cx.job) {
        let replaced = cx.pods_with_delayed_deletion_per_index.get(&index);
        add_index_failure_count_annotation(&mut template, &cx.job, replaced);
    }
    (template, pod_generate_name_with_index(name, index))
}

/// `addCompletionIndexEnvVariables`
fn add_completion_index_env_variables(template: &mut Json) {
    /// `completionIndexEnvName`
    const NAME: &str = "JOB_COMPLETION_INDEX";
    let path = format!("metadata.labels['{JOB_COMPLETION_INDEX}']");
    for list in ["initContainers", "containers"] {
        let all = template.get_mut("spec").and_then(|spec| spec.get_mut(list));
        for container in all.and_then(Json::as_array_mut).into_iter().flatten() {
            let mut env = json::list(container, &["env"]).to_vec();
            if env.iter().any(|own| own["name"] == NAME) {
                continue;
            }
            let from = json!({"fieldRef": {"apiVersion": "v1", "fieldPath": path}});
            env.push(json!({"name": NAME, "valueFrom": from}));
            json::set(container, &["env"], env);
        }
    }
}

/// `addIndexFailureCountAnnotation`, `getNewIndexFailureCounts`
fn add_index_failure_count_annotation(template: &mut Json, job: &Json, replaced: Option<&Stored>) {
    let (mut failures, mut ignored) = (0, 0);
    if let Some(pod) = replaced {
        let pod = pod.object.json();
        (failures, ignored) = (get_index_failure_count(pod), ignored_failure_count(pod));
        match match_pod_failure_policy(job, pod).counts {
            true => failures += 1,
            false => ignored += 1,
        }
    }
    let mut set = |annotation, count: i64| {
        let path = ["metadata", "annotations", annotation];
        json::set(template, &path, count.to_string());
    };
    set(JOB_INDEX_FAILURE_COUNT, failures);
    if ignored > 0 {
        set(JOB_INDEX_IGNORED_FAILURE_COUNT, ignored);
    }
}

/// The indexes that pods are to be made for.
fn pending_indexes(cx: &SyncJobCtx, count: usize) -> Vec<i64> {
    let mut busy = cx
        .succeeded_indexes
        .with_ordered_indexes(get_indexes(&cx.active_pods));
    if cx.only_replace_failed {
        let all = cx.pods.iter();
        let terminating = all.filter(|pod| is_pod_terminating(pod.object.json()));
        busy = busy.with_ordered_indexes(get_indexes(terminating));
    }
    if let Some(failed) = &cx.failed_indexes {
        busy = busy.merge(failed);
    }
    first_pending_indexes(&busy, count, cx.completions())
}

/// `getPodCreationInfoForIndependentIndexes`: those of these indexes that need not wait; or how long the first has to.
fn get_pod_creation_info_for_independent_indexes(
    rx: Rx,
    cx: &SyncJobCtx,
    indexes: &[i64],
) -> (Vec<i64>, Duration) {
    // `getRemainingTimePerIndex`
    let remaining = |index: &i64| {
        let last = cx.pods_with_delayed_deletion_per_index.get(index)?;
        let pod = last.object.json();
        let failures = u32::try_from(get_index_absolute_failure_count(pod) + 1).ok()?;
        let now = Stamp::of(rx.clock());
        let left = get_remaining_time_for_failures_count(now, failures, get_finished_time(pod)?);
        Some(left).filter(|left| !left.is_zero())
    };
    let (mut now, mut first) = (Vec::new(), None);
    for index in indexes {
        match remaining(index) {
            None => now.push(*index),
            Some(left) => first = Some(first.map_or(left, |first: Duration| first.min(left))),
        }
    }
    match now.is_empty() {
        true => (now, first.unwrap_or_default()),
        false => (now, Duration::ZERO),
    }
}

/// `activePodsForRemoval`: at least so many; those without an index, or with one that another has.
fn active_pods_for_removal(cx: &SyncJobCtx, at_least: i64) -> Vec<Stored> {
    let at_least = usize::try_from(at_least).unwrap_or(0);
    let (mut removed, mut left) = match is_indexed_job(&cx.job) {
        true => append_duplicated_index_pods_for_removal(&cx.active_pods, cx.completions()),
        false => (Vec::new(), cx.active_pods.clone()),
    };
    if removed.len() < at_least {
        sort_active_pods(&mut left);
        left.truncate(at_least - removed.len());
        removed.append(&mut left);
    }
    removed
}

/// `appendDuplicatedIndexPodsForRemoval`: those to remove, and those left.
fn append_duplicated_index_pods_for_removal(
    pods: &[Stored],
    completions: i64,
) -> (Vec<Stored>, Vec<Stored>) {
    let mut pods = pods.to_vec();
    sort_by_completion_index(&mut pods);
    let (mut removed, mut left) = (Vec::new(), Vec::new());
    let is_too_large = |pod: &Stored| index_of(pod).is_some_and(|index| index >= completions);
    let large = pods.iter().position(is_too_large).unwrap_or(pods.len());
    for same in pods[..large].chunk_by(|a, b| index_of(a) == index_of(b)) {
        // `appendPodsWithSameIndexForRemovalAndRemaining`
        let mut same = same.to_vec();
        if index_of(&same[0]).is_some() {
            sort_active_pods(&mut same);
            left.extend(same.pop());
        }
        removed.append(&mut same);
    }
    removed.extend_from_slice(&pods[large..]);
    (removed, left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, index: &str, ready: &str) -> Stored {
        let annotations = json!({JOB_COMPLETION_INDEX: index});
        let condition = json!({"type": "Ready", "status": ready});
        Stored {
            object: Object::new(json!({
                "metadata": {"name": name, "annotations": annotations},
                "status": {"phase": "Running", "conditions": [condition]},
            })),
            resource_version: 1,
        }
    }

    #[test]
    fn of_pods_with_the_same_index_the_readiest_stays() {
        let pods = [
            pod("a", "1", "True"),
            pod("b", "1", "False"),
            pod("c", "0", "False"),
            pod("d", "x", "True"),
            pod("e", "7", "True"),
        ];
        let (removed, left) = append_duplicated_index_pods_for_removal(&pods, 3);
        let names = |pods: &[Stored]| -> Vec<String> {
            pods.iter()
                .map(|pod| pod.object.name().to_owned())
                .collect()
        };
        assert_eq!(names(&removed), ["d", "b", "e"]);
        assert_eq!(names(&left), ["c", "a"]);
    }
}
