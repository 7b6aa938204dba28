//! Who uses StatefulSets in a scenario: a client that makes them in each shape, scales them, changes their templates, how far
//! these are rolled out and what becomes of claims, deletes pods and claims, deletes sets with and without their pods,
//! and makes them anew.

use serde_json::{Value as Json, json};
use wavetank_api::kinds::{PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS};
use wavetank_api::{Method, Request};
use wavetank_engine::Name;

use super::notes::AsksToDeletePod;
use wavetank_components::users::{Args, Client, NAMESPACE, Use, containers, selected_template};

/// So few that they are made again.
const SETS: u64 = 2;
const MOST_REPLICAS: u64 = 4;
/// Of so many templates one is drawn; rollouts go back to one that was there before.
const IMAGES: u64 = 4;
const POLICIES: [&str; 3] = ["OrderedReady", "OrderedReady", "Parallel"];
const RETENTIONS: [&str; 2] = ["Retain", "Delete"];
const STRATEGIES: [&str; 4] = [
    "RollingUpdate",
    "RollingUpdate",
    "RollingUpdate",
    "OnDelete",
];
/// In seconds.
const MIN_READY: [i64; 3] = [0, 0, 5];
const STARTS: [i64; 3] = [0, 0, 1];
const HISTORY: i64 = 1;

/// What is done to a set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Create,
    Scale,
    RollOut,
    Partition,
    Claims,
    DeletePod,
    DeleteClaim,
    Orphan,
    Recreate,
}

const ALL: [(&str, What); 9] = [
    ("create", What::Create),
    ("scale", What::Scale),
    ("roll-out", What::RollOut),
    ("partition", What::Partition),
    ("claims", What::Claims),
    ("delete-pod", What::DeletePod),
    ("delete-claim", What::DeleteClaim),
    ("orphan", What::Orphan),
    ("recreate", What::Recreate),
];

/// How often each is drawn. No claim is deleted by chance: a pod that is pending over one that goes waits for whoever ends it.
const DRAWN: [What; 14] = [
    What::Create,
    What::Create,
    What::Create,
    What::Scale,
    What::Scale,
    What::Scale,
    What::RollOut,
    What::RollOut,
    What::RollOut,
    What::Partition,
    What::Claims,
    What::DeletePod,
    What::Orphan,
    What::Recreate,
];

/// What it was told to do; what is not said is drawn. Of a set whose replicas are said nothing is drawn: what else is not
/// said is as it is by default.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    set: Option<String>,
    replicas: Option<i64>,
    image: Option<String>,
    policy: Option<String>,
    partition: Option<i64>,
    when_deleted: Option<String>,
    when_scaled: Option<String>,
    pod: Option<String>,
    claim: Option<String>,
}

/// Uses StatefulSets.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesStatefulSets;

impl Use for UsesStatefulSets {
    const ROUTINE: Name = Name::new("use-stateful-set");
    type Order = Asked;

    /// `use {what?, set?, replicas?, image?, policy?, partition?, when-deleted?, when-scaled?, pod?, claim?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        Ok(Asked {
            what: args.named("what", &ALL)?,
            set: args.text("set"),
            replicas: args.number("replicas"),
            image: args.text("image"),
            policy: args.text("policy"),
            partition: args.number("partition"),
            when_deleted: args.text("when-deleted"),
            when_scaled: args.text("when-scaled"),
            pod: args.text("pod"),
            claim: args.text("claim"),
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        let name = match &asked.set {
            Some(name) => name.clone(),
            None => format!("db{}", client.rx.choose(SETS).await),
        };
        act(&client, what, &name, &asked).await;
    }
}

async fn act(client: &Client, what: What, name: &str, asked: &Asked) {
    let path = STATEFUL_SETS.path(NAMESPACE, name);
    match what {
        What::Create => create(client, name, asked).await,
        What::Scale => {
            let replicas = client.number(asked.replicas, MOST_REPLICAS).await;
            let field = ["spec", "replicas"];
            client
                .change(&STATEFUL_SETS, name, &field, replicas.into())
                .await;
        }
        What::RollOut => {
            let containers = containers(&image(client, asked).await);
            let field = ["spec", "template", "spec", "containers"];
            client
                .change(&STATEFUL_SETS, name, &field, containers)
                .await;
        }
        What::Partition => {
            let partition = client.number(asked.partition, 3).await;
            let strategy =
                json!({"type": "RollingUpdate", "rollingUpdate": {"partition": partition}});
            let field = ["spec", "updateStrategy"];
            client.change(&STATEFUL_SETS, name, &field, strategy).await;
        }
        What::Claims => {
            let retention = retention(client, asked).await;
            let field = ["spec", "persistentVolumeClaimRetentionPolicy"];
            client.change(&STATEFUL_SETS, name, &field, retention).await;
        }
        What::DeletePod => delete_pod(client, asked).await,
        What::DeleteClaim => delete_claim(client, asked).await,
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
    }
}

