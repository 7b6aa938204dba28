//! Who uses budgets in a scenario: a client that makes budgets of all kinds over the pods of others, changes and deletes them, and
//! evicts pods, one of all or those of a node at the same time, as who drains a node does; and that says of a pod that it is about
//! to go, and lets it stay, as a scheduler does that ends in the middle of a preemption.

use serde_json::{Value as Json, json};
use wavetank_api::kinds::pod_binding::update_pod_condition;
use wavetank_api::kinds::{POD_DISRUPTION_BUDGETS, PODS};
use wavetank_api::{Method, Request, Stamp, Stored};
use wavetank_client::wait::{Member, wait_group};
use wavetank_component::Spec;
use wavetank_engine::Name;

use crate::controller_utils::is_pod_ready;
use wavetank_components::users::{Args, Client, NAMESPACE, Use, containers};

/// So few that they are made again, and that some select the same pods.
const BUDGETS: u64 = 3;
/// Pod runners bind to so many nodes.
const NODES: u64 = 3;

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Create,
    Change,
    Delete,
    Evict,
    Drain,
    Announce,
    CreatePod,
}

const ALL: [(&str, What); 7] = [
    ("create", What::Create),
    ("change", What::Change),
    ("delete", What::Delete),
    ("evict", What::Evict),
    ("drain", What::Drain),
    ("announce", What::Announce),
    ("create-pod", What::CreatePod),
];

/// How often each is drawn: budgets stay long enough to be spent.
const DRAWN: [What; 15] = [
    What::Create,
    What::Create,
    What::Create,
    What::Change,
    What::Change,
    What::Delete,
    What::Evict,
    What::Evict,
    What::Evict,
    What::Evict,
    What::Evict,
    What::Drain,
    What::Drain,
    What::Drain,
    What::Announce,
];

/// What a budget says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Bound {
    MinAvailable(i64),
    MinPercent(&'static str),
    MaxUnavailable(i64),
    MaxPercent(&'static str),
}

const BOUNDS: [(&str, Bound); 7] = [
    ("min-1", Bound::MinAvailable(1)),
    ("min-2", Bound::MinAvailable(2)),
    ("min-half", Bound::MinPercent("50%")),
    ("max-1", Bound::MaxUnavailable(1)),
    ("max-2", Bound::MaxUnavailable(2)),
    ("max-third", Bound::MaxPercent("34%")),
    ("max-0", Bound::MaxUnavailable(0)),
];

/// What becomes of pods that are not ready.
const POLICIES: [Option<&str>; 4] = [None, None, Some("AlwaysAllow"), Some("IfHealthyBudget")];

/// Under which condition a pod is evicted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Only {
    Any,
    /// The pod that was seen.
    Seen,
    /// As it was seen.
    Unchanged,
    /// Just to find out.
    Dry,
}

const CONDITIONS: [(&str, Only); 4] = [
    ("any", Only::Any),
    ("seen", Only::Seen),
    ("unchanged", Only::Unchanged),
    ("dry", Only::Dry),
];

/// How often each is drawn.
const ONLY: [Only; 8] = [
    Only::Any,
    Only::Any,
    Only::Any,
    Only::Any,
    Only::Seen,
    Only::Unchanged,
    Only::Unchanged,
    Only::Dry,
];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    budget: Option<String>,
    app: Option<String>,
    bound: Option<Bound>,
    pod: Option<String>,
    node: Option<String>,
    only: Option<Only>,
    owner: Option<String>,
}

/// Uses budgets over the pods with these labels.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesBudgets {
    pub apps: Vec<String>,
}

/// The labels of pods whose sets others use: those of ReplicaSets, Deployments and StatefulSets.
pub(super) fn apps(spec: &Spec) -> Vec<String> {
    let users = [
        ("replica-set-users", "rs"),
        ("deployment-users", "web"),
        ("stateful-set-users", "db"),
    ];
    let there = users.into_iter().filter(|(key, _)| spec.count(key) > 0);
    there
        .flat_map(|(_, app)| [0, 1].map(|n| format!("{app}{n}")))
        .collect()
}

