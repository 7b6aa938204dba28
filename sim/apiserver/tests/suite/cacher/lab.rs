//! A laboratory: etcd, a server with nothing but watch caches and a script of requests, and a
//! client that writes to etcd. Stepped by hand, with nominal latencies. Every world is compared
//! with one that has no futures and with one that is shifted in time.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::kinds::{CONFIG_MAPS, ENDPOINTS};
use wavetank_api::selector::{FieldSelector, FieldTerm, LabelSelector, Operator, Requirement};
use wavetank_api::{Object, Resource, Stored, WatchEvent};
use wavetank_apiserver::CacheDefect;
use wavetank_apiserver::cacher::{self, CacheNote, Cacher, Watch};
use wavetank_apiserver::options::{ListOptions, Listed, StoreError};
use wavetank_engine::drive::{Bench, Stepped};
use wavetank_engine::*;
use wavetank_etcd::{
    Client, DeleteRange, Etcd, Keys, Put, Request, Revision, Txn, TxnOp, raft::MemberId,
};
use wavetank_version::{Set, Version};

/// What the server is asked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ask {
    Get(&'static str, Option<Revision>),
    List(&'static Resource, ListOptions),
    /// With its namespace, and how long it lasts.
    Watch(&'static Resource, &'static str, ListOptions, Option<u64>),
}

const ASK: Name = Name::new("ask");
const READ: Name = Name::new("read");
const WRITE: Name = Name::new("write");

/// What came of each request, in words.
static RECEIVED: Cell<BTreeMap<usize, Vec<String>>> = Cell::new("told");
static OPEN: Cell<BTreeMap<usize, Watch>> = Cell::new("open");

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Server {
    config: cacher::Config,
    script: Arc<Vec<Ask>>,
    compacts: bool,
}

const CACHED: [&Resource; 2] = [&CONFIG_MAPS, &ENDPOINTS];

impl Process for Server {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        for resource in CACHED {
            Cacher::new(self.config, resource).start(cx);
        }
        if self.compacts {
            cacher::start_compactor(cx, self.config, &Default::default(), cacher::COMPACT_EVERY);
        }
    }
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        args: &serde_json::Value,
    ) -> Result<(), String> {
        if let Some(told) = cacher::command(cx, self.config, &Default::default(), what, args) {
            return told;
        }
        let number = args.as_u64().unwrap_or(0) as usize;
        match what {
            "ask" | "read" => cx.spawn(Task::new(if what == "ask" { ASK } else { READ }, number)),
            _ => cx.spawn(Task::new(Name::new("stop"), number)),
        }
        Ok(())
    }
    fn routine(&self, task: &Task) -> RoutineFuture {
        if let Some(future) = cacher::routine(task) {
            return future;
        }
        let number = *task.args::<usize>();
        let rx = Rx::new();
        match task.kind().as_str() {
            "ask" => Box::pin(ask(rx, self.config, number, self.script[number].clone())),
            "read" => Box::pin(read(rx, number)),
            _ => Box::pin(stop(rx, self.config, number)),
        }
    }
}

fn note(rx: Rx, number: usize, what: String) {
    rx.update(&RECEIVED, |told| told.entry(number).or_default().push(what));
}

async fn ask(rx: Rx, config: cacher::Config, number: usize, ask: Ask) -> Outcome {
    let told = match ask {
        Ask::Get(name, revision) => {
            let key = CONFIG_MAPS.key("default", name);
            let cacher = Cacher::new(config, &CONFIG_MAPS);
            cacher.get(rx, key, revision).await.map(|found| one(&found))
        }
        Ask::List(resource, options) => {
            let cacher = Cacher::new(config, resource);
            let listed = cacher.get_list(rx, resource.key("", ""), &options).await;
            listed.map(|listed| list(&listed))
        }
        Ask::Watch(resource, namespace, options, lasts) => {
            let cacher = Cacher::new(config, resource);
            let lasts = lasts.map(Duration::from_secs);
            let under = resource.key(namespace, "");
            match cacher.watch(rx, under, &options, lasts).await {
                Ok(watch) => {
                    rx.update(&OPEN, |open| {
                        open.insert(number, watch);
                    });
                    return Outcome::Done;
                }
                Err(error) => Err(error),
            }
        }
    };
    note(rx, number, told.unwrap_or_else(|error| refusal(&error)));
    Outcome::Done
}

