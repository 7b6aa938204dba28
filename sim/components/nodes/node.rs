//! A node that registers itself (`pkg/kubelet/kubelet_node_status.go`, v1.36.2).

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::kinds::NODES;
use wavetank_api::{Method, Reason, Request, Stamp};
use wavetank_client::RestClient;
use wavetank_engine::{Caller, Cx, Name, Outcome, Payload, Process, RoutineFuture, Rx, Task};

const REGISTER: Name = Name::new("register-node");
/// How long it waits before it tries again, at first and at most (`registerWithAPIServer`).
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(7);
/// How long a request may take.
const LIMIT: Duration = Duration::from_secs(10);

/// A node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Node {
    name: Arc<str>,
    rest: RestClient,
}

impl Node {
    /// The one of this name, which reaches apiservers so.
    pub fn new(name: &str, rest: RestClient) -> Node {
        Node {
            name: name.into(),
            rest,
        }
    }

    /// `registerWithAPIServer`: tries until the Node is there.
    async fn register_with_api_server(self, rx: Rx) -> Outcome {
        let mut step = FIRST;
        loop {
            rx.sleep(step).await;
            step = (step * 2).min(LONGEST);
            if self.try_register_with_api_server(rx).await {
                return Outcome::Done;
            }
        }
    }

    /// `tryRegisterWithAPIServer`: is it registered? What a kubelet mends of a Node that was there before is the same here.
    async fn try_register_with_api_server(&self, rx: Rx) -> bool {
        let now = Stamp::of(rx.clock()).seconds();
        let post = Request::new(Method::Post, NODES.path("", "")).with(self.initial_node(&now));
        match self.rest.object_within(rx, post, LIMIT).await {
            Ok(_) => true,
            Err(error) => error.is(Reason::AlreadyExists),
        }
    }

    /// `initialNode`
    fn initial_node(&self, now: &str) -> Json {
        json!({
            "apiVersion": NODES.api_version(),
            "kind": NODES.kind,
            "metadata": {"name": *self.name, "labels": {"kubernetes.io/hostname": *self.name}},
            "status": {"conditions": [
                {"type": "Ready", "status": "True", "lastHeartbeatTime": now, "lastTransitionTime": now},
            ]},
        })
    }
}

impl Process for Node {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        cx.spawn(Task::new(REGISTER, ()));
    }

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks a node: {body:?}");
    }

    fn crash(&mut self) {}

    fn routine(&self, _: &Task) -> RoutineFuture {
        Box::pin(self.clone().register_with_api_server(Rx::new()))
    }
}
