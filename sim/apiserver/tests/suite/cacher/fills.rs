//! How a cache is filled, and filled anew.

use wavetank_apiserver::CacheDefect;
use wavetank_apiserver::cacher::CacheNote;
use wavetank_engine::Fault;
use wavetank_engine::drive::Stepped;
use wavetank_releases::{V1_16, V1_20, V1_36, VERSIONS};
use wavetank_version::Version;

use crate::cacher::lab::*;

const OLD: [Version; 2] = [V1_16, V1_20];

pub(super) fn between_a1_and_e1(cut: bool) -> Fault {
    let (left, right) = (vec!["a1".to_owned()], vec!["e1".to_owned()]);
    let one_way = false;
    match cut {
        true => Fault::Partition {
            left,
            right,
            one_way,
        },
        false => Fault::Heal {
            left,
            right,
            one_way,
        },
    }
}

impl Lab {
    pub(super) fn reset(&mut self) {
        self.strike(Fault::Reset {
            client: "a1".to_owned(),
            server: "e1".to_owned(),
            transport: "etcd".to_owned(),
        });
    }

    /// The cache's watch of etcd cannot go on where it was.
    fn lose_history(&mut self) {
        self.strike(between_a1_and_e1(true));
        self.reset();
        self.put("b");
        self.put("c");
        self.compact(4);
        self.strike(between_a1_and_e1(false));
    }
}

#[test]
fn until_it_is_filled_old_releases_wait() {
    for release in OLD {
        let script = vec![watch(at(0)), list_of(at(1)), list_of(at(0))];
        let mut lab = Plan::of(release, script).build();
        lab.start("a1");
        for number in 0..3 {
            lab.ask(number);
        }
        lab.run(5.0);
        lab.start("e1");
        lab.start("writer");
        lab.run(5.0);
        lab.read(0);
        lab.put("a");
        assert_eq!(lab.received(0), ["ADDED a@2"], "{release}");
        assert_eq!(lab.received(1), ["of 1"], "{release}");
        assert_eq!(lab.received(2), ["of 1"], "{release}");
    }
}

#[test]
fn until_it_is_filled_v1_36_refuses() {
    let limited = || wavetank_apiserver::options::ListOptions { limit: 5, ..at(1) };
    let script = vec![
        watch(at(0)),
        list_of(at(0)),
        list_of(limited()),
        Ask::Get("a", Some(0)),
    ];
    let mut lab = Plan::of(V1_36, script).build();
    lab.start("a1");
    assert_eq!(lab.answer(0), "429 storage is (re)initializing (1)");
    lab.run(30.0);
    assert_eq!(lab.answer(0), "429 storage is (re)initializing (6)");
    lab.run(70.0);
    assert_eq!(lab.answer(1), "429 storage is (re)initializing (30)");
    // These go to etcd.
    lab.ask(2);
    lab.ask(3);
    lab.start("e1");
    lab.run(120.0);
    assert_eq!(lab.received(2), ["of 1"]);
    assert_eq!(lab.received(3), ["NotFound"]);
}

#[test]
fn a_broken_connection_is_taken_up_again() {
    for release in VERSIONS {
        let mut lab = Plan::of(release, vec![watch(at(0)), list_of(at(0))]).start();
        lab.put("a");
        lab.follow(0);
        lab.strike(between_a1_and_e1(true));
        lab.reset();
        lab.put("b");
        lab.put("c");
        lab.strike(between_a1_and_e1(false));
        lab.run(10.0);
        assert_eq!(
            lab.received(0),
            ["ADDED a@2", "ADDED b@3", "ADDED c@4"],
            "{release}"
        );
        lab.crash("e1");
        lab.run(5.0);
        lab.start("e1");
        lab.run(10.0);
        lab.put("d");
        assert_eq!(lab.received(0)[3..], ["ADDED d@5"], "{release}");
    }
}

