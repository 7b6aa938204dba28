//! A control plane on the bench: its world is stepped in virtual-time order with nominal latencies,
//! and tests strike it at times of their choice. The steps it takes are in `requests`.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod requests;
pub mod topology;

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Object;
use wavetank_apiserver::ServerNote;
use wavetank_client::{LoadBalancer, Policy, RestClient, Servers};
use wavetank_component::Wiring;
use wavetank_components::kube_apiserver;
use wavetank_components::kube_apiserver::bootstrap::Reconciler;
use wavetank_components::kube_apiserver::bootstrap::{
    BootstrapNote, MASTER_LEASES, RemovalOutcome,
};
use wavetank_components::{ClusterView, ENDPOINTS, SLICE};
use wavetank_engine::{
    Action, Check, Entry, Event, Fault, Note, ProcId, Report, RoutineId, Status, Time, What, World,
};
use wavetank_etcd::{Cause, Committed, KeyValue, Keys};
use wavetank_releases::{Release, V1_36};
use wavetank_version::{Listed, Selection, Set, Version};

use requests::{Log, Watching};
use topology::{Apiserver, EtcdCluster, Topology, shipped_with};

/// Three apiservers of this release as it shipped, with a shutdown delay that leaves the removal
/// its listener.
pub fn shipped(release: Version) -> Topology {
    plane(release, shipped_with(release), 3)
}

/// Apiservers of a release with these defects.
pub fn plane(release: Version, defects: Selection, apiservers: usize) -> Topology {
    Topology {
        apiservers: vec![Apiserver { release, defects }; apiservers],
        etcd: EtcdCluster::single(
            Release::of(release).etcd,
            Set::shipped_with(Release::of(release).etcd),
        ),
        etcd_clients: 0,
        watching: Default::default(),
        services: None,
        service_writers: 0,
        clients: 0,
        reconciler: Reconciler::Lease,
        apiserver_count: apiservers as u32,
        shutdown_delay: Duration::from_secs(5),
    }
}

/// What a release shipped with, and this defect or fix on or off.
pub fn with(release: Version, defect: impl Listed, on: bool) -> Selection {
    shipped_with(release).with(defect, on)
}

/// The address of the `n`-th apiserver.
pub fn address(n: usize) -> String {
    format!("10.0.0.{n}")
}

/// Their addresses.
pub fn addresses(apiservers: &[usize]) -> Vec<String> {
    apiservers.iter().map(|n| address(*n)).collect()
}

/// A time, for comparisons in seconds.
pub fn seconds(time: Time) -> f64 {
    time.nanos() as f64 / 1e9
}

pub fn stop(process: &str) -> Fault {
    let process = process.to_owned();
    Fault::Stop { process }
}

pub fn start(process: &str) -> Fault {
    let process = process.to_owned();
    Fault::Start { process }
}

pub fn crash(process: &str) -> Fault {
    let process = process.to_owned();
    Fault::Crash { process }
}

pub fn pause(process: &str) -> Fault {
    let process = process.to_owned();
    Fault::Pause { process }
}

pub fn resume(process: &str) -> Fault {
    let process = process.to_owned();
    Fault::Resume { process, order: 0 }
}

/// The bench.
pub struct Bench {
    pub world: World,
    pub now: Time,
    /// What processes told, and when.
    pub notes: Vec<(Time, Note)>,
    /// What properties objected to: none of the tests expects anything.
    pub violations: Vec<String>,
    /// The requests that arrived, if they are watched.
    pub requests: Log,
    /// How choices are answered.
    pub choice: u64,
}

impl Bench {
    /// Everything is down. All properties are watched.
    pub fn new(topology: &Topology) -> Bench {
        Bench {
            world: topology.world(&topology.properties()),
            now: Time::ZERO,
            notes: Vec::new(),
            violations: Vec::new(),
            requests: Log::default(),
            choice: 0,
        }
    }

