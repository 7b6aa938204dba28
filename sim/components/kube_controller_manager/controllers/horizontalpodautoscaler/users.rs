//! Who uses autoscalers in a scenario: a client that makes workloads and gives them load, makes autoscalers for them, changes
//! bounds, metrics and behavior of these, has them scale something else, deletes them and makes them anew, and sets replicas by
//! hand. It writes down what it sets by hand, so that properties know who scaled. Pods say what they request of the processor, and
//! nothing of memory.

use serde_json::{Value as Json, json};
use wavetank_api::kinds::{AUTOSCALERS, CONFIG_MAPS, DEPLOYMENTS, REPLICA_SETS};
use wavetank_api::{Method, Request, Resource, Stamp, json};
use wavetank_components::metrics_servers::LOAD;
use wavetank_components::pod_runners::SLOW;
use wavetank_components::users::{Args, Client, NAMESPACE, Use, selected_template};
use wavetank_engine::Name;

/// The annotation that says when somebody set replicas by hand.
pub(super) const BY_HAND: &str = "scaled-by-hand";

/// What is scaled: the last one is never made.
pub(super) const TARGETS: [&str; 4] = ["web0", "web1", "web2", "web9"];
const MADE: u64 = 3;
const ALL_TARGETS: u64 = 4;
const AUTOSCALERS_USED: u64 = 3;
/// What pods request of the processor, in thousandths.
pub(super) const REQUEST: i64 = 100;
const LOADS: [i64; 7] = [0, 40, 90, 150, 260, 380, 520];
const BOUNDS: [(i64, i64); 5] = [(1, 4), (1, 8), (2, 6), (3, 8), (5, 8)];
const SIZES: [i64; 8] = [0, 0, 1, 2, 3, 4, 6, 8];

/// What a user does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Make,
    Load,
    Create,
    Bound,
    Measure,
    Behave,
    Retarget,
    Delete,
    Recreate,
    Scale,
}

const ALL: [(&str, What); 10] = [
    ("make", What::Make),
    ("load", What::Load),
    ("create", What::Create),
    ("bound", What::Bound),
    ("measure", What::Measure),
    ("behave", What::Behave),
    ("retarget", What::Retarget),
    ("delete", What::Delete),
    ("recreate", What::Recreate),
    ("scale", What::Scale),
];

/// How often each is drawn.
const DRAWN: [What; 15] = [
    What::Make,
    What::Make,
    What::Load,
    What::Load,
    What::Load,
    What::Load,
    What::Create,
    What::Create,
    What::Bound,
    What::Measure,
    What::Behave,
    What::Retarget,
    What::Delete,
    What::Recreate,
    What::Scale,
];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    autoscaler: Option<String>,
    target: Option<String>,
    replicas: Option<i64>,
    load: Option<i64>,
    bounds: Option<(i64, i64)>,
    metrics: Option<u64>,
    behavior: Option<u64>,
}

/// Uses autoscalers.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesAutoscalers;

impl Use for UsesAutoscalers {
    const ROUTINE: Name = Name::new("use-autoscaler");
    type Order = Asked;

