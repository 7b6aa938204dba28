//! What a policy says of a pod that has failed is not forgotten: without its finalizer the pod may be gone at the next look.

use std::collections::BTreeSet;
use std::sync::Arc;

use wavetank_api::Object;
use wavetank_api::kinds::PODS;
use wavetank_engine::{Check, Note, Property, World};

use super::super::conditions::true_condition;
use super::super::notes::DropsJobPods;
use super::super::pod_failure_policy::match_pod_failure_policy;
use super::super::util::phase;
use super::ended::{job_of, lost_finalizer};
use crate::controller_utils::pod_key;
use wavetank_components::changes::changes;
use wavetank_components::promises::violated;

/// The pods that a controller deleted because they were too many or the Job was suspended: what becomes of them says nothing of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct FailJobIsHeeded {
    dropped: BTreeSet<Arc<str>>,
}

impl FailJobIsHeeded {
    fn judge(&self, world: &World, pod: &Object) -> Check {
        let is_left_out = phase(pod.json()) != "Failed" || self.dropped.contains(pod.uid());
        let Some(job) = job_of(world, pod).filter(|_| !is_left_out) else {
            return Check::Idle;
        };
        let Some(why) = match_pod_failure_policy(job.json(), pod.json()).fails_job else {
            return Check::Idle;
        };
        if true_condition(job.json(), "FailureTarget").is_some() {
            return Check::Held;
        }
        let (key, name) = (pod_key(pod), job.name());
        let message = format!(
            "the pod {key} loses its finalizer, and the Job {name} does not say that it is to fail: {why}"
        );
        violated("job", name, message)
    }
}

impl Property for FailJobIsHeeded {
    fn name(&self) -> &'static str {
        "fail-job-is-heeded"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if note.body.get::<DropsJobPods>().is_some() {
            return None;
        }
        let mut checked = Check::Idle;
        for pod in changes(note, &PODS).filter_map(lost_finalizer) {
            match self.judge(world, pod) {
                Check::Idle => {}
                Check::Held => checked = Check::Held,
                violated => return Some(violated),
            }
        }
        Some(checked)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(DropsJobPods { pods, .. }) = note.body.get() {
            self.dropped.extend(pods.iter().cloned());
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}
