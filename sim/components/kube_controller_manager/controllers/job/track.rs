//! How pods that have ended are counted (`trackJobStatusAndRemoveFinalizers` of `pkg/controller/job/job_controller.go`): the
//! status says which are to be counted, then their finalizers are removed, and then the counts rise.

use std::collections::BTreeSet;

use wavetank_api::json::{self, Json};
use wavetank_api::{Object, Reason, Stamp, Stored};
use wavetank_client::wait::{Member, wait_group};
use wavetank_engine::Rx;

use super::backoff_utils::update_backoff_record;
use super::conditions::{
    append_condition, ensure_job_condition_status, is_success_criteria_met_condition,
    terminal_condition, true_condition,
};
use super::controller::JobController;
use super::defects::JobDefect;
use super::indexed_job_utils::{
    get_completion_index, has_backoff_limit_per_index, is_indexed_job, sort_by_completion_index,
    valid_index,
};
use super::notes::{FinishedJob, FlushedCounts};
use super::orphans::STRATEGIC_MERGE_PATCH;
use super::pod_failure_policy::match_pod_failure_policy;
use super::sync::SyncJobCtx;
use super::tracking_utils::{
    expect_finalizers_removed, expect_finished, finalizer_removal_observed,
};
use super::util::{
    of_status, phase, remove_tracking_finalizer_patch, set_count, set_uncounted, uid_of, uncounted,
};
use crate::controller_utils::SyncError;

/// `MaxUncountedPods`
const MAX_UNCOUNTED_PODS: usize = 500;

/// What a sync has found to count.
#[derive(Debug, Default)]
struct Found {
    /// The pods that lose their finalizer.
    pods: Vec<Stored>,
    succeeded_indexes: BTreeSet<i64>,
    needs_flush: bool,
    reached_max: bool,
}

impl JobController {
    /// `trackJobStatusAndRemoveFinalizers`
    pub(super) async fn track_job_status_and_remove_finalizers(
        &self,
        rx: Rx,
        cx: &mut SyncJobCtx,
        needs_flush: bool,
    ) -> Result<(), SyncError> {
        if is_indexed_job(&cx.job) {
            sort_by_completion_index(&mut cx.pods);
        }
        let tracked = cx.pods.iter().map(|pod| &pod.object);
        let tracked = tracked.filter(|pod| cx.is_tracked(pod));
        let mut with_finalizer: BTreeSet<String> = tracked.map(uid_of).collect();
        let cleaned = clean_uncounted_pods_without_finalizers(&mut cx.job, &with_finalizer);
        let found = find(cx);
        let mut needs_flush = needs_flush | cleaned | found.needs_flush;
        needs_flush |= write_indexes(cx, &found.succeeded_indexes);
        needs_flush |= say_that_it_ends(rx, cx);
        needs_flush = self
            .flush_uncounted_and_remove_finalizers(
                rx,
                cx,
                &found.pods,
                &mut with_finalizer,
                needs_flush,
            )
            .await?;
        let finished = !found.reached_max && self.enact_job_finished(rx, cx);
        if finished || needs_flush {
            self.update_job_status(rx, &cx.job).await?;
        }
        if finished {
            let uid = cx.own.uid();
            rx.note(FinishedJob { uid: uid.into() });
            expect_finished(rx, uid);
        }
        Ok(())
    }

    /// `enactJobFinished`: is the Job finished now?
    fn enact_job_finished(&self, rx: Rx, cx: &mut SyncJobCtx) -> bool {
        let Some(condition) = cx.finished_condition.clone() else {
            return false;
        };
        let waits = |list| !uncounted(&cx.job, list).is_empty();
        if waits("succeeded") || waits("failed") || cx.terminating > 0 {
            return false;
        }
        let text = |field| json::text(&condition, &[field]);
        let (kind, why) = (text("type"), (text("reason"), text("message")));
        ensure_job_condition_status(&mut cx.job, kind, "True", why, Stamp::of(rx.clock()));
        let at = text("lastTransitionTime");
        if kind == "Complete" {
            json::set(&mut cx.job, &["status", "completionTime"], at);
        }
        let start = ["status", "startTime"];
        if json::at(&cx.job, &start).is_none_or(Json::is_null)
            && self.defects.has(JobDefect::FixSuspendedJobsFinish)
        {
            json::set(&mut cx.job, &start, at);
        }
        true
    }