    /// `use {what?, autoscaler?, target?, replicas?, load?, min?, max?, metrics?, behavior?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        let bounds = args.number("min").zip(args.number("max"));
        Ok(Asked {
            what: args.named("what", &ALL)?,
            autoscaler: args.text("autoscaler"),
            target: args.text("target"),
            replicas: args.number("replicas"),
            load: args.number("load"),
            bounds,
            metrics: args.count("metrics"),
            behavior: args.count("behavior"),
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        match what {
            What::Make => make(&client, &asked).await,
            What::Load => set_load(&client, &asked).await,
            What::Scale => scale_by_hand(&client, &asked).await,
            _ => {
                let name = match &asked.autoscaler {
                    Some(name) => name.clone(),
                    None => format!("auto{}", client.rx.choose(AUTOSCALERS_USED).await),
                };
                change(&client, &name, what, &asked).await;
            }
        }
    }
}

/// What an autoscaler of this name becomes.
async fn change(client: &Client, name: &str, what: What, asked: &Asked) {
    let path = AUTOSCALERS.path(NAMESPACE, name);
    match what {
        What::Delete => client.ask(Request::new(Method::Delete, path)).await,
        What::Recreate => {
            client.ask(Request::new(Method::Delete, path)).await;
            create(client, name, asked).await;
        }
        What::Bound => {
            let (min, max) = bounds(client, asked).await;
            if let Some(mut own) = client.get(&AUTOSCALERS, name).await {
                json::set(&mut own, &["spec", "minReplicas"], min);
                json::set(&mut own, &["spec", "maxReplicas"], max);
                client.ask(Request::new(Method::Put, path).with(own)).await;
            }
        }
        What::Measure => {
            let metrics = metrics(client, asked).await;
            client
                .change(&AUTOSCALERS, name, &["spec", "metrics"], metrics)
                .await;
        }
        What::Behave => {
            let behavior = behavior(client, asked).await;
            client
                .change(&AUTOSCALERS, name, &["spec", "behavior"], behavior)
                .await;
        }
        What::Retarget => {
            let target = reference(&target(client, asked, ALL_TARGETS).await);
            let field = ["spec", "scaleTargetRef"];
            client.change(&AUTOSCALERS, name, &field, target).await;
        }
        _ => create(client, name, asked).await,
    }
}

async fn create(client: &Client, name: &str, asked: &Asked) {
    let target = target(client, asked, MADE).await;
    let (min, max) = bounds(client, asked).await;
    let metrics = metrics(client, asked).await;
    let autoscaler = json!({
        "apiVersion": AUTOSCALERS.api_version(),
        "kind": AUTOSCALERS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "scaleTargetRef": reference(&target),
            "minReplicas": min,
            "maxReplicas": max,
            "metrics": metrics,
            "behavior": behavior(client, asked).await,
        },
    });
    let post = Request::new(Method::Post, AUTOSCALERS.path(NAMESPACE, ""));
    client.ask(post.with(autoscaler)).await;
}

/// Of the first so many.
async fn target(client: &Client, asked: &Asked, of: u64) -> String {
    match &asked.target {
        Some(target) => target.clone(),
        None => TARGETS[client.rx.choose(of).await as usize].to_owned(),
    }
}

/// `web1` is a ReplicaSet, all others are Deployments.
pub(super) fn resource_of(target: &str) -> &'static Resource {
    match target {
        "web1" => &REPLICA_SETS,
        _ => &DEPLOYMENTS,
    }
}

fn reference(target: &str) -> Json {
    let of = resource_of(target);
    json!({"apiVersion": of.api_version(), "kind": of.kind, "name": target})
}

async fn bounds(client: &Client, asked: &Asked) -> (i64, i64) {
    match asked.bounds {
        Some(bounds) => bounds,
        None => client.one_of(&BOUNDS).await,
    }
}

async fn metrics(client: &Client, asked: &Asked) -> Json {
    let resource = |name: &str, target: Json| json!({"type": "Resource", "resource": {"name": name, "target": target}});
    let used = |percent: i64| json!({"type": "Utilization", "averageUtilization": percent});
    let average = |value: &str| json!({"type": "AverageValue", "averageValue": value});
    let number = match asked.metrics {
        Some(number) => number,
        None => client.rx.choose(6).await,
    };
    match number {
        0 => json!([resource("cpu", used(50))]),
        1 => json!([resource("cpu", used(80))]),
        2 => json!([resource("cpu", average("60m"))]),
        3 => json!([
            resource("memory", average("90Mi")),
            resource("cpu", used(60))
        ]),
        // Pods do not say what they request of it.
        4 => json!([resource("cpu", used(50)), resource("memory", used(50))]),
        _ => json!([resource("memory", average("70Mi"))]),
    }
}

