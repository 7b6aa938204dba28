//! Who uses taints in a scenario: a client that makes pods on nodes with tolerations of each kind, makes them ready, changes how
//! long they tolerate a taint, and deletes them and makes them again; and that taints, cordons and deletes nodes. It stands in
//! for kubelets: pods become ready and end only on nodes that are ready.

use serde_json::{Value as Json, json};
use wavetank_api::kinds::{NODES, PODS};
use wavetank_api::{Json as Object, Method, Request, Stamp, json};
use wavetank_engine::Name;

use super::notes::AsksToDelete;
use super::tolerations::tolerations;
use wavetank_components::users::{Args, Client, NAMESPACE, Use, containers};

/// So few that they are made again.
const NODES_USED: u64 = 4;
const PODS_USED: u64 = 8;
/// What a node is tainted with.
const KEY: &str = "example.com/maintenance";
/// How long a taint is tolerated from now on, in seconds.
const SECONDS: [i64; 3] = [3, 30, 90];

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Create,
    Run,
    Tolerate,
    Delete,
    Kill,
    Replace,
    Taint,
    Untaint,
    Cordon,
    Remove,
}

const ALL: [(&str, What); 10] = [
    ("create", What::Create),
    ("run", What::Run),
    ("tolerate", What::Tolerate),
    ("delete", What::Delete),
    ("kill", What::Kill),
    ("replace", What::Replace),
    ("taint", What::Taint),
    ("untaint", What::Untaint),
    ("cordon", What::Cordon),
    ("remove", What::Remove),
];

/// How often each is drawn. Kubelets end pods that go within some seconds, nodes keep their taints for longer, and one that was
/// removed is back only when its kubelet begins anew.
const DRAWN: [(u64, What); 10] = [
    (40, What::Create),
    (40, What::Run),
    (8, What::Tolerate),
    (8, What::Delete),
    (40, What::Kill),
    (8, What::Replace),
    (4, What::Taint),
    (4, What::Untaint),
    (3, What::Cordon),
    (1, What::Remove),
];

/// What a pod tolerates: nothing but what all pods do, all for a while, each taint for another while, or all for ever.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Tolerates {
    Nothing,
    Briefly,
    Unequally,
    Everything,
}

const TOLERATES: [(&str, Tolerates); 4] = [
    ("nothing", Tolerates::Nothing),
    ("briefly", Tolerates::Briefly),
    ("unequally", Tolerates::Unequally),
    ("everything", Tolerates::Everything),
];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    node: Option<String>,
    pod: Option<String>,
    tolerates: Option<Tolerates>,
    seconds: Option<i64>,
}

/// Uses taints.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesTaints;

impl Use for UsesTaints {
    const ROUTINE: Name = Name::new("use-taint");
    type Order = Asked;

    /// `use {what?, node?, pod?, tolerates?, seconds?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        Ok(Asked {
            what: args.named("what", &ALL)?,
            node: args.text("node"),
            pod: args.text("pod"),
            tolerates: args.named("tolerates", &TOLERATES)?,
            seconds: args.number("seconds"),
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => drawn(&client).await,
        };
        match what {
            What::Create => {
                let name = pod(&client, &asked).await;
                let node = node(&client, &asked).await;
                create(&client, &name, &node, asked.tolerates).await;
            }
            What::Replace => replace(&client, &asked).await,
            What::Taint | What::Untaint | What::Cordon | What::Remove => {
                let node = node(&client, &asked).await;
                change_node(&client, what, &node).await;
            }
            _ => {
                let pod = pod(&client, &asked).await;
                change_pod(&client, what, &pod, asked.seconds).await;
            }
        }
    }
}

async fn drawn(client: &Client) -> What {
    let sum = DRAWN.iter().map(|(often, _)| often).sum();
    let mut left = client.rx.choose(sum).await;
    let mut all = DRAWN.iter();
    let found = all.find(|(often, _)| match left.checked_sub(*often) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    });
    found.expect("it is less than the sum").1
}

async fn node(client: &Client, asked: &Asked) -> String {
    match &asked.node {
        Some(node) => node.clone(),
        None => format!("n{}", client.rx.choose(NODES_USED).await + 1),
    }
}

async fn pod(client: &Client, asked: &Asked) -> String {
    match &asked.pod {
        Some(pod) => pod.clone(),
        None => format!("pod{}", client.rx.choose(PODS_USED).await),
    }
}

/// The tolerations of a pod. Those that all pods get come with admission.
fn tolerations_of(tolerates: Tolerates) -> Object {
    const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
    const NOT_READY: &str = "node.kubernetes.io/not-ready";
    let of = |key: &str, seconds: i64| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
    match tolerates {
        Tolerates::Nothing => json!([]),
        Tolerates::Briefly => json!([of(UNREACHABLE, 10), of(NOT_READY, 10), of(KEY, 10)]),
        Tolerates::Unequally => json!([of(UNREACHABLE, 5), of(NOT_READY, 40), of(KEY, 20)]),
        Tolerates::Everything => json!([{"operator": "Exists"}]),
    }
}

