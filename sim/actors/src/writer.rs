//! A client that writes: it makes objects, updates and deletes them, and makes them again, through any
//! apiserver; or swaps, as a controller does: it reads an object and updates or deletes it if it is still
//! the same. Informers have something to see where there are some of these. It reads, too: at a revision
//! that it knows of, by a list or a watch with initial events. What it does next is drawn by the driver.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::json;
use wavetank_api::kinds::{CONFIG_MAPS, PODS, Resource, SECRETS};
use wavetank_api::{
    Content, Method, Object, Reason, Request, Response, Status, WatchEvent, WatchPart,
};
use wavetank_client::HTTPS;
use wavetank_engine::{
    Caller, Cell, Cx, Name, Outcome, Payload, ProcId, Process, RoutineFuture, Rx, Stream, Task,
};
use wavetank_etcd::{Key, Revision};

const WRITE: Name = Name::new("write");
const READ: Name = Name::new("read");
const BURST: Name = Name::new("burst");
const REQUEST: Name = Name::new("request");

/// So many writes a burst has: more than the buffers of a watch hold, and than come to a client unasked where a
/// scenario says how much that is.
const WRITES: u64 = 60;
/// How long a request may take.
const LIMIT: Duration = Duration::from_secs(10);
/// So few objects that they are deleted and made again.
const NAMES: u64 = 8;
/// The namespace of everything.
const NAMESPACE: &str = "default";
/// The values of the label `app`.
const APPS: [&str; 2] = ["x", "y"];
/// What some objects wait for when they are deleted. An update takes it away.
const FINALIZER: &str = "wavetank/kept";

/// A writer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Writer {
    /// The apiservers.
    pub servers: Arc<Vec<ProcId>>,
    /// Do they know `sendInitialEvents`?
    pub streams: bool,
}

/// The newest revision that it was told.
static KNOWN: Cell<Revision> = Cell::new("known");

/// How often it has tried to change what it had read.
static SWAPS: Cell<u32> = Cell::new("swaps");

/// How often it was told to make a request.
static REQUESTS: Cell<u32> = Cell::new("requests");

/// A client begins a request that it was told to make.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Requested {
    /// Which, of this client.
    pub number: u32,
    /// Its path.
    pub path: Arc<str>,
    /// Who is asked.
    pub server: ProcId,
}

/// That request is over.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RequestAnswered {
    /// Which, of this client.
    pub number: u32,
    /// Its path.
    pub path: Arc<str>,
    /// Who was asked.
    pub server: ProcId,
    /// Why it was refused, if it was.
    pub refused: Option<Status>,
}

/// Somebody has read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Read {
    /// From this server
    pub server: ProcId,
    /// all objects of this resource,
    pub resource: &'static Resource,
    /// not older than this,
    pub revision: Revision,
    /// by a watch with initial events, or by a list.
    pub streamed: bool,
    /// What came of it.
    pub answer: Answer,
}

/// What came of reading.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Answer {
    /// It was answered.
    Given,
    /// The server does not know of the revision yet.
    TooLarge,
    /// It was refused for another reason.
    Refused,
    /// There was none in time.
    None,
}

/// Somebody has read an object, and asks for it to be changed if it is still the same.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Swapping {
    /// The how manieth of this client.
    pub number: u32,
}

/// An object was read, and what was asked for next was to change it if it was still the same.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Swapped {
    /// The how manieth of this client.
    pub number: u32,
    /// The server that was asked to.
    pub server: ProcId,
    /// The key of the object in etcd.
    pub key: Key,
    /// The revision that was read.
    pub read: Revision,
    /// What came of it.
    pub swap: Swap,
}

/// What came of a swap.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Swap {
    /// It was stored at this revision. If that is the one that was read, there was nothing to be stored.
    Stored(Revision),
    /// It was deleted.
    Deleted,
    /// There is another one, or none.
    Refused,
}

impl Process for Writer {
    fn boot(&mut self, _: &mut Cx<'_>) {}

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks a client: {body:?}");
    }

    /// `write {}`: one object, in some way. `read {}`: all objects of a resource. `burst {}`: one object, again and again.
    /// `request {method, path, body?}`: just this, to any server.
    fn command(&mut self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        let task = match what {
            "write" => Task::new(WRITE, self.clone()),
            "read" => Task::new(READ, self.clone()),
            "burst" => Task::new(BURST, self.clone()),
            "request" => Task::new(REQUEST, (self.clone(), asked(args)?)),
            other => {
                return Err(format!(
                    "knows `write`, `read`, `burst` and `request`, not `{other}`"
                ));
            }
        };
        cx.spawn(task);
        Ok(())
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        if task.kind() == REQUEST {
            let (own, request) = task.args::<(Writer, Request)>().clone();
            return Box::pin(just(Rx::new(), own, request));
        }
        let own = task.args::<Writer>().clone();
        match task.kind() {
            kind if kind == READ => Box::pin(read(Rx::new(), own)),
            kind if kind == BURST => Box::pin(burst(Rx::new(), own)),
            _ => Box::pin(write(Rx::new(), own)),
        }
    }
}

