//! Watchers that do not read, and windows that are too small.

use wavetank_api::kinds::ENDPOINTS;
use wavetank_apiserver::cacher::CacheNote;
use wavetank_releases::{V1_16, V1_20, V1_36, VERSIONS};

use crate::cacher::lab::*;
use wavetank_engine::drive::Stepped;

fn two_watches() -> Vec<Ask> {
    let watch = || Ask::Watch(&ENDPOINTS, "", at(0), None);
    vec![watch(), watch()]
}

#[test]
fn a_watcher_that_does_not_read_is_closed_and_the_others_go_on() {
    for release in VERSIONS {
        let mut lab = Plan::of(release, two_watches()).start();
        lab.ask(0);
        lab.run(0.02);
        lab.follow(1);
        // 10 in its buffer, 1 in its hands, 10 in its result; for one more it is waited.
        for _ in 0..30 {
            lab.put_endpoints("x");
        }
        lab.run(1.0);
        assert_eq!(lab.received(1).len(), 30, "{release}");
        lab.read(0);
        let told = lab.received(0);
        assert_eq!(told.len(), 11, "{release}");
        assert_eq!(told[..2], ["ADDED x@2", "MODIFIED x@3"], "{release}");
        assert_eq!(told[10], "closed", "{release}");
        assert!(
            lab.cache_notes()
                .contains(&CacheNote::TooSlow(&ENDPOINTS, 1))
        );
    }
}

#[test]
fn one_that_reads_in_time_is_not() {
    for release in VERSIONS {
        let mut lab = Plan::of(release, two_watches()).start();
        lab.run(10.0); // 100 ms are saved up
        lab.ask(0);
        lab.run(0.02);
        lab.follow(1);
        for _ in 0..22 {
            lab.put_endpoints("x");
        }
        lab.put_endpoints("y");
        assert_eq!(lab.received(1).len(), 22, "{release}: one holds all up");
        lab.read(0);
        lab.run(0.5);
        assert_eq!(lab.received(0), lab.received(1), "{release}");
        assert_eq!(lab.received(1).len(), 23, "{release}");
    }
}

#[test]
fn windows_grow_from_v1_20_on() {
    for release in VERSIONS {
        let mut plan = Plan::of(release, vec![watch(at(2)), watch(at(120))]);
        plan.strict = false;
        let mut lab = plan.start();
        for _ in 0..150 {
            lab.put("a");
        }
        lab.follow(0);
        lab.follow(1);
        let told = lab.received(0);
        match release {
            V1_16 => {
                let old = "ERROR 410 too old resource version: 2 (51)";
                assert_eq!(told, [old, "closed"]);
            }
            _ => assert_eq!(told.len(), 149, "{release}"),
        }
        assert_eq!(lab.received(1).len(), 31, "{release}");
    }
}

#[test]
fn windows_shrink_when_events_are_rare() {
    for release in [V1_20, V1_36] {
        let mut plan = Plan::of(release, vec![watch(at(100))]);
        plan.strict = false;
        let mut lab = plan.start();
        for _ in 0..150 {
            lab.put("a"); // 200 fit
        }
        for _ in 0..60 {
            lab.put("a");
            lab.run(2.0);
        }
        lab.follow(0);
        let told = lab.received(0);
        assert!(told[0].starts_with("ERROR 410"), "{release}: {told:?}");
    }
}

#[test]
fn initial_events_that_leave_the_window_before_they_are_read_end_the_watch() {
    for release in [V1_20, V1_36] {
        let mut plan = Plan::of(release, vec![watch(named(at(1), "a"))]);
        plan.strict = false;
        let mut lab = plan.start();
        for _ in 0..150 {
            lab.put("a"); // 200 fit
        }
        lab.run(80.0);
        lab.ask(0);
        lab.run(0.02);
        for _ in 0..160 {
            lab.put("b");
        }
        lab.read(0);
        lab.run(1.0);
        let told = lab.received(0);
        match release {
            // Copied at the beginning.
            V1_20 => assert_eq!(told.len(), 150),
            // Read 100 at a time.
            _ => {
                assert_eq!(told.len(), 101);
                assert_eq!(told[100], "closed");
            }
        }
    }
}
