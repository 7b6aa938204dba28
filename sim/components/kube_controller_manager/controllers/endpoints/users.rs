//! Who uses Services in a scenario: a client that makes, changes and deletes them, and is scheduler and kubelet of the pods
//! behind them: these run from the beginning, become ready and unready, change their labels, go and end. A pod that is made
//! again has the address that it had. Where there are EndpointSlices they are changed, deleted and handed over, too.

use serde_json::{Value as Json, json};
use wavetank_api::kinds::{ENDPOINTS, PODS, SERVICES};
use wavetank_api::{Method, Request, Stamp, json};
use wavetank_engine::Name;

use super::super::endpointslice;
use super::controller::IS_HEADLESS;
use crate::endpoint_utils::{CLUSTER_IP_NONE, SliceAct, act_on_slice};
use wavetank_components::users::{Args, Client, NAMESPACE, Use};

/// So few that they are made again, and take pods from each other.
const SERVICES_USED: u64 = 2;
const PODS_USED: u64 = 4;

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Create,
    Change,
    Delete,
    Recreate,
    DeleteEndpoints,
    CreatePod,
    Ready,
    Unready,
    Relabel,
    DeletePod,
    EndPod,
    ChangeSlice,
    DeleteSlice,
    TakeSlice,
}

const ALL: [(&str, What); 14] = [
    ("create", What::Create),
    ("change", What::Change),
    ("delete", What::Delete),
    ("recreate", What::Recreate),
    ("delete-endpoints", What::DeleteEndpoints),
    ("create-pod", What::CreatePod),
    ("ready", What::Ready),
    ("unready", What::Unready),
    ("relabel", What::Relabel),
    ("delete-pod", What::DeletePod),
    ("end-pod", What::EndPod),
    ("change-slice", What::ChangeSlice),
    ("delete-slice", What::DeleteSlice),
    ("take-slice", What::TakeSlice),
];

/// How often each is drawn: Services stay long enough to have pods.
const DRAWN: [What; 16] = [
    What::Create,
    What::Create,
    What::Change,
    What::Delete,
    What::Recreate,
    What::DeleteEndpoints,
    What::CreatePod,
    What::CreatePod,
    What::CreatePod,
    What::Ready,
    What::Ready,
    What::Ready,
    What::Unready,
    What::Relabel,
    What::DeletePod,
    What::EndPod,
];

/// Of so many times one is about a slice.
const SLICE_IN: u64 = 6;
const OF_SLICES: [What; 3] = [What::ChangeSlice, What::DeleteSlice, What::TakeSlice];

/// What is special of a Service; most have nothing.
const KINDS: [&str; 6] = ["", "", "ports", "publish", "label", "external"];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    service: Option<String>,
    pod: Option<String>,
    kind: Option<String>,
}

/// Uses Services.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesServices {
    /// Are there EndpointSlices?
    pub slices: bool,
}

impl Use for UsesServices {
    const ROUTINE: Name = Name::new("use-service");
    type Order = Asked;

    /// `use {what?, service?, pod?, kind?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        let kinds = KINDS.map(|kind| (kind, kind));
        Ok(Asked {
            what: args.named("what", &ALL)?,
            service: args.text("service"),
            pod: args.text("pod"),
            kind: args.named("kind", &kinds)?.map(str::to_owned),
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None if self.slices && client.rx.choose(SLICE_IN).await == 0 => {
                client.one_of(&OF_SLICES).await
            }
            None => client.one_of(&DRAWN).await,
        };
        let service = match &asked.service {
            Some(service) => service.clone(),
            None => format!("web{}", client.rx.choose(SERVICES_USED).await),
        };
        let is_of_pods = matches!(
            what,
            What::CreatePod
                | What::Ready
                | What::Unready
                | What::Relabel
                | What::DeletePod
                | What::EndPod
        );
        let pod = match asked.pod {
            Some(pod) => pod,
            None if is_of_pods => format!("pod{}", client.rx.choose(PODS_USED).await),
            None => String::new(),
        };
        if is_of_pods {
            act_on_pod(&client, what, &service, &pod).await;
        } else if OF_SLICES.contains(&what) {
            let act = match what {
                What::DeleteSlice => SliceAct::Delete,
                What::TakeSlice => SliceAct::Take,
                _ => SliceAct::Change,
            };
            act_on_slice(&client, act, endpointslice::MANAGER, &service).await;
        } else {
            act_on_service(&client, what, &service, asked.kind).await;
        }
    }
}