impl Use for UsesBudgets {
    const ROUTINE: Name = Name::new("use-budget");
    type Order = Asked;

    /// `use {what?, budget?, app?, bound?, pod?, node?, only?, owner?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        Ok(Asked {
            what: args.named("what", &ALL)?,
            budget: args.text("budget"),
            app: args.text("app"),
            bound: args.named("bound", &BOUNDS)?,
            pod: args.text("pod"),
            node: args.text("node"),
            only: args.named("only", &CONDITIONS)?,
            owner: match args.text("owner") {
                Some(owner) if owner.split('/').count() != 4 => {
                    return Err(format!(
                        "`owner` is a group, a version, a resource and a name, such as `storm.example/v1/things/a`, not `{owner}`"
                    ));
                }
                owner => owner,
            },
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        match what {
            What::Evict => evict_one(&client, &asked).await,
            What::Drain => drain(&client, &asked).await,
            What::Announce => announce(&client, &asked).await,
            What::CreatePod => create_pod(&client, &asked).await,
            _ => self.act(&client, what, &asked).await,
        }
    }
}

impl UsesBudgets {
    async fn act(&self, client: &Client, what: What, asked: &Asked) {
        let name = match &asked.budget {
            Some(name) => name.clone(),
            None => format!("budget{}", client.rx.choose(BUDGETS).await),
        };
        let path = POD_DISRUPTION_BUDGETS.path(NAMESPACE, &name);
        match what {
            What::Delete => client.ask(Request::new(Method::Delete, path)).await,
            What::Change => {
                if let Some(mut budget) = client.get(&POD_DISRUPTION_BUDGETS, &name).await {
                    self.change(client, &mut budget, asked).await;
                    client
                        .ask(Request::new(Method::Put, path).with(budget))
                        .await;
                }
            }
            _ => {
                let budget = json!({
                    "apiVersion": POD_DISRUPTION_BUDGETS.api_version(),
                    "kind": POD_DISRUPTION_BUDGETS.kind,
                    "metadata": {"name": name, "namespace": NAMESPACE},
                    "spec": self.spec(client, asked).await,
                });
                let path = POD_DISRUPTION_BUDGETS.path(NAMESPACE, "");
                client
                    .ask(Request::new(Method::Post, path).with(budget))
                    .await;
            }
        }
    }

    /// To whatever is drawn, or it gets just another policy.
    async fn change(&self, client: &Client, budget: &mut Json, asked: &Asked) {
        if asked.bound.is_some() || client.rx.choose(2).await == 0 {
            budget["spec"] = self.spec(client, asked).await;
            return;
        }
        let policy = client.one_of(&POLICIES).await;
        budget["spec"]["unhealthyPodEvictionPolicy"] = policy.into();
    }

    /// Where a bound is said, the policy is the default one.
    async fn spec(&self, client: &Client, asked: &Asked) -> Json {
        let app = match &asked.app {
            Some(app) => app.clone(),
            None if self.apps.is_empty() => "none".to_owned(),
            None => client.one_of(&self.apps).await,
        };
        let mut spec = json!({"selector": {"matchLabels": {"app": app}}});
        let bound = match asked.bound {
            Some(bound) => bound,
            None => client.one_of(&BOUNDS).await.1,
        };
        match bound {
            Bound::MinAvailable(least) => spec["minAvailable"] = least.into(),
            Bound::MinPercent(least) => spec["minAvailable"] = least.into(),
            Bound::MaxUnavailable(most) => spec["maxUnavailable"] = most.into(),
            Bound::MaxPercent(most) => spec["maxUnavailable"] = most.into(),
        }
        let policy = match asked.bound {
            Some(_) => None,
            None => client.one_of(&POLICIES).await,
        };
        if let Some(policy) = policy {
            spec["unhealthyPodEvictionPolicy"] = policy.into();
        }
        spec
    }
}