/// Reads a watch to its end.
async fn read(rx: Rx, number: usize) -> Outcome {
    let watch = rx.look(&OPEN, |open| open[&number]);
    match watch.next(rx).await {
        Some(event) => {
            note(rx, number, said(&event));
            Outcome::Become(Task::new(READ, number))
        }
        None => {
            note(rx, number, "closed".to_owned());
            watch.stop(rx);
            Outcome::Done
        }
    }
}

/// Ends a watch, or with 99 the cache of Endpoints.
async fn stop(rx: Rx, config: cacher::Config, number: usize) -> Outcome {
    match number {
        99 => Cacher::new(config, &ENDPOINTS).stop(rx),
        number => rx.look(&OPEN, |open| open[&number]).stop(rx),
    }
    Outcome::Done
}

/// `a@5`
fn one(stored: &Stored) -> String {
    format!("{}@{}", stored.object.name(), stored.resource_version)
}

/// `a@2 b@3 of 7`
fn list(listed: &Listed) -> String {
    let mut all: Vec<String> = listed.items.iter().map(one).collect();
    all.push(format!("of {}", listed.revision));
    if listed.continues.is_some() {
        all.push(format!("more, {:?} left", listed.remaining));
    }
    all.join(" ")
}

/// `ADDED a@5`
fn said(event: &WatchEvent) -> String {
    let kind = event.kind().name();
    match event {
        WatchEvent::Object(_, stored) => format!("{kind} {}", one(stored)),
        WatchEvent::Bookmark {
            resource_version,
            initial_events_end,
            ..
        } => {
            let end = if *initial_events_end { " end" } else { "" };
            format!("{kind} {resource_version}{end}")
        }
        WatchEvent::Error(status) => format!("{kind} {} {}", status.code, status.message),
    }
}

fn refusal(error: &StoreError) -> String {
    match error {
        StoreError::Status(status) => {
            let after = status.retry_after().unwrap_or(0);
            format!("{} {} ({after})", status.code, status.message)
        }
        other => format!("{other:?}"),
    }
}

/// Writes what it is told.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Writer {
    etcd: Client,
}

/// A write of one ConfigMap or Endpoints.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Write {
    resource: &'static Resource,
    name: String,
    label: String,
    delete: bool,
    compact: Revision,
}

impl Process for Writer {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        args: &serde_json::Value,
    ) -> Result<(), String> {
        let text = |field: &str| args[field].as_str().unwrap_or_default().to_owned();
        let write = Write {
            resource: match args["endpoints"].as_bool() {
                Some(true) => &ENDPOINTS,
                _ => &CONFIG_MAPS,
            },
            name: text("name"),
            label: text("label"),
            delete: what == "delete",
            compact: args["compact"].as_u64().unwrap_or(0),
        };
        cx.spawn(Task::new(WRITE, write));
        Ok(())
    }
    fn routine(&self, task: &Task) -> RoutineFuture {
        Box::pin(write(Rx::new(), self.etcd, task.args::<Write>().clone()))
    }
}

async fn write(rx: Rx, etcd: Client, write: Write) -> Outcome {
    if write.compact > 0 {
        let compact = Request::<Object>::Compact {
            revision: write.compact,
            physical: false,
        };
        etcd.once(rx, compact).await.expect("it can be compacted");
        return Outcome::Done;
    }
    let key = write.resource.key("default", &write.name);
    let object = Object::new(json!({
        "apiVersion": "v1",
        "kind": write.resource.kind,
        "metadata": {
            "name": write.name,
            "namespace": "default",
            "labels": {"colour": write.label},
        },
    }));
    let op = match write.delete {
        false => TxnOp::Put(Put::new(key, object)),
        true => TxnOp::DeleteRange(DeleteRange {
            keys: Keys::One(key),
            prev_kv: false,
        }),
    };
    let txn = Txn {
        compare: vec![],
        success: vec![op],
        failure: vec![],
    };
    let _ = etcd.txn(rx, txn).await;
    Outcome::Done
}

/// Options of a list or watch.
pub fn at(revision: impl Into<Option<Revision>>) -> ListOptions {
    ListOptions {
        resource_version: revision.into(),
        ..ListOptions::default()
    }
}

/// A watch of ConfigMaps from a revision.
pub fn watch(options: ListOptions) -> Ask {
    Ask::Watch(&CONFIG_MAPS, "", options, None)
}

/// A list of ConfigMaps.
pub fn list_of(options: ListOptions) -> Ask {
    Ask::List(&CONFIG_MAPS, options)
}

