//! Informers against simulated apiservers with their watch caches, over one etcd: storms that are clean when
//! all that is known is fixed.

use crate::common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::fixed;
use wavetank_actors::InformerClient;
use wavetank_api::{Method, Object, Request, kinds};
use wavetank_apiserver::CacheDefect;
use wavetank_apiserver::{ApiServer, Config, Defects, Hook, HookFuture};
use wavetank_client::informer::{HandlerSpec, InformerSpec, Lag, Resync};
use wavetank_client::monitors::{Name as Monitor, settling};
use wavetank_client::{HTTPS, LoadBalancer, Policy};
use wavetank_engine::drive::seeded::{Budget, FaultSchedule, Latency, Seeded, Workload};
use wavetank_engine::drive::{Ending, Limits, Outcome as Ended, Run};
use wavetank_engine::trace::Record;
use wavetank_engine::*;
use wavetank_etcd::{Connections, Etcd};
use wavetank_releases::{Release, VERSIONS};
use wavetank_version::{Set, Version};

const STORM: u64 = 120;
const SERVERS: [&str; 2] = ["a1", "a2"];
const WRITE: Name = Name::new("write");

/// A server without a hook of its own.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Nothing;

impl Hook for Nothing {
    fn post_start(&self, _: Rx) -> HookFuture {
        Box::pin(async {})
    }
    fn pre_shutdown(&self, _: Rx) -> HookFuture {
        Box::pin(async {})
    }
    fn routine(&self, _: &Task) -> Option<RoutineFuture> {
        None
    }
}

/// Writes ConfigMaps, one after the other, at any of the servers. No name comes again.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Writer {
    servers: Vec<ProcId>,
    written: u64,
}

impl Process for Writer {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}
    fn command(&mut self, cx: &mut Cx<'_>, _: &str, _: &serde_json::Value) -> Result<(), String> {
        self.written += 1;
        let number = self.written;
        let server = self.servers[(number / 4) as usize % self.servers.len()];
        cx.spawn(Task::new(WRITE, (number, server)));
        Ok(())
    }
    fn routine(&self, task: &Task) -> RoutineFuture {
        let (number, server) = *task.args::<(u64, ProcId)>();
        Box::pin(async move {
            let body = Payload::new(write(number));
            let rx = Rx::new();
            let call = rx.call(&HTTPS, server, body);
            let _ = rx.timeout(Duration::from_secs(10), call).await;
            Outcome::Done
        })
    }
}

fn write(number: u64) -> Request {
    let of = |number: u64| format!("o{number}");
    let object = |name: &str| {
        serde_json::json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": {"at": number.to_string()},
        })
    };
    let path = |name: &str| kinds::CONFIG_MAPS.path("default", name);
    match number % 4 {
        2 => Request::new(Method::Delete, path(&of(number - 1))),
        3 => {
            let name = of(number - 3);
            Request::new(Method::Put, path(&name)).with(object(&name))
        }
        _ => Request::new(Method::Post, path("")).with(object(&of(number))),
    }
}

fn world(release: Version, defects: Set<CacheDefect>) -> World {
    let names = ["a1", "a2", "c1", "etcd", "writer"];
    let id = |name: &str| WorldBuilder::id_of(name, &names);
    let servers: Vec<ProcId> = SERVERS.iter().map(|name| id(name)).collect();
    let mut builder = WorldBuilder::new();
    builder.process("etcd", Etcd::<Object>::single(id("etcd")));
    for (number, name) in (1..).zip(SERVERS) {
        let config = Config {
            release,
            defects: Defects {
                cache: defects,
                ..Defects::default()
            },
            me: id(name),
            etcd: id("etcd").into(),
            etcd_connections: Connections::Shared,
            address: format!("10.0.0.{number}").into(),
            shutdown_delay: Duration::ZERO,
            hooks: 1,
            number,
            kinds: Default::default(),
            namespace_lifecycle: false,
            managed_fields: Default::default(),
            custom_resources: Default::default(),
            admission: Default::default(),
            events_etcd: None,
            watch_cache: Some(Release::of(release).etcd),
            compaction: Some(wavetank_apiserver::cacher::COMPACT_EVERY),
            audit: Default::default(),
            min_compatibility: Default::default(),
        };
        builder.process(name, ApiServer::new(config, vec![Nothing]));
    }
    let servers_of_writer = servers.clone();
    builder.process(
        "writer",
        Writer {
            servers: servers_of_writer,
            written: 0,
        },
    );
    let lag = |one_in, seconds| {
        Some(Lag {
            one_in,
            upto: Duration::from_secs(seconds),
        })
    };
    let spec = InformerSpec {
        queue_lag: lag(60, 12),
        resync: Some(Duration::from_secs(40)),
        handlers: vec![
            HandlerSpec {
                lag: lag(4, 6),
                ..HandlerSpec::new("slow")
            },
            HandlerSpec {
                resync: Resync::Never,
                ..HandlerSpec::new("plain")
            },
        ],
        ..InformerSpec::of(&kinds::CONFIG_MAPS)
    };
    let balancer = LoadBalancer {
        servers,
        policy: Policy::Drawn,
        window: None,
    };
    let client = InformerClient::new(release, fixed(), balancer, vec![spec]);
    builder.process("c1", client);
    for info in &Monitor::TABLE {
        builder.property(info.monitor.property(settling(release)));
    }
    builder.build()
}

