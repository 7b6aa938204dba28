//! A laboratory: one etcd, one apiserver whose hooks do nothing but take their time, and one client
//! that sends the requests of a script. Stepped by hand, with nominal latencies.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::{
    Json, Method, Object, Query, Request, Resource, Response, WatchPart, kinds, views,
};
use wavetank_apiserver::{ApiServer, Config, Hook, HookFuture, ServerNote};
use wavetank_client::HTTPS;
use wavetank_engine::*;
use wavetank_etcd::{Committed, Etcd, Store};
use wavetank_version::Version;

/// A hook that takes its time.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Slow {
    pub start: Duration,
    pub stop: Duration,
}

impl Hook for Slow {
    fn post_start(&self, rx: Rx) -> HookFuture {
        let takes = self.start;
        Box::pin(async move { rx.sleep(takes).await })
    }
    fn pre_shutdown(&self, rx: Rx) -> HookFuture {
        let takes = self.stop;
        Box::pin(async move { rx.sleep(takes).await })
    }
    fn routine(&self, _: &Task) -> Option<RoutineFuture> {
        None
    }
}

const ASK: Name = Name::new("ask");

/// What the client was answered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    Response(Response),
    Part(WatchPart),
}

/// What the client was answered, with the number of the request; every part of a watch is one.
static ANSWERS: Cell<Vec<(usize, Result<Reply, NetError>)>> = Cell::new("answers");

/// Sends the requests of its script when told.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Client {
    server: ProcId,
    script: Arc<Vec<Request>>,
}

impl Process for Client {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        _: &str,
        args: &serde_json::Value,
    ) -> Result<(), String> {
        let number = args.as_u64().ok_or("wants a number")? as usize;
        cx.spawn(Task::new(ASK, number));
        Ok(())
    }
    fn routine(&self, task: &Task) -> RoutineFuture {
        let number = *task.args::<usize>();
        let request = self.script[number].clone();
        Box::pin(send(Rx::new(), self.server, number, request))
    }
}

async fn send(rx: Rx, server: ProcId, number: usize, request: Request) -> Outcome {
    let keep = |answer: Result<Payload, NetError>| {
        let answer = answer.map(|body| match body.get::<WatchPart>() {
            Some(part) => Reply::Part(part.clone()),
            None => Reply::Response(body.expect::<Response>().clone()),
        });
        rx.update(&ANSWERS, |all| all.push((number, answer)));
    };
    if request.query.get("watch").is_none() {
        keep(rx.call(&HTTPS, server, Payload::new(request)).await);
        return Outcome::Done;
    }
    let stream = rx.open_stream(&HTTPS, server, Payload::new(request));
    loop {
        match rx.next(stream).await {
            Ok(Some(part)) => keep(Ok(part)),
            Ok(None) => return Outcome::Done,
            Err(error) => {
                keep(Err(error));
                return Outcome::Done;
            }
        }
    }
}

/// A request for Endpoints in `default`; for all of them without a name.
pub fn ask(method: Method, name: &str) -> Request {
    Request::new(method, kinds::ENDPOINTS.path("default", name))
}

/// A watch of these Endpoints from a revision on.
pub fn watch(name: &str, since: u64) -> Request {
    let (field, since) = (format!("metadata.name={name}"), since.to_string());
    let mut request = ask(Method::Get, "");
    request.query = Query::of(&[
        ("watch", "true"),
        ("fieldSelector", &field),
        ("resourceVersion", &since),
    ]);
    request
}

pub fn create(name: &str, address: &str) -> Request {
    ask(Method::Post, "").with(object(&kinds::ENDPOINTS, name, address))
}

/// A PUT, of what was seen at this revision if one is given.
pub fn put(resource: &Resource, name: &str, address: &str, seen: Option<u64>) -> Request {
    let mut object = object(resource, name, address);
    if let Some(seen) = seen {
        object["metadata"]["resourceVersion"] = seen.to_string().into();
    }
    Request::new(Method::Put, resource.path("default", name)).with(object)
}

/// An object with one address.
pub fn object(resource: &Resource, name: &str, address: &str) -> Json {
    json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": {"name": name},
        "subsets": [{"addresses": [{"ip": address}]}],
    })
}

/// Its first address.
pub fn address(object: &Object) -> String {
    views::addresses(object.json())[0].to_string()
}

/// The response of a server that is there.
#[track_caller]
pub fn response(reply: Result<Reply, NetError>) -> Response {
    match reply {
        Ok(Reply::Response(response)) => response,
        other => panic!("{other:?}"),
    }
}

pub struct Lab {
    pub world: World,
    pub now: Time,
    notes: Vec<(Time, Note)>,
}

