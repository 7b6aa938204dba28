//! Who uses Jobs in a scenario: a client that makes Jobs of all kinds, suspends, resumes, scales and deletes them with and
//! without their pods, and makes them anew; and that deletes, evicts and relabels pods.

use serde_json::json;
use wavetank_api::kinds::{JOBS, PODS};
use wavetank_api::{Method, Request, Stamp};
use wavetank_engine::Name;

use super::shapes::{SHAPES, Shape, spec_of};
use wavetank_components::users::{Args, Client, NAMESPACE, Use};

/// So few that they are made again.
const JOBS_USED: u64 = 3;

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Create,
    Recreate,
    Delete,
    Orphan,
    Suspend,
    Resume,
    Scale,
    DeletePod,
    Evict,
    Relabel,
}

const ALL: [(&str, What); 10] = [
    ("create", What::Create),
    ("recreate", What::Recreate),
    ("delete", What::Delete),
    ("orphan", What::Orphan),
    ("suspend", What::Suspend),
    ("resume", What::Resume),
    ("scale", What::Scale),
    ("delete-pod", What::DeletePod),
    ("evict", What::Evict),
    ("relabel", What::Relabel),
];

/// How often each is drawn.
const DRAWN: [What; 20] = [
    What::Create,
    What::Create,
    What::Create,
    What::Recreate,
    What::Recreate,
    What::Recreate,
    What::Recreate,
    What::Recreate,
    What::Delete,
    What::Orphan,
    What::Suspend,
    What::Suspend,
    What::Resume,
    What::Resume,
    What::Scale,
    What::DeletePod,
    What::DeletePod,
    What::Evict,
    What::Evict,
    What::Relabel,
];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    job: Option<String>,
    shape: Option<Shape>,
    parallelism: Option<i64>,
    pod: Option<String>,
}

/// Uses Jobs.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesBatchJobs;

impl Use for UsesBatchJobs {
    const ROUTINE: Name = Name::new("use-batch-job");
    type Order = Asked;

    /// `use {what?, job?, shape?, parallelism?, pod?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        Ok(Asked {
            what: args.named("what", &ALL)?,
            job: args.text("job"),
            shape: args.named("shape", &SHAPES)?,
            parallelism: args.number("parallelism"),
            pod: args.text("pod"),
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        match what {
            What::DeletePod | What::Evict | What::Relabel => {
                change_pod(&client, what, &asked).await;
            }
            _ => {
                let name = match &asked.job {
                    Some(name) => name.clone(),
                    None => format!("batch{}", client.rx.choose(JOBS_USED).await),
                };
                act(&client, what, &name, &asked).await;
            }
        }
    }
}

async fn act(client: &Client, what: What, name: &str, asked: &Asked) {
    match what {
        What::Suspend | What::Resume => {
            let suspend = what == What::Suspend;
            let field = ["spec", "suspend"];
            client.change(&JOBS, name, &field, suspend.into()).await;
        }
        What::Scale => {
            let parallelism = match asked.parallelism {
                Some(parallelism) => parallelism,
                None => client.rx.choose(3).await as i64 + 1,
            };
            let field = ["spec", "parallelism"];
            client.change(&JOBS, name, &field, parallelism.into()).await;
        }
        What::Delete => delete(client, name, "Background").await,
        What::Orphan => delete(client, name, "Orphan").await,
        What::Recreate => {
            delete(client, name, "Background").await;
            create(client, name, asked).await;
        }
        _ => create(client, name, asked).await,
    }
}

/// Says what becomes of its pods: without that they would be left alone.
async fn delete(client: &Client, name: &str, propagation: &str) {
    let options = json!({
        "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation,
    });
    let delete = Request::new(Method::Delete, JOBS.path(NAMESPACE, name));
    client.ask(delete.with(options)).await;
}

async fn create(client: &Client, name: &str, asked: &Asked) {
    let shape = match asked.shape {
        Some(shape) => shape,
        None => client.one_of(&SHAPES).await.1,
    };
    let job = json!({
        "apiVersion": JOBS.api_version(),
        "kind": JOBS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec_of(shape, name),
    });
    let post = Request::new(Method::Post, JOBS.path(NAMESPACE, ""));
    client.ask(post.with(job)).await;
}

/// Of the pod that was named, or of one of those that have not ended.
async fn change_pod(client: &Client, what: What, asked: &Asked) {
    let name = match &asked.pod {
        Some(name) => name.clone(),
        None => {
            let mut all = client.list(&PODS).await;
            all.retain(|pod| {
                let phase = &pod.object.json()["status"]["phase"];
                *phase != "Succeeded" && *phase != "Failed"
            });
            if all.is_empty() {
                return;
            }
            client.one_of(&all).await.object.name().to_owned()
        }
    };
    let path = PODS.path(NAMESPACE, &name);
    match what {
        What::Relabel => relabel(client, &name, &path).await,
        What::Evict => {
            disrupt(client, &name, &path).await;
            client.ask(Request::new(Method::Delete, path)).await;
        }
        _ => client.ask(Request::new(Method::Delete, path)).await,
    }
}

/// Takes a pod away from its Job, unless it has ended: then its Job could not count it.
async fn relabel(client: &Client, name: &str, path: &str) {
    let Some(mut pod) = client.get(&PODS, name).await else {
        return;
    };
    let phase = &pod["status"]["phase"];
    if *phase == "Succeeded" || *phase == "Failed" {
        return;
    }
    pod["metadata"]["labels"] = json!({"app": "nobody"});
    client.ask(Request::new(Method::Put, path).with(pod)).await;
}

/// Says of a pod that it is about to be evicted, as the eviction API does.
async fn disrupt(client: &Client, name: &str, path: &str) {
    let Some(mut pod) = client.get(&PODS, name).await else {
        return;
    };
    let condition = json!({
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "lastTransitionTime": Stamp::of(client.rx.clock()).seconds(),
    });
    let conditions = pod["status"]["conditions"].as_array().cloned();
    let mut conditions = conditions.unwrap_or_default();
    conditions.push(condition);
    pod["status"]["conditions"] = conditions.into();
    let put = Request::new(Method::Put, format!("{path}/status"));
    client.ask(put.with(pod)).await;
}
