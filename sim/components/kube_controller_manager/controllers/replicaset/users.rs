//! Who uses sets of pods in a scenario: a client that makes, scales and deletes them, and that relabels, makes and
//! deletes pods, so that sets release and adopt them. It is the garbage collector as well: it deletes pods whose set is
//! gone, and pods that have ended.

use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::kinds::PODS;
use wavetank_api::{Method, Reason, Request, Resource, Stored};
use wavetank_client::RestClient;
use wavetank_engine::{Caller, Cx, Name, Outcome, Payload, Process, RoutineFuture, Rx, Task};

use super::kind::Kind;
use crate::kube_controller_manager::controller_utils::{get_controller_of, is_pod_active};
use crate::orders;

const USE: Name = Name::new("use-replica-set");
const NAMESPACE: &str = "default";
/// So few of each kind that they are made again, and take pods from each other.
const SETS: u64 = 2;
const MOST_REPLICAS: u64 = 4;
/// In seconds.
const MIN_READY: [i64; 3] = [0, 0, 5];
/// How long a request may take.
const LIMIT: Duration = Duration::from_secs(10);

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Create,
    Scale,
    Delete,
    Recreate,
    CreatePod,
    Relabel,
    DeletePod,
    Collect,
}

const ALL: [(&str, What); 8] = [
    ("create", What::Create),
    ("scale", What::Scale),
    ("delete", What::Delete),
    ("recreate", What::Recreate),
    ("create-pod", What::CreatePod),
    ("relabel", What::Relabel),
    ("delete-pod", What::DeletePod),
    ("collect", What::Collect),
];

/// How often each is drawn: sets stay long enough to be kept.
const DRAWN: [What; 12] = [
    What::Create,
    What::Create,
    What::Create,
    What::Scale,
    What::Scale,
    What::Delete,
    What::Recreate,
    What::CreatePod,
    What::Relabel,
    What::DeletePod,
    What::Collect,
    What::Collect,
];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Asked {
    what: Option<What>,
    kind: Option<Kind>,
    set: Option<String>,
    replicas: Option<i64>,
    pod: Option<String>,
}

/// What it does.
struct Deed {
    kind: Kind,
    set: String,
    replicas: Option<i64>,
    pod: Option<String>,
}

/// A user of sets of these kinds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ReplicaSetUser {
    rest: RestClient,
    kinds: Vec<Kind>,
}

/// Draws one of these; one alone is not drawn.
async fn one_of<T: Clone>(rx: Rx, all: &[T]) -> T {
    match all {
        [only] => only.clone(),
        _ => all[rx.choose(all.len() as u64).await as usize].clone(),
    }
}

impl ReplicaSetUser {
    pub fn new(rest: RestClient, kinds: Vec<Kind>) -> ReplicaSetUser {
        ReplicaSetUser { rest, kinds }
    }

    /// What becomes of a change shows in etcd.
    async fn ask(&self, rx: Rx, request: Request) {
        let _ = rx.timeout(LIMIT, self.rest.request(rx, request)).await;
    }

    async fn get(&self, rx: Rx, of: &Resource, name: &str) -> Option<Json> {
        let get = Request::new(Method::Get, of.path(NAMESPACE, name));
        let found = self.rest.object_within(rx, get, LIMIT).await.ok()?;
        Some(found.json())
    }

    async fn pods(&self, rx: Rx) -> Vec<Stored> {
        let list = Request::new(Method::Get, PODS.path(NAMESPACE, ""));
        let listed = rx.timeout(LIMIT, self.rest.list(rx, list)).await;
        listed
            .and_then(Result::ok)
            .map_or(Vec::new(), |list| list.items)
    }

    async fn work(self, rx: Rx, asked: Asked) -> Outcome {
        let what = match asked.what {
            Some(what) => what,
            None => one_of(rx, &DRAWN).await,
        };
        let kind = match asked.kind {
            Some(kind) => kind,
            None if self.kinds.is_empty() => return Outcome::Done,
            None => one_of(rx, &self.kinds).await,
        };
        let set = match asked.set {
            Some(set) => set,
            None => name(kind, rx.choose(SETS).await),
        };
        let deed = Deed {
            kind,
            set,
            replicas: asked.replicas,
            pod: asked.pod,
        };
        self.act(rx, what, deed).await;
        Outcome::Done
    }

    async fn act(&self, rx: Rx, what: What, deed: Deed) {
        let of = deed.kind.resource();
        let path = of.path(NAMESPACE, &deed.set);
        match what {
            What::Create => self.create(rx, &deed).await,
            What::Recreate => {
                self.ask(rx, Request::new(Method::Delete, path)).await;
                self.create(rx, &deed).await;
            }
            What::Delete => self.ask(rx, Request::new(Method::Delete, path)).await,
            What::Scale => {
                let replicas = self.replicas(rx, &deed).await;
                if let Some(mut set) = self.get(rx, of, &deed.set).await {
                    set["spec"]["replicas"] = replicas.into();
                    let put = Request::new(Method::Put, path).with(set);
                    self.ask(rx, put).await;
                }
            }
            What::CreatePod => {
                let name = match deed.pod {
                    Some(name) => json!({"name": name}),
                    None => json!({"generateName": "own-"}),
                };
                let post = Request::new(Method::Post, PODS.path(NAMESPACE, ""));
                self.ask(rx, post.with(pod(name, &deed.set))).await;
            }
            What::Relabel => self.relabel(rx, &deed).await,
            What::DeletePod => {
                if let Some(pod) = self.pod(rx, &deed).await {
                    let path = PODS.path(NAMESPACE, &pod);
                    self.ask(rx, Request::new(Method::Delete, path)).await;
                }
            }
            What::Collect => self.collect(rx).await,
        }
    }

