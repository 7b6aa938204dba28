//! What is promised to users of Jobs: `counts` says that each pod is counted once, and how a Job ends; `ended` that no pod goes
//! uncounted; `heeded` that a policy is not forgotten; `own_view` what the controller may act on and wait for; `waits` how long pods that failed are waited for; `end`
//! what is true once all has been well for a while.

mod counts;
mod end;
mod ended;
mod heeded;
mod own_view;
mod waits;

use std::time::Duration;
use wavetank_components::changes::changes;

use wavetank_api::kinds::jobs::is_job_finished;
use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_components::promises::reaches;
use wavetank_engine::{Note, ProcId, World};

use super::conditions::true_condition;
use super::notes::MadeJobPod;
use super::{NEEDED, USERS};
use wavetank_api::kinds::JOBS;

/// Expectations expire after 5 min, pods that failed are waited for up to 10 min; what failed in a storm is tried again a little
/// later, and then pods are bound, run and end, one after another.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(5 * 60 + 10 * 60 + 240);

/// Somebody has to use Jobs, and to run their pods.
const USED: [Entry; 4] = [
    Entry::new("topology", USERS, "2"),
    Entry::new("workload", "use-batch-jobs", "{every: 3s}"),
    Entry::new("topology", "pod-runners", "1"),
    Entry::new("workload", "run-pods", "{every: 500ms}"),
];

/// A life of a process.
type Life = (ProcId, u32);

fn life(world: &World, note: &Note) -> Life {
    (note.process, world.incarnation(note.process))
}

/// Others who write statuses of Jobs are not held to what is promised of this controller.
fn writes_alone(spec: &Spec) -> bool {
    spec.count("job-users") == 0
}

pub(super) fn all() -> Vec<PropertyInfo> {
    let mut all = of_counts();
    all.extend(of_own_view());
    all.extend(of_the_end());
    all.extend(reached());
    all
}

fn of_counts() -> Vec<PropertyInfo> {
    let all = vec![
        PropertyInfo::new(
            "job-pods-count-once",
            "each pod of a Job is counted once, counts rise by as many as were to be counted, and an index that has succeeded \
             stays so",
            NEEDED,
            |_| Box::new(counts::JobPodsCountOnce::default()),
        ),
        PropertyInfo::new(
            "ended-pods-are-counted",
            "no pod that has ended loses the tracking finalizer before the status of its Job says that it counts",
            NEEDED,
            |_| Box::new(ended::EndedPodsAreCounted::default()),
        ),
        PropertyInfo::new(
            "fail-job-is-heeded",
            "no pod that has failed as a FailJob rule of its Job says loses the tracking finalizer before the status of the Job says \
             that it is to fail; pods that the controller deleted as too many, or when the Job was suspended, are left out",
            NEEDED,
            |_| Box::new(heeded::FailJobIsHeeded::default()),
        ),
        PropertyInfo::new(
            "finished-jobs-stay-finished",
            "a Job that is complete or has failed stays so, and is never both",
            NEEDED,
            |_| Box::new(counts::finished_jobs_stay_finished()),
        ),
        PropertyInfo::new(
            "deadlines-count-active-time",
            "no Job exceeds its deadline before it was active for so long since it was last resumed",
            NEEDED,
            |_| Box::new(counts::DeadlinesCountActiveTime::default()),
        ),
    ];
    let alone = all.into_iter().map(|own| own.fits(writes_alone));
    alone.map(|own| own.tested_by(&USED)).collect()
}

fn of_own_view() -> Vec<PropertyInfo> {
    let all = vec![
        PropertyInfo::new(
            "jobs-know-their-pods",
            "the controller makes pods of a Job only if it sees those that it made itself",
            NEEDED,
            |_| Box::new(own_view::JobsKnowTheirPods::default()),
        ),
        PropertyInfo::new(
            "successes-are-not-forgotten",
            "the controller never counts fewer successes of a Job than it did before, and makes no pod of one that it has told \
             that it is finished",
            NEEDED,
            |_| Box::new(own_view::SuccessesAreNotForgotten::default()),
        ),
        PropertyInfo::new(
            "job-pods-within-parallelism",
            "with those that it sees the controller makes no more pods of a Job than may run at once; pods that go count where \
             they are to be replaced once they have failed",
            NEEDED,
            |_| Box::new(own_view::job_pods_within_parallelism()),
        ),
        PropertyInfo::new(
            "jobs-await-their-own-pods",
            "the controller does not wait for the pods of another Job of the same name",
            NEEDED,
            |_| Box::new(own_view::JobsAwaitTheirOwnPods::default()),
        ),
        PropertyInfo::new(
            "job-statuses-are-valid",
            "no status that the controller writes is refused as invalid",
            NEEDED,
            |_| Box::new(own_view::job_statuses_are_valid()),
        ),
        PropertyInfo::new(
            "failed-pods-are-waited-for",
            "the controller makes no pod before the back-off of those that it knows to have failed since the last success is over",
            NEEDED,
            |_| Box::new(waits::FailedPodsAreWaitedFor::default()),
        ),
    ];
    all.into_iter().map(|own| own.tested_by(&USED)).collect()
}

fn of_the_end() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "tracking-finalizers-go",
            "some time after calm no pod has the tracking finalizer whose Job has finished or is gone",
            NEEDED,
            |settled| Box::new(end::tracking_finalizers_go(settled)),
        ),
        PropertyInfo::new(
            "jobs-end",
            "some time after calm each Job that is not suspended has finished, none that is or has finished has an active pod, \
             and its status says so",
            NEEDED,
            |settled| Box::new(end::jobs_end(settled)),
        )
        .fits(writes_alone),
        PropertyInfo::new(
            "unfinished-jobs-have-pods",
            "some time after calm each Job that has neither finished nor is suspended has a pod; not asked where a pod of any \
             Job failed so late that the next may have to wait",
            NEEDED,
            |settled| Box::new(end::UnfinishedJobsHavePods::after(settled)),
        )
        .fits(writes_alone),
        PropertyInfo::new(
            "jobs-are-quiet",
            "some time after calm the controller changes nothing any more, but a few times after a change that comes late",
            NEEDED,
            |settled| Box::new(end::jobs_are_quiet(settled)),
        ),
    ]
}

fn reached() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(USERS) > 0;
    let all = [
        reaches(
            "job-pod-was-made",
            "the controller made a pod of a Job",
            NEEDED,
            |_, note| note.body.get::<MadeJobPod>().is_some(),
        ),
        reaches(
            "job-was-completed",
            "a Job was completed",
            NEEDED,
            |_, note| ended_as(note, "Complete"),
        ),
        reaches("job-has-failed", "a Job has failed", NEEDED, |_, note| {
            ended_as(note, "Failed")
        }),
    ];
    all.map(|own| own.fits(users)).into()
}

/// Did a Job end so with this?
fn ended_as(note: &Note, kind: &str) -> bool {
    changes(note, &JOBS).any(|change| {
        let before = change.before.as_ref().map(|kv| &kv.value);
        let was = before.is_some_and(|job| is_job_finished(job.json()));
        let now = change.now.as_ref().map(|kv| &kv.value);
        !was && now.is_some_and(|job| true_condition(job.json(), kind).is_some())
    })
}