    /// `flushUncountedAndRemoveFinalizers`: is something left to be written?
    async fn flush_uncounted_and_remove_finalizers(
        &self,
        rx: Rx,
        cx: &mut SyncJobCtx,
        pods: &[Stored],
        with_finalizer: &mut BTreeSet<String>,
        mut needs_flush: bool,
    ) -> Result<bool, SyncError> {
        if needs_flush && !self.defects.has(JobDefect::FinalizersGoFirst) {
            cx.job = self.update_job_status(rx, &cx.job).await?.json();
            rx.note(FlushedCounts {
                uid: cx.own.uid().into(),
            });
            update_backoff_record(rx, &cx.key, cx.new_backoff_record);
            needs_flush = false;
        }
        let mut removed = Ok(());
        if !pods.is_empty() {
            let (gone, result) = self.remove_tracking_finalizer_from_pods(rx, cx, pods).await;
            with_finalizer.retain(|uid| !gone.contains(uid));
            removed = result;
        }
        needs_flush |= clean_uncounted_pods_without_finalizers(&mut cx.job, with_finalizer);
        if removed.is_err() && needs_flush {
            self.update_job_status(rx, &cx.job).await?;
        }
        removed.map(|()| needs_flush)
    }

    /// `removeTrackingFinalizerFromPods`: the UIDs of those that have it no more.
    async fn remove_tracking_finalizer_from_pods(
        &self,
        rx: Rx,
        cx: &SyncJobCtx,
        pods: &[Stored],
    ) -> (BTreeSet<String>, Result<(), SyncError>) {
        let all = pods.iter().map(|pod| pod.object.uid().into());
        expect_finalizers_removed(rx, &cx.key, all.collect());
        let one = |pod: &Stored| {
            let one = self.remove_tracking_finalizer(rx, cx, pod.object.clone());
            Box::pin(one) as Member<'_, (String, Result<(), SyncError>)>
        };
        let done = wait_group(pods.iter().map(one).collect()).await;
        let (mut gone, mut result) = (BTreeSet::new(), Ok(()));
        for (uid, removed) in done {
            match removed {
                Ok(()) => drop(gone.insert(uid)),
                Err(error) => result = result.and(Err(error)),
            }
        }
        (gone, result)
    }

    async fn remove_tracking_finalizer(
        &self,
        rx: Rx,
        cx: &SyncJobCtx,
        pod: Object,
    ) -> (String, Result<(), SyncError>) {
        let patch = remove_tracking_finalizer_patch();
        let patched = self
            .pod_control
            .patch_pod(rx, &pod, STRATEGIC_MERGE_PATCH, patch);
        let removed = match patched.await {
            Ok(()) => Ok(()),
            Err(error) => {
                // No informer will see that.
                finalizer_removal_observed(rx, &cx.key, pod.uid());
                match error.is(Reason::NotFound) {
                    true => Ok(()),
                    false => Err(error),
                }
            }
        };
        (uid_of(&pod), removed)
    }
}

/// Which pods are to be counted, and which have been: the first half of `trackJobStatusAndRemoveFinalizers`.
fn find(cx: &mut SyncJobCtx) -> Found {
    let is_indexed = is_indexed_job(&cx.job);
    let completions = cx.completions();
    let mut succeeded = uncounted(&cx.job, "succeeded");
    let mut failed = uncounted(&cx.job, "failed");
    let ends = cx.finished_condition.as_ref();
    let fails = ends.is_some() && !is_success_criteria_met_condition(ends);
    let mut found = Found::default();
    for pod in cx.pods.iter().filter(|pod| cx.is_tracked(&pod.object)) {
        let (uid, json) = (pod.object.uid(), pod.object.json());
        let considered_failed = cx.is_pod_failed(json);
        if !can_remove_finalizer(cx, &pod.object, considered_failed) {
            continue;
        }
        found.pods.push(pod.clone());
        let index = valid_index(json, completions);
        if phase(json) == "Succeeded" && !cx.uncounted_failed.contains(uid) {
            match index {
                // The index is enough to know that it was counted.
                Some(index) if is_indexed => {
                    if !cx.prev_succeeded_indexes.has(index) {
                        found.succeeded_indexes.insert(index);
                        found.needs_flush = true;
                    }
                }
                _ if is_indexed || cx.uncounted_succeeded.contains(uid) => {}
                _ => {
                    found.needs_flush = true;
                    succeeded.push(uid.to_owned());
                }
            }
        } else if (considered_failed || fails)
            && !cx.uncounted_failed.contains(uid)
            && (!is_indexed || index.is_some())
            && match_pod_failure_policy(&cx.job, json).counts
        {
            found.needs_flush = true;
            failed.push(uid.to_owned());
        }
        let count = found.succeeded_indexes.len() + succeeded.len() + failed.len();
        if count >= MAX_UNCOUNTED_PODS {
            found.reached_max = true;
            break;
        }
    }
    set_uncounted(&mut cx.job, "succeeded", succeeded);
    set_uncounted(&mut cx.job, "failed", failed);
    found
}

