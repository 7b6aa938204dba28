//! Who uses Jobs in a scenario: a client that makes Jobs, finishes them as the Job controller would, changes their TTL,
//! and makes them again under the same name. It is the garbage collector as well, for no other looks after Jobs that
//! are being deleted in the foreground: a Job has no pods here, so it may go at once.

use serde_json::{Value as Json, json};
use wavetank_api::kinds::JOBS;
use wavetank_api::kinds::jobs::is_job_finished;
use wavetank_api::{Method, Request, Stamp};
use wavetank_engine::Name;

use wavetank_components::users::{Args, Client, NAMESPACE, Use};

/// So few that they are made again.
const JOBS_USED: u64 = 3;
/// In seconds.
const TTLS: [i64; 3] = [3, 10, 30];

/// What is done to a Job.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Create,
    Finish,
    SetTtl,
    Recreate,
    Collect,
}

const ALL: [(&str, What); 5] = [
    ("create", What::Create),
    ("finish", What::Finish),
    ("set-ttl", What::SetTtl),
    ("recreate", What::Recreate),
    ("collect", What::Collect),
];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    job: Option<String>,
    ttl: Option<i64>,
}

/// Uses Jobs.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesJobs;

impl Use for UsesJobs {
    const ROUTINE: Name = Name::new("use-job");
    type Order = Asked;

    /// `use {what?, job?, ttl?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        Ok(Asked {
            what: args.named("what", &ALL)?,
            job: args.text("job"),
            ttl: args.number("ttl"),
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => ALL[client.rx.choose(ALL.len() as u64).await as usize].1,
        };
        let name = match asked.job {
            Some(name) => name,
            None => format!("job{}", client.rx.choose(JOBS_USED).await),
        };
        let ttl = match (asked.ttl, what) {
            (Some(ttl), _) => ttl,
            (None, What::Finish | What::Collect) => 0,
            (None, _) => TTLS[client.rx.choose(TTLS.len() as u64).await as usize],
        };
        let path = JOBS.path(NAMESPACE, &name);
        match what {
            What::Create => create(&client, &name, ttl).await,
            What::Recreate => {
                client.ask(Request::new(Method::Delete, path)).await;
                create(&client, &name, ttl).await;
            }
            What::SetTtl => {
                if let Some(mut job) = client.get(&JOBS, &name).await {
                    job["spec"]["ttlSecondsAfterFinished"] = ttl.into();
                    client.ask(Request::new(Method::Put, path).with(job)).await;
                }
            }
            What::Finish => {
                let found = client.get(&JOBS, &name).await;
                if let Some(mut job) = found.filter(|job| !is_job_finished(job)) {
                    job["status"] = finished(&Stamp::of(client.rx.clock()).seconds());
                    let path = format!("{path}/status");
                    client.ask(Request::new(Method::Put, path).with(job)).await;
                }
            }
            What::Collect => {
                let found = client.get(&JOBS, &name).await;
                let gone = |job: &Json| !job["metadata"]["deletionTimestamp"].is_null();
                if let Some(mut job) = found.filter(gone) {
                    job["metadata"]["finalizers"] = json!([]);
                    client.ask(Request::new(Method::Put, path).with(job)).await;
                }
            }
        }
    }
}

async fn create(client: &Client, name: &str, ttl: i64) {
    let post = Request::new(Method::Post, JOBS.path(NAMESPACE, ""));
    client.ask(post.with(job(name, ttl))).await;
}

fn job(name: &str, ttl: i64) -> Json {
    let container = json!({"name": "main", "image": "image"});
    json!({
        "apiVersion": JOBS.api_version(),
        "kind": JOBS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "ttlSecondsAfterFinished": ttl,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    })
}

/// The status of a Job that was complete at this time.
fn finished(at: &str) -> Json {
    let conditions = ["SuccessCriteriaMet", "Complete"];
    let conditions = conditions.map(|kind| {
        json!({"type": kind, "status": "True", "lastProbeTime": at, "lastTransitionTime": at})
    });
    json!({"startTime": at, "completionTime": at, "succeeded": 1, "conditions": conditions})
}