/// Objects with this colour.
pub fn coloured(mut options: ListOptions, colour: &str) -> ListOptions {
    options.predicate.labels = LabelSelector(vec![Requirement {
        key: "colour".into(),
        operator: Operator::In,
        values: vec![colour.into()],
    }]);
    options
}

/// The object with this name.
pub fn named(mut options: ListOptions, name: &str) -> ListOptions {
    options.predicate.fields = FieldSelector(vec![FieldTerm {
        field: "metadata.name".into(),
        equal: true,
        value: name.into(),
    }]);
    options
}

/// With `sendInitialEvents` and bookmarks.
pub fn streamed(mut options: ListOptions) -> ListOptions {
    options.send_initial_events = Some(true);
    options.bookmarks = true;
    options
}

/// What is in the world.
#[derive(Clone)]
pub struct Plan {
    pub release: Version,
    pub on: Set<CacheDefect>,
    pub members: usize,
    pub servers: usize,
    pub compacts: bool,
    pub progress: bool,
    /// Compare each world with one that has no futures.
    pub strict: bool,
    pub script: Vec<Ask>,
}

impl Plan {
    /// All known problems fixed, one member, one server.
    pub fn of(release: Version, script: Vec<Ask>) -> Plan {
        Plan {
            release,
            on: Set::NONE,
            members: 1,
            servers: 1,
            compacts: false,
            progress: true,
            strict: true,
            script,
        }
    }

    pub fn with(mut self, defect: CacheDefect) -> Plan {
        self.on = self.on.with(defect, true);
        self
    }

    /// With what the release shipped.
    pub fn shipped(mut self) -> Plan {
        self.on = Set::shipped_with(self.release);
        self
    }

    /// All are up, and the caches are filled.
    pub fn start(self) -> Lab {
        let mut lab = self.build();
        for process in lab.all() {
            lab.start(&process);
        }
        lab.run(if lab.members.len() > 1 { 20.0 } else { 1.0 });
        lab
    }

    /// Nobody is up.
    pub fn build(self) -> Lab {
        let numbered = |what: &str, count: usize| {
            let names = (1..=count).map(|n| format!("{what}{n}"));
            names.collect::<Vec<_>>()
        };
        let (members, servers) = (numbered("e", self.members), numbered("a", self.servers));
        let mut all = members.clone();
        all.extend(servers.clone());
        all.push("writer".to_owned());
        let id = |name: &str| WorldBuilder::id_of(name, &all);
        let ids: Vec<ProcId> = members.iter().map(|name| id(name)).collect();
        let mut builder = WorldBuilder::new();
        for (at, name) in members.iter().enumerate() {
            let config = wavetank_etcd::Config {
                me: MemberId(at as u8),
                members: ids.clone(),
                ..wavetank_etcd::Config::single(ids[0])
            };
            builder.process(name, Etcd::<Object>::new(config));
        }
        let defects = self.on;
        for (at, name) in servers.iter().enumerate() {
            let server = Server {
                config: cacher::Config {
                    release: self.release,
                    defects,
                    etcd: Client::new(ids[at % ids.len()]),
                    progress: self.progress,
                    versions: Default::default(),
                },
                script: Arc::new(self.script.clone()),
                compacts: self.compacts,
            };
            builder.process(name, server);
        }
        let etcd = Client::new(ids[self.members - 1]);
        builder.process("writer", Writer { etcd });
        let mut bench = Bench::new(builder.build());
        // The last member stands for election first.
        let patient: Vec<ProcId> = ids[..ids.len() - 1].to_vec();
        bench.choose(move |_, entry, _| match patient.contains(&entry.process) {
            true => 9,
            false => 0,
        });
        Lab {
            bench,
            strict: self.strict,
            members,
            servers,
        }
    }
}

pub struct Lab {
    pub bench: Bench,
    pub strict: bool,
    pub members: Vec<String>,
    pub servers: Vec<String>,
}

impl Stepped for Lab {
    fn bench(&mut self) -> &mut Bench {
        &mut self.bench
    }

    fn happen(&mut self, entry: &Entry) {
        if !self.strict {
            self.bench.happen(entry);
            return;
        }
        let mut other = self.bench.world.unshared();
        let event = self.bench.event(entry);
        let applied = other.apply(entry.at, event, &mut |sent| sent.nominal);
        applied.expect("pending");
        self.bench.happen(entry);
        let world = &mut self.bench.world;
        assert!(other == *world);
        world.cache_digests();
        assert_eq!(other.digest_from_scratch(), world.digest());
    }

