//! A cluster of etcd members under clients: it serves, it loses its leader and gets another.

use crate::common;

use common::topology::{EtcdCluster, Topology};
use wavetank_components::kube_apiserver::bootstrap::Reconciler;

use std::time::Duration;

use wavetank_api::Object;
use wavetank_engine::*;
use wavetank_etcd::observed::ProgressAsked;
use wavetank_etcd::observed::{Answered, Watched};
use wavetank_etcd::{Applied, Etcd, EtcdError, Installed, Led, Sizes};
use wavetank_version::Set;

fn topology(members: u32) -> Topology {
    let release = wavetank_releases::etcd::LATEST;
    Topology {
        apiservers: Vec::new(),
        etcd: EtcdCluster {
            members,
            sizes: Sizes {
                snapshot_count: 40,
                catch_up_entries: 5,
                ..Sizes::of(release)
            },
            ..EtcdCluster::single(release, Set::NONE)
        },
        etcd_clients: 2,
        watching: Default::default(),
        services: None,
        service_writers: 0,
        clients: 0,
        reconciler: Reconciler::Lease,
        apiserver_count: 1,
        shutdown_delay: Duration::ZERO,
    }
}

/// Steps a world in its default order, with choices that vary, and counts what is told.
struct Bench {
    world: World,
    draws: u64,
    next_operation: Time,
    answers: usize,
    errors: Vec<EtcdError>,
    watched: usize,
    asked: usize,
    led: Vec<Led>,
    applied: usize,
    installed: usize,
    compacted: usize,
}

impl Bench {
    fn new(members: u32) -> Bench {
        let topology = topology(members);
        let world = topology.world(&[]);
        let mut bench = Bench {
            world,
            draws: 0,
            next_operation: Time::ZERO,
            answers: 0,
            errors: Vec::new(),
            watched: 0,
            led: Vec::new(),
            asked: 0,
            applied: 0,
            installed: 0,
            compacted: 0,
        };
        for process in topology.names() {
            bench.act(&Action::Fault(Fault::Start { process }));
        }
        bench
    }

    fn act(&mut self, action: &Action) {
        let now = self.world.now();
        self.apply(now, Event::Act(action));
    }

    fn apply(&mut self, at: Time, event: Event<'_>) {
        let report = self.world.apply(at, event, &mut |sent| sent.nominal);
        for note in report.expect("it fits").notes {
            if let Some(answered) = note.body.get::<Answered<Object>>() {
                self.answers += 1;
                self.errors.extend(answered.result.as_ref().err());
            }
            if let Some(watched) = note.body.get::<Watched<Object>>() {
                self.watched += 1;
                self.compacted += usize::from(watched.response.compact_revision > 0);
            }
            self.asked += usize::from(note.body.get::<ProgressAsked>().is_some());
            self.led.extend(note.body.get::<Led>());
            self.applied += usize::from(note.body.get::<Applied>().is_some());
            self.installed += usize::from(note.body.get::<Installed>().is_some());
        }
    }

    fn run_until(&mut self, seconds: u64) {
        let end = Time::from_secs(seconds);
        let clients = ["u1", "u2"];
        while self.world.now() < end {
            let next = self.world.next_entry().copied();
            self.draws = self
                .draws
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695);
            match next {
                Some(entry) if entry.at <= self.next_operation => {
                    let event = match entry.what {
                        What::Choose { .. } => Event::Choice(entry.seq, self.draws >> 15),
                        _ => Event::Pending(entry.seq),
                    };
                    self.apply(entry.at, event);
                }
                _ => {
                    let at = self.next_operation;
                    self.next_operation = at + Duration::from_millis(100);
                    let command = Action::Command {
                        process: clients[(self.draws >> 33) as usize % 2].to_owned(),
                        what: "operate".to_owned(),
                        args: serde_json::Value::Null,
                    };
                    self.apply(at, Event::Act(&command));
                }
            }
        }
    }

    fn revision(&self, member: &str) -> u64 {
        let member = self.world.find(member).expect("it exists");
        let member: &Etcd<Object> = self.world.process(member).expect("it is a member");
        member.store().revision()
    }

    fn leader(&self) -> Option<&str> {
        let mut all = self.world.processes();
        let leads = |p: &ProcId| {
            let member = self.world.process::<Etcd<Object>>(*p);
            member.is_some_and(|member| member.leads().is_some())
        };
        all.find(leads).map(|p| self.world.name(p))
    }
}

#[test]
fn it_elects_a_leader_and_serves() {
    for members in [1, 3, 5] {
        let mut bench = Bench::new(members);
        bench.run_until(30);
        assert!(bench.leader().is_some());
        assert!(bench.answers > 250, "{} answers", bench.answers);
        // Even a watch that nothing happens to asks every few seconds, and every question is answered,
        // as the opening of each of the two watches is; the last one may still be under way.
        let (asked, told) = (bench.asked, bench.watched);
        assert!(asked >= 15, "{asked} questions");
        assert!(told > asked, "{asked} questions, {told} messages");
        let odd = bench.errors.iter().filter(|e| e.is_unknown()).count();
        assert_eq!(odd, 0, "{:?}", bench.errors);
    }
}

#[test]
fn a_leader_that_is_gone_is_replaced_and_catches_up_by_a_snapshot() {
    let mut bench = Bench::new(3);
    bench.run_until(5);
    let first = bench.leader().expect("somebody leads").to_owned();
    bench.act(&Action::Fault(Fault::Crash {
        process: first.clone(),
    }));
    bench.run_until(40);
    let second = bench.leader().expect("somebody else leads").to_owned();
    assert_ne!(first, second);
    assert!(bench.errors.iter().any(|error| error.is_unknown()));
    bench.act(&Action::Fault(Fault::Start { process: first }));
    bench.run_until(60);
    assert!(bench.installed > 0, "it is too far behind for the log");
    let states: Vec<_> = (1..=3)
        .map(|n| {
            let member = bench.world.find(&format!("e{n}")).expect("it exists");
            let member: &Etcd<Object> = bench.world.process(member).expect("it is a member");
            member.state().clone()
        })
        .collect();
    let furthest = states.iter().map(|s| s.index).max().expect("three");
    let even = states.iter().filter(|s| s.index == furthest);
    assert!(even.clone().count() >= 2);
    assert!(even.clone().all(|s| Some(s) == even.clone().next()));
}

/// Revisions go back under clients that live on; with a bump they go far ahead, and watches from
/// before learn that their history is gone.
#[test]
fn a_restored_cluster_goes_on_from_its_backup() {
    for bump in [0_u64, 1000] {
        let mut bench = Bench::new(3);
        bench.run_until(10);
        let command = |process: &str, what: &str, args: serde_json::Value| Action::Command {
            process: process.to_owned(),
            what: what.to_owned(),
            args,
        };
        bench.act(&command("e1", "backup", serde_json::Value::Null));
        let saved = bench.revision("e1");
        bench.run_until(25);
        let before = bench.revision("e1");
        assert!(before > saved + 20, "{before} is little after {saved}");
        for member in ["e1", "e2", "e3"] {
            bench.act(&command(member, "restore", bump.into()));
            assert_eq!(bench.revision(member), saved + bump);
        }
        bench.compacted = 0;
        bench.run_until(50);
        assert!(bench.leader().is_some());
        let after = bench.revision("e1");
        assert!(after > saved + bump + 20, "it serves again");
        assert!(
            bench.compacted > 0 || bump == 0,
            "no watch has learnt of it"
        );
    }
}
