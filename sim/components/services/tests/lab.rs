//! A laboratory: one etcd, apiservers with their bootstrap controllers on small ranges, and one client.
//! Stepped by hand, with nominal latencies.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::kinds::SERVICES;
use wavetank_api::{Json, Method, Object, Request, Response};
use wavetank_apiserver::{ApiServer, Config};
use wavetank_client::HTTPS;
use wavetank_components::kube_apiserver::Defects;
use wavetank_components::kube_apiserver::bootstrap::{Bootstrap, Reconciler};
use wavetank_components::services::RepairNote;
use wavetank_components::services::allocators::{Bitmap, ServiceRanges};
use wavetank_engine::drive::{Bench, Stepped};
use wavetank_engine::*;
use wavetank_etcd::{Committed, Connections, Etcd};
use wavetank_releases::Release;
use wavetank_version::Version;

const SEND: Name = Name::new("send");
const ALL: [&str; 4] = ["a1", "a2", "client", "etcd"];
/// Six addresses, of which the Service `kubernetes` has the first.
pub const RANGE: &str = "10.0.0.0/29";

static ANSWERS: Cell<Vec<(u64, Result<Response, NetError>)>> = Cell::new("answers");

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Client;

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
        let text = |field: &str| args[field].as_str().unwrap_or_default().to_owned();
        let method = match text("method").as_str() {
            "POST" => Method::Post,
            "DELETE" => Method::Delete,
            "PATCH" => Method::Patch,
            _ => Method::Get,
        };
        let mut request = Request::new(method, text("path"));
        if args["body"].is_object() {
            request = request.with(args["body"].clone());
        }
        if method == Method::Patch {
            request.content_type = Some("application/merge-patch+json".into());
        }
        let server = WorldBuilder::id_of(&text("server"), &ALL);
        let number = args["number"].as_u64().ok_or("wants a number")?;
        cx.spawn(Task::new(SEND, (number, server, request)));
        Ok(())
    }
    fn routine(&self, task: &Task) -> RoutineFuture {
        let (number, server, request) = task.args::<(u64, ProcId, Request)>().clone();
        Box::pin(async move {
            let rx = Rx::new();
            let answer = rx.call(&HTTPS, server, Payload::new(request)).await;
            let answer = answer.map(|body| body.expect::<Response>().clone());
            rx.update(&ANSWERS, |all| all.push((number, answer)));
            Outcome::Done
        })
    }
}

pub struct Lab {
    bench: Bench,
    sent: u64,
    /// The keys that were written, in order.
    pub written: Vec<String>,
    /// What the repair loops had to say.
    pub messages: Vec<String>,
}

impl Stepped for Lab {
    fn bench(&mut self) -> &mut Bench {
        &mut self.bench
    }

    fn seen(&mut self, report: &Report) {
        for note in &report.notes {
            if let Some(repair) = note.body.get::<RepairNote>() {
                self.messages.push(repair.message.clone());
            }
            if let Some(commit) = note.body.get::<Committed<Object>>() {
                let keys = commit.changes.iter().map(|change| change.key.to_string());
                self.written.extend(keys);
            }
        }
    }
}

impl Lab {
    /// All are up, and the Service `kubernetes` is there.
    pub fn new(release: Version) -> Lab {
        Lab::with_ranges(release, &[RANGE])
    }

    /// With these ranges of addresses.
    pub fn with_ranges(release: Version, ranges: &[&str]) -> Lab {
        let mut lab = Lab::of(release, [ranges, ranges]);
        for name in ["etcd", "client", "a1", "a2"] {
            lab.start(name);
        }
        lab.run(12.0);
        lab.written.clear();
        lab
    }

    /// Each server has its own ranges, and the second starts when the first is up.
    pub fn one_after_the_other(release: Version, ranges: [&[&str]; 2]) -> Lab {
        let mut lab = Lab::of(release, ranges);
        for name in ["etcd", "client", "a1"] {
            lab.start(name);
        }
        lab.run(12.0);
        lab.start("a2");
        lab.run(12.0);
        lab
    }