fn fault_schedule() -> FaultSchedule {
    let ms = Duration::from_millis;
    let strings = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
    let all = strings(&["a1", "a2", "c1"]);
    let linked = strings(&["a1", "a2", "c1", "etcd"]);
    let budget = |kind, max, lasts: (u64, u64), targets: &[String]| Budget {
        kind,
        max,
        lasts: (ms(lasts.0), ms(lasts.1)),
        gone_per_million: 0,
        amount: match kind {
            FaultKind::SlowLink => (10, 500),
            FaultKind::Delay => (50, 5000),
            _ => (1, 1),
        },
        targets: targets.to_vec(),
    };
    FaultSchedule {
        storm: Time::from_secs(STORM),
        start_within: ms(5000),
        start_first: vec!["etcd".to_owned()],
        budgets: vec![
            budget(FaultKind::Stop, 2, (100, 9000), &strings(&SERVERS)),
            budget(FaultKind::Crash, 4, (100, 9000), &all),
            budget(FaultKind::PowerLoss, 1, (1000, 9000), &strings(&SERVERS)),
            budget(FaultKind::Pause, 3, (100, 9000), &all),
            budget(FaultKind::Deschedule, 6, (100, 9000), &all),
            budget(FaultKind::Partition, 2, (1000, 20_000), &linked),
            budget(FaultKind::Stall, 4, (1000, 20_000), &linked),
            budget(FaultKind::Reset, 4, (1, 2), &linked),
            budget(FaultKind::HalfOpen, 2, (1, 2), &linked),
            budget(FaultKind::SlowLink, 2, (1000, 20_000), &linked),
            budget(FaultKind::Delay, 4, (1, 2), &linked),
        ],
        workload: vec![Workload {
            processes: strings(&["writer"]),
            what: "write".to_owned(),
            every: ms(700),
            ends: false,
        }],
        latency: Latency {
            base: (ms(1), ms(3)),
            tail_per_million: 10_000,
            tail: (ms(10), ms(300)),
        },
        directed: Vec::new(),
    }
}

fn run(release: Version, defects: Set<CacheDefect>, seed: u64) -> Ended {
    let world = world(release, defects);
    let choices = Seeded::new(seed, &world, fault_schedule());
    let until = Time::from_secs(STORM + settling(release).as_secs() + 10);
    Run::new(world, choices, Limits::until(until), Record::default()).finish()
}

#[test]
fn all_mended_nothing_is_violated() {
    for release in VERSIONS {
        let mut violated = Vec::new();
        let mut tested: BTreeMap<String, u64> = BTreeMap::new();
        for seed in 0..10 {
            let ended = run(release, Set::fixed(), seed);
            if let Ending::Violated(found) = &ended.ending {
                println!("{release} seed {seed} at {}: {found:?}", ended.at);
                violated.push((seed, found.property.clone()));
            }
            for (property, times) in ended.world.properties().zip(&ended.tallies.tested) {
                *tested.entry(property.name().to_owned()).or_default() += times;
            }
        }
        println!("{release}: {tested:?}");
        assert_eq!(violated, [], "{release}");
        assert!(tested["informers-converge"] > 0 && tested["informer-misses-nothing"] > 0);
    }
}

/// k/k#58545 seen from an informer: a deletion that carries an old revision comes out of order.
#[test]
fn a_deletion_at_an_old_revision_shows() {
    for release in VERSIONS {
        let defects = Set::fixed().with(CacheDefect::DeletedAtOldRevision, true);
        let found = |seed| match run(release, defects, seed).ending {
            Ending::Violated(found) => found.property,
            Ending::Clean => String::new(),
        };
        let found: Vec<String> = (0..4).map(found).collect();
        let expected = "informer-watch-ordered";
        assert!(
            found.iter().any(|own| own == expected),
            "{release}: {found:?}"
        );
    }
}