async fn behavior(client: &Client, asked: &Asked) -> Json {
    let policy = |kind: &str, value: i64, seconds: i64| json!({"type": kind, "value": value, "periodSeconds": seconds});
    let number = match asked.behavior {
        Some(number) => number,
        None => client.rx.choose(9).await,
    };
    match number {
        0 => json!({
            "scaleUp": {"policies": [policy("Pods", 1, 30)]},
            "scaleDown": {"stabilizationWindowSeconds": 0},
        }),
        1 => json!({
            "scaleUp": {"stabilizationWindowSeconds": 30},
            "scaleDown": {
                "stabilizationWindowSeconds": 30, "selectPolicy": "Min",
                "policies": [policy("Pods", 1, 30), policy("Percent", 50, 60)],
            },
        }),
        2 => json!({
            "scaleUp": {"policies": [policy("Pods", 2, 60), policy("Percent", 100, 60)]},
            "scaleDown": {"stabilizationWindowSeconds": 20, "policies": [policy("Pods", 2, 45)]},
        }),
        3 => json!({
            "scaleUp": {"stabilizationWindowSeconds": 60},
            "scaleDown": {"stabilizationWindowSeconds": 90, "tolerance": "200m"},
        }),
        4 => json!({"scaleDown": {"selectPolicy": "Disabled"}}),
        5 => json!({
            "scaleUp": {"policies": [policy("Pods", 3, 90)]},
            "scaleDown": {"stabilizationWindowSeconds": 0, "policies": [policy("Pods", 2, 90)]},
        }),
        6 => json!({
            "scaleUp": {"policies": [policy("Pods", 1, 90)]},
            "scaleDown": {"stabilizationWindowSeconds": 0, "policies": [policy("Pods", 1, 15)]},
        }),
        _ => Json::Null,
    }
}

/// Makes a workload, and the load of all.
async fn make(client: &Client, asked: &Asked) {
    let target = target(client, asked, MADE).await;
    let load = json!({
        "apiVersion": CONFIG_MAPS.api_version(),
        "kind": CONFIG_MAPS.kind,
        "metadata": {"name": LOAD, "namespace": NAMESPACE},
        "data": {"web0": "90", "web1": "90", "web2": "90"},
    });
    let post = Request::new(Method::Post, CONFIG_MAPS.path(NAMESPACE, ""));
    client.ask(post.with(load)).await;
    let of = resource_of(&target);
    let (selector, mut template) = selected_template(&target, SLOW);
    let requests = json!({"cpu": format!("{REQUEST}m")});
    template["spec"]["containers"][0]["resources"] = json!({ "requests": requests });
    let replicas = client.number(asked.replicas, 5).await;
    let workload = json!({
        "apiVersion": of.api_version(),
        "kind": of.kind,
        "metadata": {"name": target, "namespace": NAMESPACE},
        "spec": {"replicas": replicas, "selector": selector, "template": template},
    });
    let post = Request::new(Method::Post, of.path(NAMESPACE, ""));
    client.ask(post.with(workload)).await;
}

async fn set_load(client: &Client, asked: &Asked) {
    let target = target(client, asked, MADE).await;
    let load = match asked.load {
        Some(load) => load,
        None => client.one_of(&LOADS).await,
    };
    let field = ["data", &*target];
    client
        .change(&CONFIG_MAPS, LOAD, &field, load.to_string().into())
        .await;
}

async fn scale_by_hand(client: &Client, asked: &Asked) {
    let target = target(client, asked, MADE).await;
    let replicas = match asked.replicas {
        Some(replicas) => replicas,
        None => client.one_of(&SIZES).await,
    };
    let of = resource_of(&target);
    if let Some(mut own) = client.get(of, &target).await {
        let now = Stamp::of(client.rx.clock()).micros();
        json::set(&mut own, &["metadata", "annotations", BY_HAND], now);
        json::set(&mut own, &["spec", "replicas"], replicas);
        let put = Request::new(Method::Put, of.path(NAMESPACE, &target));
        client.ask(put.with(own)).await;
    }
}
