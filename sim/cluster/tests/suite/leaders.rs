//! Controller managers that elect a leader: who leads when, what requests that takes, and how the lock changes hands.

use crate::common;

use common::{Bench, crash, pause, plane, resume, seconds, start, stop};
use wavetank_api::json;
use wavetank_client::leader_election::{ELECTOR, ElectionNote, Record};
use wavetank_cluster::{LockKind, Manager, Topology};
use wavetank_engine::Fault;
use wavetank_release::{Kind, Release, Switch, SwitchInfo, Switches};

/// All that is known is mended.
fn mended() -> Switches {
    Switches::fixed()
}

/// One apiserver, and two managers that use this lock.
fn two(release: Release, lock: LockKind, switches: Switches, releases: bool) -> Topology {
    let mut topology = plane(release, mended(), 1);
    let manager = Manager {
        release,
        switches,
        lock,
        releases,
    };
    topology.watching.managers = vec![manager; 2];
    topology
}

fn by_default(release: Release, releases: bool) -> Topology {
    two(release, LockKind::of(release), mended(), releases)
}

/// `m1` leads, `m2` waits.
fn settled(topology: &Topology) -> Bench {
    let mut bench = Bench::settled(topology);
    bench.strike(start("m1"));
    bench.run_for(1.0);
    bench.strike(start("m2"));
    bench.run_for(19.0);
    assert_eq!(leaders(&bench), ["m1"]);
    bench
}

/// Who leads.
fn leaders(bench: &Bench) -> Vec<&'static str> {
    let leads = |name: &&str| bench.world.cell(bench.process(name), &ELECTOR).leads;
    ["m1", "m2"].into_iter().filter(leads).collect()
}

/// What the lock says.
fn record(bench: &Bench, lock: LockKind) -> Record {
    let stored = bench.view().get(&lock.key()).expect("it is there");
    Record::in_object(stored.value.json()).expect("it is a lock")
}

/// Runs until `m2` leads, and says how long that took.
fn succession(bench: &mut Bench) -> f64 {
    let since = seconds(bench.now);
    bench.run_to("m2 leads", 40.0, |b| leaders(b).contains(&"m2")) - since
}

/// What managers told from `since` on.
fn told(bench: &Bench, since: f64) -> Vec<ElectionNote> {
    let notes = bench.notes.iter().filter(|(at, _)| seconds(*at) >= since);
    notes
        .filter_map(|(_, note)| note.body.get().cloned())
        .collect()
}

#[test]
fn every_kind_of_lock_has_one_holder() {
    for release in Release::ALL {
        for lock in LockKind::ALL.into_iter().filter(|lock| lock.fits(release)) {
            let mut bench = settled(&two(release, lock, mended(), false));
            assert_eq!(&*record(&bench, lock).holder, "m1_1", "{release}, {lock:?}");
            bench.strike(crash("m1"));
            let after = succession(&mut bench);
            // The last renewal was up to 2 s before, and the last look up to 2 s after that.
            assert!(
                (12.9..17.1).contains(&after),
                "{release}, {lock:?}: {after}"
            );
            let record = record(&bench, lock);
            assert_eq!((&*record.holder, record.transitions), ("m2_1", 1));
            assert_eq!(bench.violations, Vec::<String>::new());
        }
    }
}

/// v1.36 writes over what it wrote before; the others look first.
#[test]
fn a_renewal_takes_the_requests_of_its_release() {
    for (release, requests) in [
        (Release::V1_16, vec!["GET", "PUT"]),
        (Release::V1_20, vec!["GET", "PUT"]),
        (Release::V1_36, vec!["PUT"]),
    ] {
        let mut bench = settled(&by_default(release, false));
        let leader = bench.process("m1");
        bench.requests.watch(leader, "renews");
        bench.run_for(2.0);
        let text = bench.requests.text();
        let lines = text.lines().filter(|line| line.starts_with("elect"));
        let methods: Vec<&str> = lines.filter_map(|l| l.split_whitespace().nth(2)).collect();
        assert_eq!(methods, requests, "{release}: {text}");
    }
}

#[test]
fn a_lock_that_was_given_up_is_taken_at_the_next_look() {
    for release in Release::ALL {
        let mut bench = settled(&by_default(release, true));
        bench.strike(stop("m1"));
        let after = succession(&mut bench);
        // With the least jitter.
        assert!(after < 2.1, "{release}: {after}");
        assert!(!bench.is_up("m1"));
        let mut bench = settled(&by_default(release, false));
        bench.strike(stop("m1"));
        let after = succession(&mut bench);
        assert!(after > 12.9, "{release}: {after}");
    }
}

/// While a lock goes over from Endpoints to Leases, those who know only the old kind and those who know both respect
/// each other.
#[test]
fn who_knows_one_object_and_who_knows_both_have_one_leader() {
    let release = Release::V1_20;
    let both = LockKind::EndpointsLeases;
    for (first, second) in [(LockKind::Endpoints, both), (both, LockKind::Endpoints)] {
        let mut topology = two(release, first, mended(), false);
        topology.watching.managers[1].lock = second;
        let mut bench = settled(&topology);
        bench.run_for(40.0);
        assert_eq!(leaders(&bench), ["m1"], "{first:?}");
        bench.strike(crash("m1"));
        let after = succession(&mut bench);
        assert!((12.9..17.1).contains(&after), "{first:?}: {after}");
    }
}

