//! Each pod is counted once, and a Job ends once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::json;
use wavetank_api::Object;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::JOBS;
use wavetank_engine::{Always, Check, Note, Property, Time, World};
use wavetank_etcd::Change;

use super::super::conditions::true_condition;
use super::super::indexed_job_utils::{OrderedIntervals, is_indexed_job};
use super::super::util::{job_suspended, of_spec, of_status, uncounted};
use wavetank_components::changes::changes;
use wavetank_components::promises::{always, violated};

/// The pods that were counted, by the UIDs of their Jobs.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct JobPodsCountOnce {
    counted: BTreeMap<String, BTreeSet<String>>,
}

/// The Job before a change and after it; nothing if it is gone, or another.
fn both(change: &Change<Object>) -> Option<(Json, &Object)> {
    let now = &change.now.as_ref()?.value;
    let before = change.before.as_ref().map(|kv| &kv.value);
    let before = before.filter(|job| job.uid() == now.uid());
    Some((before.map_or(json!({}), |job| job.json().clone()), now))
}

fn completed(job: &Json) -> OrderedIntervals {
    let text = json::text(job, &["status", "completedIndexes"]);
    let completions = of_spec(job, "completions").unwrap_or(0);
    OrderedIntervals::parse_indexes_from_string(text, completions)
}

impl JobPodsCountOnce {
    /// What is wrong with a change of a status.
    fn wrong(&mut self, before: &Json, job: &Object) -> Option<String> {
        let now = job.json();
        let counted = self.counted.entry(job.uid().to_owned()).or_default();
        let was: BTreeSet<String> = ["succeeded", "failed"]
            .iter()
            .flat_map(|list| uncounted(before, list))
            .collect();
        for list in ["succeeded", "failed"] {
            let is = uncounted(now, list);
            let mut new = is.iter().filter(|uid| !was.contains(*uid));
            if let Some(uid) = new.find(|uid| counted.contains(*uid)) {
                return Some(format!("counts the pod with the UID {uid} again"));
            }
            let mut gone = uncounted(before, list);
            gone.retain(|uid| !is.contains(uid));
            let rise = of_status(now, list) - of_status(before, list);
            let due = gone.len() as i64;
            counted.extend(gone);
            let is_by_index = list == "succeeded" && is_indexed_job(now);
            if rise != due && !is_by_index {
                return Some(format!(
                    "has {rise} more pods that have {list}, and {due} were to be counted"
                ));
            }
        }
        if !is_indexed_job(now) {
            return None;
        }
        let (old, new) = (completed(before), completed(now));
        if new.total() != of_status(now, "succeeded") {
            let (count, text) = (of_status(now, "succeeded"), new.text());
            return Some(format!("has {count} successes, and the indexes {text}"));
        }
        let lost = old.overlap(&new) < old.total();
        lost.then(|| format!("had the indexes {}, and has {}", old.text(), new.text()))
    }
}

impl Property for JobPodsCountOnce {
    fn name(&self) -> &'static str {
        "job-pods-count-once"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        changes(note, &JOBS).next().is_none().then_some(Check::Idle)
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        let mut checked = Check::Idle;
        for change in changes(note, &JOBS) {
            let Some((before, job)) = both(change) else {
                continue;
            };
            if let Some(wrong) = self.wrong(&before, job) {
                let name = job.name();
                return violated("job", name, format!("the Job {name} {wrong}"));
            }
            checked = Check::Held;
        }
        checked
    }
}

pub(super) fn finished_jobs_stay_finished() -> Always {
    always("finished-jobs-stay-finished", stays_finished)
}

fn stays_finished(_: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for change in changes(note, &JOBS) {
        let Some((before, job)) = both(change) else {
            continue;
        };
        let ends = ["Complete", "Failed"];
        let is = |of: &Json| ends.map(|kind| true_condition(of, kind).is_some());
        let (was, now) = (is(&before), is(job.json()));
        let name = job.name();
        if now == [true, true] {
            let message = format!("the Job {name} is complete, and has failed");
            return violated("job", name, message);
        }
        if was.contains(&true) {
            if was != now {
                let message = format!("the Job {name} had finished, and has not any more");
                return violated("job", name, message);
            }
            checked = Check::Held;
        }
    }
    checked
}

/// Since when Jobs are active, by their UIDs: since they were made, or resumed after their status said that they are suspended.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct DeadlinesCountActiveTime {
    since: BTreeMap<String, Time>,
}

/// Starts are written in whole seconds.
const ROUNDED: Duration = Duration::from_secs(1);

fn has_exceeded(job: &Json) -> bool {
    let target = true_condition(job, "FailureTarget");
    target.is_some_and(|own| own["reason"] == "DeadlineExceeded")
}

impl Property for DeadlinesCountActiveTime {
    fn name(&self) -> &'static str {
        "deadlines-count-active-time"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        changes(note, &JOBS).next().is_none().then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let mut checked = Check::Idle;
        for change in changes(note, &JOBS) {
            let Some((before, job)) = both(change) else {
                continue;
            };
            let (uid, now) = (job.uid(), job.json());
            let resumed = true_condition(&before, "Suspended").is_some()
                && job_suspended(&before)
                && !job_suspended(now);
            if resumed || !self.since.contains_key(uid) {
                self.since.insert(uid.to_owned(), world.now());
            }
            if !has_exceeded(now) || has_exceeded(&before) {
                continue;
            }
            let allowed = of_spec(now, "activeDeadlineSeconds")
                .unwrap_or(0)
                .unsigned_abs();
            let active = world.now().since(self.since[uid]);
            if active + ROUNDED < Duration::from_secs(allowed) {
                let (name, active) = (job.name(), active.as_secs());
                let message = format!(
                    "the Job {name} exceeds its deadline of {allowed} s, and was active for {active} s"
                );
                return violated("job", name, message);
            }
            checked = Check::Held;
        }
        checked
    }
}
