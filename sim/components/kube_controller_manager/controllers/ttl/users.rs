//! Who makes clusters grow and shrink in a scenario: a client that makes and deletes nodes that have no kubelet yet, and meddles with
//! the TTL of one.

use serde_json::json;
use wavetank_api::kinds::NODES;
use wavetank_api::{Method, Request};
use wavetank_engine::Name;

use super::controller::OBJECT_TTL_ANNOTATION_KEY;
use wavetank_components::users::{Args, Client, Use};

/// Beside those that have kubelets.
const NODES_USED: u64 = 5;
/// Those that have kubelets, if there are any: n1, n2.
const KUBELETS_USED: u64 = 2;

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Join,
    Leave,
    Meddle,
}

const ALL: [(&str, What); 3] = [
    ("join", What::Join),
    ("leave", What::Leave),
    ("meddle", What::Meddle),
];

/// How often each is drawn.
const DRAWN: [What; 5] = [
    What::Join,
    What::Join,
    What::Leave,
    What::Leave,
    What::Meddle,
];

/// What somebody may write there.
const TTLS: [&str; 4] = ["0", "15", "300", "soon"];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    node: Option<String>,
    ttl: Option<String>,
}

/// Makes clusters grow and shrink.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct ScalesClusters;

impl Use for ScalesClusters {
    const ROUTINE: Name = Name::new("scale-cluster");
    type Order = Asked;

    /// `use {what?, node?, ttl?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        Ok(Asked {
            what: args.named("what", &ALL)?,
            node: args.text("node"),
            ttl: args.text("ttl"),
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        let node = match (asked.node, what) {
            (Some(node), _) => node,
            (None, What::Meddle) => format!("n{}", client.rx.choose(KUBELETS_USED).await + 1),
            (None, _) => format!("f{}", client.rx.choose(NODES_USED).await),
        };
        let path = NODES.path("", &node);
        match what {
            What::Join => {
                let object = json!({
                    "apiVersion": NODES.api_version(), "kind": NODES.kind, "metadata": {"name": node},
                });
                let post = Request::new(Method::Post, NODES.path("", ""));
                client.ask(post.with(object)).await;
            }
            What::Leave => client.ask(Request::new(Method::Delete, path)).await,
            What::Meddle => {
                let ttl = match asked.ttl {
                    Some(ttl) => ttl,
                    None => client.one_of(&TTLS).await.to_owned(),
                };
                let annotation = ["metadata", "annotations", OBJECT_TTL_ANNOTATION_KEY];
                client.change_at(&path, &annotation, ttl.into()).await;
            }
        }
    }
}
