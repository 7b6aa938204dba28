//! Controller managers that elect a leader: who leads when, what requests that takes, and how the lock changes hands.

use crate::common;

use common::topology::{Manager, Topology, fixed};
use wavetank_client::leader_election::{Lock, LockKind};

use common::{Bench, crash, pause, plane, resume, seconds, start, stop};
use wavetank_api::{Object, json};
use wavetank_client::ElectionDefect;
use wavetank_client::leader_election::{self, ElectionNote, OfElection, Record};
use wavetank_engine::drive::Stepped;
use wavetank_engine::{Action, Fault, Payload};
use wavetank_etcd::{Key, Request};
use wavetank_kube_controller_manager::LOCK;
use wavetank_releases::{V1_16, V1_20, V1_36, VERSIONS};
use wavetank_version::{Set, Version};

/// All that is known is fixed.
fn elections_fixed() -> Set<ElectionDefect> {
    Set::fixed()
}

/// One apiserver, and two managers that use this lock.
fn two(release: Version, lock: LockKind, defects: Set<ElectionDefect>, releases: bool) -> Topology {
    let mut topology = plane(release, fixed(), 1);
    let manager = Manager {
        release,
        defects,
        lock,
        releases,
    };
    topology.watching.managers = vec![manager; 2];
    topology
}

fn by_default(release: Version, releases: bool) -> Topology {
    two(release, LockKind::of(release), elections_fixed(), releases)
}

/// `m1` leads, `m2` waits.
fn settled(topology: &Topology) -> Bench {
    settled_apart(topology, 1.0)
}

/// The same, and `m2` looks so long after `m1` renews.
fn settled_apart(topology: &Topology, seconds: f64) -> Bench {
    let mut bench = Bench::settled(topology);
    bench.strike(start("m1"));
    bench.run(seconds);
    bench.strike(start("m2"));
    bench.run(19.0);
    assert_eq!(leaders(&bench), ["m1"]);
    bench
}

/// Who leads.
fn leaders(bench: &Bench) -> Vec<&'static str> {
    let leads = |name: &&str| leader_election::leads(&bench.world, bench.id(name), LOCK);
    ["m1", "m2"].into_iter().filter(leads).collect()
}

/// Where controller managers have a lock of this kind.
fn key(kind: LockKind) -> Key {
    Lock { name: LOCK, kind }.key()
}

/// What the lock says.
fn record(bench: &Bench, lock: LockKind) -> Record {
    let stored = bench.view().get(&key(lock)).expect("it is there");
    Record::in_object(stored.value.json()).expect("it is a lock")
}

/// Runs until `m2` leads, and says how long that took.
fn succession(bench: &mut Bench) -> f64 {
    let since = seconds(bench.now);
    bench.run_to("m2 leads", 40.0, |b| leaders(b).contains(&"m2")) - since
}

/// What managers told from `since` on.
fn noted(bench: &Bench, since: f64) -> Vec<ElectionNote> {
    let notes = bench.notes.iter().filter(|(at, _)| seconds(*at) >= since);
    notes
        .filter_map(|(_, note)| Some(note.body.get::<OfElection>()?.note.clone()))
        .collect()
}

#[test]
fn every_kind_of_lock_has_one_holder() {
    for release in VERSIONS {
        for lock in LockKind::ALL.into_iter().filter(|lock| lock.fits(release)) {
            let mut bench = settled(&two(release, lock, elections_fixed(), false));
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
            assert_eq!(bench.objections(), Vec::<String>::new());
        }
    }
}

/// v1.36 writes over what it wrote before; the others look first.
#[test]
fn a_renewal_takes_the_requests_of_its_release() {
    for (release, requests) in [
        (V1_16, vec!["GET", "PUT"]),
        (V1_20, vec!["GET", "PUT"]),
        (V1_36, vec!["PUT"]),
    ] {
        let mut bench = settled(&by_default(release, false));
        let leader = bench.id("m1");
        bench.requests.watch(leader, "renews");
        bench.run(2.0);
        let text = bench.requests.text();
        let lines = text.lines().filter(|line| line.starts_with("elect"));
        let methods: Vec<&str> = lines.filter_map(|l| l.split_whitespace().nth(2)).collect();
        assert_eq!(methods, requests, "{release}: {text}");
    }
}

