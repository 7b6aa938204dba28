//! The controller acts on a view that has its own writes, and waits for its own pods.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wavetank_api::kinds::PODS;
use wavetank_client::workqueue::Item;
use wavetank_engine::{Always, Check, Note, Property, World};

use super::super::notes::{
    AwaitsPods, CountsPods, DropsJobPods, FinishedJob, JobStatusIsInvalid, MadeJobPod,
    MakesJobPods, WritesJobStatus,
};
use super::super::util::phase;
use super::{Life, life};
use crate::controller_utils::is_controlled_by;
use wavetank_components::promises::{always, violated};
use wavetank_components::view::ClusterView;

/// A life of a controller, and the UID of a Job.
type Of = (Life, Arc<str>);

/// The pods that each life of each controller has made, by Job: their UIDs and keys.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct JobsKnowTheirPods {
    made: BTreeMap<Of, BTreeMap<Arc<str>, Item>>,
}

/// Is the pod there, and one of the Job?
fn is_there(world: &World, pod: &Item, uid: &str, job: &str) -> bool {
    let (namespace, name) = pod.split_once('/').unwrap_or(("", pod));
    let stored = ClusterView(world).get(&PODS.key(namespace, name));
    stored.is_some_and(|kv| kv.value.uid() == uid && is_controlled_by(kv.value.json(), job))
}

impl Property for JobsKnowTheirPods {
    fn name(&self) -> &'static str {
        "jobs-know-their-pods"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if note.body.get::<MadeJobPod>().is_some() {
            return None;
        }
        let Some(makes) = note.body.get::<MakesJobPods>() else {
            return Some(Check::Idle);
        };
        let made = self.made.get(&(life(world, note), makes.uid.clone()));
        let mut made = made.into_iter().flatten();
        let unseen = made
            .find(|(uid, pod)| !makes.seen.contains(uid) && is_there(world, pod, uid, &makes.uid));
        Some(match unseen {
            None => Check::Held,
            Some((_, pod)) => {
                let job = &makes.job;
                let message = format!("Job {job}: the pod {pod} was made, and is not seen");
                violated("job", job, message)
            }
        })
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(MadeJobPod { job, pod, uid }) = note.body.get() {
            let own = self.made.entry((life(world, note), job.clone()));
            own.or_default().insert(uid.clone(), pod.clone());
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}

/// How many successes each life of each controller has counted last, by Job, and the Jobs that it has told that they are
/// finished.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct SuccessesAreNotForgotten {
    succeeded: BTreeMap<Of, i64>,
    finished: BTreeSet<Of>,
}

impl Property for SuccessesAreNotForgotten {
    fn name(&self) -> &'static str {
        "successes-are-not-forgotten"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if let Some(MakesJobPods { job, uid, .. }) = note.body.get() {
            let is_over = self.finished.contains(&(life(world, note), uid.clone()));
            let message =
                || format!("pods of the Job {job} are made, which was told that it is finished");
            return Some(match is_over {
                true => violated("job", job, message()),
                false => Check::Held,
            });
        }
        let remembers =
            note.body.get::<CountsPods>().is_some() || note.body.get::<FinishedJob>().is_some();
        (!remembers).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(idle) = self.glance(world, note) {
            return idle;
        }
        if let Some(FinishedJob { uid }) = note.body.get() {
            self.finished.insert((life(world, note), uid.clone()));
        }
        let Some(CountsPods {
            job,
            uid,
            succeeded,
            ..
        }) = note.body.get()
        else {
            return Check::Idle;
        };
        let before = self
            .succeeded
            .insert((life(world, note), uid.clone()), *succeeded);
        match before.filter(|before| before > succeeded) {
            None => Check::Held,
            Some(before) => {
                let message =
                    format!("{succeeded} successes of the Job {job} are counted, after {before}");
                violated("job", job, message)
            }
        }
    }
}

pub(super) fn job_pods_within_parallelism() -> Always {
    always("job-pods-within-parallelism", is_within_parallelism)
}

fn is_within_parallelism(world: &World, note: &Note) -> Check {
    let Some(makes) = note.body.get::<MakesJobPods>() else {
        return Check::Idle;
    };
    let all = ClusterView(world).all(PODS.registry);
    let running = all.iter().filter(|pod| {
        let has_ended = matches!(phase(pod.json()), "Succeeded" | "Failed");
        let counts = makes.only_replaces_failed || !pod.is_being_deleted();
        let is_seen = makes.seen.iter().any(|uid| **uid == *pod.uid());
        !has_ended && counts && is_seen
    });
    let (running, count) = (running.count(), makes.count);
    let most = usize::try_from(makes.parallelism).unwrap_or(0);
    if running + count <= most {
        return Check::Held;
    }
    let job = &makes.job;
    let message = format!("Job {job}: {count} pods are made beside {running}, and {most} may run");
    violated("job", job, message)
}

/// How many pods each life of each controller has last asked to come and go, by Job.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct JobsAwaitTheirOwnPods {
    asked: BTreeMap<Of, (i64, i64)>,
}

impl Property for JobsAwaitTheirOwnPods {
    fn name(&self) -> &'static str {
        "jobs-await-their-own-pods"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        let body = &note.body;
        if body.get::<MakesJobPods>().is_some() || body.get::<DropsJobPods>().is_some() {
            return None;
        }
        let Some(AwaitsPods {
            job,
            uid,
            creations,
            deletions,
        }) = body.get()
        else {
            return Some(Check::Idle);
        };
        let asked = self.asked.get(&(life(world, note), uid.clone()));
        let (come, go) = asked.copied().unwrap_or_default();
        if *creations <= come && *deletions <= go {
            return Some(Check::Held);
        }
        let message = format!(
            "Job {job}: {creations} pods are waited for to come and {deletions} to go, of {come} and {go} that it asked for"
        );
        Some(violated("job", job, message))
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        if let Some(MakesJobPods {
            uid, count: come, ..
        }) = note.body.get()
        {
            let key = (life(world, note), uid.clone());
            self.asked.insert(key, (count(*come), 0));
        }
        if let Some(DropsJobPods { uid, pods, .. }) = note.body.get() {
            let key = (life(world, note), uid.clone());
            self.asked.insert(key, (0, count(pods.len())));
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}

pub(super) fn job_statuses_are_valid() -> Always {
    always("job-statuses-are-valid", is_valid)
}

fn is_valid(_: &World, note: &Note) -> Check {
    if let Some(JobStatusIsInvalid { job, why }) = note.body.get() {
        let message = format!("the status of the Job {job} is refused: {why}");
        return violated("job", job, message);
    }
    match note.body.get::<WritesJobStatus>() {
        Some(_) => Check::Held,
        None => Check::Idle,
    }
}