impl Lab {
    /// All three are up.
    pub fn new(release: Version, hook: Slow, delay: Duration, script: Vec<Request>) -> Lab {
        let all = ["api", "client", "etcd"];
        let id = |name| WorldBuilder::id_of(name, &all);
        let config = Config {
            release,
            defects: wavetank_apiserver::Defects::shipped_with(release),
            me: id("api"),
            etcd: id("etcd"),
            address: "10.0.0.1".into(),
            shutdown_delay: delay,
            hooks: 1,
            number: 1,
            kinds: Default::default(),
            namespace_lifecycle: false,
            managed_fields: Default::default(),
            events_etcd: None,
            watch_cache: None,
            compaction: Some(wavetank_apiserver::cacher::COMPACT_EVERY),
        };
        let mut builder = WorldBuilder::new();
        builder.process("etcd", Etcd::<Object>::single(id("etcd")));
        builder.process("api", ApiServer::new(config, vec![hook]));
        let client = Client {
            server: id("api"),
            script: Arc::new(script),
        };
        builder.process("client", client);
        let mut lab = Lab {
            world: builder.build(),
            now: Time::ZERO,
            notes: Vec::new(),
        };
        for name in ["etcd", "api", "client"] {
            lab.strike(Fault::Start {
                process: name.to_owned(),
            });
        }
        lab
    }

    /// All three are up, and nothing takes long.
    pub fn plain(release: Version, script: Vec<Request>) -> Lab {
        let mut lab = Lab::new(release, Slow::default(), Duration::ZERO, script);
        lab.run(1.0);
        lab
    }

    #[track_caller]
    pub fn strike(&mut self, fault: Fault) {
        assert!(self.act(&Action::Fault(fault)).injected);
    }

    pub fn crash(&mut self, process: &str) {
        self.strike(Fault::Crash {
            process: process.to_owned(),
        });
    }

    pub fn start(&mut self, process: &str) {
        self.strike(Fault::Start {
            process: process.to_owned(),
        });
    }

    pub fn stop(&mut self) {
        self.strike(Fault::Stop {
            process: "api".to_owned(),
        });
    }

    pub fn command(&mut self, process: &str, what: &str, args: serde_json::Value) {
        self.act(&Action::Command {
            process: process.to_owned(),
            what: what.to_owned(),
            args,
        });
    }

    fn act(&mut self, action: &Action) -> Report {
        let applied = self
            .world
            .apply(self.now, Event::Act(action), &mut |s| s.nominal);
        let report = applied.expect("possible");
        self.keep(report.clone());
        report
    }

    fn keep(&mut self, report: Report) {
        let now = self.world.now();
        self.notes
            .extend(report.notes.into_iter().map(|note| (now, note)));
    }

    /// The client sends this request of its script.
    pub fn ask(&mut self, number: usize) {
        self.command("client", "ask", number.into());
    }

    /// The client sends it and is answered within a second.
    #[track_caller]
    pub fn answer(&mut self, number: usize) -> Response {
        let before = self.answers().len();
        self.ask(number);
        self.run(1.0);
        let mut answers = self.answers().split_off(before);
        assert_eq!(answers.len(), 1, "{answers:?}");
        response(answers.remove(0).1)
    }

    pub fn answers(&self) -> Vec<(usize, Result<Reply, NetError>)> {
        self.world.cell(self.id("client"), &ANSWERS)
    }

    /// For so many seconds.
    pub fn run(&mut self, seconds: f64) {
        let until = self.now + Duration::from_secs_f64(seconds);
        while let Some(entry) = self.world.next_entry().copied().filter(|e| e.at <= until) {
            let event = Event::Pending(entry.seq);
            let applied = self.world.apply(entry.at, event, &mut |s| s.nominal);
            self.now = self.world.now();
            self.keep(applied.expect("pending"));
        }
        self.now = until;
    }

    fn id(&self, name: &str) -> ProcId {
        self.world.find(name).expect("one of three")
    }

    pub fn is_up(&self) -> bool {
        self.world.status(self.id("api")) == Status::Up
    }

    pub fn store(&self) -> &Store<Object> {
        let etcd = self.world.process::<Etcd<Object>>(self.id("etcd"));
        etcd.expect("an etcd").store()
    }

    /// How many revisions were committed.
    pub fn commits(&self) -> usize {
        let commits = self.notes.iter();
        commits
            .filter(|(_, note)| note.body.get::<Committed<Object>>().is_some())
            .count()
    }

    /// When the server told this.
    pub fn noted(&self, what: &ServerNote) -> Option<f64> {
        let mut all = self.notes.iter();
        let found = all.find(|(_, note)| note.body.get() == Some(what))?;
        Some(found.0.secs_f64())
    }
}
