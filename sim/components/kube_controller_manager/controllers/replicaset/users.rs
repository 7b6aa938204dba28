//! Who uses sets of pods in a scenario: a client that makes, scales and deletes them, and that relabels, makes and
//! deletes pods, so that sets release and adopt them. It is the garbage collector as well: it deletes pods whose set is
//! gone, and pods that have ended.

use serde_json::{Value as Json, json};
use wavetank_api::kinds::PODS;
use wavetank_api::{Method, Reason, Request};
use wavetank_engine::Name;

use super::kind::Kind;
use crate::controller_utils::{get_controller_of, is_pod_active};
use wavetank_components::users::{Args, Client, NAMESPACE, Use};

/// So few of each kind that they are made again, and take pods from each other.
const SETS: u64 = 2;
const MOST_REPLICAS: u64 = 4;
/// In seconds.
const MIN_READY: [i64; 3] = [0, 0, 5];

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
pub(super) struct Asked {
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

/// Uses sets of these kinds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesSets {
    pub kinds: Vec<Kind>,
}

impl Use for UsesSets {
    const ROUTINE: Name = Name::new("use-replica-set");
    type Order = Asked;

    /// `use {what?, kind?, set?, replicas?, pod?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        let kinds = Kind::ALL.map(|kind| (kind.resource().kind, kind));
        Ok(Asked {
            what: args.named("what", &ALL)?,
            kind: args.named("kind", &kinds)?,
            set: args.text("set"),
            replicas: args.number("replicas"),
            pod: args.text("pod"),
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        let kind = match asked.kind {
            Some(kind) => kind,
            None if self.kinds.is_empty() => return,
            None => client.one_of(&self.kinds).await,
        };
        let set = match asked.set {
            Some(set) => set,
            None => name(kind, client.rx.choose(SETS).await),
        };
        let deed = Deed {
            kind,
            set,
            replicas: asked.replicas,
            pod: asked.pod,
        };
        act(&client, what, deed).await;
    }
}

async fn act(client: &Client, what: What, deed: Deed) {
    let of = deed.kind.resource();
    let path = of.path(NAMESPACE, &deed.set);
    match what {
        What::Create => create(client, &deed).await,
        What::Recreate => {
            client.ask(Request::new(Method::Delete, path)).await;
            create(client, &deed).await;
        }
        What::Delete => client.ask(Request::new(Method::Delete, path)).await,
        What::Scale => {
            let replicas = replicas(client, &deed).await;
            if let Some(mut set) = client.get(of, &deed.set).await {
                set["spec"]["replicas"] = replicas.into();
                let put = Request::new(Method::Put, path).with(set);
                client.ask(put).await;
            }
        }
        What::CreatePod => {
            let name = match deed.pod {
                Some(name) => json!({"name": name}),
                None => json!({"generateName": "own-"}),
            };
            let post = Request::new(Method::Post, PODS.path(NAMESPACE, ""));
            client.ask(post.with(pod(name, &deed.set))).await;
        }
        What::Relabel => relabel(client, &deed).await,
        What::DeletePod => {
            if let Some(pod) = some_pod(client, &deed).await {
                let path = PODS.path(NAMESPACE, &pod);
                client.ask(Request::new(Method::Delete, path)).await;
            }
        }
        What::Collect => collect(client).await,
    }
}

async fn replicas(client: &Client, deed: &Deed) -> i64 {
    match deed.replicas {
        Some(replicas) => replicas,
        None => client.rx.choose(MOST_REPLICAS).await as i64,
    }
}

async fn create(client: &Client, deed: &Deed) {
    let replicas = replicas(client, deed).await;
    let min_ready = match deed.replicas {
        Some(_) => 0,
        None => client.one_of(&MIN_READY).await,
    };
    let set = set(deed.kind, &deed.set, replicas, min_ready);
    let path = deed.kind.resource().path(NAMESPACE, "");
    client.ask(Request::new(Method::Post, path).with(set)).await;
}

/// The pod that was named, or one of all.
async fn some_pod(client: &Client, deed: &Deed) -> Option<String> {
    if deed.pod.is_some() {
        return deed.pod.clone();
    }
    let all = client.list(&PODS).await;
    match all.is_empty() {
        true => None,
        false => Some(client.one_of(&all).await.object.name().to_owned()),
    }
}

/// A pod gets the label by which a set selects.
async fn relabel(client: &Client, deed: &Deed) {
    let Some(name) = some_pod(client, deed).await else {
        return;
    };
    if let Some(mut pod) = client.get(&PODS, &name).await {
        pod["metadata"]["labels"]["app"] = deed.set.clone().into();
        let put = Request::new(Method::Put, PODS.path(NAMESPACE, &name));
        client.ask(put.with(pod)).await;
    }
}

/// Deletes one pod that has ended, or whose set is gone.
async fn collect(client: &Client) {
    for pod in client.list(&PODS).await {
        let object = &pod.object;
        if object.is_being_deleted() {
            continue;
        }
        let is_over = !is_pod_active(object.json());
        if is_over || is_left(client, object.json()).await {
            let path = PODS.path(NAMESPACE, object.name());
            let options = json!({
                "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": object.uid()},
            });
            let delete = Request::new(Method::Delete, path).with(options);
            return client.ask(delete).await;
        }
    }
}

/// Is its set gone?
async fn is_left(client: &Client, pod: &Json) -> bool {
    let Some(reference) = get_controller_of(pod) else {
        return false;
    };
    let mut kinds = Kind::ALL.into_iter();
    let Some(kind) = kinds.find(|kind| reference["kind"] == *kind.resource().kind) else {
        return false;
    };
    let name = reference["name"].as_str().unwrap_or_default();
    let path = kind.resource().path(NAMESPACE, name);
    match client.object(&path).await {
        Ok(set) => reference["uid"] != *set.object.uid(),
        Err(error) => error.is(Reason::NotFound),
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