    /// Everything is up, started half a second apart, and has run for 30 s.
    pub fn settled(topology: &Topology) -> Bench {
        let mut bench = Bench::new(topology);
        bench.strike(start("etcd"));
        for name in topology.apiserver_names() {
            bench.run_for(0.5);
            bench.strike(start(&name));
        }
        let others = topology.client_names().into_iter();
        for name in others.chain(topology.roller_names()) {
            bench.run_for(0.5);
            bench.strike(start(&name));
        }
        bench.run_until(30.0);
        bench
    }

    /// Strikes now.
    ///
    /// # Panics
    /// If the fault does not find its target.
    #[track_caller]
    pub fn strike(&mut self, fault: Fault) {
        let shown = fault.to_string();
        let report = self.act(&Action::Fault(fault));
        assert!(report.injected, "{shown}: there is no such target");
    }

    /// Tells a process something.
    pub fn command(&mut self, process: &str, what: &str) {
        self.act(&Action::Command {
            process: process.to_owned(),
            what: what.to_owned(),
            args: serde_json::Value::Null,
        });
    }

    /// Strikes now, or does nothing if there is no such target.
    pub fn act(&mut self, action: &Action) -> Report {
        let applied = self
            .world
            .apply(self.now, Event::Act(action), &mut |sent| sent.nominal);
        let report = applied.expect("tests act on what there is");
        self.keep(report.clone());
        report
    }

    /// The next event; false if there is none.
    pub fn step(&mut self) -> bool {
        let next = self.world.next_entry().copied();
        next.map(|entry| self.apply(entry)).is_some()
    }

    /// The next event that is not the grant of a lock to this routine.
    pub fn step_past(&mut self, routine: RoutineId) {
        let is_held =
            |e: &&Entry| matches!(e.what, What::Grant { .. }) && e.what.routine() == Some(routine);
        let next = self.world.pending().find(|e| !is_held(e)).copied();
        self.apply(next.expect("there is always something"));
    }

    fn apply(&mut self, entry: Entry) {
        let event = match entry.what {
            What::Choose { .. } => Event::Choice(entry.seq, self.choice),
            _ => Event::Pending(entry.seq),
        };
        let watching = Watching::before(&self.requests, &self.world, &entry);
        let applied = self.world.apply(entry.at, event, &mut |sent| sent.nominal);
        self.now = self.world.now();
        self.requests.after(watching, &self.world);
        self.keep(applied.expect("it was pending"));
    }

    /// The lock that a routine of this kind waits for may be granted to it.
    pub fn is_offered_a_lock(&self, process: &str, kind: &str) -> bool {
        let process = self.process(process);
        self.world.pending().any(|e| {
            let routine = e.what.routine().map(|id| id.kind.as_str());
            e.process == process && matches!(e.what, What::Grant { .. }) && routine == Some(kind)
        })
    }

    fn keep(&mut self, report: Report) {
        let now = self.world.now();
        self.notes
            .extend(report.notes.into_iter().map(|note| (now, note)));
        for (_, check) in report.checks {
            if let Check::Violated(violation) = check {
                self.violations.push(violation.message);
            }
        }
    }

    /// Runs until so many seconds of virtual time.
    pub fn run_until(&mut self, at: f64) {
        let until = Time::from_nanos((at * 1e9) as u64);
        while self.world.next_entry().is_some_and(|e| e.at <= until) {
            self.step();
        }
        self.now = self.now.max(until);
    }

    /// Runs for so many seconds of virtual time.
    pub fn run_for(&mut self, for_seconds: f64) {
        self.run_until(seconds(self.now) + for_seconds);
    }

    /// Runs until this is true, and says when that was.
    ///
    /// # Panics
    /// If it is not within `limit` seconds of virtual time.
    #[track_caller]
    pub fn run_to(&mut self, what: &str, limit: f64, is: impl Fn(&Bench) -> bool) -> f64 {
        let until = seconds(self.now) + limit;
        while !is(self) {
            let goes_on = seconds(self.now) < until && self.step();
            assert!(goes_on, "not within {limit} s: {what}");
        }
        seconds(self.now)
    }

