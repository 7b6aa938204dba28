//! What is true once all has been well for a while.

use std::time::Duration;

use wavetank_api::Object;
use wavetank_api::json;
use wavetank_api::kinds::jobs::is_job_finished;
use wavetank_api::kinds::{JOBS, PODS};
use wavetank_engine::{Check, Note, Property, Stable, Time, World};
use wavetank_etcd::Change;

use super::super::backoff_utils::MAX_JOB_POD_FAILURE_BACK_OFF;
use super::super::conditions::true_condition;
use super::super::controller::CONTROLLER;
use super::super::notes::{CountsPods, DropsJobPods, MakesJobPods, WritesJobStatus};
use super::super::util::{
    has_job_tracking_finalizer, job_suspended, managed_by_external_controller, of_spec, of_status,
};
use crate::controller_utils::{get_controller_of, is_controlled_by, is_pod_active, pod_key};
use crate::each::Each;
use crate::quiet::{Act, IsQuiet, Rest, Subject};
use crate::somebody_runs;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// Why this pod should not have the finalizer any more.
fn needs_no_tracking(world: &World, pod: &Object) -> Option<&'static str> {
    let Some(reference) = get_controller_of(pod.json()) else {
        return Some("is of nobody");
    };
    let name = json::text(reference, &["name"]);
    let job = ClusterView(world).get(&JOBS.key(pod.namespace(), name));
    let job = job.filter(|kv| reference["uid"] == *kv.value.uid());
    match job {
        None => Some("is of a Job that is gone"),
        Some(kv) if is_job_finished(kv.value.json()) => Some("is of a Job that has finished"),
        Some(_) => None,
    }
}

fn finalizers_are_gone(world: &World) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    let mut pods = ClusterView(world).all(PODS.registry);
    pods.retain(|pod| has_job_tracking_finalizer(pod.json()));
    for pod in pods {
        if let Some(why) = needs_no_tracking(world, pod) {
            let key = pod_key(pod);
            let message = format!("the pod {key} {why}, and has the tracking finalizer");
            return violated("pod", &key, message);
        }
    }
    Check::Held
}

pub(super) fn tracking_finalizers_go(after: Duration) -> Stable {
    Stable::new(
        "tracking-finalizers-go",
        after,
        |_, _| Check::Idle,
        finalizers_are_gone,
    )
}

/// What is wrong with this Job.
fn wrong(world: &World, job: &Object) -> Option<String> {
    let json = job.json();
    if !is_job_finished(json) && !job_suspended(json) {
        return Some("has not finished".to_owned());
    }
    let mut pods = ClusterView(world).all(PODS.registry);
    pods.retain(|pod| is_controlled_by(pod.json(), job.uid()) && is_pod_active(pod.json()));
    if let Some(pod) = pods.first() {
        return Some(format!(
            "is not to have active pods, and has {}",
            pod.name()
        ));
    }
    let active = of_status(json, "active");
    (active > 0).then(|| format!("says that {active} pods are active, and none is"))
}

const EACH: Each = Each {
    controller: CONTROLLER,
    resource: &JOBS,
    kind: "job",
};

fn has_ended(world: &World, job: &Object) -> Option<Result<(), String>> {
    (!job.is_being_deleted()).then(|| wrong(world, job).map_or(Ok(()), Err))
}

pub(super) fn jobs_end(after: Duration) -> Stable {
    Stable::new(
        "jobs-end",
        after,
        |_, _| Check::Idle,
        |world| EACH.is_met(world, |job| has_ended(world, job)),
    )
}

/// Jobs have pods as long as they have work.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct UnfinishedJobsHavePods {
    after: Duration,
    /// When a controller last counted a pod that had failed: what comes in its place may have to wait.
    last_failed: Option<Time>,
}

impl UnfinishedJobsHavePods {
    pub(super) fn after(after: Duration) -> UnfinishedJobsHavePods {
        UnfinishedJobsHavePods {
            after,
            last_failed: None,
        }
    }
}

/// Has it work, is it to end by nothing else, and is no pod in the way of the next one?
fn wants_a_pod(job: &Object, pods: &[&Object]) -> bool {
    let json = job.json();
    let is_ending = ["SuccessCriteriaMet", "FailureTarget"]
        .iter()
        .any(|kind| true_condition(json, kind).is_some());
    !(job.is_being_deleted()
        || is_job_finished(json)
        || is_ending
        || job_suspended(json)
        || managed_by_external_controller(json)
        || of_spec(json, "parallelism") == Some(0)
        || pods.iter().any(|pod| pod.is_being_deleted()))
}

fn have_pods(world: &World) -> Check {
    let pods = ClusterView(world).all(PODS.registry);
    let mut checked = Check::Idle;
    for job in ClusterView(world).all(JOBS.registry) {
        let own = pods.iter().copied();
        let own = own.filter(|pod| is_controlled_by(pod.json(), job.uid()));
        let own: Vec<&Object> = own.collect();
        if !wants_a_pod(job, &own) {
            continue;
        }
        let is_tracked = |pod: &&Object| has_job_tracking_finalizer(pod.json());
        // One that has ended and is not counted yet is a matter of other promises.
        if !own.iter().any(is_tracked) {
            let name = job.name();
            let message = format!("the Job {name} has not finished, and has no pod");
            return violated("job", name, message);
        }
        checked = Check::Held;
    }
    checked
}

impl Property for UnfinishedJobsHavePods {
    fn name(&self) -> &'static str {
        "unfinished-jobs-have-pods"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let counts = note.body.get::<CountsPods>();
        let has_failed = counts.is_some_and(|counts| !counts.failed.is_empty());
        (!has_failed).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if self.glance(world, note).is_none() {
            self.last_failed = Some(world.now());
        }
        Check::Idle
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.after)
    }

    fn deadline(&mut self, world: &World) -> Check {
        let may_wait = self
            .last_failed
            .is_some_and(|last| last + MAX_JOB_POD_FAILURE_BACK_OFF > world.now());
        match may_wait || !somebody_runs(world, CONTROLLER) {
            true => Check::Idle,
            false => have_pods(world),
        }
    }
}

/// No Job: a change of a pod may concern any.
const ANY: &str = "any";

fn concerns(change: &Change<Object>) -> Vec<Subject> {
    let named = |registry: &str| change.key.strip_prefix(registry)?.strip_prefix('/');
    let any = named(PODS.registry).map(|_| ANY);
    any.or_else(|| named(JOBS.registry))
        .map(Subject::from)
        .into_iter()
        .collect()
}

const REST: Rest = Rest {
    property: "jobs-are-quiet",
    controller: CONTROLLER,
    kind: "job",
    acts: |job| format!("pods or the status of the Job {job} are changed"),
    act: |note| {
        let makes = note.body.get().map(|MakesJobPods { job, .. }| job);
        let drops = || note.body.get().map(|DropsJobPods { job, .. }| job);
        let writes = || note.body.get().map(|WritesJobStatus { job, .. }| job);
        let job = makes.or_else(drops).or_else(writes)?;
        Some(Act {
            on: job.clone(),
            name: job.clone(),
        })
    },
    concerns,
    follows: |_, job, changed| changed.contains(ANY) || changed.contains(job),
};

pub(super) fn jobs_are_quiet(after: Duration) -> IsQuiet {
    IsQuiet::after(after, REST)
}
