//! Clients with informers on the bench: a world of one truth, some fronts and a client, stepped in
//! virtual-time order with nominal latencies, under all monitors.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod server;

use std::time::Duration;

use wavetank_actors::InformerClient;
use wavetank_client::InformerDefect;
use wavetank_client::informer::{INFORMERS, Informer, InformerSpec};
use wavetank_client::monitors::{Name as Monitor, settling};
use wavetank_client::{LoadBalancer, Policy};
use wavetank_engine::{
    Action, Check, Class, Event, Fault, Message, Note, ProcId, Process, Report, Time, What, World,
    WorldBuilder,
};
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
        };
        builder.process("c1", client(balancer));
        builder
    }
}

/// The bench.
pub struct Bench {
    pub world: World,
    pub now: Time,
    pub notes: Vec<(Time, Note)>,
    /// Guarantees that were violated: name and message.
    pub violations: Vec<(String, String)>,
    /// Observations.
    pub observed: Vec<(String, String)>,
    /// Properties that were put to the test, or reached.
    pub held: Vec<String>,
    /// How choices are answered.
    pub choose: fn(u64) -> u64,
}

impl Bench {
    /// Everything is down.
    pub fn new(setup: &Setup) -> Bench {
        Bench::of(setup.world())
    }

    /// A world in which everything is down.
    pub fn of(world: World) -> Bench {
        Bench {
            world,
            now: Time::ZERO,
            notes: Vec::new(),
            violations: Vec::new(),
            observed: Vec::new(),
            held: Vec::new(),
            choose: |_| 0,
        }
    }

    /// Servers are up and hold objects `a` and `b`; then the client starts and has a few seconds.
    pub fn settled(setup: &Setup) -> Bench {
        let mut bench = Bench::served(setup);
        bench.start("c1");
        bench.run_for(5.0);
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
        self.run_for(0.1);
        self.put("a");
        self.put("b");
        self.run_for(0.1);
    }

    pub fn start(&mut self, process: &str) {
        let process = process.to_owned();
        self.strike(Fault::Start { process });
    }

    pub fn crash(&mut self, process: &str) {
        let process = process.to_owned();
        self.strike(Fault::Crash { process });
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

    #[track_caller]
    pub fn strike(&mut self, fault: Fault) {
        let shown = fault.to_string();
        let report = self.act(&Action::Fault(fault));
        assert!(report.injected, "{shown}: there is no such target");
    }

    #[track_caller]
    pub fn command(&mut self, process: &str, what: &str, args: serde_json::Value) {
        self.act(&Action::Command {
            process: process.to_owned(),
            what: what.to_owned(),
            args,
        });
    }

    #[track_caller]
    fn act(&mut self, action: &Action) -> Report {
        let applied = self
            .world
            .apply(self.now, Event::Act(action), &mut |sent| sent.nominal);
        let report = applied.expect("tests act on what there is");
        self.keep(report.clone());
        report
    }

    /// The storm is over; then what has to be true in the end is looked at.
    pub fn calm(&mut self, release: Version) {
        let applied = self
            .world
            .apply(self.now, Event::Calm, &mut |sent| sent.nominal);
        let report = applied.expect("once");
        self.keep(report);
        self.run_for(settling(release).as_secs_f64() + 1.0);
    }

    fn keep(&mut self, report: Report) {
        let now = self.world.now();
        self.notes
            .extend(report.notes.into_iter().map(|note| (now, note)));
        for (at, check) in report.checks {
            let property = self
                .world
                .properties()
                .nth(usize::from(at))
                .expect("it is one");
            let (name, class) = (property.name().to_owned(), property.class());
            match check {
                Check::Violated(v) if class == Class::Observation => {
                    self.observed.push((name, v.message));
                }
                Check::Violated(v) => self.violations.push((name, v.message)),
                Check::Held => self.held.push(name),
                Check::Idle => {}
            }
        }
    }

    /// Runs so many seconds on.
    pub fn run_for(&mut self, seconds: f64) {
        let until = self.now + Duration::from_secs_f64(seconds);
        while let Some(entry) = self.world.next_entry().copied() {
            if entry.at > until {
                break;
            }
            let event = match entry.what {
                What::Choose { domain, .. } => Event::Choice(entry.seq, (self.choose)(domain)),
                _ => Event::Pending(entry.seq),
            };
            let applied = self.world.apply(entry.at, event, &mut |sent| sent.nominal);
            self.now = self.world.now();
            self.keep(applied.expect("it was pending"));
        }
        self.now = until;
    }

    /// What was told of this kind, with the seconds.
    pub fn noted<T: Message + Clone>(&self) -> Vec<(f64, T)> {
        let of_kind = self.notes.iter();
        of_kind
            .filter_map(|(at, note)| Some((at.secs_f64(), note.body.get::<T>()?.clone())))
            .collect()
    }

    pub fn client(&self) -> ProcId {
        self.world.find("c1").expect("it is there")
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
        let mut names: Vec<&str> = self.violations.iter().map(|(n, _)| n.as_str()).collect();
        names.dedup();
        names
    }

    #[track_caller]
    pub fn is_clean(&self) {
        assert_eq!(self.violations, []);
    }

    pub fn reached(&self, name: &str) -> bool {
        self.held.iter().any(|held| held == name)
    }
}

fn named(items: &[(wavetank_client::fifo::StoreKey, u64)]) -> Vec<(String, u64)> {
    let items = items.iter();
    items
        .map(|(key, revision)| (key.trim_start_matches("ns/").to_owned(), *revision))
        .collect()
}
