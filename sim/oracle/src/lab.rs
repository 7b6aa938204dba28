//! A world of one etcd, some apiservers and a recorder that sends what it is told. Stepped by hand
//! with nominal latencies, so that every replay is the same.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use wavetank_api::kinds::{self, Kinds};
use wavetank_api::{Body, Method, Object, Query, Request, Resource, Response, WatchPart};
use wavetank_apiserver::{
    Admission, ApiServer, AuditLog, Audited, Config, CustomResources, Defects, ManagedFields, gates,
};
use wavetank_client::HTTPS;
use wavetank_components::kube_apiserver::bootstrap::{Bootstrap, Reconciler};
use wavetank_components::services::RepairNote;
use wavetank_components::services::allocators::{Bitmap, ServiceRanges};
use wavetank_engine::*;
use wavetank_etcd::raft::MemberId;
use wavetank_etcd::{
    Client, Committed, Connections, DeleteRange, Etcd, Keys, Put, Sizes, Txn, TxnOp,
};
use wavetank_version::{EtcdVersion, Set, Version};

use crate::manager;

const SEND: Name = Name::new("send");
const MARK: Name = Name::new("mark");
const PUT: Name = Name::new("put");
const DELETE: Name = Name::new("delete");

/// The revision at which the recordings begin: what a server writes while it starts. Some of their
/// requests carry a revision as a plain number.
const BEGIN: u64 = 54;

/// Events were kept apart, where they use no revisions of the others.
const EVENTS_ETCD: &str = "events-etcd";

/// The messages of one round come within this time.
const ROUND: Duration = Duration::from_secs(60);

/// An apiserver that is asked to stop takes at most so long.
const STOPS_WITHIN: Duration = Duration::from_secs(90);

/// `--advertise-address` of a server.
pub(crate) fn address_of(server: usize) -> String {
    format!("192.0.2.{}", 11 + server)
}

/// What came back, by the number of the request.
type Answers = BTreeMap<u64, Answer>;

/// What came back for one request.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Answer {
    /// The response.
    pub response: Option<Response>,
    /// The parts of a watch.
    pub parts: Vec<WatchPart>,
    /// Why the connection broke.
    pub broken: Option<NetError>,
    /// Nothing more comes.
    pub over: bool,
}

impl Answer {
    /// Has anything come?
    pub fn has_begun(&self) -> bool {
        self.over || self.response.is_some() || !self.parts.is_empty()
    }
}

static ANSWERS: Cell<Answers> = Cell::new("answers");

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Recorder {
    server: ProcId,
    etcd: Client,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Sending {
    number: u64,
    watch: bool,
    request: Request,
    stream: Option<Stream>,
}

impl Process for Recorder {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}

    fn command(&mut self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        if what == "mark" {
            cx.spawn(Task::new(MARK, ()));
            return Ok(());
        }
        if what == "delete" {
            let key: Arc<str> = args.as_str().ok_or("wants a key")?.into();
            cx.spawn(Task::new(DELETE, key));
            return Ok(());
        }
        if what == "put" {
            let key = args["key"].as_str().ok_or("wants a key")?;
            let putting = Putting {
                key: key.into(),
                object: Object::new(args["object"].clone()),
            };
            cx.spawn(Task::new(PUT, putting));
            return Ok(());
        }
        let sending = Sending {
            number: args["number"].as_u64().ok_or("wants a number")?,
            watch: args["watch"].as_bool().unwrap_or(false),
            request: request(&args["request"])?,
            stream: None,
        };
        cx.spawn(Task::new(SEND, sending));
        Ok(())
    }

    fn routine(&self, task: &Task) -> RoutineFuture {
        if task.kind() == MARK {
            return Box::pin(mark(Rx::new(), self.etcd));
        }
        if task.kind() == PUT {
            return Box::pin(put(Rx::new(), self.etcd, task.args::<Putting>().clone()));
        }
        if task.kind() == DELETE {
            return Box::pin(delete(
                Rx::new(),
                self.etcd,
                task.args::<Arc<str>>().clone(),
            ));
        }
        Box::pin(send(Rx::new(), self.server, task.args::<Sending>().clone()))
    }
}

