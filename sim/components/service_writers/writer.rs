//! A client that uses Services as people and controllers do, through any apiserver: it makes them, with
//! addresses and ports of its own choice or none, changes their type and their ports, deletes them and makes
//! them again. Some have a finalizer, which it takes away once they are being deleted. What it does next is
//! drawn by the driver; `shape` says what Services look like.
//!
//! It tells of each request and its answer. What an answer is worth is up to the properties.

mod shape;

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::SERVICES;
use wavetank_api::{Content, Method, Request, Response, Stored};
use wavetank_client::HTTPS;
use wavetank_engine::{
    Caller, Cell, Cx, Name, Outcome, Payload, ProcId, Process, RoutineFuture, Rx, Task,
};
use wavetank_etcd::{Key, Revision};
use wavetank_version::Version;

use crate::services::allocators::{ItemRange, ServiceRanges};
use crate::services::gates::CLUSTER_IPS;

const USE: Name = Name::new("use");
const PROBE: Name = Name::new("probe");
const ASK: Name = Name::new("ask");

/// How long a request may take.
const LIMIT: Duration = Duration::from_secs(10);
/// After a server that did not answer, or had trouble.
const PAUSE: Duration = Duration::from_secs(1);
/// So often something is tried, all in all.
const TRIES: u32 = 3;
/// So few Services that they are deleted and made again, and more than there are addresses.
const NAMES: u64 = 8;
const NAMESPACE: &str = "default";
/// What says "whatever it is by now". Without any version, too, but v1.16 and v1.20 refuse that for
/// Services: `rest.go` validates before the generic registry has filled it in.
const ANY_VERSION: &str = "0";

/// A client that uses Services.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ServiceWriter {
    /// Its name.
    name: Arc<str>,
    /// The apiservers.
    servers: Arc<Vec<ProcId>>,
    /// The addresses that it asks for by name: all but that of `kubernetes`.
    addresses: Arc<Vec<String>>,
    /// The ports that it asks for by number: the first, and how many.
    ports: (u16, u16),
    families: Families,
}

/// How a Service says which families it wants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Families {
    /// There is only one.
    Single,
    /// `ipFamily`, v1.16.
    One,
    /// `ipFamilyPolicy`, since v1.20.
    Policy,
}

/// A range may be large; so many of its addresses are asked for by name.
const MOST_ASKED: u32 = 64;

/// A request that it was told to make.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Directed {
    own: ServiceWriter,
    verb: Verb,
    name: String,
    body: Option<Json>,
}

/// What a request is to do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verb {
    /// POST
    Create,
    /// PUT
    Update,
    /// PUT of `/status`
    UpdateStatus,
    /// DELETE
    Delete,
}

/// A request about a Service was sent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Asked {
    /// Its number among those of its client.
    pub number: u64,
    /// To this server.
    pub server: ProcId,
    /// What it is to do.
    pub verb: Verb,
    /// To the Service with this key.
    pub key: Key,
    /// The address that is asked for by name.
    pub address: Option<Arc<str>>,
}

/// What came of a request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Answered {
    /// What was asked.
    pub asked: Asked,
    /// The answer.
    pub answer: Answer,
}

/// What a request is answered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Answer {
    /// It is done; the revision and the tree of the Service, unless it is gone.
    Done(Option<(Revision, Arc<Json>)>),
    /// The server said no.
    Refused {
        /// The code.
        code: u16,
        /// The message.
        message: Arc<str>,
    },
    /// There is none: nobody knows what has become of it.
    Unknown,
}

/// Counts the requests of a client.
static REQUESTS: Cell<u64> = Cell::new("service-requests");

impl Process for ServiceWriter {
    fn boot(&mut self, _: &mut Cx<'_>) {}

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks a client: {body:?}");
    }

