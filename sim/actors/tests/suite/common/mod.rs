//! Clients with informers on the bench: a world of one truth, some fronts and a client, stepped in
//! virtual-time order with nominal latencies, under all monitors.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod server;

use std::ops::{Deref, DerefMut};

use wavetank_actors::InformerClient;
use wavetank_client::InformerDefect;
use wavetank_client::informer::{INFORMERS, Informer, InformerSpec};
use wavetank_client::monitors::{Name as Monitor, settling};
use wavetank_client::{LoadBalancer, Policy};
use wavetank_engine::drive::{self, Stepped};
use wavetank_engine::{Fault, ProcId, Process, World, WorldBuilder};
use wavetank_releases::{V1_36, VERSIONS};
use wavetank_version::{Listed, Set, Version};

use server::{Front, Like, Truth};

/// All that is known is fixed.
pub fn fixed() -> Set<InformerDefect> {
    Set::fixed()
}

/// The releases that have a place for this.
pub fn fitting(defect: InformerDefect) -> impl Iterator<Item = Version> {
    let all = VERSIONS.into_iter();
    all.filter(move |version| defect.defect().fits(*version))
}

/// All but this.
pub fn only(defect: InformerDefect) -> Set<InformerDefect> {
    fixed().with(defect, true)
}

/// A front as the release of the client would find it.
pub fn like(release: Version) -> Like {
    Like {
        watch_list: release >= V1_36,
        pages: false,
        stingy: None,
    }
}

/// What is on the bench.
pub struct Setup {
    pub release: Version,
    pub defects: Set<InformerDefect>,
    pub fronts: Vec<Like>,
    pub policy: Policy,
    pub specs: Vec<InformerSpec>,
}

impl Setup {
    /// Two fronts, all fixed, one informer.
    pub fn new(release: Version) -> Setup {
        Setup {
            release,
            defects: fixed(),
            fronts: vec![like(release); 2],
            policy: Policy::RoundRobin,
            specs: vec![InformerSpec::of(&wavetank_api::kinds::CONFIG_MAPS)],
        }
    }

    pub fn names(&self) -> Vec<String> {
        let fronts = (1..=self.fronts.len()).map(|n| format!("a{n}"));
        let mut names: Vec<String> = fronts.collect();
        names.extend(["c1".to_owned(), "truth".to_owned()]);
        names
    }

    pub fn world(&self) -> World {
        let client = |balancer| {
            let specs = self.specs.clone();
            InformerClient::new(self.release, self.defects, balancer, specs)
        };
        self.world_with(client)
    }

    /// The same with another client.
    pub fn world_with<P: Process>(&self, client: impl FnOnce(LoadBalancer) -> P) -> World {
        let mut builder = self.builder(client);
        for info in &Monitor::TABLE {
            builder.property(info.monitor.property(settling(self.release)));
        }
        builder.build()
    }

    fn builder<P: Process>(&self, client: impl FnOnce(LoadBalancer) -> P) -> WorldBuilder {
        let names = self.names();
        let id = |name: &str| WorldBuilder::id_of(name, &names);
        let mut builder = WorldBuilder::new();
        builder.process("truth", Truth::default());
        for (n, like) in (1..).zip(&self.fronts) {
            builder.process(&format!("a{n}"), Front::new(id("truth"), *like));
        }
        let servers = (1..=self.fronts.len()).map(|n| id(&format!("a{n}")));
        let balancer = LoadBalancer {
            servers: servers.collect(),
            policy: self.policy,
            window: None,
        };
        builder.process("c1", client(balancer));
        builder
    }
}

/// The bench.
pub struct Bench {
    by_hand: drive::Bench,
}

impl Deref for Bench {
    type Target = drive::Bench;
    fn deref(&self) -> &drive::Bench {
        &self.by_hand
    }
}
impl DerefMut for Bench {
    fn deref_mut(&mut self) -> &mut drive::Bench {
        &mut self.by_hand
    }
}
impl Stepped for Bench {
    fn bench(&mut self) -> &mut drive::Bench {
        &mut self.by_hand
    }
}

impl Bench {
    /// Everything is down.
    pub fn new(setup: &Setup) -> Bench {
        Bench::of(setup.world())
    }

    /// A world in which everything is down.
    pub fn of(world: World) -> Bench {
        Bench {
            by_hand: drive::Bench::new(world),
        }
    }

    /// Servers are up and hold objects `a` and `b`; then the client starts and has a few seconds.
    pub fn settled(setup: &Setup) -> Bench {
        let mut bench = Bench::served(setup);
        bench.start("c1");
        bench.run(5.0);
        bench
    }

    /// Servers are up and hold objects `a` and `b`.
    pub fn served(setup: &Setup) -> Bench {
        let mut bench = Bench::new(setup);
        bench.serve(setup);
        bench
    }

    /// Servers start, and are given objects `a` and `b`.
    pub fn serve(&mut self, setup: &Setup) {
        self.start("truth");
        for name in setup.names() {
            if name.starts_with('a') {
                self.start(&name);
            }
        }
        self.run(0.1);
        self.put("a");
        self.put("b");
        self.run(0.1);
    }

    /// Nothing comes through to a front any more.
    pub fn cut_off(&mut self, front: &str) {
        self.strike(Fault::Stall {
            from: "truth".to_owned(),
            to: front.to_owned(),
        });
    }

    pub fn reconnect(&mut self, front: &str) {
        self.strike(Fault::Unstall {
            from: "truth".to_owned(),
            to: front.to_owned(),
        });
    }

    pub fn put(&mut self, name: &str) {
        self.command("truth", "put", serde_json::json!({ "name": name }));
    }

    pub fn delete(&mut self, name: &str) {
        self.command("truth", "delete", serde_json::json!({ "name": name }));
    }

    pub fn move_to(&mut self, server: usize) {
        self.command("c1", "move", serde_json::json!({ "server": server }));
    }

    pub fn hold(&mut self, held: bool) {
        let what = if held { "hold" } else { "release" };
        let args = serde_json::json!({"resource": "configmaps"});
        self.command("c1", what, args);
    }

    /// The storm is over; then what has to be true in the end is looked at.
    pub fn settle(&mut self, release: Version) {
        self.calm();
        self.run(settling(release).as_secs_f64() + 1.0);
    }

    pub fn client(&self) -> ProcId {
        self.id("c1")
    }

    /// The first informer of the client.
    pub fn informer(&self) -> Informer {
        self.world.cell(self.client(), &INFORMERS).remove(0)
    }

    /// Names and revisions in its store.
    pub fn store(&self) -> Vec<(String, u64)> {
        named(&self.informer().content())
    }

    /// The same, as its first handler sees it.
    pub fn view(&self) -> Vec<(String, u64)> {
        named(&self.informer().listeners[0].view())
    }

    /// Names of guarantees that were violated, once each.
    pub fn broken(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.violations().into_iter().map(|(n, _)| n).collect();
        names.dedup();
        names
    }

    #[track_caller]
    pub fn is_clean(&self) {
        assert_eq!(self.violations(), []);
    }
}

fn named(items: &[(wavetank_client::fifo::StoreKey, u64)]) -> Vec<(String, u64)> {
    let items = items.iter();
    items
        .map(|(key, revision)| (key.trim_start_matches("ns/").to_owned(), *revision))
        .collect()
}