/// The pod that was named, or one of all: one of two times of those that run and are not ready, if there are any.
async fn some_pod(client: &Client, asked: &Asked) -> Option<Stored> {
    let mut all = client.list(&PODS).await;
    if let Some(named) = &asked.pod {
        return all.into_iter().find(|pod| pod.object.name() == *named);
    }
    let is_unready = |pod: &Stored| {
        let json = pod.object.json();
        json["status"]["phase"] == "Running" && is_pod_ready(json).is_none()
    };
    if all.iter().any(is_unready) && client.rx.choose(2).await == 0 {
        all.retain(is_unready);
    }
    match all.is_empty() {
        true => None,
        false => Some(client.one_of(&all).await),
    }
}

async fn evict_one(client: &Client, asked: &Asked) {
    let Some(pod) = some_pod(client, asked).await else {
        return;
    };
    let only = match asked.only {
        Some(only) => only,
        None => client.one_of(&ONLY).await,
    };
    evict(client, &pod, only).await;
}

/// Says of a pod that it is about to go.
async fn announce(client: &Client, asked: &Asked) {
    let Some(pod) = some_pod(client, asked).await else {
        return;
    };
    let condition = json!({
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
    });
    let mut new = pod.json();
    update_pod_condition(&mut new, condition, Stamp::of(client.rx.clock()));
    let path = PODS.path(NAMESPACE, pod.object.name());
    let put = Request::new(Method::Put, format!("{path}/status"));
    client.ask(put.with(new)).await;
}

/// Makes a pod that a custom object controls, as its operator would. It is never drawn.
async fn create_pod(client: &Client, asked: &Asked) {
    let app = asked.app.as_deref().unwrap_or("none");
    let mut metadata = json!({"generateName": format!("{app}-"), "labels": {"app": app}});
    if let Some((resource, name)) = asked.owner.as_deref().and_then(|own| own.rsplit_once('/')) {
        let (version, plural) = resource.rsplit_once('/').unwrap_or_default();
        let path = format!("/apis/{version}/namespaces/{NAMESPACE}/{plural}/{name}");
        let Ok(owner) = client.object(&path).await else {
            return;
        };
        metadata["ownerReferences"] = json!([{
            "apiVersion": version,
            "kind": owner.object.json()["kind"],
            "name": name,
            "uid": owner.object.uid(),
            "controller": true,
        }]);
    }
    let pod = json!({
        "apiVersion": PODS.api_version(),
        "kind": PODS.kind,
        "metadata": metadata,
        "spec": {"containers": containers("image:1")},
    });
    let post = Request::new(Method::Post, PODS.path(NAMESPACE, ""));
    client.ask(post.with(pod)).await;
}

/// The pods of a node at the same time, as `kubectl drain` does. Those that may not go stay.
async fn drain(client: &Client, asked: &Asked) {
    let node = match &asked.node {
        Some(node) => node.clone(),
        None => format!("n{}", client.rx.choose(NODES).await + 1),
    };
    let mut all = client.list(&PODS).await;
    all.retain(|pod| pod.object.json()["spec"]["nodeName"] == *node);
    let all = all.iter().map(|pod| {
        let one = evict(client, pod, Only::Seen);
        Box::pin(one) as Member<'_, ()>
    });
    wait_group(all.collect()).await;
}

async fn evict(client: &Client, pod: &Stored, only: Only) {
    let (uid, version) = (pod.object.uid(), pod.resource_version.to_string());
    let options = match only {
        Only::Any => json!({}),
        Only::Seen => json!({"preconditions": {"uid": uid}}),
        Only::Unchanged => json!({"preconditions": {"uid": uid, "resourceVersion": version}}),
        Only::Dry => json!({"dryRun": ["All"]}),
    };
    let (namespace, name) = (pod.object.namespace(), pod.object.name());
    let eviction = json!({
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
        "deleteOptions": options,
    });
    let path = format!("{}/eviction", PODS.path(namespace, name));
    client
        .ask(Request::new(Method::Post, path).with(eviction))
        .await;
}