/// What is read and written.
pub const ALL: [&Resource; 3] = [&CONFIG_MAPS, &PODS, &SECRETS];

/// What is written how often. Secrets are all but quiet.
fn resource(drawn: u64) -> &'static Resource {
    match drawn {
        0..22 => &CONFIG_MAPS,
        22..29 => &PODS,
        _ => &SECRETS,
    }
}

impl Writer {
    async fn server(&self, rx: Rx) -> ProcId {
        let drawn = rx.choose(self.servers.len() as u64).await;
        self.servers[drawn as usize]
    }
}

async fn write(rx: Rx, own: Writer) -> Outcome {
    let server = own.server(rx).await;
    let resource = resource(rx.choose(30).await);
    let name = format!("o{}", rx.choose(NAMES).await);
    let app = APPS[rx.choose(APPS.len() as u64).await as usize];
    let path = |name: &str| resource.path(NAMESPACE, name);
    let value = rx.choose(1 << 20).await;
    let mut object = object(resource, &name, app, value);
    let request = match rx.choose(4).await {
        0 => Request::new(Method::Delete, path(&name)).ask(&[("gracePeriodSeconds", "0")]),
        1 => {
            if value % 4 == 3 {
                object["metadata"]["finalizers"] = json!([FINALIZER]);
            }
            Request::new(Method::Post, path("")).with(object)
        }
        2 => Request::new(Method::Put, path(&name)).with(object),
        _ => return swap(rx, own, resource, &name, object).await,
    };
    send(rx, server, request).await;
    Outcome::Done
}

/// Makes the request that it was told to make, and says how that went.
async fn just(rx: Rx, own: Writer, request: Request) -> Outcome {
    let server = own.server(rx).await;
    let number = rx.update(&REQUESTS, |count| {
        *count += 1;
        *count
    });
    let path: Arc<str> = request.path.clone();
    let about = (number, path.clone());
    rx.note(Requested {
        number,
        path,
        server,
    });
    let answer = send(rx, server, request).await;
    let refused = answer.and_then(|answer| match answer.content {
        Content::Status(status) if !status.success => Some(status),
        _ => None,
    });
    let (number, path) = about;
    rx.note(RequestAnswered {
        number,
        path,
        server,
        refused,
    });
    Outcome::Done
}

/// One write after another, through one server.
async fn burst(rx: Rx, own: Writer) -> Outcome {
    let server = own.server(rx).await;
    let name = format!("o{}", rx.choose(NAMES).await);
    let object = |value| object(&SECRETS, &name, APPS[0], value);
    let post = Request::new(Method::Post, SECRETS.path(NAMESPACE, ""));
    send(rx, server, post.with(object(0))).await;
    for value in 1..=WRITES {
        let put = Request::new(Method::Put, SECRETS.path(NAMESPACE, &name));
        send(rx, server, put.with(object(value))).await;
    }
    Outcome::Done
}

/// Asks once, and keeps the revision of what was written.
async fn send(rx: Rx, server: ProcId, request: Request) -> Option<Response> {
    let call = rx.call(&HTTPS, server, Payload::new(request));
    let answer = rx.timeout(LIMIT, call).await?.ok()?;
    let answer = answer.expect::<Response>().clone();
    if let Content::One(stored) = &answer.content {
        let revision = stored.resource_version;
        rx.update(&KNOWN, |known| *known = revision.max(*known));
    }
    Some(answer)
}

/// The request that a client is told to make.
fn asked(args: &Json) -> Result<Request, String> {
    let method = match args["method"].as_str() {
        Some("GET") => Method::Get,
        Some("POST") => Method::Post,
        Some("PUT") => Method::Put,
        Some("DELETE") => Method::Delete,
        _ => return Err("`method` is none of GET, POST, PUT and DELETE".to_owned()),
    };
    let path = args["path"].as_str().ok_or("`path` is no path")?;
    let request = Request::new(method, path.to_owned());
    Ok(match &args["body"] {
        Json::Null => request,
        body => request.with(body.clone()),
    })
}

