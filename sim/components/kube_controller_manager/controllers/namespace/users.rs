//! Who uses namespaces in a scenario: a client that makes namespaces and objects in them, some with a finalizer, takes
//! finalizers away, and deletes namespaces.

use serde_json::json;
use wavetank_api::kinds::{CONFIG_MAPS, NAMESPACES, PODS};
use wavetank_api::{Method, Request, Resource};
use wavetank_engine::Name;

use wavetank_components::users::{Args, Client, Use};

/// So few that they are made again.
const NAMESPACES_USED: u64 = 2;
const OBJECTS_USED: u64 = 4;
pub(super) const FINALIZER: &str = "example.com/keep";

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Create,
    Fill,
    Free,
    Delete,
}

const ALL: [(&str, What); 4] = [
    ("create", What::Create),
    ("fill", What::Fill),
    ("free", What::Free),
    ("delete", What::Delete),
];

/// How often each is drawn.
const DRAWN: [What; 12] = [
    What::Create,
    What::Create,
    What::Create,
    What::Fill,
    What::Fill,
    What::Fill,
    What::Fill,
    What::Fill,
    What::Fill,
    What::Free,
    What::Free,
    What::Delete,
];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    namespace: Option<String>,
    object: Option<u64>,
    finalizer: Option<bool>,
}

/// Uses namespaces.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesNamespaces;

/// Pods have odd numbers.
fn resource(object: u64) -> &'static Resource {
    match object % 2 {
        0 => &CONFIG_MAPS,
        _ => &PODS,
    }
}

impl Use for UsesNamespaces {
    const ROUTINE: Name = Name::new("use-namespace");
    type Order = Asked;

    /// `use {what?, namespace?, object?, finalizer?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        Ok(Asked {
            what: args.named("what", &ALL)?,
            namespace: args.text("namespace"),
            object: args.count("object"),
            finalizer: args.flag("finalizer"),
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        let namespace = match &asked.namespace {
            Some(namespace) => namespace.clone(),
            None => format!("n{}", client.rx.choose(NAMESPACES_USED).await),
        };
        let path = NAMESPACES.path("", &namespace);
        match what {
            What::Create => {
                let object = json!({
                    "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace},
                });
                let post = Request::new(Method::Post, NAMESPACES.path("", ""));
                client.ask(post.with(object)).await;
            }
            What::Fill => fill(&client, &namespace, &asked).await,
            What::Free => free(&client, &namespace, &asked).await,
            What::Delete => client.ask(Request::new(Method::Delete, path)).await,
        }
    }
}

async fn number(client: &Client, asked: &Asked) -> u64 {
    match asked.object {
        Some(number) => number,
        None => client.rx.choose(OBJECTS_USED).await,
    }
}

/// Makes an object.
async fn fill(client: &Client, namespace: &str, asked: &Asked) {
    let number = number(client, asked).await;
    let of = resource(number);
    let finalizer = match asked.finalizer {
        Some(finalizer) => finalizer,
        None => client.rx.choose(4).await == 1,
    };
    let mut object = json!({
        "apiVersion": "v1",
        "kind": of.kind,
        "metadata": {"name": format!("x{number}"), "namespace": namespace},
    });
    if finalizer {
        object["metadata"]["finalizers"] = json!([FINALIZER]);
    }
    if *of == PODS {
        object["spec"] = json!({"containers": [{"name": "main", "image": "image"}]});
    }
    let post = Request::new(Method::Post, of.path(namespace, ""));
    client.ask(post.with(object)).await;
}

/// Takes the finalizer of an object.
async fn free(client: &Client, namespace: &str, asked: &Asked) {
    let number = number(client, asked).await;
    let path = resource(number).path(namespace, &format!("x{number}"));
    let mut patch =
        Request::new(Method::Patch, path).with(json!({"metadata": {"finalizers": null}}));
    patch.content_type = Some("application/merge-patch+json".into());
    client.ask(patch).await;
}
