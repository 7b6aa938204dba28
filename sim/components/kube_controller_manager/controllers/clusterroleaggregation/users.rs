//! Who uses ClusterRoles in a scenario: a client that makes roles with labels and rules, and others that aggregate them; that labels,
//! changes and deletes them; and that writes the rules of aggregated roles, or applies them as its own.

use serde_json::{Value as Json, json};
use wavetank_api::kinds::CLUSTER_ROLES;
use wavetank_api::{Method, Request};
use wavetank_engine::Name;

use wavetank_components::users::{Args, Client, Use};

/// So few that they are made again: roles that are selected, and those that aggregate them.
const PARTS_USED: u64 = 3;
const SUMS_USED: u64 = 2;

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    CreatePart,
    CreateSum,
    Label,
    ChangeRules,
    DeletePart,
    DeleteSum,
    Write,
    Apply,
}

const ALL: [(&str, What); 8] = [
    ("create-part", What::CreatePart),
    ("create-sum", What::CreateSum),
    ("label", What::Label),
    ("change-rules", What::ChangeRules),
    ("delete-part", What::DeletePart),
    ("delete-sum", What::DeleteSum),
    ("write", What::Write),
    ("apply", What::Apply),
];

/// How often each is drawn.
const DRAWN: [What; 16] = [
    What::CreatePart,
    What::CreatePart,
    What::CreatePart,
    What::CreateSum,
    What::CreateSum,
    What::Label,
    What::Label,
    What::Label,
    What::Label,
    What::ChangeRules,
    What::ChangeRules,
    What::DeletePart,
    What::DeletePart,
    What::DeleteSum,
    What::Write,
    What::Apply,
];

/// What a role may be labelled with. A role that aggregates has the first: the other may select it.
const LABELS: [&str; 3] = ["red", "blue", ""];
/// What a rule may allow. Rules of several roles may be equal.
const VERBS: [&str; 4] = ["get", "list", "watch", "delete"];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    role: Option<String>,
    label: Option<String>,
    verbs: Option<Vec<String>>,
}

/// Uses ClusterRoles.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesRoles;

impl Use for UsesRoles {
    const ROUTINE: Name = Name::new("use-role");
    type Order = Asked;

    /// `use {what?, role?, label?, verbs?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        let verbs = args.list("verbs", "a list of verbs", |verb| {
            verb.as_str().map(str::to_owned)
        });
        Ok(Asked {
            what: args.named("what", &ALL)?,
            role: args.text("role"),
            label: args.text("label"),
            verbs,
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        let name = match &asked.role {
            Some(role) => role.clone(),
            None => match what {
                What::CreateSum | What::DeleteSum | What::Write | What::Apply => {
                    format!("sum{}", client.rx.choose(SUMS_USED).await)
                }
                _ => format!("part{}", client.rx.choose(PARTS_USED).await),
            },
        };
        let path = CLUSTER_ROLES.path("", &name);
        match what {
            What::CreatePart => {
                let labels = labels(&client, &asked).await;
                let own = json!({"rules": rules(&client, &asked).await});
                create(&client, &name, labels, own).await;
            }
            What::CreateSum => create(&client, &name, json!({"red": "yes"}), sum(&name)).await,
            What::Label => {
                let labels = labels(&client, &asked).await;
                client
                    .change_at(&path, &["metadata", "labels"], labels)
                    .await;
            }
            What::ChangeRules | What::Write => {
                let rules = rules(&client, &asked).await;
                client.change_at(&path, &["rules"], rules).await;
            }
            What::DeletePart | What::DeleteSum => {
                client.ask(Request::new(Method::Delete, path)).await;
            }
            What::Apply => {
                let rules = rules(&client, &asked).await;
                apply(&client, &name, rules).await;
            }
        }
    }
}

async fn labels(client: &Client, asked: &Asked) -> Json {
    let label = match &asked.label {
        Some(label) => label.clone(),
        None => client.one_of(&LABELS).await.to_owned(),
    };
    match label.is_empty() {
        true => json!({}),
        false => json!({ label: "yes" }),
    }
}

/// One rule or two.
async fn rules(client: &Client, asked: &Asked) -> Json {
    let rule = |verb: &str| json!({"verbs": [verb], "apiGroups": [""], "resources": ["pods"]});
    if let Some(verbs) = &asked.verbs {
        return verbs.iter().map(|verb| rule(verb)).collect();
    }
    let first = client.rx.choose(VERBS.len() as u64).await as usize;
    let second = client.rx.choose(VERBS.len() as u64).await as usize;
    let mut all = vec![rule(VERBS[first])];
    all.extend((second > first).then(|| rule(VERBS[second])));
    all.into()
}

/// The one selects what is blue, then what is red, the other what is blue: who selects is not selected by that.
fn sum(name: &str) -> Json {
    let select = |label: &str| json!({"matchLabels": {label: "yes"}});
    let selectors = match name.ends_with('0') {
        true => json!([select("blue"), select("red")]),
        false => json!([select("blue")]),
    };
    json!({"aggregationRule": {"clusterRoleSelectors": selectors}, "rules": []})
}

fn of_name(name: &str) -> Json {
    json!({
        "apiVersion": CLUSTER_ROLES.api_version(),
        "kind": CLUSTER_ROLES.kind,
        "metadata": {"name": name},
    })
}

async fn create(client: &Client, name: &str, labels: Json, own: Json) {
    let mut object = of_name(name);
    object["metadata"]["labels"] = labels;
    for field in ["rules", "aggregationRule"] {
        if let Some(value) = own.get(field) {
            object[field] = value.clone();
        }
    }
    let post = Request::new(Method::Post, CLUSTER_ROLES.path("", ""));
    client.ask(post.with(object)).await;
}

/// Applies the rules of an aggregated role, which is not made by that: it looks for it first.
async fn apply(client: &Client, name: &str, rules: Json) {
    let path = CLUSTER_ROLES.path("", name);
    if client.object(&path).await.is_err() {
        return;
    }
    let mut object = of_name(name);
    object["rules"] = rules;
    let mut patch = Request::new(Method::Patch, path).with(object);
    patch.content_type = Some("application/apply-patch+yaml".into());
    client
        .ask(patch.ask(&[("fieldManager", "kubectl"), ("force", "true")]))
        .await;
}