/// Reads from one server; updates or deletes at another what was read there, or gives it back as it is.
async fn swap(
    rx: Rx,
    own: Writer,
    resource: &'static Resource,
    name: &str,
    mut object: Json,
) -> Outcome {
    let path = resource.path(NAMESPACE, name);
    let ask = async |server, request| {
        let call = rx.call(&HTTPS, server, Payload::new(request));
        let answer = rx.timeout(LIMIT, call).await?.ok()?;
        Some(answer.expect::<Response>().content.clone())
    };
    let get = Request::new(Method::Get, path.clone());
    let Some(Content::One(found)) = ask(own.server(rx).await, get).await else {
        return Outcome::Done;
    };
    let read = found.resource_version;
    let server = own.server(rx).await;
    let drawn = rx.choose(4).await;
    let deletes = drawn == 0;
    let request = match drawn {
        0 => Request::new(Method::Delete, path).with(json!({
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": found.object.uid(), "resourceVersion": read.to_string()},
        })),
        1 => Request::new(Method::Put, path).with(found.json()),
        _ => {
            object["metadata"]["resourceVersion"] = read.to_string().into();
            Request::new(Method::Put, path).with(object)
        }
    };
    let number = rx.update(&SWAPS, |count| {
        *count += 1;
        *count
    });
    rx.note(Swapping { number });
    let swap = match ask(server, request).await {
        Some(Content::Status(status)) if status.success => Swap::Deleted,
        Some(Content::Status(status)) => {
            match status.is(Reason::Conflict) || status.is(Reason::NotFound) {
                true => Swap::Refused,
                false => return Outcome::Done,
            }
        }
        Some(Content::One(gone)) if deletes && !is_kept(&gone.object) => Swap::Deleted,
        Some(Content::One(stored)) => Swap::Stored(stored.resource_version),
        _ => return Outcome::Done,
    };
    rx.note(Swapped {
        number,
        server,
        key: resource.key(NAMESPACE, name),
        read,
        swap,
    });
    Outcome::Done
}

/// Does it wait for somebody when it is deleted?
fn is_kept(object: &Object) -> bool {
    !json::list(object.json(), &["metadata", "finalizers"]).is_empty()
}

async fn read(rx: Rx, own: Writer) -> Outcome {
    let revision = rx.read(&KNOWN);
    if revision == 0 {
        return Outcome::Done;
    }
    let server = own.server(rx).await;
    let resource = ALL[rx.choose(ALL.len() as u64).await as usize];
    let streamed = own.streams && rx.choose(2).await == 0;
    let at = revision.to_string();
    let list = Request::new(Method::Get, resource.path("", ""));
    let answer = match streamed {
        true => {
            let request = list.ask(&[
                ("watch", "true"),
                ("sendInitialEvents", "true"),
                ("allowWatchBookmarks", "true"),
                ("resourceVersionMatch", "NotOlderThan"),
                ("resourceVersion", &at),
            ]);
            let stream = rx.open_stream(&HTTPS, server, Payload::new(request));
            let answer = rx.timeout(LIMIT, initial_events(rx, stream)).await;
            rx.close_stream(stream);
            answer
        }
        false => {
            let request = list.ask(&[("resourceVersion", &at)]);
            let call = rx.call(&HTTPS, server, Payload::new(request));
            let answer = rx.timeout(LIMIT, call).await;
            answer.map(|answer| match answer {
                Ok(answer) => match &answer.expect::<Response>().content {
                    Content::Status(status) => refused(status),
                    _ => Answer::Given,
                },
                Err(_) => Answer::Refused,
            })
        }
    };
    rx.note(Read {
        server,
        resource,
        revision,
        streamed,
        answer: answer.unwrap_or(Answer::None),
    });
    Outcome::Done
}

/// Reads a watch until its initial events are over.
async fn initial_events(rx: Rx, stream: Stream) -> Answer {
    loop {
        let Ok(Some(part)) = rx.next(stream).await else {
            return Answer::Refused;
        };
        match part.expect::<WatchPart>() {
            WatchPart::Accepted | WatchPart::Event(WatchEvent::Object(..)) => {}
            WatchPart::Event(WatchEvent::Bookmark {
                initial_events_end, ..
            }) => {
                if *initial_events_end {
                    return Answer::Given;
                }
            }
            WatchPart::Event(WatchEvent::Error(status)) => return refused(status),
            WatchPart::Refused(response) => match &response.content {
                Content::Status(status) => return refused(status),
                _ => return Answer::Refused,
            },
            WatchPart::Closed => return Answer::Refused,
        }
    }
}

fn refused(status: &Status) -> Answer {
    match status.is(Reason::Timeout) {
        true => Answer::TooLarge,
        false => Answer::Refused,
    }
}

fn object(resource: &Resource, name: &str, app: &str, number: u64) -> Json {
    let mut object = json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": {
            "name": name,
            "labels": {"app": app},
            "annotations": {"number": number.to_string()},
        },
    });
    if resource.kind == PODS.kind {
        let container = json!({"name": "main", "image": "image"});
        object["spec"] = json!({"containers": [container]});
    }
    object
}
