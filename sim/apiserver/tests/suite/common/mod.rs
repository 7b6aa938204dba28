//! A laboratory: one etcd, one apiserver whose hooks do nothing but take their time, and one client
//! that sends the requests of a script; or two of both. Stepped by hand, with nominal latencies.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::{
    Content, Json, Method, Object, Query, Reason, Request, Resource, Response, WatchPart, kinds,
    views,
};
use wavetank_apiserver::{
    Admission, ApiServer, Config, CustomResources, DeletionDefect, EvictionDefect, Hook,
    HookFuture, MinCompatibility, ServerDefect, ServerNote,
};
use wavetank_client::HTTPS;
use wavetank_engine::drive::{Bench, Stepped};
use wavetank_engine::*;
use wavetank_etcd::raft::MemberId;
use wavetank_etcd::{Committed, Connections, Endpoints, Etcd, Store};
use wavetank_releases::Release;
use wavetank_version::Version;

/// A hook that takes its time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
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

/// What the first server sends to etcd waits on the way,
pub fn stall_to_etcd() -> Fault {
    let (from, to) = ("api".to_owned(), "etcd".to_owned());
    Fault::Stall { from, to }
}

/// until here.
pub fn unstall_to_etcd() -> Fault {
    let (from, to) = ("api".to_owned(), "etcd".to_owned());
    Fault::Unstall { from, to }
}

/// What the servers of a laboratory are made of.
#[derive(Clone, Default)]
pub struct Setting {
    pub watch_cache: bool,
    pub connections: Connections,
    pub hook: Slow,
    pub delay: Duration,
    /// Three members of etcd, of which each server knows all.
    pub three: bool,
    pub custom_resources: CustomResources,
    /// Admission goes by an informer of namespaces,
    pub namespaces: bool,
    /// and there is a policy.
    pub policies: bool,
    /// What is made is charged to quotas.
    pub quota: bool,
    /// The release of the second server, if it is another one,
    pub beside: Option<Version>,
    /// and whether the first stores in the newest version all the same.
    pub stores_newest: bool,
    /// `FixEmptiedObjectsGoByUid`
    pub emptied_go_by_uid: bool,
    /// `FixDecideGraceAnew`
    pub grace_is_decided_anew: bool,
    /// `FixEvictionsKeepToTheirPod`
    pub evictions_keep_to_their_pod: bool,
}

impl Setting {
    fn members(&self) -> &'static [&'static str] {
        match self.three {
            true => &["e1", "e2", "e3"],
            false => &["etcd"],
        }
    }

    fn config(&self, release: Version, me: ProcId, etcd: &[ProcId], number: u32) -> Config {
        let mut defects = wavetank_apiserver::Defects::shipped_with(release);
        let newest = ServerDefect::StoredInNewestVersion;
        defects.server = defects.server.with(newest, self.stores_newest);
        let by_uid = DeletionDefect::FixEmptiedObjectsGoByUid;
        let anew = DeletionDefect::FixDecideGraceAnew;
        let deletion = defects.deletion.with(by_uid, self.emptied_go_by_uid);
        defects.deletion = deletion.with(anew, self.grace_is_decided_anew);
        let keeps = EvictionDefect::FixEvictionsKeepToTheirPod;
        defects.eviction = defects
            .eviction
            .with(keeps, self.evictions_keep_to_their_pod);
        Config {
            release,
            defects,
            me,
            etcd: Endpoints::of(etcd),
            etcd_connections: self.connections,
            address: format!("10.0.0.{number}").into(),
            shutdown_delay: self.delay,
            hooks: 1,
            number,
            kinds: Default::default(),
            namespace_lifecycle: self.namespaces,
            managed_fields: Default::default(),
            custom_resources: self.custom_resources.clone(),
            admission: Admission {
                policies: self.policies,
                quota: self.quota,
                ..Admission::default()
            },
            events_etcd: None,
            watch_cache: self.watch_cache.then(|| Release::of(release).etcd),
            compaction: Some(wavetank_apiserver::cacher::COMPACT_EVERY),
            audit: Default::default(),
            min_compatibility: MinCompatibility(self.beside),
        }
    }
}

