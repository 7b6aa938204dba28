//! What users of Jobs may rely on, as etcd shows it. The controller is the only one that deletes Jobs in the
//! foreground: by that its deletions are told from those of users. Upstream warns that clocks which differ make it
//! delete too early; without such clocks it must not.

use std::time::Duration;

use wavetank_api::kinds::JOBS;
use wavetank_api::{Json, Stamp, json};
use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_engine::{Check, Note, Reached, Stable, World};
use wavetank_etcd::Keys;

use super::controller::get_finish_and_expire_time;
use super::{CONTROLLER, NEEDED};
use crate::somebody_runs;
use wavetank_components::changes::changes;
use wavetank_components::promises::{always, violated};
use wavetank_components::view::ClusterView;

/// The longest TTL of the workload, and what the queue and a deletion that is tried again take on top of it.
pub(super) const CLEANS_UP_WITHIN: Duration = Duration::from_secs(30 + 90);

/// Somebody has to use Jobs.
const USED: [Entry; 2] = [
    Entry::new("topology", "job-users", "2"),
    Entry::new("workload", "use-jobs", "{every: 5s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(super::USERS) > 0;
    vec![
        PropertyInfo::new(
            "job-lives-out-its-ttl",
            "no Job is deleted by the controller before its TTL has passed since it finished",
            NEEDED,
            |_| Box::new(always("job-lives-out-its-ttl", lives_out_its_ttl)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "finished-jobs-go",
            "some time after calm all finished Jobs whose TTL has passed are being deleted",
            NEEDED,
            |settled| Box::new(finished_jobs_go(settled)),
        ),
        PropertyInfo::new(
            "job-was-cleaned-up",
            "the controller deleted a Job",
            NEEDED,
            |_| Box::new(job_was_cleaned_up()),
        )
        .fits(users),
    ]
}

/// The Jobs that a commit marks as being deleted in the foreground: what each was before, and is now.
fn marked(note: &Note) -> Vec<(&Json, &Json)> {
    let both = changes(note, &JOBS).filter_map(|change| {
        let (before, now) = (change.before.as_ref()?, change.now.as_ref()?);
        Some((before.value.json(), now.value.json()))
    });
    both.filter(|(before, now)| is_in_foreground(now) && !is_in_foreground(before))
        .collect()
}

fn is_in_foreground(job: &Json) -> bool {
    let finalizers = json::list(job, &["metadata", "finalizers"]);
    is_being_deleted(job) && finalizers.iter().any(|own| own == "foregroundDeletion")
}

fn is_being_deleted(job: &Json) -> bool {
    json::at(job, &["metadata", "deletionTimestamp"]).is_some()
}

fn lives_out_its_ttl(_: &World, note: &Note) -> Check {
    let all = marked(note);
    for (before, now) in &all {
        let name = json::text(now, &["metadata", "name"]);
        let deleted = Stamp::parse(json::text(now, &["metadata", "deletionTimestamp"]));
        let message = match (get_finish_and_expire_time(before), deleted) {
            (Some(expires), Some(deleted)) if deleted >= expires => continue,
            (Some(expires), _) => {
                let expires = expires.seconds();
                format!("the Job {name} is deleted, although its TTL ends only at {expires}")
            }
            (None, _) => format!("the Job {name} is deleted, although it has not finished"),
        };
        return violated("job", name, message);
    }
    match all.is_empty() {
        true => Check::Idle,
        false => Check::Held,
    }
}

fn finished_jobs_go(after: Duration) -> Stable {
    let holds = |world: &World| {
        if !somebody_runs(world, CONTROLLER) {
            return Check::Idle;
        }
        let now = Stamp::of(world.now());
        let store = ClusterView(world).store();
        let prefix = Keys::Prefix(format!("{}/", JOBS.registry).into());
        for kv in store.iter(&prefix) {
            let job = kv.value.json();
            let late = get_finish_and_expire_time(job).is_some_and(|expires| {
                let slack = CLEANS_UP_WITHIN.as_secs();
                expires.plus_seconds(slack as i64) < now
            });
            if late && !is_being_deleted(job) {
                let name = json::text(job, &["metadata", "name"]);
                let message = format!("{CONTROLLER} leaves the Job {name}, whose TTL has passed");
                return violated("job", name, message);
            }
        }
        Check::Held
    };
    Stable::new("finished-jobs-go", after, |_, _| Check::Idle, holds)
}

fn job_was_cleaned_up() -> Reached {
    Reached {
        name: "job-was-cleaned-up",
        here: |_, note| !marked(note).is_empty(),
    }
}
