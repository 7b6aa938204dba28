//! Who uses nodes and pods in a scenario: a client that makes nodes, deletes them, takes them out of service and back; and
//! that makes pods with and without a node, some with a finalizer, lets them run, ends them, deletes them, and takes
//! finalizers away. It stands in for kubelets: pods that go end only on nodes that are in service.

use serde_json::json;
use wavetank_api::kinds::{NODES, PODS};
use wavetank_api::{Json as Object, Method, Request, Stamp, json};
use wavetank_engine::Name;

use super::controller::{OUT_OF_SERVICE, is_out_of_service};
use super::notes::AsksToDeletePod;
use wavetank_components::users::{Args, Client, NAMESPACE, Use, containers};

/// So few that they are made again.
const NODES_USED: u64 = 3;
const PODS_USED: u64 = 6;
const FINALIZER: &str = "example.com/hold";

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Register,
    Remove,
    Break,
    Mend,
    Create,
    Run,
    End,
    Delete,
    Kill,
    LetGo,
}

const ALL: [(&str, What); 10] = [
    ("register", What::Register),
    ("remove", What::Remove),
    ("break", What::Break),
    ("mend", What::Mend),
    ("create", What::Create),
    ("run", What::Run),
    ("end", What::End),
    ("delete", What::Delete),
    ("kill", What::Kill),
    ("let-go", What::LetGo),
];

/// How often each is drawn.
const DRAWN: [What; 20] = [
    What::Register,
    What::Register,
    What::Register,
    What::Remove,
    What::Break,
    What::Mend,
    What::Mend,
    What::Create,
    What::Create,
    What::Create,
    What::Create,
    What::Create,
    What::Run,
    What::Run,
    What::Run,
    What::End,
    What::End,
    What::Delete,
    What::Kill,
    What::LetGo,
];

/// How a pod is made: with a node, without one, with a finalizer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Shape {
    Plain,
    Unscheduled,
    Held,
}

const SHAPES: [(&str, Shape); 3] = [
    ("plain", Shape::Plain),
    ("unscheduled", Shape::Unscheduled),
    ("held", Shape::Held),
];

/// How a pod ends: its phase, and why.
const ENDS: [(&str, &str); 3] = [("Succeeded", ""), ("Failed", ""), ("Failed", "Evicted")];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    node: Option<String>,
    pod: Option<String>,
    shape: Option<Shape>,
}

/// Uses nodes and pods.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesNodes;

impl Use for UsesNodes {
    const ROUTINE: Name = Name::new("use-node");
    type Order = Asked;

    /// `use {what?, node?, pod?, shape?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        Ok(Asked {
            what: args.named("what", &ALL)?,
            node: args.text("node"),
            pod: args.text("pod"),
            shape: args.named("shape", &SHAPES)?,
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        match what {
            What::Register | What::Remove | What::Break | What::Mend => {
                let node = node(&client, &asked).await;
                change_node(&client, what, &node).await;
            }
            What::Create => create(&client, &asked).await,
            _ => {
                let pod = pod(&client, &asked).await;
                change_pod(&client, what, &pod).await;
            }
        }
    }
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

fn ready(client: &Client, status: &str) -> Object {
    let now = Stamp::of(client.rx.clock()).seconds();
    json!([{
        "type": "Ready", "status": status, "lastHeartbeatTime": now, "lastTransitionTime": now,
    }])
}

async fn change_node(client: &Client, what: What, name: &str) {
    let path = NODES.path("", name);
    match what {
        What::Register => {
            let node = json!({
                "apiVersion": NODES.api_version(),
                "kind": NODES.kind,
                "metadata": {"name": name},
                "status": {"conditions": ready(client, "True")},
            });
            let post = Request::new(Method::Post, NODES.path("", ""));
            client.ask(post.with(node)).await;
        }
        What::Remove => client.ask(Request::new(Method::Delete, path)).await,
        _ => {
            // A node is unready before somebody says that it is out of service, and ready after that.
            let breaks = what == What::Break;
            let status = if breaks { "Unknown" } else { "True" };
            let taint =
                json!({"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"});
            let taints = if breaks { json!([taint]) } else { json!([]) };
            match breaks {
                true => {
                    put_conditions(client, &path, status).await;
                    put_taints(client, &path, taints).await;
                }
                false => {
                    put_taints(client, &path, taints).await;
                    put_conditions(client, &path, status).await;
                }
            }
        }
    }
}