/// What a server says no with.
#[track_caller]
pub fn reason(response: Response) -> Reason {
    match response.content {
        Content::Status(status) if !status.success => status.reason,
        other => panic!("{other:?}"),
    }
}

pub struct Lab {
    pub bench: Bench,
}

impl Stepped for Lab {
    fn bench(&mut self) -> &mut Bench {
        &mut self.bench
    }
}

impl Lab {
    /// All three are up.
    pub fn new(release: Version, hook: Slow, delay: Duration, script: Vec<Request>) -> Lab {
        let setting = Setting {
            hook,
            delay,
            ..Setting::default()
        };
        Lab::of(release, setting, script, &[("api", "client")])
    }

    /// Two servers are up, and the clients of both: `client` asks `api`, `writer` the `other`.
    pub fn two(release: Version, setting: Setting, script: Vec<Request>) -> Lab {
        let pairs = [("api", "client"), ("other", "writer")];
        Lab::of(release, setting, script, &pairs)
    }

    /// One server with this setting is up.
    pub fn with(release: Version, setting: Setting, script: Vec<Request>) -> Lab {
        Lab::of(release, setting, script, &[("api", "client")])
    }

    fn of(
        release: Version,
        setting: Setting,
        script: Vec<Request>,
        pairs: &[(&'static str, &'static str)],
    ) -> Lab {
        let mut all = setting.members().to_vec();
        all.extend(pairs.iter().flat_map(|(server, client)| [*server, *client]));
        let id = |name| WorldBuilder::id_of(name, &all);
        let mut builder = WorldBuilder::new();
        let members: Vec<ProcId> = setting.members().iter().map(|name| id(name)).collect();
        for (at, name) in setting.members().iter().enumerate() {
            let config = wavetank_etcd::Config {
                me: MemberId(at as u8),
                members: members.clone(),
                ..wavetank_etcd::Config::single(members[at])
            };
            builder.process(name, Etcd::<Object>::new(config));
        }
        let script = Arc::new(script);
        for (number, (server, client)) in (1..).zip(pairs) {
            let own = match number {
                1 => release,
                _ => setting.beside.unwrap_or(release),
            };
            let config = setting.config(own, id(server), &members, number);
            builder.process(server, ApiServer::new(config, vec![setting.hook]));
            let client_of_it = Client {
                server: id(server),
                script: script.clone(),
            };
            builder.process(client, client_of_it);
        }
        let mut lab = Lab {
            bench: Bench::new(builder.build()),
        };
        for name in all {
            lab.start(name);
        }
        lab
    }

    /// All three are up, and nothing takes long.
    pub fn plain(release: Version, script: Vec<Request>) -> Lab {
        let mut lab = Lab::new(release, Slow::default(), Duration::ZERO, script);
        lab.run(1.0);
        lab
    }

    pub fn shut_down(&mut self) {
        self.stop("api");
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

    /// The writer sends it and is answered within a second.
    #[track_caller]
    pub fn written(&mut self, number: usize) -> Response {
        self.command("writer", "ask", number.into());
        self.run(1.0);
        let mut answers = self.bench.world.cell(self.bench.id("writer"), &ANSWERS);
        response(answers.pop().expect("an answer").1)
    }

    pub fn answers(&self) -> Vec<(usize, Result<Reply, NetError>)> {
        self.bench.world.cell(self.bench.id("client"), &ANSWERS)
    }

    pub fn is_up(&self) -> bool {
        self.bench.is_up("api")
    }

    pub fn store(&self) -> &Store<Object> {
        self.store_of("etcd")
    }

    pub fn store_of(&self, member: &str) -> &Store<Object> {
        let id = self.bench.id(member);
        let etcd = self.bench.world.process::<Etcd<Object>>(id);
        etcd.expect("an etcd").store()
    }

    /// How many revisions were committed.
    pub fn commits(&self) -> usize {
        self.bench.noted::<Committed<Object>>().len()
    }

    /// When the server told this.
    pub fn noted(&self, what: &ServerNote) -> Option<f64> {
        let all = self.bench.noted::<ServerNote>().into_iter();
        all.filter(|(_, note)| note == what)
            .map(|(at, _)| at)
            .next()
    }
}