    /// `use {}`: something is done with one Service. `probe {}`: one is made and deleted.
    /// `create {name, spec?, finalizers?}`: one is made, with this on top of its spec. `update {name, spec}`: this
    /// is put on top of what is read, whatever it is by then. `finalize {name}`, `finalize-status {name}`: its
    /// finalizers are taken away, through the Service or its status. `delete {name}`.
    fn command(&mut self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        let name = || args["name"].as_str().ok_or("`name` is no name");
        let task = match what {
            "use" => Task::new(USE, self.clone()),
            "probe" => Task::new(PROBE, self.clone()),
            "create" | "update" | "finalize" | "finalize-status" | "delete" => {
                let name = name()?.to_owned();
                let (verb, body) = match what {
                    "create" => (Verb::Create, Some(shape::directed(&name, args))),
                    "update" => (Verb::Update, Some(args["spec"].clone())),
                    "finalize" => (Verb::Update, None),
                    "finalize-status" => (Verb::UpdateStatus, None),
                    _ => (Verb::Delete, None),
                };
                let own = self.clone();
                let directed = Directed {
                    own,
                    verb,
                    name,
                    body,
                };
                Task::new(ASK, directed)
            }
            other => {
                return Err(format!(
                    "knows `use`, `probe`, `create`, `update`, `finalize`, `finalize-status` and `delete`, not \
                     `{other}`"
                ));
            }
        };
        cx.spawn(task);
        Ok(())
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        if task.kind() == ASK {
            let directed = task.args::<Directed>().clone();
            return Box::pin(async move {
                let Directed {
                    own,
                    verb,
                    name,
                    body,
                } = directed;
                match (verb, &body) {
                    (Verb::Update | Verb::UpdateStatus, spec) => {
                        own.amend(Rx::new(), verb, &name, spec.as_ref()).await;
                    }
                    _ => own.insist(Rx::new(), verb, &name, body).await,
                }
                Outcome::Done
            });
        }
        let own = task.args::<ServiceWriter>().clone();
        let probes = task.kind() == PROBE;
        Box::pin(async move {
            let rx = Rx::new();
            match probes {
                true => own.probe(rx).await,
                false => own.use_one(rx).await,
            }
            Outcome::Done
        })
    }
}

fn path(name: &str) -> String {
    SERVICES.path(NAMESPACE, name)
}

impl ServiceWriter {
    /// A client of these servers, the oldest of which is of this release, and which give Services
    /// something of these ranges.
    pub fn new(
        name: &str,
        servers: Arc<Vec<ProcId>>,
        oldest: Version,
        ranges: &ServiceRanges,
    ) -> ServiceWriter {
        let of_addresses = ranges.cluster_ips.iter();
        let of_addresses =
            of_addresses.filter_map(|range| ItemRange::of_addresses(range, Version::LATEST));
        let addresses = of_addresses.flat_map(|range| {
            let asked = 1..range.size().min(MOST_ASKED);
            asked.map(move |offset| range.item(offset))
        });
        ServiceWriter {
            name: name.into(),
            servers,
            addresses: Arc::new(addresses.collect()),
            ports: ranges.node_ports,
            families: match ranges.cluster_ips.len() {
                2 if oldest.has(CLUSTER_IPS) => Families::Policy,
                2 => Families::One,
                _ => Families::Single,
            },
        }
    }

    async fn server(&self, rx: Rx) -> ProcId {
        let drawn = rx.choose(self.servers.len() as u64).await;
        self.servers[drawn as usize]
    }

    /// Sends a request to any server, and tells of it.
    async fn ask(&self, rx: Rx, verb: Verb, name: &str, body: Option<Json>) -> Answer {
        let server = self.server(rx).await;
        let number = rx.update(&REQUESTS, |number| {
            *number += 1;
            *number
        });
        let address = body
            .as_ref()
            .map(|body| json::text(body, &["spec", "clusterIP"]));
        let asked = Asked {
            number,
            server,
            verb,
            key: SERVICES.key(NAMESPACE, name),
            address: address.filter(|ip| !ip.is_empty()).map(Into::into),
        };
        let (method, path) = match verb {
            Verb::Create => (Method::Post, path("")),
            Verb::Update => (Method::Put, path(name)),
            Verb::UpdateStatus => (Method::Put, format!("{}/status", path(name))),
            Verb::Delete => (Method::Delete, path(name)),
        };
        let mut request = Request::new(method, path);
        if let Some(body) = body {
            request = request.with(body);
        }
        rx.note(asked.clone());
        let call = rx.call(&HTTPS, server, Payload::new(request));
        let answer = match rx.timeout(LIMIT, call).await {
            Some(Ok(answer)) => answered(answer.expect()),
            _ => Answer::Unknown,
        };
        rx.note(Answered {
            asked,
            answer: answer.clone(),
        });
        answer
    }