async fn put_conditions(client: &Client, path: &str, status: &str) {
    if let Ok(node) = client.object(path).await {
        let mut node = node.json();
        json::set(&mut node, &["status", "conditions"], ready(client, status));
        let put = Request::new(Method::Put, format!("{path}/status"));
        client.ask(put.with(node)).await;
    }
}

async fn put_taints(client: &Client, path: &str, taints: Object) {
    if let Ok(node) = client.object(path).await {
        let mut node = node.json();
        json::set(&mut node, &["spec", "taints"], taints);
        client.ask(Request::new(Method::Put, path).with(node)).await;
    }
}

async fn create(client: &Client, asked: &Asked) {
    let name = pod(client, asked).await;
    let shape = match asked.shape {
        Some(shape) => shape,
        None => client.one_of(&SHAPES).await.1,
    };
    let mut object = json!({
        "apiVersion": PODS.api_version(),
        "kind": PODS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"containers": containers("image")},
    });
    if shape == Shape::Held {
        object["metadata"]["finalizers"] = json!([FINALIZER]);
    }
    if shape != Shape::Unscheduled {
        object["spec"]["nodeName"] = node(client, asked).await.into();
    }
    let post = Request::new(Method::Post, PODS.path(NAMESPACE, ""));
    client.ask(post.with(object)).await;
}

/// Is the node of a pod there, and in service?
async fn has_kubelet(client: &Client, pod: &Object) -> bool {
    let node = json::text(pod, &["spec", "nodeName"]);
    if node.is_empty() {
        return false;
    }
    let found = client.object(&NODES.path("", node)).await;
    found.is_ok_and(|node| !is_out_of_service(node.object.json()))
}

async fn change_pod(client: &Client, what: What, name: &str) {
    let Some(mut pod) = client.get(&PODS, name).await else {
        return;
    };
    let path = PODS.path(NAMESPACE, name);
    match what {
        What::Run | What::End => {
            let phase = json::text(&pod, &["status", "phase"]);
            let from = match what {
                What::Run => phase == "Pending",
                _ => matches!(phase, "Pending" | "Running"),
            };
            if !from || !has_kubelet(client, &pod).await {
                return;
            }
            let (phase, reason) = match what {
                What::Run => ("Running", ""),
                _ => client.one_of(&ENDS).await,
            };
            pod["status"]["phase"] = phase.into();
            if !reason.is_empty() {
                pod["status"]["reason"] = reason.into();
            }
            let put = Request::new(Method::Put, format!("{path}/status"));
            client.ask(put.with(pod)).await;
        }
        What::Delete => delete(client, &pod, &path, None).await,
        What::Kill => {
            let goes = json::at(&pod, &["metadata", "deletionTimestamp"]).is_some();
            if goes && has_kubelet(client, &pod).await {
                delete(client, &pod, &path, Some(0)).await;
            }
        }
        _ => {
            json::set(&mut pod, &["metadata", "finalizers"], json!([]));
            client.ask(Request::new(Method::Put, path).with(pod)).await;
        }
    }
}

/// Deletes the pod that was seen, and no other of its name.
async fn delete(client: &Client, pod: &Object, path: &str, grace: Option<i64>) {
    let uid = json::text(pod, &["metadata", "uid"]);
    client.rx.note(AsksToDeletePod(uid.into()));
    let mut options = json!({
        "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid},
    });
    if let Some(grace) = grace {
        options["gracePeriodSeconds"] = grace.into();
    }
    let delete = Request::new(Method::Delete, path);
    client.ask(delete.with(options)).await;
}