    /// Nobody is up.
    fn of(release: Version, ranges: [&[&str]; 2]) -> Lab {
        let id = |name| WorldBuilder::id_of(name, &ALL);
        let mut builder = WorldBuilder::new();
        builder.process("etcd", Etcd::<Object>::single(id("etcd")));
        for (number, (name, ranges)) in (1..).zip(["a1", "a2"].into_iter().zip(ranges)) {
            let config = Config {
                release,
                defects: wavetank_apiserver::Defects::shipped_with(release),
                me: id(name),
                etcd: id("etcd").into(),
                etcd_connections: Connections::Shared,
                address: format!("192.0.2.{number}").into(),
                shutdown_delay: Duration::ZERO,
                hooks: 1,
                number,
                kinds: Default::default(),
                namespace_lifecycle: false,
                managed_fields: Default::default(),
                custom_resources: Default::default(),
                admission: Default::default(),
                audit: Default::default(),
                min_compatibility: Default::default(),
                events_etcd: None,
                watch_cache: Some(Release::of(release).etcd),
                compaction: None,
            };
            let bootstrap = Bootstrap {
                server: Arc::new(config.clone()),
                reconciler: Reconciler::None,
                apiserver_count: 2,
                identity: false,
                services: Some(Arc::new(ServiceRanges {
                    node_ports: (30000, 4),
                    ..ServiceRanges::of(ranges)
                })),
                published: Arc::default(),
                defects: Defects::shipped_with(release),
            };
            builder.process(name, ApiServer::new(config, vec![bootstrap]));
        }
        builder.process("client", Client);
        let mut bench = Bench::new(builder.build());
        let mut drawn = 7_u64;
        bench.choose(move |_, _, _| {
            drawn = drawn.wrapping_mul(48271) % 2_147_483_647;
            drawn
        });
        Lab {
            bench,
            sent: 0,
            written: Vec::new(),
            messages: Vec::new(),
        }
    }

    /// Sends a request; its number.
    pub fn send(&mut self, server: &str, method: &str, path: &str, body: Json) -> u64 {
        self.sent += 1;
        let args = json!({
            "number": self.sent, "server": server, "method": method, "path": path, "body": body,
        });
        self.command("client", "send", args);
        self.sent
    }

    /// What a request was answered.
    #[track_caller]
    pub fn answer(&self, number: u64) -> Response {
        let all = self.bench.world.cell(self.bench.id("client"), &ANSWERS);
        let found = all.into_iter().find(|(n, _)| *n == number);
        found.expect("it was answered").1.expect("by a server")
    }

    /// Sends a request and waits for its answer.
    #[track_caller]
    pub fn ask(&mut self, server: &str, method: &str, path: &str, body: Json) -> Response {
        let number = self.send(server, method, path, body);
        self.run(1.0);
        self.answer(number)
    }

    /// Until this key is written, for a minute at most.
    #[track_caller]
    pub fn run_until_written(&mut self, key: &str) {
        let until = self.bench.now + Duration::from_secs(60);
        while !self.written.iter().any(|written| written == key) {
            assert!(
                self.bench.now < until && self.step(),
                "{key} is not written"
            );
        }
    }

    /// What is taken of a bitmap.
    pub fn taken(&self, allocation: &str) -> Vec<u32> {
        let object = self.stored(&format!("/registry/ranges/{allocation}"));
        let data = object["data"].as_str().unwrap_or_default().to_owned();
        Bitmap::parse(&data).expect("a bitmap").taken().collect()
    }

    /// What is stored under a key.
    #[track_caller]
    pub fn stored(&self, key: &str) -> Json {
        self.found(key).expect("it is stored")
    }

    pub fn is_stored(&self, key: &str) -> bool {
        self.found(key).is_some()
    }

    fn found(&self, key: &str) -> Option<Json> {
        let world = &self.bench.world;
        let etcd = world.process::<Etcd<Object>>(self.bench.id("etcd"));
        let etcd = etcd.expect("an etcd");
        Some(etcd.store().get(key)?.value.json().clone())
    }
}

/// A Service with one port and whatever else.
pub fn service(name: &str, spec: Json) -> Json {
    let mut service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"ports": [{"port": 80}]},
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        service["spec"][field] = value.clone();
    }
    service
}

/// The path of a Service.
pub fn path(name: &str) -> String {
    SERVICES.path("n", name)
}