#[test]
fn a_lock_that_was_given_up_is_taken_at_the_next_look() {
    for release in VERSIONS {
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
    let release = V1_20;
    let both = LockKind::EndpointsLeases;
    for (first, second) in [(LockKind::Endpoints, both), (both, LockKind::Endpoints)] {
        let mut topology = two(release, first, elections_fixed(), false);
        topology.watching.managers[1].lock = second;
        let mut bench = settled(&topology);
        bench.run(40.0);
        assert_eq!(leaders(&bench), ["m1"], "{first:?}");
        bench.strike(crash("m1"));
        let after = succession(&mut bench);
        assert!((12.9..17.1).contains(&after), "{first:?}: {after}");
    }
}

/// Nothing fences it: it leads when it wakes up, notices, and exits; its node starts it again.
#[test]
fn a_leader_that_slept_leads_on_until_it_notices() {
    for release in VERSIONS {
        let mut bench = settled(&by_default(release, false));
        bench.strike(pause("m1"));
        succession(&mut bench);
        assert_eq!(leaders(&bench), ["m1", "m2"], "{release}");
        let life = bench.world.incarnation(bench.id("m1"));
        bench.strike(resume("m1"));
        let woken = seconds(bench.now);
        bench.run_to("m1 gives up", 12.5, |b| leaders(b) == ["m2"]);
        assert!(
            noted(&bench, woken).contains(&ElectionNote::Lost),
            "{release}"
        );
        bench.run(15.0);
        assert!(bench.is_up("m1"), "{release}");
        assert_eq!(bench.world.incarnation(bench.id("m1")), life + 1);
        assert_eq!(leaders(&bench), ["m2"], "{release}");
        let key = wavetank_api::kinds::CONFIG_MAPS.key("kube-system", "tally");
        let tally = bench.view().get(&key).expect("it is there");
        assert_eq!(json::text(tally.value.json(), &["data", "leader"]), "m2_1");
    }
}

/// Cuts the leader off until the other leads. Says what both told.
fn cut_off_until_succeeded(bench: &mut Bench) -> Vec<ElectionNote> {
    let ways = || [("m1", "a1"), ("a1", "m1")].map(|(from, to)| (from.to_owned(), to.to_owned()));
    let since = seconds(bench.now);
    for (from, to) in ways() {
        bench.strike(Fault::Stall { from, to });
    }
    succession(bench);
    for (from, to) in ways() {
        bench.strike(Fault::Unstall { from, to });
    }
    bench.run(5.0);
    noted(bench, since)
}

#[test]
fn a_leader_that_is_cut_off_stops_before_another_begins() {
    for release in VERSIONS {
        let mut bench = settled(&by_default(release, false));
        let notes = cut_off_until_succeeded(&mut bench);
        let place = |wanted: &dyn Fn(&ElectionNote) -> bool| notes.iter().position(wanted);
        let ends = place(&|note| *note == ElectionNote::Ends).expect("it stops");
        let begins = place(&|note| matches!(note, ElectionNote::Leads { .. }));
        assert!(ends < begins.expect("the other begins"), "{release}");
        assert_eq!(bench.objections(), Vec::<String>::new(), "{release}");
    }
}

/// What a cut-off leader that gives up its lock does when it gets through at last: the lock is another's by then.
#[test]
fn a_lock_is_not_taken_from_another() {
    for release in VERSIONS {
        for mends in [true, false] {
            let lock = LockKind::of(release);
            let defects = elections_fixed().with(ElectionDefect::FixReleaseOwnLock, mends);
            // The lease passes before the request that gives up the lock is given up itself.
            let mut bench = settled_apart(&two(release, lock, defects, true), 0.3);
            let notes = cut_off_until_succeeded(&mut bench);
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
    for release in [V1_20, V1_36] {
        for (defect, keeps) in [
            (None, false),
            (Some(ElectionDefect::ReleaseFromMemory), true),
        ] {
            let defects = defect.map_or(elections_fixed(), |defect| {
                elections_fixed().with(defect, true)
            });
            let lock = LockKind::of(release);
            let mut bench = settled(&two(release, lock, defects, true));
            let before = bench.view().get(&key(lock)).expect("it is there").version;
            let renewed = |b: &Bench| {
                b.view()
                    .get(&key(lock))
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
            bench.run(4.0);
            bench.strike(Fault::Unstall {
                from: "a1".to_owned(),
                to: "m1".to_owned(),
            });
            bench.run(2.0);
            let notes = noted(&bench, since);
            let kept = notes
                .iter()
                .any(|note| matches!(note, ElectionNote::NotReleased { .. }));
            assert_eq!(kept, keeps, "{release}, {defect:?}: {notes:?}");
            assert_eq!(
                !bench.objections().is_empty(),
                keeps,
                "{release}, {defect:?}"
            );
        }
    }
}

/// The write of a renewal is held up at the server, its leader is asked to stop and gives up the lock. Before it hears
/// that it has, the write is refused: the renewal looks again, finds a lock that nobody holds, and takes it.
#[test]
fn a_renewal_that_nobody_waits_for_may_take_the_lock_again() {
    for outlives in [true, false] {
        let lock = LockKind::Leases;
        let defects = elections_fixed().with(ElectionDefect::RenewalOutlivesDeadline, outlives);
        let mut bench = settled(&two(V1_36, lock, defects, true));
        let server = bench.id("a1");
        let serving = |b: &Bench| -> Vec<String> {
            let all = b.world.routines(server);
            let serving = all.filter(|id| id.kind.as_str() == "serve");
            serving.map(|id| id.to_string()).collect()
        };
        let tries = |b: &Bench| {
            let told = noted(b, 0.0);
            told.iter().filter(|n| **n == ElectionNote::Tries).count()
        };
        let hold = |bench: &mut Bench, routine: &str| {
            let (process, routine) = ("a1".to_owned(), routine.to_owned());
            bench.strike(Fault::Deschedule { process, routine });
        };
        let before = tries(&bench);
        bench.run_to("a renewal begins", 3.0, |b| tries(b) > before);
        bench.run_to("it is served", 1.0, |b| !serving(b).is_empty());
        let renewal = serving(&bench).remove(0);
        hold(&mut bench, &renewal);
        bench.strike(stop("m1"));
        let is_free = |b: &Bench| record(b, lock).holder.is_empty();
        bench.run_to("the lock is free", 5.0, is_free);
        let mut all = serving(&bench).into_iter();
        let giving_up = all.find(|routine| *routine != renewal);
        let giving_up = giving_up.expect("it is not answered yet");
        hold(&mut bench, &giving_up);
        for routine in [renewal, giving_up] {
            // Without the renewal nobody waits for its answer.
            let process = "a1".to_owned();
            bench.act(&Action::Fault(Fault::Reschedule { process, routine }));
            bench.run(0.05);
        }
        let taken = bench
            .objections()
            .iter()
            .any(|v| v.contains("takes it again"));
        assert_eq!(taken, outlives, "{:?}", bench.objections());
    }
}

/// A renewal is on its way to etcd when the connection of its leader breaks and it is asked to stop. It is stored between
/// the read and the write that give up the lock, at another server.
#[test]
fn a_renewal_that_comes_between_does_not_keep_the_lock() {
    for gives_up in [true, false] {
        let lock = LockKind::Leases;
        let defects = elections_fixed().with(ElectionDefect::ReleaseGivesUpOnConflict, gives_up);
        let mut topology = two(V1_36, lock, defects, true);
        topology.apiservers.push(topology.apiservers[0].clone());
        let mut bench = settled(&topology);
        let since = seconds(bench.now);
        let (first, etcd) = (bench.id("a1"), bench.id("etcd"));
        bench.run_to("a renewal begins", 3.0, |b| {
            noted(b, since).contains(&ElectionNote::Tries)
        });
        let is_write = |body: &Payload| matches!(body.get(), Some(Request::<Object>::Txn(_)));
        bench.run_to("it is on its way", 1.0, |b| {
            let mut all = b.world.requests_in_flight();
            all.any(|(from, to, body)| (from, to) == (first, etcd) && is_write(body))
        });
        let of = |name: &str| name.to_owned();
        bench.strike(Fault::Delay {
            from: of("a1"),
            to: of("etcd"),
            nanos: 1_000_000_000,
        });
        // The next connection goes to the second server.
        bench.choose(|_, _, _| 1);
        bench.strike(Fault::Reset {
            client: of("m1"),
            server: of("a1"),
            transport: of("https"),
        });
        bench.run(0.001);
        bench.strike(stop("m1"));
        let releases = |b: &Bench| {
            let told = noted(b, since);
            told.iter()
                .any(|note| matches!(note, ElectionNote::Releases { .. }))
        };
        bench.run_to("it gives up the lock", 0.9, releases);
        let link = || (of("m1"), of("a2"));
        let (from, to) = link();
        bench.strike(Fault::Stall { from, to });
        bench.run(1.5);
        let (from, to) = link();
        bench.strike(Fault::Unstall { from, to });
        bench.run(1.0);
        let released = noted(&bench, since).contains(&ElectionNote::Released);
        assert_eq!(released, !gives_up);
        let kept = bench
            .objections()
            .iter()
            .any(|v| v.contains("keeps the lock"));
        assert_eq!(kept, gives_up, "{:?}", bench.objections());
    }
}

/// Leaders with what their release shipped with elect, too.
#[test]
fn what_shipped_works_while_nothing_happens() {
    for release in VERSIONS {
        let defects = Set::shipped_with(release);
        let lock = LockKind::of(release);
        let mut bench = settled(&two(release, lock, defects, false));
        bench.run(60.0);
        assert_eq!(leaders(&bench), ["m1"], "{release}");
        assert_eq!(bench.objections(), Vec::<String>::new(), "{release}");
    }
}