/// `canRemoveFinalizer`
fn can_remove_finalizer(cx: &SyncJobCtx, pod: &Object, considered_failed: bool) -> bool {
    let json = pod.json();
    if cx.own.is_being_deleted() || cx.finished_condition.is_some() || phase(json) == "Succeeded" {
        return true;
    }
    // The pod that replaces it learns of it how often its index has failed.
    let is_awaited = || {
        let index = get_completion_index(json)?;
        let last = cx.pods_with_delayed_deletion_per_index.get(&index)?;
        Some(last.object.uid() == pod.uid())
    };
    let waits = has_backoff_limit_per_index(&cx.job) && is_awaited().unwrap_or(false);
    considered_failed && !waits
}

/// Writes which indexes have succeeded and failed: does that change the status?
fn write_indexes(cx: &mut SyncJobCtx, succeeded: &BTreeSet<i64>) -> bool {
    if !is_indexed_job(&cx.job) {
        return false;
    }
    let indexes = cx
        .succeeded_indexes
        .with_ordered_indexes(succeeded.iter().copied());
    let text = indexes.text();
    let mut changed = text != json::text(&cx.job, &["status", "completedIndexes"]);
    set_count(&mut cx.job, "succeeded", indexes.total());
    cx.succeeded_indexes = indexes;
    let path = ["status", "completedIndexes"];
    match text.is_empty() {
        true => drop(json::remove(&mut cx.job, &path)),
        false => json::set(&mut cx.job, &path, text),
    }
    let failed = cx.failed_indexes.as_ref().map(|own| own.text());
    let path = ["status", "failedIndexes"];
    if json::at(&cx.job, &path).and_then(Json::as_str) != failed.as_deref() {
        changed = true;
        match failed {
            Some(failed) => json::set(&mut cx.job, &path, failed),
            None => drop(json::remove(&mut cx.job, &path)),
        }
    }
    changed
}

/// Appends the condition that the Job will end, and turns it into the one that is written once it has: is there something to
/// write?
fn say_that_it_ends(rx: Rx, cx: &mut SyncJobCtx) -> bool {
    let Some(condition) = cx.finished_condition.clone() else {
        return false;
    };
    let now = || Stamp::of(rx.clock());
    if condition["type"] == "FailureTarget" {
        cx.finished_condition = Some(terminal_condition(&condition, "Failed", now()));
        append_condition(&mut cx.job, condition);
        return true;
    }
    if !is_success_criteria_met_condition(Some(&condition)) {
        return false;
    }
    cx.finished_condition = Some(terminal_condition(&condition, "Complete", now()));
    let is_new = true_condition(&cx.job, "SuccessCriteriaMet").is_none();
    if is_new {
        append_condition(&mut cx.job, condition);
    }
    is_new
}

/// `cleanUncountedPodsWithoutFinalizers`: those whose finalizer is gone are counted. Has that changed the status?
fn clean_uncounted_pods_without_finalizers(
    job: &mut Json,
    with_finalizer: &BTreeSet<String>,
) -> bool {
    let mut updated = false;
    for list in ["succeeded", "failed"] {
        let before = uncounted(job, list);
        let mut left = before.clone();
        left.retain(|uid| with_finalizer.contains(uid));
        let counted = (before.len() - left.len()) as i64;
        if counted > 0 {
            updated = true;
            let count = of_status(job, list) + counted;
            set_count(job, list, count);
            set_uncounted(job, list, left);
        }
    }
    updated
}
