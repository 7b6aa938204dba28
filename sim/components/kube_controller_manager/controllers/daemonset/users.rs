//! Who uses DaemonSets in a scenario: a client that makes them with and without a surge, for all nodes or some, changes their
//! templates, deletes them with and without their pods, and makes them anew; deletes pods; and labels and taints nodes.

use serde_json::{Value as Json, json};
use wavetank_api::kinds::{DAEMON_SETS, NODES, PODS};
use wavetank_api::{Method, Request};
use wavetank_engine::Name;

use wavetank_components::users::{Args, Client, NAMESPACE, Use, containers, selected_template};

/// So few that they are made again.
const SETS: u64 = 2;
/// Of so many templates one is drawn; rollouts go back to one that was there before.
const IMAGES: u64 = 4;
/// How a set is rolled out: how many pods may be unavailable, and how many more there may be.
const STRATEGIES: [(&str, [i64; 2]); 4] = [
    ("one", [1, 0]),
    ("two", [2, 0]),
    ("surge", [0, 1]),
    ("on-delete", [0, 0]),
];
/// In seconds.
const MIN_READY: [i64; 3] = [0, 0, 5];
const HISTORY: i64 = 1;
const TAINTS: [&str; 3] = ["", "NoSchedule", "NoExecute"];

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Create,
    RollOut,
    Select,
    DeletePod,
    Orphan,
    Recreate,
    Label,
    Taint,
}

const ALL: [(&str, What); 8] = [
    ("create", What::Create),
    ("roll-out", What::RollOut),
    ("select", What::Select),
    ("delete-pod", What::DeletePod),
    ("orphan", What::Orphan),
    ("recreate", What::Recreate),
    ("label", What::Label),
    ("taint", What::Taint),
];

/// How often each is drawn.
const DRAWN: [What; 12] = [
    What::Create,
    What::Create,
    What::RollOut,
    What::RollOut,
    What::RollOut,
    What::RollOut,
    What::Select,
    What::DeletePod,
    What::Orphan,
    What::Recreate,
    What::Label,
    What::Taint,
];

/// What it was told to do; what is not said is drawn. Of a set whose strategy is said nothing else is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    set: Option<String>,
    image: Option<String>,
    strategy: Option<[i64; 2]>,
    selects: Option<bool>,
    node: Option<String>,
    taint: Option<String>,
    pod: Option<String>,
}

/// Uses DaemonSets.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesDaemonSets {
    /// The nodes that there are.
    pub nodes: Vec<String>,
}

impl Use for UsesDaemonSets {
    const ROUTINE: Name = Name::new("use-daemon-set");
    type Order = Asked;

    /// `use {what?, set?, image?, strategy?, selects?, node?, taint?, pod?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        let taints = TAINTS.map(|taint| (taint, taint));
        Ok(Asked {
            what: args.named("what", &ALL)?,
            set: args.text("set"),
            image: args.text("image"),
            strategy: args.named("strategy", &STRATEGIES)?,
            selects: args.flag("selects"),
            node: args.text("node"),
            taint: args.named("taint", &taints)?.map(str::to_owned),
            pod: args.text("pod"),
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        match what {
            What::Label | What::Taint => self.change_node(&client, what, &asked).await,
            What::DeletePod => delete_pod(&client, &asked).await,
            _ => {
                let name = match &asked.set {
                    Some(name) => name.clone(),
                    None => format!("agent{}", client.rx.choose(SETS).await),
                };
                act(&client, what, &name, &asked).await;
            }
        }
    }
}

impl UsesDaemonSets {
    /// Labels a node or takes the label off, or taints it in some way or not at all.
    async fn change_node(&self, client: &Client, what: What, asked: &Asked) {
        let node = match &asked.node {
            Some(node) => node.clone(),
            None if self.nodes.is_empty() => return,
            None => client.one_of(&self.nodes).await,
        };
        if what == What::Label {
            let is_on = selects(client, asked).await;
            let labels = match is_on {
                true => json!({"kubernetes.io/hostname": node, "disk": "ssd"}),
                false => json!({"kubernetes.io/hostname": node}),
            };
            return client
                .change(&NODES, &node, &["metadata", "labels"], labels)
                .await;
        }
        let effect = match &asked.taint {
            Some(effect) => effect.clone(),
            None => client.one_of(&TAINTS).await.to_owned(),
        };
        let taints = match &*effect {
            "" => json!([]),
            effect => json!([{"key": "busy", "effect": effect}]),
        };
        client
            .change(&NODES, &node, &["spec", "taints"], taints)
            .await;
    }
}

async fn act(client: &Client, what: What, name: &str, asked: &Asked) {
    let path = DAEMON_SETS.path(NAMESPACE, name);
    match what {
        What::RollOut => {
            let containers = containers(&image(client, asked).await);
            let field = ["spec", "template", "spec", "containers"];
            client.change(&DAEMON_SETS, name, &field, containers).await;
        }
        What::Select => {
            let selector = node_selector(selects(client, asked).await);
            let field = ["spec", "template", "spec", "nodeSelector"];
            client.change(&DAEMON_SETS, name, &field, selector).await;
        }
        What::Orphan => {
            let options = json!({
                "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan",
            });
            let delete = Request::new(Method::Delete, path).with(options);
            client.ask(delete).await;
        }
        What::Recreate => {
            client.ask(Request::new(Method::Delete, path)).await;
            create(client, name, asked).await;
        }
        _ => create(client, name, asked).await,
    }
}

fn node_selector(selects: bool) -> Json {
    match selects {
        true => json!({"disk": "ssd"}),
        false => json!({}),
    }
}

async fn selects(client: &Client, asked: &Asked) -> bool {
    match (asked.selects, asked.strategy) {
        (Some(selects), _) => selects,
        (None, Some(_)) => false,
        (None, None) => client.rx.choose(2).await == 1,
    }
}

async fn image(client: &Client, asked: &Asked) -> String {
    let said = asked.image.as_deref();
    let said = said.or(asked.strategy.map(|_| "image:1"));
    client.image(said, IMAGES).await
}

async fn create(client: &Client, name: &str, asked: &Asked) {
    let image = image(client, asked).await;
    let [unavailable, surge] = match asked.strategy {
        Some(strategy) => strategy,
        None => client.one_of(&STRATEGIES).await.1,
    };
    let min_ready = match asked.strategy {
        Some(_) => 0,
        None => client.one_of(&MIN_READY).await,
    };
    let strategy = match (unavailable, surge) {
        (0, 0) => json!({"type": "OnDelete"}),
        _ => json!({
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": unavailable, "maxSurge": surge},
        }),
    };
    let (selector, mut template) = selected_template(name, &image);
    template["spec"]["nodeSelector"] = node_selector(selects(client, asked).await);
    let set = json!({
        "apiVersion": DAEMON_SETS.api_version(),
        "kind": DAEMON_SETS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "updateStrategy": strategy,
            "minReadySeconds": min_ready,
            "revisionHistoryLimit": HISTORY,
            "selector": selector,
            "template": template,
        },
    });
    let post = Request::new(Method::Post, DAEMON_SETS.path(NAMESPACE, ""));
    client.ask(post.with(set)).await;
}

/// Deletes the pod that was named, or one of all.
async fn delete_pod(client: &Client, asked: &Asked) {
    let name = match &asked.pod {
        Some(name) => name.clone(),
        None => {
            let all = client.list(&PODS).await;
            if all.is_empty() {
                return;
            }
            client.one_of(&all).await.object.name().to_owned()
        }
    };
    client
        .ask(Request::new(Method::Delete, PODS.path(NAMESPACE, &name)))
        .await;
}
