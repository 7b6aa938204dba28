//! Who lives in namespaces in a scenario: a client that makes namespaces, marks and deletes them, and that makes, changes and
//! deletes what controllers put there: the root certificate and the default ServiceAccount.

use serde_json::{Value as Json, json};
use wavetank_api::kinds::{CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS};
use wavetank_api::{Method, Request, Resource};
use wavetank_engine::Name;

use super::controller::{DESCRIPTION_ANNOTATION, ROOT_CA_CERT_CONFIG_MAP_NAME};
use wavetank_components::users::{Args, Client, Use};

/// So few that they are made again.
const NAMESPACES_USED: u64 = 3;

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Create,
    Occupy,
    Mark,
    Delete,
    Forge,
    Strip,
    Take,
    Dismiss,
    Appoint,
}

const ALL: [(&str, What); 9] = [
    ("create", What::Create),
    ("occupy", What::Occupy),
    ("mark", What::Mark),
    ("delete", What::Delete),
    ("forge", What::Forge),
    ("strip", What::Strip),
    ("take", What::Take),
    ("dismiss", What::Dismiss),
    ("appoint", What::Appoint),
];

/// How often each is drawn.
const DRAWN: [What; 16] = [
    What::Create,
    What::Create,
    What::Create,
    What::Create,
    What::Occupy,
    What::Occupy,
    What::Mark,
    What::Delete,
    What::Delete,
    What::Forge,
    What::Strip,
    What::Take,
    What::Take,
    What::Dismiss,
    What::Dismiss,
    What::Appoint,
];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    namespace: Option<String>,
}

/// Lives in namespaces.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct LivesInNamespaces;

impl Use for LivesInNamespaces {
    const ROUTINE: Name = Name::new("use-tenancy");
    type Order = Asked;

    /// `use {what?, namespace?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        Ok(Asked {
            what: args.named("what", &ALL)?,
            namespace: args.text("namespace"),
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        let namespace = match asked.namespace {
            Some(namespace) => namespace,
            None => format!("t{}", client.rx.choose(NAMESPACES_USED).await),
        };
        let certificate = CONFIG_MAPS.path(&namespace, ROOT_CA_CERT_CONFIG_MAP_NAME);
        match what {
            What::Create => create(&client, &namespace).await,
            What::Occupy => {
                create(&client, &namespace).await;
                let forged = json!({"ca.crt": "a certificate of one's own\n"});
                let own = json!({"data": forged});
                post(
                    &client,
                    &CONFIG_MAPS,
                    &namespace,
                    ROOT_CA_CERT_CONFIG_MAP_NAME,
                    own,
                )
                .await;
            }
            What::Mark => {
                let path = NAMESPACES.path("", &namespace);
                let mark = client.rx.choose(4).await.to_string();
                client
                    .change_at(&path, &["metadata", "labels", "mark"], mark.into())
                    .await;
            }
            What::Delete => delete(&client, NAMESPACES.path("", &namespace)).await,
            What::Forge => {
                let forged = json!({"ca.crt": "a certificate of one's own\n"});
                client.change_at(&certificate, &["data"], forged).await;
            }
            What::Strip => {
                let annotation = ["metadata", "annotations", DESCRIPTION_ANNOTATION];
                client.change_at(&certificate, &annotation, "".into()).await;
            }
            What::Take => delete(&client, certificate).await,
            What::Dismiss => delete(&client, SERVICE_ACCOUNTS.path(&namespace, "default")).await,
            What::Appoint => {
                let own = json!({"automountServiceAccountToken": false});
                post(&client, &SERVICE_ACCOUNTS, &namespace, "default", own).await;
            }
        }
    }
}

async fn create(client: &Client, namespace: &str) {
    let object = json!({
        "apiVersion": NAMESPACES.api_version(),
        "kind": NAMESPACES.kind,
        "metadata": {"name": namespace},
    });
    let post = Request::new(Method::Post, NAMESPACES.path("", ""));
    client.ask(post.with(object)).await;
}

async fn delete(client: &Client, path: String) {
    client.ask(Request::new(Method::Delete, path)).await;
}

/// Makes an object of its own where a controller would.
async fn post(client: &Client, of: &Resource, namespace: &str, name: &str, mut object: Json) {
    object["apiVersion"] = of.api_version().into();
    object["kind"] = of.kind.into();
    object["metadata"] = json!({"name": name, "namespace": namespace});
    let post = Request::new(Method::Post, of.path(namespace, ""));
    client.ask(post.with(object)).await;
}
