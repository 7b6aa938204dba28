//! No pod that has ended goes uncounted: it keeps the tracking finalizer until the status of its Job says that it counts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wavetank_api::Object;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::deployments::label_selector_as_selector;
use wavetank_api::kinds::jobs::is_job_finished;
use wavetank_api::kinds::{JOBS, PODS};
use wavetank_engine::{Check, Note, Property, World};
use wavetank_etcd::Change;

use super::super::conditions::true_condition;
use super::super::indexed_job_utils::{OrderedIntervals, is_indexed_job, valid_index};
use super::super::notes::DropsJobPods;
use super::super::pod_failure_policy::match_pod_failure_policy;
use super::super::util::{has_job_tracking_finalizer, of_spec, phase, uncounted};
use crate::controller_utils::{get_controller_of, pod_key};
use wavetank_components::changes::changes;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// The pods that were to be counted, by the UIDs of their Jobs, and those that a controller deleted because they were too many.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct EndedPodsAreCounted {
    listed: BTreeMap<String, BTreeSet<String>>,
    dropped: BTreeSet<Arc<str>>,
}

/// The Job of a pod, if it is there, selects it, and goes on: one that has ended or met its policy counts no more, and one that
/// goes takes its pods along. A pod that it selects no more is released, whatever has become of it.
pub(super) fn job_of<'a>(world: &'a World, pod: &Object) -> Option<&'a Object> {
    let reference = get_controller_of(pod.json())?;
    let name = json::text(reference, &["name"]);
    let job = ClusterView(world).get(&JOBS.key(pod.namespace(), name))?;
    let job = &job.value;
    let is_it = reference["kind"] == *JOBS.kind && reference["uid"] == *job.uid();
    let is_over = job.is_being_deleted()
        || is_job_finished(job.json())
        || true_condition(job.json(), "SuccessCriteriaMet").is_some();
    let selector = json::at(job.json(), &["spec", "selector"]);
    let selector = selector.and_then(label_selector_as_selector);
    let is_selected = selector.is_some_and(|own| own.matches(pod.json()));
    (is_it && is_selected && !is_over).then_some(job)
}

/// The pod that has ended and lost its finalizer with this change, but not its Job.
pub(super) fn lost_finalizer(change: &Change<Object>) -> Option<&Object> {
    let before = &change.before.as_ref()?.value;
    let now = change.now.as_ref().map(|kv| kv.value.json());
    let ended = matches!(phase(before.json()), "Succeeded" | "Failed");
    let was_released =
        now.is_some_and(|now| get_controller_of(now) != get_controller_of(before.json()));
    let lost =
        has_job_tracking_finalizer(before.json()) && !now.is_some_and(has_job_tracking_finalizer);
    (ended && lost && !was_released).then_some(before)
}

impl EndedPodsAreCounted {
    fn counts(&self, job: &Object, pod: &Object) -> bool {
        let (own, json) = (job.json(), pod.json());
        let listed = self.listed.get(job.uid());
        if listed.is_some_and(|all| all.contains(pod.uid())) || self.dropped.contains(pod.uid()) {
            return true;
        }
        let succeeded = phase(json) == "Succeeded";
        if is_indexed_job(own) {
            let completions = of_spec(own, "completions").unwrap_or(0);
            let Some(index) = valid_index(json, completions) else {
                return true;
            };
            let text = json::text(own, &["status", "completedIndexes"]);
            let all = OrderedIntervals::parse_indexes_from_string(text, completions);
            if succeeded && all.has(index) {
                return true;
            }
        }
        !succeeded && !match_pod_failure_policy(own, json).counts
    }

    fn remember(&mut self, note: &Note) {
        if let Some(DropsJobPods { pods, .. }) = note.body.get() {
            self.dropped.extend(pods.iter().cloned());
        }
        for change in changes(note, &JOBS) {
            if let Some(kv) = &change.now {
                let job: &Json = kv.value.json();
                let all = ["succeeded", "failed"].into_iter();
                let all = all.flat_map(|list| uncounted(job, list));
                let listed = self.listed.entry(kv.value.uid().to_owned());
                listed.or_default().extend(all);
            }
        }
    }
}

impl Property for EndedPodsAreCounted {
    fn name(&self) -> &'static str {
        "ended-pods-are-counted"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        let remembers =
            note.body.get::<DropsJobPods>().is_some() || changes(note, &JOBS).next().is_some();
        if remembers {
            return None;
        }
        let mut checked = Check::Idle;
        for pod in changes(note, &PODS).filter_map(lost_finalizer) {
            let Some(job) = job_of(world, pod) else {
                continue;
            };
            if !self.counts(job, pod) {
                let key = pod_key(pod);
                let (phase, name) = (phase(pod.json()), job.name());
                let message = format!(
                    "the pod {key} has {phase} and loses its finalizer, and the Job {name} does not count it"
                );
                return Some(violated("pod", &key, message));
            }
            checked = Check::Held;
        }
        Some(checked)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        self.remember(note);
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}