#[test]
fn a_compaction_makes_it_begin_anew_and_ends_its_watches() {
    for release in VERSIONS {
        let script = vec![watch(at(0)), list_of(at(0)), watch(at(2)), watch(at(4))];
        let mut lab = Plan::of(release, script).start();
        lab.put("a");
        lab.follow(0);
        lab.lose_history();
        lab.run(0.5);
        assert_eq!(lab.received(0), ["ADDED a@2"], "{release}");
        lab.run(5.0);
        assert_eq!(lab.received(0), ["ADDED a@2", "closed"], "{release}");
        assert_eq!(lab.answer(1), "a@2 b@3 c@4 of 4", "{release}");
        lab.follow(2);
        lab.follow(3);
        lab.put("d");
        let old = "ERROR 410 too old resource version: 2 (4)";
        assert_eq!(lab.received(2), [old, "closed"], "{release}");
        assert_eq!(lab.received(3), ["ADDED d@5"], "{release}");
    }
}

#[test]
fn a_watch_that_begins_while_its_cache_fills_anew() {
    for release in VERSIONS {
        for defect in [false, true] {
            let mut plan = Plan::of(release, vec![watch(at(2))]);
            if defect {
                plan = plan.with(CacheDefect::WatchDuringReinitialisation);
            }
            let mut lab = plan.start();
            lab.put("a");
            // It has its initial events, none, and is about to become a watcher.
            lab.ask(0);
            lab.run_to("grant a1.1/ask#0.1");
            lab.deschedule("ask#0", true);
            lab.lose_history();
            lab.run(5.0);
            lab.deschedule("ask#0", false);
            lab.run(0.1);
            lab.read(0);
            lab.put("d");
            let told = lab.received(0);
            match defect {
                false => assert_eq!(told, ["closed"], "{release}"),
                // What happened to b and c it never learns.
                true => assert_eq!(told, ["ADDED d@5"], "{release}"),
            }
        }
    }
}

/// A watch from 2 during which its routine, or one of the cache's, is held at some moment while
/// the cache fills anew.
fn held_at(plan: &Plan, routine: &str, moment: usize) -> Vec<String> {
    let mut lab = plan.clone().start();
    lab.put("a");
    lab.ask(0);
    lab.steps(moment);
    let held = lab.try_hold(routine);
    lab.lose_history();
    lab.run(5.0);
    if held {
        lab.deschedule(routine, false);
    }
    lab.run(5.0);
    lab.read(0);
    lab.put("d");
    lab.received(0)
}

#[test]
fn whoever_is_held_whenever_no_event_is_lost_in_silence() {
    for release in VERSIONS {
        for defect in [false, true] {
            let mut plan = Plan::of(release, vec![watch(at(2))]);
            plan.strict = false;
            if defect {
                plan = plan.with(CacheDefect::WatchDuringReinitialisation);
            }
            let mut lost = Vec::new();
            for routine in [
                "ask#0",
                "cache-reflector#0",
                "cache-dispatch#0",
                "cache-watcher#0",
            ] {
                for moment in 0..6 {
                    let told = held_at(&plan, routine, moment);
                    let whole = ["ADDED b@3", "ADDED c@4", "ADDED d@5"];
                    let over = told.last().is_some_and(|last| last == "closed");
                    if told != whole && !over {
                        lost.push((routine, moment, told));
                    }
                }
            }
            assert_eq!(!lost.is_empty(), defect, "{release}: {lost:?}");
            assert!(lost.iter().all(|(routine, ..)| *routine == "ask#0"));
        }
    }
}

/// Cuts the first member, which the server uses, off from the others.
fn lose_the_leader(lab: &mut Lab) {
    let (left, right) = (
        vec!["e1".to_owned()],
        vec!["e2".to_owned(), "e3".to_owned()],
    );
    lab.strike(Fault::Partition {
        left,
        right,
        one_way: false,
    });
}

