//! How long pods that failed are waited for before others are made (`pkg/controller/job/backoff_utils.go`).

use std::collections::BTreeMap;
use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_api::{Stamp, Stored};
use wavetank_client::workqueue::Item;
use wavetank_engine::{Cell, Rx};

/// `DefaultJobPodFailureBackOff`
pub(super) const DEFAULT_JOB_POD_FAILURE_BACK_OFF: Duration = Duration::from_secs(10);
/// `MaxJobPodFailureBackOff`
pub(super) const MAX_JOB_POD_FAILURE_BACK_OFF: Duration = Duration::from_secs(10 * 60);

/// `backoffStore`, by the keys of Jobs.
static STORE: Cell<BTreeMap<Item, BackoffRecord>> = Cell::new("job-pod-backoff");

/// `backoffRecord`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct BackoffRecord {
    pub failures_after_last_success: u32,
    pub last_failure_time: Option<Stamp>,
}

/// `updateBackoffRecord`
pub(super) fn update_backoff_record(rx: Rx, job: &Item, record: BackoffRecord) {
    rx.update(&STORE, |all| {
        all.insert(job.clone(), record);
    });
}

/// `removeBackoffRecord`
pub(super) fn remove_backoff_record(rx: Rx, job: &Item) {
    rx.update(&STORE, |all| {
        all.remove(job);
    });
}

/// `newBackoffRecord`: what is known, and what these pods add to it.
pub(super) fn new_backoff_record(
    rx: Rx,
    job: &Item,
    succeeded: &[Stored],
    failed: &[Stored],
) -> BackoffRecord {
    let known = rx.look(&STORE, |all| all.get(job).copied());
    known.unwrap_or_default().with(succeeded, failed)
}

fn finished_times(pods: &[Stored]) -> Vec<Stamp> {
    let mut all: Vec<Stamp> = pods
        .iter()
        .filter_map(|pod| get_finished_time(pod.object.json()))
        .collect();
    all.sort();
    all
}

impl BackoffRecord {
    /// The record once these pods have succeeded and failed as well.
    pub fn with(self, succeeded: &[Stored], failed: &[Stored]) -> BackoffRecord {
        let (succeeded, failed) = (finished_times(succeeded), finished_times(failed));
        let count = |failed: &[Stamp]| u32::try_from(failed.len()).unwrap_or(u32::MAX);
        let Some(last_success) = succeeded.last() else {
            let Some(last) = failed.last() else {
                return self;
            };
            return BackoffRecord {
                failures_after_last_success: self.failures_after_last_success + count(&failed),
                last_failure_time: Some(*last),
            };
        };
        let after = failed.partition_point(|time| time <= last_success);
        BackoffRecord {
            failures_after_last_success: count(&failed[after..]),
            last_failure_time: failed[after..].last().copied(),
        }
    }

    /// `getRemainingTime`
    pub fn get_remaining_time(self, now: Stamp) -> Duration {
        let Some(last) = self.last_failure_time else {
            return Duration::ZERO;
        };
        get_remaining_time_for_failures_count(now, self.failures_after_last_success, last)
    }
}

/// `getFinishedTime`: when the containers of a pod ended; or when it was not ready any more, was deleted, or was made.
pub(super) fn get_finished_time(pod: &Json) -> Option<Stamp> {
    let made = || Stamp::parse(json::text(pod, &["metadata", "creationTimestamp"]));
    get_finish_time_from_containers(pod)
        .or_else(|| get_finish_time_from_pod_ready_false_condition(pod))
        .or_else(|| get_finish_time_from_deletion_timestamp(pod))
        .or_else(made)
}

/// `getFinishTimeFromContainers`: of all containers, and of those that run beside them.
fn get_finish_time_from_containers(pod: &Json) -> Option<Stamp> {
    let beside = json::list(pod, &["spec", "initContainers"]).iter();
    let beside: Vec<&str> = beside
        .filter(|own| own["restartPolicy"] == "Always")
        .map(|own| json::text(own, &["name"]))
        .collect();
    let containers = json::list(pod, &["status", "containerStatuses"]).iter();
    let sidecars = json::list(pod, &["status", "initContainerStatuses"]).iter();
    let sidecars = sidecars.filter(|own| beside.contains(&json::text(own, &["name"])));
    latest_finish_time(latest_finish_time(None, containers), sidecars)
}

