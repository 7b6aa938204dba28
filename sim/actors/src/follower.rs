//! A node's view of the kubernetes Service: it follows the Endpoints through a load balancer in
//! front of the apiservers, as kube-proxy does with its bootstrap configuration, and what runs on
//! the node connects to the addresses that are listed. It may keep a connection until that breaks, and pick
//! an address anew only then, as a client in a pod does.
//!
//! With health checks the load balancer is the one of the node, and the address that it has itself, which
//! apiservers may advertise instead of their own, leads to whichever is healthy.
//!
//! List, then watch; after an error again from the list, at the next server, a second later. The
//! reflector as client-go has it takes this place with its own issue.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::{
    Content, Method, Request, Response, Stored, WatchEvent, WatchKind, WatchPart, kinds, views,
};
use wavetank_client::load_balancer::{LoadBalancer, MOVED, Policy};
use wavetank_client::{HTTPS, HealthChecks};
use wavetank_engine::{
    Caller, Cell, Cx, Either, Keepalive, Name, Outcome, Payload, ProcId, Process, RoutineFuture,
    Rx, Stream, Task, Transport,
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

/// A connection that is kept: the address that was picked, and the server that it leads to.
static KEPT: Cell<Option<(Arc<str>, usize)>> = Cell::new("kept-connection");

/// The node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Follower {
    /// The apiservers behind the load balancer, with their addresses.
    pub servers: Arc<Vec<(Arc<str>, ProcId)>>,
    /// How the load balancer checks them, if it does.
    pub checks: Option<HealthChecks>,
    /// Does what runs on the node keep its connection?
    pub keeps: bool,
}

impl Follower {
    fn balancer(&self) -> LoadBalancer {
        LoadBalancer {
            servers: self.servers.iter().map(|(_, server)| *server).collect(),
            policy: Policy::Drawn,
            window: None,
        }
    }
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
        if let Some(checks) = self.checks {
            checks.boot(cx, &self.balancer());
        }
    }

    fn request(&mut self, _cx: &mut Cx<'_>, _caller: Caller, _body: &Payload) {}

    fn command(
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
        let rx = Rx::new();
        if task.kind() == FOLLOW {
            return Box::pin(follow(rx, self.clone(), *task.args::<Place>()));
        }
        if task.kind() == CONNECT {
            return Box::pin(connect(rx, self.clone()));
        }
        let check = self.checks;
        let check = check.and_then(|checks| checks.routine(&self.balancer(), task));
        check.unwrap_or_else(|| panic!("a client has no routine `{}`", task.kind()))
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
async fn follow(rx: Rx, me: Follower, place: Place) -> Outcome {
    if me.checks.is_some() {
        return follow_balanced(rx, &me.balancer(), place).await;
    }
    let servers = me.servers;
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

/// The same through a load balancer that says where a connection goes, and may cut it.
async fn follow_balanced(rx: Rx, balancer: &LoadBalancer, place: Place) -> Outcome {
    let (server, stream) = match place.stream {
        None => {
            let server = balancer.number(rx).await;
            (server, begin(rx, balancer.servers[server]).await)
        }
        Some(stream) => (
            place.server,
            next_unless_cut(rx, balancer, place.server, stream).await,
        ),
    };
    if stream.is_none() {
        balancer.broke(rx, balancer.servers[server]);
        rx.sleep(RETRY).await;
    }
    Outcome::Become(Task::new(FOLLOW, Place { server, stream }))
}

async fn next_unless_cut(
    rx: Rx,
    balancer: &LoadBalancer,
    server: usize,
    stream: Stream,
) -> Option<Stream> {
    if balancer.goes_to(rx, server) {
        match rx.select(next(rx, stream), rx.changed(MOVED)).await {
            Either::Left(stream) => return stream,
            Either::Right(()) => {}
        }
    }
    rx.close_stream(stream);
    None
}

async fn begin(rx: Rx, to: ProcId) -> Option<Stream> {
    let list = rx.call(&HTTPS, to, endpoints(&[]));
    let answer = rx.timeout(LIST_LIMIT, list).await?.ok()?;
    let Content::List(list) = &answer.expect::<Response>().content else {
        return None;
    };
    know(rx, list.items.first());
    let version = list.resource_version.to_string();
    let watch = endpoints(&[("watch", "true"), ("resourceVersion", &version)]);
    Some(rx.open_stream(&HTTPS, to, watch))
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
async fn connect(rx: Rx, me: Follower) -> Outcome {
    let kept = match me.keeps {
        true => rx
            .read(&KEPT)
            .filter(|(address, server)| !is_cut(rx, &me, address, *server)),
        false => None,
    };
    let (address, server) = match kept {
        Some((address, server)) => (address, Some(server)),
        None => {
            let known = rx.read(&KNOWN);
            if known.is_empty() {
                rx.note(Attempt {
                    address: None,
                    reached: false,
                });
                return Outcome::Done;
            }
            let address = known[rx.choose(known.len() as u64).await as usize].clone();
            let server = server_at(rx, &me, &address).await;
            (address, server)
        }
    };
    let reached = match server {
        None => false,
        Some(server) => {
            let to = me.servers[server].1;
            let probe = Payload::new(Request::new(Method::Get, "/healthz"));
            let answer = rx.timeout(ATTEMPT_LIMIT, rx.call(&IN_CLUSTER, to, probe));
            matches!(answer.await, Some(Ok(_)))
        }
    };
    if me.keeps {
        let kept = server.filter(|_| reached);
        let kept = kept.map(|server| (address.clone(), server));
        rx.update(&KEPT, |own| *own = kept);
    }
    rx.note(Attempt {
        address: Some(address),
        reached,
    });
    Outcome::Done
}

/// The servers that have an address; where there are several, it is the balancer's.
fn servers_at(me: &Follower, address: &str) -> Vec<usize> {
    let all = 0..me.servers.len();
    all.filter(|at| *me.servers[*at].0 == *address).collect()
}

/// The server that a new connection to this address gets.
async fn server_at(rx: Rx, me: &Follower, address: &str) -> Option<usize> {
    match servers_at(me, address).as_slice() {
        [] => None,
        [only] => Some(*only),
        _ => Some(me.balancer().draw(rx).await as usize),
    }
}

/// Has the balancer cut the connection to this server?
fn is_cut(rx: Rx, me: &Follower, address: &str, server: usize) -> bool {
    let cuts = me.checks.is_some_and(|checks| checks.cuts);
    cuts && servers_at(me, address).len() > 1 && !me.balancer().is_healthy(rx, server)
}
