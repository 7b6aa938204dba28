//! Who uses Jobs in a scenario: a client that makes Jobs, finishes them as the Job controller would, changes their TTL,
//! and makes them again under the same name. It is the garbage collector as well, for no other looks after Jobs that
//! are being deleted in the foreground: a Job has no pods here, so it may go at once.

use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::kinds::JOBS;
use wavetank_api::kinds::jobs::is_job_finished;
use wavetank_api::{Method, Request, Stamp};
use wavetank_client::RestClient;
use wavetank_engine::{Caller, Cx, Name, Outcome, Payload, Process, RoutineFuture, Rx, Task};

use crate::orders;

const USE: Name = Name::new("use-job");
const NAMESPACE: &str = "default";
/// So few that they are made again.
const JOBS_USED: u64 = 3;
/// In seconds.
const TTLS: [i64; 3] = [3, 10, 30];
/// How long a request may take.
const LIMIT: Duration = Duration::from_secs(10);

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
struct Asked {
    what: Option<What>,
    job: Option<String>,
    ttl: Option<i64>,
}

/// A user of Jobs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct JobUser {
    rest: RestClient,
}

impl JobUser {
    pub fn new(rest: RestClient) -> JobUser {
        JobUser { rest }
    }

    /// What becomes of a change shows in etcd.
    async fn ask(&self, rx: Rx, request: Request) {
        let _ = rx.timeout(LIMIT, self.rest.request(rx, request)).await;
    }

    async fn get(&self, rx: Rx, name: &str) -> Option<Json> {
        let get = Request::new(Method::Get, JOBS.path(NAMESPACE, name));
        let found = self.rest.object_within(rx, get, LIMIT).await.ok()?;
        Some(found.json())
    }

    async fn create(&self, rx: Rx, name: &str, ttl: i64) {
        let post = Request::new(Method::Post, JOBS.path(NAMESPACE, ""));
        self.ask(rx, post.with(job(name, ttl))).await;
    }

    async fn work(self, rx: Rx, asked: Asked) -> Outcome {
        let what = match asked.what {
            Some(what) => what,
            None => ALL[rx.choose(ALL.len() as u64).await as usize].1,
        };
        let name = match asked.job {
            Some(name) => name,
            None => format!("job{}", rx.choose(JOBS_USED).await),
        };
        let ttl = match (asked.ttl, what) {
            (Some(ttl), _) => ttl,
            (None, What::Finish | What::Collect) => 0,
            (None, _) => TTLS[rx.choose(TTLS.len() as u64).await as usize],
        };
        let path = JOBS.path(NAMESPACE, &name);
        match what {
            What::Create => self.create(rx, &name, ttl).await,
            What::Recreate => {
                self.ask(rx, Request::new(Method::Delete, path)).await;
                self.create(rx, &name, ttl).await;
            }
            What::SetTtl => {
                if let Some(mut job) = self.get(rx, &name).await {
                    job["spec"]["ttlSecondsAfterFinished"] = ttl.into();
                    self.ask(rx, Request::new(Method::Put, path).with(job))
                        .await;
                }
            }
            What::Finish => {
                let found = self.get(rx, &name).await;
                if let Some(mut job) = found.filter(|job| !is_job_finished(job)) {
                    job["status"] = finished(&Stamp::of(rx.clock()).seconds());
                    let path = format!("{path}/status");
                    self.ask(rx, Request::new(Method::Put, path).with(job))
                        .await;
                }
            }
            What::Collect => {
                let found = self.get(rx, &name).await;
                let gone = |job: &Json| !job["metadata"]["deletionTimestamp"].is_null();
                if let Some(mut job) = found.filter(gone) {
                    job["metadata"]["finalizers"] = json!([]);
                    self.ask(rx, Request::new(Method::Put, path).with(job))
                        .await;
                }
            }
        }
        Outcome::Done
    }
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

impl Process for JobUser {
    fn boot(&mut self, _: &mut Cx<'_>) {}

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks a client: {body:?}");
    }

    /// `use {what?, job?, ttl?}`: does this to this Job; what is not said is drawn.
    fn command(&mut self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        if what != "use" {
            return Err(format!("knows `use`, not `{what}`"));
        }
        let asked = Asked {
            what: orders::named(args, "what", &ALL)?,
            job: args["job"].as_str().map(str::to_owned),
            ttl: args["ttl"].as_i64(),
        };
        cx.spawn(Task::new(USE, asked));
        Ok(())
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        let asked = task.args::<Asked>().clone();
        Box::pin(self.clone().work(Rx::new(), asked))
    }
}