#[test]
fn a_watch_of_a_member_without_a_leader_ends_if_it_requires_one() {
    for release in VERSIONS {
        for defect in [false, true] {
            let mut plan = Plan::of(release, vec![watch(at(0)), list_of(at(0))]);
            plan.members = 3;
            plan.strict = false;
            if defect {
                plan = plan.with(CacheDefect::WatchWithoutLeader);
            }
            let mut lab = plan.start();
            lab.put("a");
            lab.run(1.0);
            lab.follow(0);
            lose_the_leader(&mut lab);
            lab.run(10.0);
            lab.put("b");
            lab.run(10.0);
            let told = lab.received(0);
            match (defect, release) {
                // For ever, as far as anybody can see.
                (true, _) => assert_eq!(lab.answer(1), "a@2 of 2", "{release}"),
                (false, V1_36) => assert_eq!(told, ["ADDED a@2"]),
                (false, _) => assert_eq!(told, ["ADDED a@2", "closed"], "{release}"),
            }
            lab.run(20.0);
            if release == V1_36 && !defect {
                // It has given up after 30 s.
                let refusal = lab.answer(1);
                assert!(refusal.starts_with("429"), "{refusal}");
            }
        }
    }
}

#[test]
fn a_cache_that_is_torn_down_ends_its_watches() {
    for release in VERSIONS {
        for defect in [false, true] {
            let endpoints = &wavetank_api::kinds::ENDPOINTS;
            let mut plan = Plan::of(release, vec![Ask::Watch(endpoints, "", at(0), None)]);
            if defect {
                plan = plan.with(CacheDefect::StoppedCacheKeepsWatches);
            }
            let mut lab = plan.start();
            lab.put_endpoints("x");
            lab.follow(0);
            lab.end(99);
            lab.run(10.0);
            lab.put_endpoints("y");
            let told = lab.received(0);
            match defect {
                false => assert_eq!(told, ["ADDED x@2", "closed"], "{release}"),
                true => assert_eq!(told, ["ADDED x@2"], "{release}"),
            }
        }
    }
}

#[test]
fn a_deletion_at_an_old_revision_takes_the_cache_back() {
    for release in VERSIONS {
        let script = || vec![watch(at(0)), watch(at(3)), list_of(at(0))];
        let mut lab = Plan::of(release, script()).start();
        let run = |lab: &mut Lab| {
            lab.put("a");
            lab.put("b");
            lab.follow(0);
            lab.follow(1);
            lab.delete("a");
        };
        run(&mut lab);
        assert_eq!(lab.received(0)[2..], ["DELETED a@4"], "{release}");
        assert_eq!(lab.received(1), ["DELETED a@4"], "{release}");
        assert_eq!(lab.answer(2), "b@3 of 4", "{release}");

        let plan = Plan::of(release, script()).with(CacheDefect::DeletedAtOldRevision);
        let mut lab = plan.start();
        run(&mut lab);
        assert_eq!(lab.received(0), ["ADDED a@2", "ADDED b@3"], "{release}");
        assert!(lab.received(1).is_empty(), "{release}");
        assert_eq!(lab.answer(2), "b@3 of 2", "{release}");
    }
}

/// `startWatching`: what is to be as new as the cache was is compared with etcd's revision first, by a read of its own.
#[test]
fn a_refill_of_v1_36_reads_the_current_revision_first() {
    let took = |release: Version| {
        let mut lab = Plan::of(release, vec![]).start();
        lab.put("a");
        lab.lose_history();
        lab.run(10.0);
        let notes = lab.bench.noted::<CacheNote>();
        let at = |is: fn(&CacheNote) -> bool| {
            let found = notes.iter().rev().find(|(_, note)| is(note));
            found.expect("it was noted").0
        };
        let broke = at(|note| matches!(note, CacheNote::Broke(..)));
        at(|note| matches!(note, CacheNote::Filled(..))) - broke - 1.0
    };
    let list = took(V1_20);
    assert!(list > 0.0);
    assert!(took(V1_36) > 1.5 * list);
}