async fn create(client: &Client, name: &str, node: &str, tolerates: Option<Tolerates>) {
    let tolerates = match tolerates {
        Some(tolerates) => tolerates,
        None => client.one_of(&TOLERATES).await.1,
    };
    let object = json!({
        "apiVersion": PODS.api_version(),
        "kind": PODS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "containers": containers("image"),
            "nodeName": node,
            "tolerations": tolerations_of(tolerates),
        },
    });
    let post = Request::new(Method::Post, PODS.path(NAMESPACE, ""));
    client.ask(post.with(object)).await;
}

/// Deletes a pod at once, and makes another one of its name on its node (`kubectl replace --force`).
async fn replace(client: &Client, asked: &Asked) {
    let name = pod(client, asked).await;
    let Some(old) = client.get(&PODS, &name).await else {
        return;
    };
    delete(client, &old, &PODS.path(NAMESPACE, &name), Some(0)).await;
    let node = json::text(&old, &["spec", "nodeName"]);
    create(client, &name, node, asked.tolerates).await;
}

async fn change_node(client: &Client, what: What, name: &str) {
    let path = NODES.path("", name);
    if what == What::Remove {
        return client.ask(Request::new(Method::Delete, path)).await;
    }
    let Ok(node) = client.object(&path).await else {
        return;
    };
    let mut node = node.json();
    if what == What::Cordon {
        let was = json::at(&node, &["spec", "unschedulable"]) == Some(&Json::Bool(true));
        json::set(&mut node, &["spec", "unschedulable"], !was);
    } else {
        let mut taints = json::list(&node, &["spec", "taints"]).to_vec();
        taints.retain(|own| own["key"] != KEY);
        if what == What::Taint {
            let now = Stamp::of(client.rx.clock()).seconds();
            taints.push(json!({"key": KEY, "effect": "NoExecute", "timeAdded": now}));
        }
        json::set(&mut node, &["spec", "taints"], taints);
    }
    client.ask(Request::new(Method::Put, path).with(node)).await;
}

/// Is the node of a pod there, and ready?
async fn has_kubelet(client: &Client, pod: &Object) -> bool {
    let node = json::text(pod, &["spec", "nodeName"]);
    let found = client.object(&NODES.path("", node)).await;
    found.is_ok_and(|node| {
        let conditions = json::list(node.object.json(), &["status", "conditions"]);
        let mut ready = conditions.iter().filter(|own| own["type"] == "Ready");
        ready.any(|own| own["status"] == "True")
    })
}

async fn change_pod(client: &Client, what: What, name: &str, seconds: Option<i64>) {
    let Some(mut pod) = client.get(&PODS, name).await else {
        return;
    };
    let path = PODS.path(NAMESPACE, name);
    let goes = json::at(&pod, &["metadata", "deletionTimestamp"]).is_some();
    match what {
        What::Run => {
            if goes || !has_kubelet(client, &pod).await {
                return;
            }
            let mut conditions = json::list(&pod, &["status", "conditions"]).to_vec();
            conditions.retain(|own| own["type"] != "Ready");
            let now = Stamp::of(client.rx.clock()).seconds();
            conditions.push(json!({"type": "Ready", "status": "True", "lastTransitionTime": now}));
            pod["status"]["phase"] = "Running".into();
            pod["status"]["conditions"] = conditions.into();
            let put = Request::new(Method::Put, format!("{path}/status"));
            client.ask(put.with(pod)).await;
        }
        What::Tolerate => {
            let seconds = match seconds {
                Some(seconds) => seconds,
                None => client.one_of(&SECONDS).await,
            };
            let mut all = tolerations(&pod).to_vec();
            for own in &mut all {
                if !own["tolerationSeconds"].is_null() {
                    own["tolerationSeconds"] = seconds.into();
                }
            }
            json::set(&mut pod, &["spec", "tolerations"], all);
            client.ask(Request::new(Method::Put, path).with(pod)).await;
        }
        What::Delete => delete(client, &pod, &path, None).await,
        _ => {
            if goes && has_kubelet(client, &pod).await {
                delete(client, &pod, &path, Some(0)).await;
            }
        }
    }
}

/// Deletes the pod that was seen, and no other of its name.
async fn delete(client: &Client, pod: &Object, path: &str, grace: Option<i64>) {
    let uid = json::text(pod, &["metadata", "uid"]);
    client.rx.note(AsksToDelete(uid.into()));
    let mut options = json!({
        "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid},
    });
    if let Some(grace) = grace {
        options["gracePeriodSeconds"] = grace.into();
    }
    let delete = Request::new(Method::Delete, path);
    client.ask(delete.with(options)).await;
}
