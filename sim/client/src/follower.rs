//! A node's view of the kubernetes Service: it follows the Endpoints through a load balancer in
//! front of the apiservers, as kube-proxy does with its bootstrap configuration, and what runs on
//! the node connects to the addresses that are listed.
//!
//! List, then watch; after an error again from the list, at the next server, a second later. The
//! reflector as client-go has it takes this place with its own issue.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::{
    Content, Method, Request, Response, Stored, WatchEvent, WatchKind, WatchPart, kinds, views,
};
use wavetank_apiserver::FRONT_DOOR;
use wavetank_engine::{
    Caller, Cell, Cx, Keepalive, Name, Outcome, Payload, ProcId, Process, RoutineFuture, Rx,
    Stream, Task, Transport,
};

const FOLLOW: Name = Name::new("follow");
const CONNECT: Name = Name::new("connect");
/// Pause before the next server is tried.
const RETRY: Duration = Duration::from_secs(1);
/// How long a list may take.
const LIST_LIMIT: Duration = Duration::from_secs(30);
/// How long an attempt to use an address may take.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(10);

/// What runs on the node has connections of its own, with client-go's health check.
static IN_CLUSTER: Transport = Transport {
    name: Name::new("in-cluster"),
    dial_timeout: Duration::from_secs(5),
    keepalive: Some(Keepalive {
        after: Duration::from_secs(30),
        limit: Duration::from_secs(15),
        idle: true,
    }),
    window: None,
};

/// The addresses that the node believes in.
pub static KNOWN: Cell<Vec<Arc<str>>> = Cell::new("known-addresses");

/// A note: somebody on the node tried to reach an apiserver.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Attempt {
    /// Through this address; `None` if none is known.
    pub address: Option<Arc<str>>,
    /// Did a server answer?
    pub reached: bool,
}

/// The node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Follower {
    /// The apiservers behind the load balancer, with their addresses.
    pub servers: Arc<Vec<(Arc<str>, ProcId)>>,
}

/// Where the follower is in its loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Place {
    server: usize,
    stream: Option<Stream>,
}

impl Process for Follower {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        let place = Place {
            server: 0,
            stream: None,
        };
        cx.spawn(Task::new(FOLLOW, place));
    }

    fn request(&mut self, _cx: &mut Cx<'_>, _caller: Caller, _body: &Payload) {}

    fn tell(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        _args: &serde_json::Value,
    ) -> Result<(), String> {
        if what != "connect" {
            return Err(format!("knows `connect`, not `{what}`"));
        }
        cx.spawn(Task::new(CONNECT, ()));
        Ok(())
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        let (rx, servers) = (Rx::new(), self.servers.clone());
        if task.kind() == FOLLOW {
            return Box::pin(follow(rx, servers, *task.args::<Place>()));
        }
        Box::pin(connect(rx, servers))
    }
}

/// A list or watch of the Endpoints default/kubernetes.
fn endpoints(more: &[(&str, &str)]) -> Payload {
    let mut asked = vec![("fieldSelector", "metadata.name=kubernetes")];
    asked.extend_from_slice(more);
    let path = kinds::ENDPOINTS.path("default", "");
    Payload::new(Request::new(Method::Get, path).ask(&asked))
}

fn know(rx: Rx, endpoints: Option<&Stored>) {
    let addresses = endpoints.map(|stored| views::addresses(stored.object.json()));
    rx.update(&KNOWN, |known| *known = addresses.unwrap_or_default());
}

/// One turn: a list and the opening of a watch, or one part of the watch.
async fn follow(rx: Rx, servers: Arc<Vec<(Arc<str>, ProcId)>>, place: Place) -> Outcome {
    let to = servers[place.server % servers.len()].1;
    let stream = match place.stream {
        Some(stream) => next(rx, stream).await,
        None => begin(rx, to).await,
    };
    let next = match stream {
        Some(stream) => Place {
            stream: Some(stream),
            ..place
        },
        None => {
            rx.sleep(RETRY).await;
            Place {
                server: (place.server + 1) % servers.len(),
                stream: None,
            }
        }
    };
    Outcome::Become(Task::new(FOLLOW, next))
}

async fn begin(rx: Rx, to: ProcId) -> Option<Stream> {
    let list = rx.call(&FRONT_DOOR, to, endpoints(&[]));
    let answer = rx.timeout(LIST_LIMIT, list).await?.ok()?;
    let Content::List(list) = &answer.expect::<Response>().content else {
        return None;
    };
    know(rx, list.items.first());
    let version = list.resource_version.to_string();
    let watch = endpoints(&[("watch", "true"), ("resourceVersion", &version)]);
    Some(rx.open_stream(&FRONT_DOOR, to, watch))
}

async fn next(rx: Rx, stream: Stream) -> Option<Stream> {
    let part = rx.next(stream).await.ok()??;
    match part.expect::<WatchPart>() {
        WatchPart::Event(WatchEvent::Object(WatchKind::Deleted, _)) => know(rx, None),
        WatchPart::Event(WatchEvent::Object(_, stored)) => know(rx, Some(stored)),
        WatchPart::Accepted | WatchPart::Event(WatchEvent::Bookmark { .. }) => {}
        WatchPart::Event(WatchEvent::Error(_)) | WatchPart::Refused(_) | WatchPart::Closed => {
            rx.close_stream(stream);
            return None;
        }
    }
    Some(stream)
}

/// Somebody on the node wants an apiserver: any of the addresses, as kube-proxy picks.
async fn connect(rx: Rx, servers: Arc<Vec<(Arc<str>, ProcId)>>) -> Outcome {
    let known = rx.read(&KNOWN);
    if known.is_empty() {
        rx.note(Attempt {
            address: None,
            reached: false,
        });
        return Outcome::Done;
    }
    let address = known[rx.choose(known.len() as u64).await as usize].clone();
    let server = servers.iter().find(|(a, _)| *a == address);
    let reached = match server {
        None => false,
        Some((_, to)) => {
            let probe = Payload::new(Request::new(Method::Get, "/healthz"));
            let answer = rx.timeout(ATTEMPT_LIMIT, rx.call(&IN_CLUSTER, *to, probe));
            matches!(answer.await, Some(Ok(_)))
        }
    };
    rx.note(Attempt {
        address: Some(address),
        reached,
    });
    Outcome::Done
}