async fn act_on_service(client: &Client, what: What, name: &str, kind: Option<String>) {
    let path = SERVICES.path(NAMESPACE, name);
    match what {
        What::Delete => client.ask(Request::new(Method::Delete, path)).await,
        What::DeleteEndpoints => {
            let path = ENDPOINTS.path(NAMESPACE, name);
            client.ask(Request::new(Method::Delete, path)).await;
        }
        What::Change => {
            let wanted = service(name, &kind_of(client, kind).await);
            if let Some(mut now) = client.get(&SERVICES, name).await {
                for part in ["spec", "metadata"] {
                    for field in ["selector", "ports", "publishNotReadyAddresses", "labels"] {
                        if let Some(value) = wanted[part].get(field) {
                            now[part][field] = value.clone();
                        }
                    }
                }
                client.ask(Request::new(Method::Put, path).with(now)).await;
            }
        }
        _ => {
            if what == What::Recreate {
                client.ask(Request::new(Method::Delete, path)).await;
            }
            let kind = kind_of(client, kind).await;
            let post = Request::new(Method::Post, SERVICES.path(NAMESPACE, ""));
            client.ask(post.with(service(name, &kind))).await;
        }
    }
}

async fn kind_of(client: &Client, kind: Option<String>) -> String {
    match kind {
        Some(kind) => kind,
        None => client.one_of(&KINDS).await.to_owned(),
    }
}

async fn act_on_pod(client: &Client, what: What, service: &str, name: &str) {
    let path = PODS.path(NAMESPACE, name);
    match what {
        What::CreatePod => {
            let post = Request::new(Method::Post, PODS.path(NAMESPACE, ""));
            client.ask(post.with(pod(name, service))).await;
        }
        What::DeletePod => client.ask(Request::new(Method::Delete, path)).await,
        What::EndPod => {
            let options =
                json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
            let delete = Request::new(Method::Delete, path).with(options);
            client.ask(delete).await;
        }
        What::Relabel => {
            if let Some(mut pod) = client.get(&PODS, name).await {
                pod["metadata"]["labels"]["app"] = service.into();
                client.ask(Request::new(Method::Put, path).with(pod)).await;
            }
        }
        _ => {
            if let Some(mut pod) = client.get(&PODS, name).await {
                run(client, &mut pod, name, what == What::Ready);
                let put = Request::new(Method::Put, format!("{path}/status"));
                client.ask(put.with(pod)).await;
            }
        }
    }
}

/// The pod runs, and is ready or not.
fn run(client: &Client, pod: &mut Json, name: &str, ready: bool) {
    let ip = address(name);
    let said = if ready { "True" } else { "False" };
    let conditions = json::list(pod, &["status", "conditions"]);
    let is_same = conditions
        .iter()
        .any(|own| own["type"] == "Ready" && own["status"] == said);
    if is_same {
        return;
    }
    let now = Stamp::of(client.rx.clock()).seconds();
    pod["status"]["phase"] = "Running".into();
    pod["status"]["podIP"] = ip.clone().into();
    pod["status"]["podIPs"] = json!([{ "ip": ip }]);
    pod["status"]["conditions"] =
        json!([{"type": "Ready", "status": said, "lastTransitionTime": now}]);
}

/// The address of a pod, by the number in its name.
fn address(name: &str) -> String {
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    let number: u8 = digits.parse().unwrap_or(0);
    format!("10.244.0.{}", number.saturating_add(10))
}

fn pod(name: &str, app: &str) -> Json {
    json!({
        "apiVersion": PODS.api_version(),
        "kind": PODS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": app}},
        "spec": {
            "nodeName": "n1",
            "containers": [{
                "name": "main",
                "image": "image",
                "ports": [{"name": "web", "containerPort": 9000}],
            }],
        },
    })
}

/// A Service without an address of its own: nothing is allocated. One has a port by name as well, one lists pods that are not
/// ready, one has a label that the controller sets itself, and one is another's name.
fn service(name: &str, kind: &str) -> Json {
    let mut ports = vec![json!({"name": "number", "port": 80, "targetPort": 8080})];
    if kind == "ports" {
        ports.push(json!({"name": "name", "port": 81, "targetPort": "web"}));
    }
    let labels = match kind {
        "label" => json!({ IS_HEADLESS: "" }),
        _ => json!({ "app": name }),
    };
    let mut service = json!({
        "apiVersion": SERVICES.api_version(),
        "kind": SERVICES.kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "clusterIP": CLUSTER_IP_NONE,
            "selector": {"app": name},
            "ports": ports,
            "publishNotReadyAddresses": kind == "publish",
        },
    });
    if kind == "external" {
        service["spec"]["type"] = "ExternalName".into();
        service["spec"]["externalName"] = "example.com".into();
        json::remove(&mut service, &["spec", "clusterIP"]);
    }
    service
}