/// Nothing fences it: it leads when it wakes up, notices, and exits; its node starts it again.
#[test]
fn a_leader_that_slept_leads_on_until_it_notices() {
    for release in Release::ALL {
        let mut bench = settled(&by_default(release, false));
        bench.strike(pause("m1"));
        succession(&mut bench);
        assert_eq!(leaders(&bench), ["m1", "m2"], "{release}");
        let life = bench.world.incarnation(bench.process("m1"));
        bench.strike(resume("m1"));
        let woken = seconds(bench.now);
        bench.run_to("m1 gives up", 12.5, |b| leaders(b) == ["m2"]);
        assert!(
            told(&bench, woken).contains(&ElectionNote::Lost),
            "{release}"
        );
        bench.run_for(15.0);
        assert!(bench.is_up("m1"), "{release}");
        assert_eq!(bench.world.incarnation(bench.process("m1")), life + 1);
        assert_eq!(leaders(&bench), ["m2"], "{release}");
        let key = wavetank_api::kinds::CONFIG_MAPS.key("kube-system", "tally");
        let tally = bench.view().get(&key).expect("it is there");
        assert_eq!(json::text(tally.value.json(), &["data", "leader"]), "m2_1");
    }
}

/// Cuts the leader off for so long; says when it gave up, and the notes since.
fn cut_off(bench: &mut Bench, leader: &str, lasts: f64) -> Vec<ElectionNote> {
    let link = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let since = seconds(bench.now);
    for (from, to) in [link(leader, "a1"), link("a1", leader)] {
        bench.strike(Fault::Stall { from, to });
    }
    bench.run_for(lasts);
    for (from, to) in [link(leader, "a1"), link("a1", leader)] {
        bench.strike(Fault::Unstall { from, to });
    }
    bench.run_for(20.0);
    told(bench, since)
}

#[test]
fn a_leader_that_is_cut_off_stops_before_another_begins() {
    for release in Release::ALL {
        let mut bench = settled(&by_default(release, false));
        let notes = cut_off(&mut bench, "m1", 20.0);
        let place = |wanted: &dyn Fn(&ElectionNote) -> bool| notes.iter().position(wanted);
        let ends = place(&|note| *note == ElectionNote::Ends).expect("it stops");
        let begins = place(&|note| matches!(note, ElectionNote::Leads { .. }));
        assert!(ends < begins.expect("the other begins"), "{release}");
        assert_eq!(bench.violations, Vec::<String>::new(), "{release}");
    }
}

/// What a cut-off leader that gives up its lock does when it gets through at last: the lock is another's by then.
#[test]
fn a_lock_is_not_taken_from_another() {
    for release in Release::ALL {
        for mends in [true, false] {
            let lock = LockKind::of(release);
            let switches = mended().with(Switch::FixReleaseOwnLock, mends);
            let mut bench = settled(&two(release, lock, switches, true));
            let notes = cut_off(&mut bench, "m1", 16.6);
            let leaves = notes.contains(&ElectionNote::LeavesToOther);
            assert_eq!(leaves, mends, "{release}: {notes:?}");
            let robbed = notes.contains(&ElectionNote::Released);
            assert_eq!(robbed, !mends, "{release}: {notes:?}");
        }
    }
}

/// A leader is asked to stop while the answer to its renewal is on its way: the lock has changed since it read it.
#[test]
fn a_renewal_under_way_does_not_keep_the_lock() {
    for release in [Release::V1_20, Release::V1_36] {
        for (defect, keeps) in [(None, false), (Some(Switch::ReleaseFromMemory), true)] {
            let switches = defect.map_or(mended(), |defect| mended().with(defect, true));
            let lock = LockKind::of(release);
            let mut bench = settled(&two(release, lock, switches, true));
            let before = bench.view().get(&lock.key()).expect("it is there").version;
            let renewed = |b: &Bench| {
                b.view()
                    .get(&lock.key())
                    .is_some_and(|kv| kv.version > before)
            };
            bench.run_to("the renewal is stored", 3.0, renewed);
            let since = seconds(bench.now);
            // Before its controllers have ended the answer would be there.
            bench.strike(Fault::Stall {
                from: "a1".to_owned(),
                to: "m1".to_owned(),
            });
            bench.strike(stop("m1"));
            bench.run_for(4.0);
            bench.strike(Fault::Unstall {
                from: "a1".to_owned(),
                to: "m1".to_owned(),
            });
            bench.run_for(2.0);
            let notes = told(&bench, since);
            let kept = notes
                .iter()
                .any(|note| matches!(note, ElectionNote::NotReleased { .. }));
            assert_eq!(kept, keeps, "{release}, {defect:?}: {notes:?}");
            assert_eq!(!bench.violations.is_empty(), keeps, "{release}, {defect:?}");
        }
    }
}

/// Leaders with what their release shipped with elect, too.
#[test]
fn what_shipped_works_while_nothing_happens() {
    for release in Release::ALL {
        let shipped = |info: &&SwitchInfo| {
            info.kind != Kind::Fix && info.place == wavetank_release::Place::Election
        };
        let all = Switch::TABLE.iter().filter(shipped);
        let switches = all.fold(Switches::NONE, |on, info| {
            on.with(info.switch, info.ships.contains(&release))
        });
        let lock = LockKind::of(release);
        let mut bench = settled(&two(release, lock, switches, false));
        bench.run_for(60.0);
        assert_eq!(leaders(&bench), ["m1"], "{release}");
        assert_eq!(bench.violations, Vec::<String>::new(), "{release}");
    }
}