    pub fn view(&self) -> ClusterView<'_> {
        ClusterView(&self.world)
    }

    pub fn process(&self, name: &str) -> ProcId {
        self.world.find(name).expect("it is in the topology")
    }

    pub fn is_up(&self, name: &str) -> bool {
        self.world.status(self.process(name)) == Status::Up
    }

    /// The routine of a process that runs this task.
    pub fn routine(&self, process: &str, kind: &str) -> Option<RoutineId> {
        let mut all = self.world.routines(self.process(process));
        all.find(|id| id.kind.as_str() == kind)
    }

    /// What the Endpoints list.
    pub fn listed(&self) -> Vec<String> {
        self.under(ENDPOINTS)
    }

    /// What the EndpointSlice lists.
    pub fn sliced(&self) -> Vec<String> {
        self.under(SLICE)
    }

    fn under(&self, key: &str) -> Vec<String> {
        let (addresses, _) = self.view().addresses(key);
        addresses.iter().map(|a| a.to_string()).collect()
    }

    /// The addresses that have a master lease.
    pub fn leased(&self) -> Vec<String> {
        let all = Keys::Prefix(MASTER_LEASES.into());
        let leases = self.view().store().iter(&all);
        leases
            .map(|kv| kv.key[MASTER_LEASES.len()..].to_owned())
            .collect()
    }

    /// Commits from `since` on that concern a key: when, what it was then, and why.
    pub fn commits(&self, key: &str, since: f64) -> Vec<(f64, Option<KeyValue<Object>>, Cause)> {
        let mut found = Vec::new();
        for (at, note) in &self.notes {
            let Some(commit) = note.body.get::<Committed<Object>>() else {
                continue;
            };
            let of_key = commit.changes.iter().filter(|c| *c.key == *key);
            let at = seconds(*at);
            found.extend(of_key.map(|c| (at, c.now.clone(), commit.cause)));
        }
        found.retain(|(at, ..)| *at >= since);
        found
    }

    /// What the bootstrap controllers told from `since` on.
    pub fn bootstrap_notes(&self, since: f64) -> Vec<(f64, &BootstrapNote)> {
        let all = self.notes.iter();
        all.filter_map(|(at, note)| Some((seconds(*at), note.body.get::<BootstrapNote>()?)))
            .filter(|(at, _)| *at >= since)
            .collect()
    }

    /// How the removal of the `n`-th apiserver ended, and when.
    pub fn removal(&self, n: usize) -> Option<(f64, RemovalOutcome)> {
        let own: Arc<str> = address(n).into();
        let told = self.bootstrap_notes(0.0);
        told.iter().rev().find_map(|(at, note)| match note {
            BootstrapNote::RemovalFinished {
                address, outcome, ..
            } if *address == own => Some((*at, *outcome)),
            _ => None,
        })
    }

    /// Did a removal find that the Endpoints had changed?
    pub fn conflicted(&self, since: f64) -> bool {
        let told = self.bootstrap_notes(since);
        told.iter()
            .any(|(_, note)| **note == BootstrapNote::RemovalConflicted)
    }

    /// When a server last told this.
    pub fn noted(&self, process: &str, what: &ServerNote) -> Option<f64> {
        let from = self.process(process);
        let mut all = self.notes.iter().rev();
        let is = |(_, note): &&(Time, Note)| note.process == from && note.body.get() == Some(what);
        all.find(is).map(|(at, _)| seconds(*at))
    }
}

/// A client of all apiservers, without a load balancer that anybody could see.
pub fn balanced(wiring: &Wiring) -> RestClient {
    RestClient {
        release: V1_36,
        servers: Servers::Balanced(LoadBalancer {
            servers: wiring.ids(kube_apiserver::NAME),
            policy: Policy::Drawn,
        }),
    }
}