    /// Reads a Service from any server.
    async fn read(&self, rx: Rx, name: &str) -> Option<Stored> {
        let server = self.server(rx).await;
        let get = Request::new(Method::Get, path(name));
        let call = rx.call(&HTTPS, server, Payload::new(get));
        let answer = rx.timeout(LIMIT, call).await?.ok()?;
        match &answer.expect::<Response>().content {
            Content::One(stored) => Some(stored.clone()),
            _ => None,
        }
    }

    /// Something is done with one Service: it is made, changed or deleted.
    async fn use_one(&self, rx: Rx) {
        let name = format!("n{}", rx.choose(NAMES).await);
        match rx.choose(12).await {
            0..5 => {
                let service = self.service(rx, &name).await;
                self.insist(rx, Verb::Create, &name, Some(service)).await;
            }
            5..8 => self.insist(rx, Verb::Delete, &name, None).await,
            _ => self.change(rx, &name).await,
        }
    }

    /// Asks again as long as nobody knows, or the server had trouble of its own. Then it may have been done
    /// all the same: that the Service is there, or is gone, is what was asked for.
    async fn insist(&self, rx: Rx, verb: Verb, name: &str, body: Option<Json>) {
        for _ in 0..TRIES {
            match self.ask(rx, verb, name, body.clone()).await {
                Answer::Done(_) => return,
                Answer::Refused { code, .. } if code < 500 => return,
                Answer::Refused { .. } | Answer::Unknown => rx.sleep(PAUSE).await,
            }
        }
    }

    /// Reads a Service and changes it; again if somebody else was faster. Who is being deleted loses its
    /// finalizers.
    async fn change(&self, rx: Rx, name: &str) {
        let what = rx.choose(shape::CHANGES).await;
        for _ in 0..TRIES {
            let Some(found) = self.read(rx, name).await else {
                return;
            };
            let mut service = found.json();
            let verb = match found.object.is_being_deleted() {
                true => {
                    json::remove(&mut service, &["metadata", "finalizers"]);
                    match rx.choose(2).await {
                        0 => Verb::Update,
                        _ => Verb::UpdateStatus,
                    }
                }
                false => {
                    self.reshape(rx, &mut service, what).await;
                    Verb::Update
                }
            };
            if rx.choose(2).await == 0 {
                json::set(&mut service, &["metadata", "resourceVersion"], ANY_VERSION);
            }
            match self.ask(rx, verb, name, Some(service)).await {
                Answer::Refused { code: 409, .. } => {}
                Answer::Refused { code: 500.., .. } | Answer::Unknown => rx.sleep(PAUSE).await,
                _ => return,
            }
        }
    }

    /// Puts a part of a spec on top of what is read, whatever it is by then; without one its finalizers are
    /// taken away.
    async fn amend(&self, rx: Rx, verb: Verb, name: &str, spec: Option<&Json>) {
        if let Some(found) = self.read(rx, name).await {
            let mut service = found.json();
            match spec {
                Some(spec) => shape::amend(&mut service, spec),
                None => {
                    json::remove(&mut service, &["metadata", "finalizers"]);
                }
            }
            json::set(&mut service, &["metadata", "resourceVersion"], ANY_VERSION);
            self.ask(rx, verb, name, Some(service)).await;
        }
    }

    /// Makes a Service of its own with any address, and deletes it.
    async fn probe(&self, rx: Rx) {
        // Two of them at once have different names.
        let number = rx.read(&REQUESTS);
        let name = format!("probe-{}-{number}", self.name);
        let made = self
            .ask(rx, Verb::Create, &name, Some(shape::plain(&name)))
            .await;
        if !matches!(made, Answer::Refused { .. }) {
            self.insist(rx, Verb::Delete, &name, None).await;
        }
    }
}

fn answered(response: &Response) -> Answer {
    match &response.content {
        Content::One(stored) => Answer::Done(Some((
            stored.resource_version,
            Arc::new(stored.object.json().clone()),
        ))),
        Content::Status(status) if !status.success => Answer::Refused {
            code: response.code,
            message: status.message.as_str().into(),
        },
        _ => Answer::Done(None),
    }
}
