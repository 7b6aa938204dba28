//! Who uses Deployments in a scenario: a client that makes them, changes their templates, scales, pauses and resumes them,
//! and makes them anew under the same name. Some templates never become ready.

use serde_json::json;
use wavetank_api::json;
use wavetank_api::kinds::DEPLOYMENTS;
use wavetank_api::{Method, Request};
use wavetank_engine::Name;

use wavetank_components::users::{Args, Client, NAMESPACE, Use, containers, selected_template};

/// So few that they are made again.
const DEPLOYMENTS_USED: u64 = 2;
const MOST_REPLICAS: u64 = 5;
/// Of so many templates one is drawn; rollouts go back to one that was there before.
const IMAGES: u64 = 4;
/// In seconds: short, so that rollouts that stand still are told of in time.
const DEADLINE: i64 = 60;
const HISTORY: i64 = 2;
/// What upstream takes for none (`HasProgressDeadline`).
const NO_DEADLINE: i64 = i32::MAX as i64;

/// What is done to a Deployment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Create,
    RollOut,
    Scale,
    Pause,
    Resume,
    Recreate,
    Delete,
}

const ALL: [(&str, What); 7] = [
    ("create", What::Create),
    ("roll-out", What::RollOut),
    ("scale", What::Scale),
    ("pause", What::Pause),
    ("resume", What::Resume),
    ("recreate", What::Recreate),
    ("delete", What::Delete),
];

/// How often each is drawn.
const DRAWN: [What; 10] = [
    What::Create,
    What::Create,
    What::RollOut,
    What::RollOut,
    What::RollOut,
    What::Scale,
    What::Pause,
    What::Resume,
    What::Resume,
    What::Recreate,
];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    deployment: Option<String>,
    replicas: Option<i64>,
    image: Option<String>,
    strategy: Option<String>,
    deadline: Option<i64>,
}

/// Uses Deployments.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesDeployments;

impl Use for UsesDeployments {
    const ROUTINE: Name = Name::new("use-deployment");
    type Order = Asked;

    /// `use {what?, deployment?, replicas?, image?, strategy?, deadline?}`: the deadline in seconds, 0 for none.
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        Ok(Asked {
            what: args.named("what", &ALL)?,
            deployment: args.text("deployment"),
            replicas: args.number("replicas"),
            image: args.text("image"),
            strategy: args.text("strategy"),
            deadline: args.number("deadline"),
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        let name = match &asked.deployment {
            Some(name) => name.clone(),
            None => format!("web{}", client.rx.choose(DEPLOYMENTS_USED).await),
        };
        let of = &DEPLOYMENTS;
        match what {
            What::Create => create(&client, &name, &asked).await,
            What::Recreate => {
                delete(&client, &name).await;
                create(&client, &name, &asked).await;
            }
            What::Delete => delete(&client, &name).await,
            What::RollOut => {
                let image = client.image(asked.image.as_deref(), IMAGES).await;
                let field = ["spec", "template", "spec", "containers"];
                client.change(of, &name, &field, containers(&image)).await;
            }
            What::Scale => {
                let replicas = client.number(asked.replicas, MOST_REPLICAS).await;
                scale(&client, &name, replicas, asked.strategy.as_deref()).await;
            }
            What::Pause | What::Resume => {
                let paused = (what == What::Pause).into();
                client.change(of, &name, &["spec", "paused"], paused).await;
            }
        }
    }
}

/// With another strategy at once, if one is named.
async fn scale(client: &Client, name: &str, replicas: i64, strategy: Option<&str>) {
    if let Some(mut object) = client.get(&DEPLOYMENTS, name).await {
        json::set(&mut object, &["spec", "replicas"], replicas);
        if let Some(strategy) = strategy {
            json::set(
                &mut object,
                &["spec", "strategy"],
                json!({"type": strategy}),
            );
        }
        let put = Request::new(Method::Put, DEPLOYMENTS.path(NAMESPACE, name));
        client.ask(put.with(object)).await;
    }
}

async fn delete(client: &Client, name: &str) {
    let path = DEPLOYMENTS.path(NAMESPACE, name);
    client.ask(Request::new(Method::Delete, path)).await;
}

async fn create(client: &Client, name: &str, asked: &Asked) {
    let replicas = client.number(asked.replicas, MOST_REPLICAS).await;
    let image = client.image(asked.image.as_deref(), IMAGES).await;
    let strategy = match &asked.strategy {
        Some(strategy) => strategy.clone(),
        None if client.rx.choose(3).await == 1 => "Recreate".to_owned(),
        None => "RollingUpdate".to_owned(),
    };
    let deadline = match asked.deadline {
        Some(0) => NO_DEADLINE,
        asked => asked.unwrap_or(DEADLINE),
    };
    let (selector, template) = selected_template(name, &image);
    let deployment = json!({
        "apiVersion": DEPLOYMENTS.api_version(),
        "kind": DEPLOYMENTS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas,
            "strategy": {"type": strategy},
            "progressDeadlineSeconds": deadline,
            "revisionHistoryLimit": HISTORY,
            "selector": selector,
            "template": template,
        },
    });
    let post = Request::new(Method::Post, DEPLOYMENTS.path(NAMESPACE, ""));
    client.ask(post.with(deployment)).await;
}
