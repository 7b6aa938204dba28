//! Who uses quotas in a scenario: a client that makes quotas, changes what they allow and deletes them; makes pods and
//! ConfigMaps that are bound by them, one or several at once; lets pods end, and deletes what there is.

use serde_json::json;
use wavetank_api::kinds::{CONFIG_MAPS, PODS, RESOURCE_QUOTAS};
use wavetank_api::{Method, Request, Resource};
use wavetank_engine::Name;

use wavetank_components::users::{Args, Client, NAMESPACE, Use};

/// What quotas allow: of all pods and ConfigMaps, and of pods that ask for nothing.
const QUOTAS: [&str; 2] = ["all", "best-effort"];
/// So many of each there may be.
const LIMITS: [i64; 3] = [2, 3, 4];
/// So few names that objects are made again.
const NAMES: u64 = 6;

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Limit,
    Lift,
    Create,
    CreateMany,
    End,
    Delete,
}

const ALL: [(&str, What); 6] = [
    ("limit", What::Limit),
    ("lift", What::Lift),
    ("create", What::Create),
    ("create-many", What::CreateMany),
    ("end", What::End),
    ("delete", What::Delete),
];

/// How often each is drawn.
const DRAWN: [What; 24] = [
    What::Limit,
    What::Limit,
    What::Create,
    What::Create,
    What::Create,
    What::Create,
    What::Create,
    What::CreateMany,
    What::CreateMany,
    What::CreateMany,
    What::CreateMany,
    What::CreateMany,
    What::CreateMany,
    What::End,
    What::End,
    What::Delete,
    What::Delete,
    What::Delete,
    What::Delete,
    What::Delete,
    What::Delete,
    What::Delete,
    What::Delete,
    What::Lift,
];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    quota: Option<String>,
    allows: Option<i64>,
    kind: Option<Kind>,
    name: Option<String>,
}

/// What is made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    ConfigMap,
    /// A pod that asks for nothing, and one that does.
    BestEffort,
    Burstable,
}

const KINDS: [(&str, Kind); 3] = [
    ("config-map", Kind::ConfigMap),
    ("best-effort", Kind::BestEffort),
    ("burstable", Kind::Burstable),
];

impl Kind {
    fn resource(self) -> &'static Resource {
        match self {
            Kind::ConfigMap => &CONFIG_MAPS,
            Kind::BestEffort | Kind::Burstable => &PODS,
        }
    }
}

/// Uses quotas.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesQuotas;

impl Use for UsesQuotas {
    const ROUTINE: Name = Name::new("use-quota");
    type Order = Asked;

    /// `use {what?, quota?, allows?, kind?, name?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        Ok(Asked {
            what: args.named("what", &ALL)?,
            quota: args.text("quota"),
            allows: args.number("allows"),
            kind: args.named("kind", &KINDS)?,
            name: args.text("name"),
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        match what {
            What::Limit => limit(&client, &asked).await,
            What::Lift => {
                let quota = quota(&client, &asked).await;
                let path = RESOURCE_QUOTAS.path(NAMESPACE, &quota);
                client.ask(Request::new(Method::Delete, path)).await;
            }
            What::Create => {
                let create = create(&client, &asked).await;
                client.ask(create).await;
            }
            What::CreateMany => {
                let (first, second) =
                    (create(&client, &asked).await, create(&client, &asked).await);
                let third = create(&client, &asked).await;
                let rest = client.rx.join(client.ask(second), client.ask(third));
                client.rx.join(client.ask(first), rest).await;
            }
            What::End => {
                let name = name(&client, &asked, &PODS).await;
                let path = format!("{}/status", PODS.path(NAMESPACE, &name));
                let status = json!({"status": {"phase": "Succeeded"}});
                let mut patch = Request::new(Method::Patch, path).with(status);
                patch.content_type = Some("application/merge-patch+json".into());
                client.ask(patch).await;
            }
            What::Delete => {
                let resource = kind(&client, &asked).await.resource();
                let name = name(&client, &asked, resource).await;
                let options = json!({
                    "kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
                });
                let delete = Request::new(Method::Delete, resource.path(NAMESPACE, &name));
                client.ask(delete.with(options)).await;
            }
        }
    }
}

async fn quota(client: &Client, asked: &Asked) -> String {
    match &asked.quota {
        Some(quota) => quota.clone(),
        None => client.one_of(&QUOTAS).await.to_owned(),
    }
}

async fn kind(client: &Client, asked: &Asked) -> Kind {
    match asked.kind {
        Some(kind) => kind,
        None => client.one_of(&KINDS).await.1,
    }
}

async fn name(client: &Client, asked: &Asked, resource: &Resource) -> String {
    match &asked.name {
        Some(name) => name.clone(),
        None => format!("{}{}", &resource.plural[..1], client.rx.choose(NAMES).await),
    }
}

/// Makes a quota, or changes what it allows.
async fn limit(client: &Client, asked: &Asked) {
    let quota = quota(client, asked).await;
    let allows = match asked.allows {
        Some(allows) => allows,
        None => client.one_of(&LIMITS).await,
    };
    let allows = allows.to_string();
    let spec = match &*quota {
        "best-effort" => json!({"hard": {"pods": allows}, "scopes": ["BestEffort"]}),
        _ => json!({"hard": {"pods": allows, "count/configmaps": allows}}),
    };
    if client.get(&RESOURCE_QUOTAS, &quota).await.is_some() {
        let field = ["spec", "hard"];
        return client
            .change(&RESOURCE_QUOTAS, &quota, &field, spec["hard"].clone())
            .await;
    }
    let object = json!({
        "apiVersion": "v1",
        "kind": RESOURCE_QUOTAS.kind,
        "metadata": {"name": quota, "namespace": NAMESPACE},
        "spec": spec,
    });
    let post = Request::new(Method::Post, RESOURCE_QUOTAS.path(NAMESPACE, ""));
    client.ask(post.with(object)).await;
}

/// The request that makes an object.
async fn create(client: &Client, asked: &Asked) -> Request {
    let kind = kind(client, asked).await;
    let resource = kind.resource();
    let mut object = json!({
        "apiVersion": "v1",
        "kind": resource.kind,
        "metadata": {"name": name(client, asked, resource).await, "namespace": NAMESPACE},
    });
    if *resource == PODS {
        let mut container = json!({"name": "main", "image": "image"});
        if kind == Kind::Burstable {
            container["resources"] = json!({"requests": {"cpu": "100m"}});
        }
        object["spec"] = json!({"containers": [container]});
    }
    Request::new(Method::Post, resource.path(NAMESPACE, "")).with(object)
}