/// The marker outside `/registry` with which a recording begins, as often as it takes.
async fn mark(rx: Rx, etcd: Client) -> Outcome {
    loop {
        let txn = Txn {
            compare: vec![],
            success: vec![TxnOp::Put(Put::new("/marker", Object::new(Json::Null)))],
            failure: vec![],
        };
        if !matches!(etcd.txn(rx, txn).await, Ok(done) if done.revision < BEGIN) {
            return Outcome::Done;
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Putting {
    key: Arc<str>,
    object: Object,
}

/// A write past all servers.
async fn put(rx: Rx, etcd: Client, putting: Putting) -> Outcome {
    let txn = Txn {
        compare: vec![],
        success: vec![TxnOp::Put(Put::new(&*putting.key, putting.object))],
        failure: vec![],
    };
    let _ = etcd.txn(rx, txn).await;
    Outcome::Done
}

/// A deletion past all servers.
async fn delete(rx: Rx, etcd: Client, key: Arc<str>) -> Outcome {
    let txn = Txn {
        compare: vec![],
        success: vec![TxnOp::DeleteRange(DeleteRange {
            keys: Keys::one(&*key),
            prev_kv: false,
        })],
        failure: vec![],
    };
    let _ = etcd.txn::<Object>(rx, txn).await;
    Outcome::Done
}

/// A request as it was recorded.
pub(crate) fn request(recorded: &Json) -> Result<Request, String> {
    let method = match recorded["method"].as_str().unwrap_or("GET") {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        other => {
            return Err(format!(
                "{other} is no method of HTTP that a kube-apiserver knows"
            ));
        }
    };
    let text = |value: &Json| match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut query = Vec::new();
    for (name, value) in recorded["query"].as_object().into_iter().flatten() {
        match value {
            Json::Array(values) => {
                query.extend(
                    values
                        .iter()
                        .map(|v| (name.as_str().into(), text(v).into())),
                );
            }
            value => query.push((name.as_str().into(), text(value).into())),
        }
    }
    let content_type: Option<Arc<str>> = recorded["contentType"].as_str().map(Into::into);
    Ok(Request {
        query: Query(query),
        content_type,
        accept: recorded["headers"]["Accept"]
            .as_str()
            .or(recorded["accept"].as_str())
            .map(Into::into),
        // The recorder names no program, unless it says so.
        user_agent: recorded["headers"]["User-Agent"]
            .as_str()
            .unwrap_or_default()
            .into(),
        body: match &recorded["body"] {
            Json::Null => match recorded["bytes"].as_str() {
                Some(encoded) => Body::Bytes(STANDARD.decode(encoded).unwrap_or_default().into()),
                None => Body::Empty,
            },
            Json::String(text) => Body::Bytes(text.as_bytes().into()),
            tree => Body::Bytes(tree.to_string().into_bytes().into()),
        },
        ..Request::new(method, recorded["path"].as_str().unwrap_or_default())
    })
}

async fn send(rx: Rx, server: ProcId, sending: Sending) -> Outcome {
    let number = sending.number;
    let keep = |change: &dyn Fn(&mut Answer)| {
        rx.update(&ANSWERS, |all| change(all.entry(number).or_default()));
    };
    if !sending.watch {
        let body = Payload::new(sending.request);
        let answer = rx.call(&HTTPS, server, body).await;
        keep(&|kept| {
            kept.over = true;
            match &answer {
                Ok(response) => kept.response = Some(response.expect::<Response>().clone()),
                Err(error) => kept.broken = Some(*error),
            }
        });
        return Outcome::Done;
    }
    let stream = sending
        .stream
        .unwrap_or_else(|| rx.open_stream(&HTTPS, server, Payload::new(sending.request.clone())));
    match rx.next(stream).await {
        Ok(Some(part)) => {
            // A path that names an object is no watch: it is answered like any GET.
            keep(&|kept| match part.get::<WatchPart>() {
                Some(part) => kept.parts.push(part.clone()),
                None => kept.response = Some(part.expect::<Response>().clone()),
            });
            let stream = Some(stream);
            Outcome::Become(Task::new(SEND, Sending { stream, ..sending }))
        }
        Ok(None) => {
            keep(&|kept| kept.over = true);
            Outcome::Done
        }
        Err(error) => {
            keep(&|kept| {
                kept.over = true;
                kept.broken = Some(error);
            });
            Outcome::Done
        }
    }
}

/// A write that was seen in etcd: what was done, the key and the revision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Write {
    /// `PUT` or `DELETE`.
    pub what: &'static str,
    /// The key.
    pub key: String,
    /// The revision.
    pub revision: u64,
}

/// The world, and what was seen in it.
#[derive(Clone)]
pub struct Lab {
    world: World,
    now: Time,
    next: u64,
    writes: Vec<Write>,
    messages: Vec<(Time, String)>,
    audited: Vec<Audited>,
    /// Where the draws of addresses, ports and names are.
    drawn: u64,
}

/// What is simulated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cluster {
    /// Of the servers.
    pub release: Version,
    /// Of their etcd.
    pub etcd: EtcdVersion,
    /// `--service-cluster-ip-range` and `--service-node-port-range`
    pub ranges: ServiceRanges,
    /// How many servers there are.
    pub servers: usize,
    /// `--endpoint-reconciler-type`
    pub reconciler: Reconciler,
    /// Is the admission plugin `ServiceAccount` on?
    pub service_accounts: bool,
    /// `--watch-cache`
    pub watch_cache: bool,
    /// Does each have an identity (the gate `APIServerIdentity`)?
    pub identity: bool,
    /// What they are asked for: of this, and of what they use themselves, they have watch caches.
    pub asked_for: Vec<&'static Resource>,
    /// Does the first tell what it is asked and answers?
    pub audit: AuditLog,
    /// The flags of the controller manager that runs beside the first; without them there is none.
    pub manager: Option<Vec<String>>,
}

/// What servers use themselves.
const OWN: [&Resource; 12] = [
    &kinds::API_SERVICES,
    &kinds::EVENTS,
    &kinds::NAMESPACES,
    &kinds::SERVICES,
    &kinds::ENDPOINTS,
    &kinds::ENDPOINT_SLICES,
    &kinds::LEASES,
    &kinds::IP_ADDRESSES,
    &kinds::SERVICE_CIDRS,
    &kinds::CONFIG_MAPS,
    &kinds::SERVICE_ACCOUNTS,
    &kinds::POD_DISRUPTION_BUDGETS,
];

/// The servers' names; requests go to the first.
const SERVERS: [&str; 3] = ["apiserver", "apiserver-1", "apiserver-2"];

impl Lab {
    /// The server that requests go to.
    pub const FIRST: &str = SERVERS[0];

    /// How many servers there can be.
    pub const MOST: usize = SERVERS.len();

    /// The server with this address.
    pub fn server_at(address: &str) -> Option<String> {
        let at = (0..SERVERS.len()).find(|at| address_of(*at) == address)?;
        Some(SERVERS[at].to_owned())
    }

    /// All are up, and the servers are ready.
    pub fn new(cluster: &Cluster) -> Lab {
        let servers = &SERVERS[..cluster.servers];
        let (release, etcd) = (cluster.release, cluster.etcd);
        let mut all = vec!["etcd", EVENTS_ETCD, "recorder"];
        all.extend(servers);
        all.extend(cluster.manager.as_ref().map(|_| manager::NAME));
        let id = |name| WorldBuilder::id_of(name, &all);
        let member = |name| wavetank_etcd::Config {
            me: MemberId(0),
            members: vec![id(name)],
            release: etcd,
            defects: Set::NONE,
            sizes: Sizes::of(etcd),
        };
        let used = OWN.into_iter().chain(cluster.asked_for.iter().copied());
        let served = used.fold(Kinds::with(Vec::new()), Kinds::with_used);
        let bootstrapped = release.has(gates::AGGREGATED_DISCOVERY);
        let config = |at: usize| Config {
            release,
            defects: Defects::shipped_with(release),
            me: id(SERVERS[at]),
            etcd: id("etcd").into(),
            etcd_connections: Connections::Shared,
            events_etcd: Some(id(EVENTS_ETCD)),
            address: address_of(at).into(),
            shutdown_delay: Duration::ZERO,
            hooks: 1,
            number: at as u32 + 1,
            kinds: served.clone(),
            namespace_lifecycle: true,
            managed_fields: ManagedFields::Kept,
            custom_resources: CustomResources::Served {
                apiserver_count: cluster.servers as u32,
                aggregated: bootstrapped,
                defects: Set::shipped_with(release),
            },
            admission: Admission {
                defaults: release.has(gates::AGGREGATED_DISCOVERY),
                service_accounts: cluster.service_accounts,
                policies: false,
            },
            watch_cache: cluster.watch_cache.then_some(etcd),
            compaction: None,
            audit: cluster.audit,
        };
        let mut builder = WorldBuilder::new();
        builder.process("etcd", Etcd::<Object>::new(member("etcd")));
        builder.process(EVENTS_ETCD, Etcd::<Object>::new(member(EVENTS_ETCD)));
        for (at, name) in servers.iter().enumerate() {
            let config = config(at);
            let bootstrap = Bootstrap {
                server: Arc::new(config.clone()),
                reconciler: cluster.reconciler,
                apiserver_count: cluster.servers as u32,
                identity: cluster.identity,
                services: Some(Arc::new(cluster.ranges.clone())),
                published: Arc::default(),
                defects: wavetank_components::kube_apiserver::Defects::shipped_with(release),
            };
            builder.process(name, ApiServer::new(config, vec![bootstrap]));
        }
        let server = id(Lab::FIRST);
        let etcd = Client::new(id("etcd"));
        builder.process("recorder", Recorder { server, etcd });
        if let Some(flags) = &cluster.manager {
            builder.process(
                manager::NAME,
                manager::of(flags, release, server, served.clone()),
            );
        }
        let mut lab = Lab {
            world: builder.build(),
            now: Time::ZERO,
            next: 0,
            writes: Vec::new(),
            messages: Vec::new(),
            audited: Vec::new(),
            drawn: 0,
        };
        for name in ["etcd", EVENTS_ETCD, "recorder"] {
            lab.start(name);
        }
        // One after the other, as they were.
        for name in servers {
            lab.start(name);
            lab.run(Duration::from_secs(3));
        }
        lab.make_what_servers_make();
        let objects = bootstrapped.then(crate::bootstrap::objects);
        for (key, object) in objects.into_iter().flatten() {
            lab.put(&key, &object);
            lab.run(Duration::from_millis(20));
        }
        // Until the bootstrap controller has made its Service.
        lab.run(Duration::from_secs(12));
        lab.command("recorder", "mark", Json::Null);
        lab.run(Duration::from_secs(3));
        lab
    }

    /// What a real server writes at its start beside what is simulated, and lists show.
    fn make_what_servers_make(&mut self) {
        let tracking = json!({
            "method": "POST",
            "path": "/api/v1/namespaces/kube-system/configmaps",
            "contentType": "application/json",
            "headers": {"User-Agent": "kube-apiserver/v1"},
            "body": {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "kube-apiserver-legacy-service-account-token-tracking"},
                "data": {"since": "2026-01-01"},
            },
        });
        self.send(&tracking, false);
        self.run(Duration::from_secs(1));
    }

    /// What is stored under a key: the object, its revision and its version.
    pub fn stored(&self, key: &str) -> Option<(Json, u64, u64)> {
        let etcd = self.world.find("etcd").expect("it was built");
        let etcd = self.world.process::<Etcd<Object>>(etcd).expect("an etcd");
        let found = etcd.store().get(key)?;
        Some((
            found.value.json().clone(),
            found.mod_revision,
            found.version,
        ))
    }

    /// All objects under a prefix with their keys, revisions and versions; of the etcd of Events, if `events`.
    pub fn range(&self, prefix: &str, events: bool) -> Vec<(String, Json, u64, u64)> {
        let name = if events { EVENTS_ETCD } else { "etcd" };
        let etcd = self.world.find(name).expect("it was built");
        let etcd = self.world.process::<Etcd<Object>>(etcd).expect("an etcd");
        let keys = Keys::prefix(prefix);
        let shown = etcd.store().iter(&keys).map(|kv| {
            let object = kv.value.json().clone();
            (kv.key.to_string(), object, kv.mod_revision, kv.version)
        });
        shown.collect()
    }

    /// All objects under a prefix.
    pub fn all(&self, prefix: &str) -> Vec<Json> {
        let etcd = self.world.find("etcd").expect("it was built");
        let etcd = self.world.process::<Etcd<Object>>(etcd).expect("an etcd");
        let keys = Keys::prefix(prefix);
        let found = etcd.store().iter(&keys);
        found.map(|kv| kv.value.json().clone()).collect()
    }

    /// Writes past all servers.
    pub fn put(&mut self, key: &str, object: &Json) {
        self.command("recorder", "put", json!({"key": key, "object": object}));
    }

    /// Deletes past all servers.
    pub fn delete(&mut self, key: &str) {
        self.command("recorder", "delete", key.into());
    }

    /// What is stored under a prefix with a lease or without: key, object and the time granted.
    pub fn leased(&self, prefix: &str) -> Vec<(String, Json, Option<u64>)> {
        let etcd = self.world.find("etcd").expect("it was built");
        let etcd = self.world.process::<Etcd<Object>>(etcd).expect("an etcd");
        let keys = Keys::prefix(prefix);
        let found = etcd.store().iter(&keys).map(|kv| {
            let lease = kv.lease.and_then(|id| etcd.state().leases.get(id));
            let ttl = lease.map(|lease| lease.ttl);
            (kv.key.to_string(), kv.value.json().clone(), ttl)
        });
        found.collect()
    }

    /// What the repair loops had to say, by round.
    pub fn rounds(&self) -> Vec<Vec<String>> {
        let mut rounds: Vec<(Time, Vec<String>)> = Vec::new();
        for (at, message) in &self.messages {
            match rounds.last_mut() {
                Some((begin, round)) if *at < *begin + ROUND => round.push(message.clone()),
                _ => rounds.push((*at, vec![message.clone()])),
            }
        }
        rounds.into_iter().map(|(_, round)| round).collect()
    }

    /// The newest revision.
    pub fn revision(&self) -> u64 {
        let etcd = self.world.find("etcd").expect("it was built");
        let etcd = self.world.process::<Etcd<Object>>(etcd);
        etcd.expect("an etcd").store().revision()
    }

    fn act(&mut self, action: &Action) {
        let acted = self
            .world
            .apply(self.now, Event::Act(action), &mut |s| s.nominal);
        self.see(acted.expect("whatever is told is possible"));
    }

    fn see(&mut self, report: Report) {
        for note in report.notes {
            if let Some(repair) = note.body.get::<RepairNote>() {
                self.messages
                    .push((self.world.now(), repair.message.clone()));
            }
            if let Some(audited) = note.body.get::<Audited>() {
                self.audited.push(audited.clone());
            }
            let Some(commit) = note.body.get::<Committed<Object>>() else {
                continue;
            };
            if self.world.name(note.process) == EVENTS_ETCD {
                continue;
            }
            self.writes
                .extend(commit.changes.iter().map(|change| Write {
                    what: if change.now.is_some() {
                        "PUT"
                    } else {
                        "DELETE"
                    },
                    key: change.key.to_string(),
                    revision: change.revision,
                }));
        }
    }

    /// What was written since it was last asked.
    pub fn writes(&mut self) -> Vec<Write> {
        std::mem::take(&mut self.writes)
    }

    /// What was asked and answered since it was last asked, where there is an audit log.
    pub fn audited(&mut self) -> Vec<Audited> {
        std::mem::take(&mut self.audited)
    }

    /// How many writes there were since.
    pub fn seen(&self) -> usize {
        self.writes.len()
    }

    /// Kills a process at once.
    pub fn crash(&mut self, process: &str) {
        let process = process.to_owned();
        self.act(&Action::Fault(Fault::Crash { process }));
    }

    /// SIGTERM.
    pub fn begin_stop(&mut self, process: &str) {
        let process = process.to_owned();
        self.act(&Action::Fault(Fault::Stop { process }));
    }

    /// SIGTERM; until it has exited.
    pub fn stop(&mut self, process: &str) {
        self.begin_stop(process);
        self.run_until(STOPS_WITHIN, |lab| !lab.is_up(process));
    }

    /// Is the process alive?
    pub fn is_up(&self, process: &str) -> bool {
        let process = self.world.find(process);
        process.is_some_and(|process| self.world.status(process) == Status::Up)
    }

    /// Starts a process.
    pub fn start(&mut self, process: &str) {
        let process = process.to_owned();
        self.act(&Action::Fault(Fault::Start { process }));
    }

    /// Has etcd compacted.
    pub fn compact(&mut self, revision: u64) {
        self.command("etcd", "compact", json!(revision));
    }

    fn command(&mut self, process: &str, what: &str, args: Json) {
        self.act(&Action::Command {
            process: process.to_owned(),
            what: what.to_owned(),
            args,
        });
    }

    /// Sends a request or opens a watch; its number.
    pub fn send(&mut self, request: &Json, watch: bool) -> u64 {
        let number = self.next;
        self.next += 1;
        let args = json!({"number": number, "watch": watch, "request": request});
        self.command("recorder", "send", args);
        number
    }

    /// What came back so far.
    pub fn answer(&self, number: u64) -> Answer {
        let recorder = self.world.find("recorder").expect("it was built");
        let answers = self.world.cell(recorder, &ANSWERS);
        answers.get(&number).cloned().unwrap_or_default()
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Time passes.
    pub fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.step(until) {}
        self.now = until;
    }

    /// Time passes until this holds, or the limit is reached.
    pub fn run_until(&mut self, limit: Duration, holds: impl Fn(&Lab) -> bool) {
        let until = self.now + limit;
        while !holds(self) && self.step(until) {}
    }

    /// Draws that hardly ever repeat themselves, the same in every replay.
    fn draw(&mut self) -> u64 {
        self.drawn = self
            .drawn
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.drawn >> 33
    }

    fn step(&mut self, until: Time) -> bool {
        let next = self.world.next_entry().copied();
        let Some(entry) = next.filter(|entry| entry.at <= until) else {
            return false;
        };
        let event = match entry.what {
            What::Choose { .. } => Event::Choice(entry.seq, self.draw()),
            _ => Event::Pending(entry.seq),
        };
        let applied = self.world.apply(entry.at, event, &mut |s| s.nominal);
        self.now = self.world.now();
        self.see(applied.expect("it is pending"));
        true
    }
}

/// What is taken of a stored range: how it is written, and the offsets.
pub fn taken(range: &Json) -> (String, Vec<u32>) {
    let data = range["data"].as_str().unwrap_or_default();
    let taken = Bitmap::parse(data).unwrap_or_default();
    (data.to_owned(), taken.taken().collect())
}