    /// The world is the same when all of it is later.
    fn rested(&mut self) {
        if self.strict {
            let mut later = self.bench.world.clone();
            later.shift(Duration::from_secs(1000));
            assert!(later == self.bench.world);
            assert_eq!(later.digest_from_scratch(), self.bench.world.digest());
        }
    }
}

impl Lab {
    pub fn all(&self) -> Vec<String> {
        let mut all = self.members.clone();
        all.extend(self.servers.clone());
        all.push("writer".to_owned());
        all
    }

    /// Holds a routine of the server where it is, or lets it go on.
    #[track_caller]
    pub fn deschedule(&mut self, routine: &str, hold: bool) {
        let (process, routine) = ("a1".to_owned(), routine.to_owned());
        self.strike(match hold {
            true => Fault::Deschedule { process, routine },
            false => Fault::Reschedule { process, routine },
        });
    }

    /// As far as there is such a routine.
    pub fn try_hold(&mut self, routine: &str) -> bool {
        let (process, routine) = ("a1".to_owned(), routine.to_owned());
        let hold = Fault::Deschedule { process, routine };
        self.act(&Action::Fault(hold)).injected
    }

    /// So many events.
    pub fn steps(&mut self, count: usize) {
        for _ in 0..count {
            assert!(self.step(), "nothing is pending");
        }
    }

    /// Writes a ConfigMap, and gives it time to arrive everywhere.
    pub fn put(&mut self, name: &str) {
        self.paint(name, "");
    }

    pub fn paint(&mut self, name: &str, colour: &str) {
        self.command("writer", "put", json!({"name": name, "label": colour}));
        self.run(0.02);
    }

    pub fn put_endpoints(&mut self, name: &str) {
        self.command("writer", "put", json!({"name": name, "endpoints": true}));
        self.run(0.02);
    }

    pub fn delete(&mut self, name: &str) {
        self.command("writer", "delete", json!({"name": name}));
        self.run(0.02);
    }

    pub fn compact(&mut self, revision: Revision) {
        self.command("writer", "put", json!({"compact": revision}));
        self.run(0.02);
    }

    pub fn hold(&mut self, revision: Option<Revision>) {
        let mut args = json!({"resource": "configmaps"});
        if let Some(revision) = revision {
            args["revision"] = revision.into();
        }
        self.command("a1", "hold", args);
    }

    pub fn release(&mut self) {
        self.command("a1", "release", json!({"resource": "configmaps"}));
        self.run(0.02);
    }

    /// Asks the first server.
    pub fn ask(&mut self, number: usize) {
        self.command("a1", "ask", number.into());
    }

    /// Asks, and waits for the answer for so many seconds.
    #[track_caller]
    pub fn answer_within(&mut self, number: usize, seconds: f64) -> String {
        let before = self.received(number).len();
        self.ask(number);
        self.run(seconds);
        let told = self.received(number).split_off(before);
        assert_eq!(told.len(), 1, "{told:?}");
        told.into_iter().next().expect("one")
    }

    #[track_caller]
    pub fn answer(&mut self, number: usize) -> String {
        self.answer_within(number, 0.05)
    }

    /// Opens a watch and reads it.
    pub fn follow(&mut self, number: usize) {
        self.ask(number);
        self.run(0.02);
        self.read(number);
    }

    /// Reads a watch that is open.
    pub fn read(&mut self, number: usize) {
        self.command("a1", "read", number.into());
        self.run(0.02);
    }

    pub fn end(&mut self, number: usize) {
        self.command("a1", "stop", number.into());
        self.run(0.02);
    }

    pub fn received(&self, number: usize) -> Vec<String> {
        let mut told = self.bench.world.cell(self.bench.id("a1"), &RECEIVED);
        told.remove(&number).unwrap_or_default()
    }

    pub fn names(&self) -> Vec<String> {
        let world = &self.bench.world;
        let name = |entry| world.render(&world.entry_name(entry));
        world.pending().map(name).collect()
    }

    /// Until this is what comes next.
    pub fn run_to(&mut self, name: &str) {
        for _ in 0..10_000 {
            let world = &self.bench.world;
            let entry = *world.next_entry().expect("it has not come yet");
            if world.render(&world.entry_name(&entry)) == name {
                return;
            }
            self.happen(&entry);
        }
        panic!("{name} does not come");
    }

    pub fn cache_notes(&self) -> Vec<CacheNote> {
        let all = self.bench.noted::<CacheNote>().into_iter();
        all.map(|(_, note)| note).collect()
    }
}
