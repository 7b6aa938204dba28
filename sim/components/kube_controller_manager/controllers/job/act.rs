//! What a sync does with the pods of a Job (the last third of `syncJob`, `pkg/controller/job/job_controller.go`): the Job ends, or
//! goes on. What it is that ends it is found out in `sync`, which pods are made or deleted in `manage`.

use wavetank_api::json::{self, Json};
use wavetank_engine::Rx;

use super::conditions::{append_condition, ensure_job_condition_status};
use super::controller::JobController;
use super::defects::JobDefect;
use super::sync::{SyncJobCtx, criteria_met, now, set_start_time};
use super::util::{job_suspended, of_spec};
use crate::controller_utils::SyncError;

/// What came of it.
#[derive(Debug)]
pub(super) struct Acted {
    /// So many pods are active after that.
    pub active: i64,
    /// Has the Job other conditions than before?
    pub conditions_changed: bool,
    /// An error that the sync ends with once the status is written.
    pub managed: Result<(), SyncError>,
}

impl JobController {
    /// The Job ends: its active pods go.
    pub(super) async fn finish(
        &self,
        rx: Rx,
        cx: &mut SyncJobCtx,
        active: i64,
        satisfied: bool,
    ) -> Acted {
        let (deleted_ready, deleted, managed) = self.delete_active_pods(rx, cx).await;
        let unseen = !satisfied && !self.defects.has(JobDefect::FinishesBeforePodsAreSeen);
        let mut keeps = false;
        if deleted != active || unseen {
            // Pods may be left, or be made and not seen.
            let decided = cx.finished_condition.take();
            keeps = self.defects.has(JobDefect::FixFailJobIsKept) && is_failure_target(&decided);
            if let Some(decided) = decided.filter(|_| keeps) {
                append_condition(&mut cx.job, decided);
            }
        }
        cx.terminating += deleted;
        cx.ready -= deleted_ready;
        Acted {
            active: active - deleted,
            conditions_changed: keeps,
            managed,
        }
    }

    /// It goes on: there are as many pods as it needs, unless it is complete, or suspended.
    pub(super) async fn carry_on(
        &self,
        rx: Rx,
        cx: &mut SyncJobCtx,
        active: i64,
        satisfied: bool,
    ) -> Acted {
        let manages = satisfied && !cx.own.is_being_deleted();
        let (active, managed) = match manages {
            true => self.manage_job(rx, cx).await,
            false => (active, Ok(())),
        };
        let complete = match of_spec(&cx.job, "completions") {
            None => cx.succeeded > 0,
            Some(completions) => cx.succeeded >= completions,
        };
        let is_over = complete && active == 0;
        if is_over {
            let why = (
                "CompletionsReached",
                "Reached expected number of succeeded pods",
            );
            cx.finished_condition = Some(criteria_met(why, now(rx)));
        }
        Acted {
            active,
            conditions_changed: !is_over && manages && self.suspend_or_resume(rx, &mut cx.job),
            managed,
        }
    }

    /// Says that the Job is suspended, or no more: has that changed?
    fn suspend_or_resume(&self, rx: Rx, job: &mut Json) -> bool {
        let suspended = job_suspended(job);
        // Nobody asks for the time where nothing is written.
        if !suspended && json::list(job, &["status", "conditions"]).is_empty() {
            return false;
        }
        let now = now(rx);
        let (status, why) = match suspended {
            true => ("True", ("JobSuspended", "Job suspended")),
            false => ("False", ("JobResumed", "Job resumed")),
        };
        let changed = ensure_job_condition_status(job, "Suspended", status, why, now);
        if changed && !suspended {
            set_start_time(job, Some(now));
        } else if changed && !self.defects.has(JobDefect::DeadlineCountsSuspension) {
            set_start_time(job, None);
        }
        changed
    }
}

/// Is the Job to fail, and does its status not say so yet?
fn is_failure_target(condition: &Option<Json>) -> bool {
    condition
        .as_ref()
        .is_some_and(|own| own["type"] == "FailureTarget")
}
