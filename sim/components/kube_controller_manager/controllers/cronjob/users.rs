//! Who uses CronJobs in a scenario: a client that makes CronJobs with schedules, policies, limits and deadlines of all kinds,
//! changes their schedules, suspends, resumes, deletes and makes them anew; and that stands in for the Job controller, and
//! finishes and fails Jobs, and deletes some.

use serde_json::{Value as Json, json};
use wavetank_api::kinds::jobs::is_job_finished;
use wavetank_api::kinds::{CRON_JOBS, JOBS};
use wavetank_api::{Method, Request, Stamp, Stored};
use wavetank_engine::Name;

use wavetank_components::users::{Args, Client, NAMESPACE, Use, containers};

/// So few that they are made again.
const CRON_JOBS_USED: u64 = 5;

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Create,
    Recreate,
    Delete,
    Suspend,
    Resume,
    Reschedule,
    Finish,
    Fail,
    DeleteJob,
}

const ALL: [(&str, What); 9] = [
    ("create", What::Create),
    ("recreate", What::Recreate),
    ("delete", What::Delete),
    ("suspend", What::Suspend),
    ("resume", What::Resume),
    ("reschedule", What::Reschedule),
    ("finish", What::Finish),
    ("fail", What::Fail),
    ("delete-job", What::DeleteJob),
];

/// How often each is drawn.
const DRAWN: [What; 16] = [
    What::Create,
    What::Create,
    What::Create,
    What::Recreate,
    What::Delete,
    What::Suspend,
    What::Resume,
    What::Resume,
    What::Reschedule,
    What::Finish,
    What::Finish,
    What::Finish,
    What::Finish,
    What::Finish,
    What::Fail,
    What::DeleteJob,
];

/// Some that run often, some whose times lie unevenly within the first minutes of an hour.
const SCHEDULES: [&str; 7] = [
    "* * * * *",
    "*/2 * * * *",
    "@every 20s",
    "@every 1s",
    "1,2 * * * *",
    "3,4,7 * * * *",
    "3,4 * * * *",
];
const POLICIES: [&str; 4] = ["Allow", "Forbid", "Forbid", "Replace"];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    cron_job: Option<String>,
    schedule: Option<String>,
    policy: Option<String>,
    deadline: Option<i64>,
    suspended: Option<bool>,
}

/// Uses CronJobs.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesCronJobs;

impl Use for UsesCronJobs {
    const ROUTINE: Name = Name::new("use-cron-job");
    type Order = Asked;

    /// `use {what?, cron-job?, schedule?, policy?, deadline?, suspended?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        Ok(Asked {
            what: args.named("what", &ALL)?,
            cron_job: args.text("cron-job"),
            schedule: args.text("schedule"),
            policy: args.text("policy"),
            deadline: args.number("deadline"),
            suspended: args.flag("suspended"),
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        if matches!(what, What::Finish | What::Fail | What::DeleteJob) {
            return change_job(&client, what).await;
        }
        let name = match &asked.cron_job {
            Some(name) => name.clone(),
            None => format!("cron{}", client.rx.choose(CRON_JOBS_USED).await),
        };
        match what {
            What::Suspend | What::Resume => {
                let suspend = what == What::Suspend;
                let field = ["spec", "suspend"];
                client
                    .change(&CRON_JOBS, &name, &field, suspend.into())
                    .await;
            }
            What::Reschedule => {
                let schedule = schedule(&client, &asked).await;
                let field = ["spec", "schedule"];
                client
                    .change(&CRON_JOBS, &name, &field, schedule.into())
                    .await;
            }
            What::Delete => delete(&client, &name).await,
            What::Recreate => {
                delete(&client, &name).await;
                create(&client, &name, &asked).await;
            }
            _ => create(&client, &name, &asked).await,
        }
    }
}

async fn schedule(client: &Client, asked: &Asked) -> String {
    match &asked.schedule {
        Some(schedule) => schedule.clone(),
        None => client.one_of(&SCHEDULES).await.to_owned(),
    }
}

async fn delete(client: &Client, name: &str) {
    let delete = Request::new(Method::Delete, CRON_JOBS.path(NAMESPACE, name));
    client.ask(delete).await;
}

async fn create(client: &Client, name: &str, asked: &Asked) {
    let schedule = schedule(client, asked).await;
    let policy = match &asked.policy {
        Some(policy) => policy.clone(),
        None => client.one_of(&POLICIES).await.to_owned(),
    };
    let mut spec = json!({
        "schedule": schedule,
        "concurrencyPolicy": policy,
        "jobTemplate": {
            "metadata": {"labels": {"cron": name}},
            "spec": {"template": {"spec": {
                "restartPolicy": "Never", "containers": containers("image"),
            }}},
        },
    });
    let limit = client.number(asked.what.map(|_| 1), 3).await;
    spec["successfulJobsHistoryLimit"] = limit.into();
    match (asked.deadline, asked.what) {
        (Some(deadline), _) => spec["startingDeadlineSeconds"] = deadline.into(),
        (None, None) if client.rx.choose(3).await == 0 => {
            spec["startingDeadlineSeconds"] = 8.into();
        }
        _ => {}
    }
    // Times are missed until it is resumed.
    let suspended = match (asked.suspended, asked.what) {
        (None, None) => client.rx.choose(3).await == 0,
        (suspended, _) => suspended == Some(true),
    };
    if suspended {
        spec["suspend"] = true.into();
    }
    let cron_job = json!({
        "apiVersion": CRON_JOBS.api_version(),
        "kind": CRON_JOBS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    });
    let post = Request::new(Method::Post, CRON_JOBS.path(NAMESPACE, ""));
    client.ask(post.with(cron_job)).await;
}

/// One of the Jobs that have not ended does; or one is deleted.
async fn change_job(client: &Client, what: What) {
    let mut all = client.list(&JOBS).await;
    all.retain(|job| what == What::DeleteJob || !is_job_finished(job.object.json()));
    if all.is_empty() {
        return;
    }
    let job = client.one_of(&all).await;
    let path = JOBS.path(NAMESPACE, job.object.name());
    if what == What::DeleteJob {
        let options = json!({
            "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background",
        });
        return client
            .ask(Request::new(Method::Delete, path).with(options))
            .await;
    }
    let ended = ended(&job, what == What::Finish, Stamp::of(client.rx.clock()));
    let put = Request::new(Method::Put, format!("{path}/status"));
    client.ask(put.with(ended)).await;
}

/// The Job as it is when it has ended at this time.
fn ended(job: &Stored, succeeded: bool, now: Stamp) -> Json {
    let at = now.seconds();
    let kinds = match succeeded {
        true => ["SuccessCriteriaMet", "Complete"],
        false => ["FailureTarget", "Failed"],
    };
    let conditions = kinds.map(|kind| {
        json!({"type": kind, "status": "True", "lastProbeTime": at, "lastTransitionTime": at})
    });
    let mut job = job.json();
    job["status"] = match succeeded {
        true => json!({
            "startTime": at, "completionTime": at, "succeeded": 1, "conditions": conditions,
        }),
        false => json!({"startTime": at, "failed": 1, "conditions": conditions}),
    };
    job
}
