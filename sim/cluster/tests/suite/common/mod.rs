//! A control plane on the bench: its world is stepped in virtual-time order with nominal latencies,
//! and tests strike it at times of their choice. The steps it takes are in `requests`.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod requests;
pub mod topology;

use std::ops::{Deref, DerefMut};
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
use wavetank_engine::drive::{self, Stepped};
use wavetank_engine::{Check, Entry, Fault, Note, RoutineId, Time, What};
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
    by_hand: drive::Bench,
    /// The requests that arrived, if they are watched.
    pub requests: Log,
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

    fn happen(&mut self, entry: &Entry) {
        let watching = Watching::before(&self.requests, &self.world, entry);
        self.by_hand.happen(entry);
        self.requests.after(watching, &self.by_hand.world);
    }
}

impl Bench {
    /// Everything is down. All properties are watched.
    pub fn new(topology: &Topology) -> Bench {
        let mut by_hand = drive::Bench::new(topology.world(&topology.properties()));
        by_hand.choose(|_, _, _| 0);
        Bench {
            by_hand,
            requests: Log::default(),
        }
    }

    /// Everything is up, started half a second apart, and has run for 30 s.
    pub fn settled(topology: &Topology) -> Bench {
        let mut bench = Bench::new(topology);
        bench.strike(start("etcd"));
        for name in topology.apiserver_names() {
            bench.run(0.5);
            bench.strike(start(&name));
        }
        let others = topology.client_names().into_iter();
        for name in others.chain(topology.roller_names()) {
            bench.run(0.5);
            bench.strike(start(&name));
        }
        bench.run_to_second(30.0);
        bench
    }

    /// The next event that is not the grant of a lock to this routine.
    pub fn step_past(&mut self, routine: RoutineId) {
        let is_held =
            |e: &&Entry| matches!(e.what, What::Grant { .. }) && e.what.routine() == Some(routine);
        let next = self.world.pending().find(|e| !is_held(e)).copied();
        self.happen(&next.expect("there is always something"));
    }

    /// The lock that a routine of this kind waits for may be granted to it.
    pub fn is_offered_a_lock(&self, process: &str, kind: &str) -> bool {
        let process = self.id(process);
        self.world.pending().any(|e| {
            let routine = e.what.routine().map(|id| id.kind.as_str());
            e.process == process && matches!(e.what, What::Grant { .. }) && routine == Some(kind)
        })
    }

    /// What properties object to.
    pub fn objections(&self) -> Vec<String> {
        let checks = self.checks.iter();
        checks
            .filter_map(|(_, _, check)| match check {
                Check::Violated(violation) => Some(violation.message.clone()),
                _ => None,
            })
            .collect()
    }

    /// Runs until so many seconds of virtual time.
    pub fn run_to_second(&mut self, at: f64) {
        self.run_until(Time::from_nanos((at * 1e9) as u64));
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

    /// The routine of a process that runs this task.
    pub fn routine(&self, process: &str, kind: &str) -> Option<RoutineId> {
        let mut all = self.world.routines(self.id(process));
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
        let from = self.id(process);
        let mut all = self.notes.iter().rev();
        let is = |(_, note): &&(Time, Note)| note.process == from && note.body.get() == Some(what);
        all.find(is).map(|(at, _)| seconds(*at))
    }
}

/// A client of all apiservers, without a load balancer that anybody could see.
pub fn balanced(wiring: &Wiring) -> RestClient {
    RestClient::new(
        V1_36,
        Servers::Balanced(LoadBalancer {
            servers: wiring.ids(kube_apiserver::NAME),
            policy: Policy::Drawn,
            window: None,
        }),
    )
}