/// Without a number of replicas it is drawn, and so is what else is not said.
async fn image(client: &Client, asked: &Asked) -> String {
    let said = asked.image.as_deref();
    let said = said.or(asked.replicas.map(|_| "image:1"));
    client.image(said, IMAGES).await
}

/// One of these, or where nothing is drawn the first.
async fn one_of<T: Copy>(client: &Client, asked: &Asked, all: &[T]) -> T {
    match asked.replicas {
        Some(_) => all[0],
        None => client.one_of(all).await,
    }
}

async fn retention(client: &Client, asked: &Asked) -> Json {
    let mut policy = [Json::Null, Json::Null];
    let said = [&asked.when_deleted, &asked.when_scaled];
    for (own, said) in policy.iter_mut().zip(said) {
        *own = match said {
            Some(said) => said.as_str().into(),
            None => one_of(client, asked, &RETENTIONS).await.into(),
        };
    }
    let [deleted, scaled] = policy;
    json!({"whenDeleted": deleted, "whenScaled": scaled})
}

async fn create(client: &Client, name: &str, asked: &Asked) {
    let replicas = client.number(asked.replicas, MOST_REPLICAS).await;
    let image = image(client, asked).await;
    let policy = match &asked.policy {
        Some(policy) => policy.clone(),
        None => one_of(client, asked, &POLICIES).await.to_owned(),
    };
    let strategy = one_of(client, asked, &STRATEGIES).await;
    let (selector, template) = selected_template(name, &image);
    let claim = json!({
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    let mut set = json!({
        "apiVersion": STATEFUL_SETS.api_version(),
        "kind": STATEFUL_SETS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "serviceName": name,
            "replicas": replicas,
            "podManagementPolicy": policy,
            "updateStrategy": {"type": strategy},
            "minReadySeconds": one_of(client, asked, &MIN_READY).await,
            "ordinals": {"start": one_of(client, asked, &STARTS).await},
            "persistentVolumeClaimRetentionPolicy": retention(client, asked).await,
            "revisionHistoryLimit": HISTORY,
            "selector": selector,
            "template": template,
            "volumeClaimTemplates": [claim],
        },
    });
    if let Some(partition) = asked.partition {
        set["spec"]["updateStrategy"]["rollingUpdate"] = json!({"partition": partition});
    }
    let post = Request::new(Method::Post, STATEFUL_SETS.path(NAMESPACE, ""));
    client.ask(post.with(set)).await;
}

/// Deletes the pod that was named, or one of all: that pod, and no newer one of its name.
async fn delete_pod(client: &Client, asked: &Asked) {
    let mut all = client.list(&PODS).await;
    if let Some(named) = &asked.pod {
        all.retain(|pod| pod.object.name() == *named);
    }
    if all.is_empty() {
        return;
    }
    let pod = client.one_of(&all).await.object;
    client.rx.note(AsksToDeletePod(pod.uid().into()));
    let options = json!({
        "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": pod.uid()},
    });
    let delete = Request::new(Method::Delete, PODS.path(NAMESPACE, pod.name()));
    client.ask(delete.with(options)).await;
}

/// Deletes the claim that was named, or one of all.
async fn delete_claim(client: &Client, asked: &Asked) {
    let name = match &asked.claim {
        Some(name) => name.clone(),
        None => {
            let all = client.list(&PERSISTENT_VOLUME_CLAIMS).await;
            if all.is_empty() {
                return;
            }
            client.one_of(&all).await.object.name().to_owned()
        }
    };
    let path = PERSISTENT_VOLUME_CLAIMS.path(NAMESPACE, &name);
    client.ask(Request::new(Method::Delete, path)).await;
}