/// `latestFinishTime`; nothing if one of them has not ended.
fn latest_finish_time<'a>(
    before: Option<Stamp>,
    mut containers: impl Iterator<Item = &'a Json>,
) -> Option<Stamp> {
    let finished =
        |own: &Json| Stamp::parse(json::text(own, &["state", "terminated", "finishedAt"]));
    containers.try_fold(before, |latest, own| Some(latest.max(Some(finished(own)?))))?
}

/// `getFinishTimeFromPodReadyFalseCondition`
fn get_finish_time_from_pod_ready_false_condition(pod: &Json) -> Option<Stamp> {
    let mut all = json::list(pod, &["status", "conditions"]).iter();
    let ready = all.find(|own| own["type"] == "Ready")?;
    let since = Stamp::parse(json::text(ready, &["lastTransitionTime"]));
    since.filter(|_| ready["status"] == "False")
}

/// `getFinishTimeFromDeletionTimestamp`
fn get_finish_time_from_deletion_timestamp(pod: &Json) -> Option<Stamp> {
    let deleted = Stamp::parse(json::text(pod, &["metadata", "deletionTimestamp"]))?;
    let grace = json::number(pod, &["metadata", "deletionGracePeriodSeconds"]).unwrap_or(0);
    Some(deleted.plus_seconds(-grace))
}

/// `getRemainingTimeForFailuresCount`
pub(super) fn get_remaining_time_for_failures_count(
    now: Stamp,
    failures: u32,
    last_failure: Stamp,
) -> Duration {
    if failures == 0 {
        return Duration::ZERO;
    }
    let wait = backoff_duration(failures);
    let elapsed = now.nanos() - last_failure.nanos();
    let left = i128::try_from(wait.as_nanos()).unwrap_or(i128::MAX) - elapsed;
    u64::try_from(left).map_or(Duration::ZERO, Duration::from_nanos)
}

/// How long is waited after so many failures.
pub(super) fn backoff_duration(failures: u32) -> Duration {
    let mut wait = DEFAULT_JOB_POD_FAILURE_BACK_OFF;
    for _ in 1..failures {
        wait = (wait * 2).min(MAX_JOB_POD_FAILURE_BACK_OFF);
        if wait == MAX_JOB_POD_FAILURE_BACK_OFF {
            break;
        }
    }
    wait
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wavetank_api::Object;

    fn at(second: u8) -> Stamp {
        Stamp::parse(&format!("2026-01-01T00:00:{second:02}Z")).expect("an instant")
    }

    fn ended(second: u8) -> Stored {
        let state = json!({"terminated": {"exitCode": 1, "finishedAt": at(second).seconds()}});
        Stored {
            object: Object::new(json!({"status": {"containerStatuses": [{"state": state}]}})),
            resource_version: 1,
        }
    }

    #[test]
    fn failures_count_until_a_pod_succeeds() {
        let record = BackoffRecord::default().with(&[], &[ended(3), ended(1)]);
        assert_eq!(record.failures_after_last_success, 2);
        assert_eq!(record.last_failure_time, Some(at(3)));
        assert_eq!(record.get_remaining_time(at(8)), Duration::from_secs(15));
        let record = record.with(&[], &[ended(5)]);
        assert_eq!(record.failures_after_last_success, 3);
        let record = record.with(&[ended(6)], &[ended(4), ended(7)]);
        assert_eq!(record.failures_after_last_success, 1);
        assert_eq!(record.with(&[ended(9)], &[]), BackoffRecord::default());
    }

    #[test]
    fn the_wait_doubles_up_to_ten_minutes() {
        let waits = [1, 2, 6, 7, 40].map(|failures| backoff_duration(failures).as_secs());
        assert_eq!(waits, [10, 20, 320, 600, 600]);
    }

    #[test]
    fn a_pod_that_was_deleted_finished_when_that_was_asked_for() {
        let pod = json!({"metadata": {
            "creationTimestamp": at(1).seconds(),
            "deletionTimestamp": at(40).seconds(),
            "deletionGracePeriodSeconds": 30,
        }});
        assert_eq!(get_finished_time(&pod), Some(at(10)));
    }
}
