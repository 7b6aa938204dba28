//! From where a watch can be taken up.

use wavetank_apiserver::CacheDefect;
use wavetank_releases::{V1_20, VERSIONS};

use crate::cacher::lab::*;
use wavetank_engine::drive::Stepped;

#[test]
fn a_watch_from_before_the_window_is_told_so() {
    for release in VERSIONS {
        let script = vec![watch(at(2)), watch(at(3)), watch(at(9))];
        let mut lab = Plan::of(release, script).build();
        lab.start("e1");
        lab.start("writer");
        lab.put("a");
        lab.put("b");
        lab.start("a1");
        lab.run(1.0);
        for number in 0..3 {
            lab.follow(number);
        }
        lab.put("c");
        assert_eq!(
            lab.received(0),
            ["ERROR 410 too old resource version: 2 (3)", "closed"],
            "{release}"
        );
        assert_eq!(lab.received(1), ["ADDED c@4"], "{release}");
        // From the future: what is not later is left out.
        assert!(lab.received(2).is_empty(), "{release}");
        for _ in 0..6 {
            lab.put("c");
        }
        assert_eq!(lab.received(2), ["MODIFIED c@10"], "{release}");
    }
}

#[test]
fn an_empty_window_loses_the_event_before_it() {
    let script = || vec![watch(at(2))];
    for (defect, told) in [
        (
            false,
            vec!["ERROR 410 too old resource version: 2 (3)", "closed"],
        ),
        (true, vec!["ADDED c@4"]),
    ] {
        let mut plan = Plan::of(V1_20, script());
        if defect {
            plan = plan.with(CacheDefect::EmptyWindowMissesEvent);
        }
        let mut lab = plan.build();
        lab.start("e1");
        lab.start("writer");
        lab.put("a");
        // Who lists at 2 has not seen this one.
        lab.put("b");
        lab.start("a1");
        lab.run(1.0);
        lab.follow(0);
        lab.put("c");
        assert_eq!(lab.received(0), told);
    }
}
