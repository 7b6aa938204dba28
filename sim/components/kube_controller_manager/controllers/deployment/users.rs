//! Who uses Deployments in a scenario: a client that makes them, changes their templates, scales, pauses and resumes them,
//! and makes them anew under the same name. Some templates never become ready.

use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::kinds::DEPLOYMENTS;
use wavetank_api::{Method, Request};
use wavetank_client::RestClient;
use wavetank_engine::{Caller, Cx, Name, Outcome, Payload, Process, RoutineFuture, Rx, Task};

use crate::orders;

const USE: Name = Name::new("use-deployment");
const NAMESPACE: &str = "default";
/// So few that they are made again.
const DEPLOYMENTS_USED: u64 = 2;
const MOST_REPLICAS: u64 = 5;
/// Of so many templates one is drawn; rollouts go back to one that was there before.
const IMAGES: u64 = 4;
/// In seconds: short, so that rollouts that stand still are told of in time.
const DEADLINE: i64 = 60;
const HISTORY: i64 = 2;
/// How long a request may take.
const LIMIT: Duration = Duration::from_secs(10);

/// What is done to a Deployment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Create,
    RollOut,
    Scale,
    Pause,
    Resume,
    Recreate,
}

const ALL: [(&str, What); 6] = [
    ("create", What::Create),
    ("roll-out", What::RollOut),
    ("scale", What::Scale),
    ("pause", What::Pause),
    ("resume", What::Resume),
    ("recreate", What::Recreate),
];

/// How often each is drawn.
const DRAWN: [What; 10] = [
    What::Create,
    What::Create,
    What::RollOut,
    What::RollOut,
    What::RollOut,
    What::Scale,
    What::Pause,
    What::Resume,
    What::Resume,
    What::Recreate,
];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Asked {
    what: Option<What>,
    deployment: Option<String>,
    replicas: Option<i64>,
    image: Option<String>,
    strategy: Option<String>,
}

/// A user of Deployments.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct DeploymentUser {
    rest: RestClient,
}

impl DeploymentUser {
    pub fn new(rest: RestClient) -> DeploymentUser {
        DeploymentUser { rest }
    }

    /// What becomes of a change shows in etcd.
    async fn ask(&self, rx: Rx, request: Request) {
        let _ = rx.timeout(LIMIT, self.rest.request(rx, request)).await;
    }

    async fn work(self, rx: Rx, asked: Asked) -> Outcome {
        let what = match asked.what {
            Some(what) => what,
            None => DRAWN[rx.choose(DRAWN.len() as u64).await as usize],
        };
        let name = match &asked.deployment {
            Some(name) => name.clone(),
            None => format!("web{}", rx.choose(DEPLOYMENTS_USED).await),
        };
        let path = DEPLOYMENTS.path(NAMESPACE, &name);
        match what {
            What::Create => self.create(rx, &name, &asked).await,
            What::Recreate => {
                self.ask(rx, Request::new(Method::Delete, path)).await;
                self.create(rx, &name, &asked).await;
            }
            What::RollOut => {
                let image = image(rx, &asked).await;
                let container = json!([{"name": "main", "image": image}]);
                let change = ["spec", "template", "spec", "containers"];
                self.change(rx, &path, &change, container).await;
            }
            What::Scale => {
                let replicas = replicas(rx, &asked).await;
                let change = ["spec", "replicas"];
                self.change(rx, &path, &change, replicas.into()).await;
            }
            What::Pause | What::Resume => {
                let paused = (what == What::Pause).into();
                self.change(rx, &path, &["spec", "paused"], paused).await;
            }
        }
        Outcome::Done
    }

    /// Reads it, and writes it with one field changed.
    async fn change(&self, rx: Rx, path: &str, field: &[&str], value: Json) {
        let get = Request::new(Method::Get, path);
        let Ok(found) = self.rest.object_within(rx, get, LIMIT).await else {
            return;
        };
        let mut deployment = found.json();
        wavetank_api::json::set(&mut deployment, field, value);
        let put = Request::new(Method::Put, path).with(deployment);
        self.ask(rx, put).await;
    }

    async fn create(&self, rx: Rx, name: &str, asked: &Asked) {
        let replicas = replicas(rx, asked).await;
        let image = image(rx, asked).await;
        let strategy = match &asked.strategy {
            Some(strategy) => strategy.clone(),
            None if rx.choose(3).await == 1 => "Recreate".to_owned(),
            None => "RollingUpdate".to_owned(),
        };
        let labels = json!({ "app": name });
        let deployment = json!({
            "apiVersion": DEPLOYMENTS.api_version(),
            "kind": DEPLOYMENTS.kind,
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "replicas": replicas,
                "strategy": {"type": strategy},
                "progressDeadlineSeconds": DEADLINE,
                "revisionHistoryLimit": HISTORY,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "main", "image": image}]},
                },
            },
        });
        let post = Request::new(Method::Post, DEPLOYMENTS.path(NAMESPACE, ""));
        self.ask(rx, post.with(deployment)).await;
    }
}

async fn replicas(rx: Rx, asked: &Asked) -> i64 {
    match asked.replicas {
        Some(replicas) => replicas,
        None => rx.choose(MOST_REPLICAS).await as i64,
    }
}

/// The last one never becomes ready.
async fn image(rx: Rx, asked: &Asked) -> String {
    match &asked.image {
        Some(image) => image.clone(),
        None => match rx.choose(IMAGES).await + 1 {
            IMAGES => crate::pod_runners::NEVER_READY.to_owned(),
            version => format!("image:{version}"),
        },
    }
}

impl Process for DeploymentUser {
    fn boot(&mut self, _: &mut Cx<'_>) {}

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks a client: {body:?}");
    }

    /// `use {what?, deployment?, replicas?, image?, strategy?}`: does this; what is not said is drawn.
    fn command(&mut self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        if what != "use" {
            return Err(format!("knows `use`, not `{what}`"));
        }
        let text = |field: &str| args[field].as_str().map(str::to_owned);
        let asked = Asked {
            what: orders::named(args, "what", &ALL)?,
            deployment: text("deployment"),
            replicas: args["replicas"].as_i64(),
            image: text("image"),
            strategy: text("strategy"),
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