    async fn replicas(&self, rx: Rx, deed: &Deed) -> i64 {
        match deed.replicas {
            Some(replicas) => replicas,
            None => rx.choose(MOST_REPLICAS).await as i64,
        }
    }

    async fn create(&self, rx: Rx, deed: &Deed) {
        let replicas = self.replicas(rx, deed).await;
        let min_ready = match deed.replicas {
            Some(_) => 0,
            None => one_of(rx, &MIN_READY).await,
        };
        let set = set(deed.kind, &deed.set, replicas, min_ready);
        let path = deed.kind.resource().path(NAMESPACE, "");
        self.ask(rx, Request::new(Method::Post, path).with(set))
            .await;
    }

    /// The pod that was named, or one of all.
    async fn pod(&self, rx: Rx, deed: &Deed) -> Option<String> {
        if deed.pod.is_some() {
            return deed.pod.clone();
        }
        let all = self.pods(rx).await;
        match all.is_empty() {
            true => None,
            false => Some(one_of(rx, &all).await.object.name().to_owned()),
        }
    }

    /// A pod gets the label by which a set selects.
    async fn relabel(&self, rx: Rx, deed: &Deed) {
        let Some(name) = self.pod(rx, deed).await else {
            return;
        };
        if let Some(mut pod) = self.get(rx, &PODS, &name).await {
            pod["metadata"]["labels"]["app"] = deed.set.clone().into();
            let put = Request::new(Method::Put, PODS.path(NAMESPACE, &name));
            self.ask(rx, put.with(pod)).await;
        }
    }

    /// Deletes one pod that has ended, or whose set is gone.
    async fn collect(&self, rx: Rx) {
        for pod in self.pods(rx).await {
            let object = &pod.object;
            if object.is_being_deleted() {
                continue;
            }
            let is_over = !is_pod_active(object.json());
            if is_over || self.is_left(rx, object.json()).await {
                let path = PODS.path(NAMESPACE, object.name());
                let options = json!({
                    "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": object.uid()},
                });
                let delete = Request::new(Method::Delete, path).with(options);
                return self.ask(rx, delete).await;
            }
        }
    }

    /// Is its set gone?
    async fn is_left(&self, rx: Rx, pod: &Json) -> bool {
        let Some(reference) = get_controller_of(pod) else {
            return false;
        };
        let mut kinds = Kind::ALL.into_iter();
        let Some(kind) = kinds.find(|kind| reference["kind"] == *kind.resource().kind) else {
            return false;
        };
        let name = reference["name"].as_str().unwrap_or_default();
        let get = Request::new(Method::Get, kind.resource().path(NAMESPACE, name));
        match self.rest.object_within(rx, get, LIMIT).await {
            Ok(set) => reference["uid"] != *set.object.uid(),
            Err(error) => error.is(Reason::NotFound),
        }
    }
}

/// The name of a set, and its label.
fn name(kind: Kind, number: u64) -> String {
    match kind {
        Kind::ReplicaSet => format!("rs{number}"),
        Kind::ReplicationController => format!("rc{number}"),
    }
}

fn pod_spec() -> Json {
    json!({"containers": [{"name": "main", "image": "image"}]})
}

fn pod(mut metadata: Json, app: &str) -> Json {
    metadata["namespace"] = NAMESPACE.into();
    metadata["labels"] = json!({ "app": app });
    json!({
        "apiVersion": PODS.api_version(),
        "kind": PODS.kind,
        "metadata": metadata,
        "spec": pod_spec(),
    })
}

fn set(kind: Kind, name: &str, replicas: i64, min_ready: i64) -> Json {
    let labels = json!({ "app": name });
    let selector = match kind {
        Kind::ReplicaSet => json!({ "matchLabels": labels }),
        Kind::ReplicationController => labels.clone(),
    };
    json!({
        "apiVersion": kind.resource().api_version(),
        "kind": kind.resource().kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas,
            "minReadySeconds": min_ready,
            "selector": selector,
            "template": {"metadata": {"labels": labels}, "spec": pod_spec()},
        },
    })
}

impl Process for ReplicaSetUser {
    fn boot(&mut self, _: &mut Cx<'_>) {}

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks a client: {body:?}");
    }

    /// `use {what?, kind?, set?, replicas?, pod?}`: does this; what is not said is drawn.
    fn command(&mut self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        if what != "use" {
            return Err(format!("knows `use`, not `{what}`"));
        }
        let kinds = Kind::ALL.map(|kind| (kind.resource().kind, kind));
        let text = |field: &str| args[field].as_str().map(str::to_owned);
        let asked = Asked {
            what: orders::named(args, "what", &ALL)?,
            kind: orders::named(args, "kind", &kinds)?,
            set: text("set"),
            replicas: args["replicas"].as_i64(),
            pod: text("pod"),
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
