//! Who makes and deletes nodes in a scenario, as an autoscaler of clusters does: a client that makes nodes, marks them, and deletes
//! them. A finalizer holds some of them until they are drained.

use serde_json::json;
use wavetank_api::kinds::NODES;
use wavetank_api::{Method, Request, json};
use wavetank_engine::Name;

use wavetank_components::users::{Args, Client, Use};

/// So many are used.
const NODES_USED: u64 = 6;
/// What holds a node until it is drained.
const FINALIZER: &str = "wavetank.dev/drain";

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Join,
    JoinHeld,
    Mark,
    Leave,
    Drain,
}

const ALL: [(&str, What); 5] = [
    ("join", What::Join),
    ("join-held", What::JoinHeld),
    ("mark", What::Mark),
    ("leave", What::Leave),
    ("drain", What::Drain),
];

/// How often each is drawn.
const DRAWN: [What; 8] = [
    What::Join,
    What::Join,
    What::JoinHeld,
    What::Mark,
    What::Leave,
    What::Leave,
    What::Drain,
    What::Drain,
];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    node: Option<String>,
}

/// Makes and deletes nodes.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct ProvisionsNodes;

impl Use for ProvisionsNodes {
    const ROUTINE: Name = Name::new("provision-node");
    type Order = Asked;

    /// `use {what?, node?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        Ok(Asked {
            what: args.named("what", &ALL)?,
            node: args.text("node"),
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        let node = match asked.node {
            Some(node) => node,
            None => format!("r{}", client.rx.choose(NODES_USED).await),
        };
        let path = NODES.path("", &node);
        let finalizers = ["metadata", "finalizers"];
        match what {
            What::Join | What::JoinHeld => {
                let mut object = json!({
                    "apiVersion": NODES.api_version(), "kind": NODES.kind, "metadata": {"name": node},
                });
                if what == What::JoinHeld {
                    json::set(&mut object, &finalizers, json!([FINALIZER]));
                }
                let post = Request::new(Method::Post, NODES.path("", ""));
                client.ask(post.with(object)).await;
            }
            What::Mark => {
                let mark = ["metadata", "labels", "pool"];
                let pool = client.one_of(&["a", "b"]).await;
                client.change_at(&path, &mark, pool.into()).await;
            }
            What::Leave => client.ask(Request::new(Method::Delete, path)).await,
            What::Drain => client.change_at(&path, &finalizers, json!([])).await,
        }
    }
}
