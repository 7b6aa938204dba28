//! Which reads are answered from the cache, and how long they wait for it.

use wavetank_apiserver::CacheDefect;
use wavetank_apiserver::cacher::supports_progress;
use wavetank_apiserver::options::{ListOptions, Match};
use wavetank_releases::{V1_16, V1_20, V1_36, VERSIONS};
use wavetank_version::Version;

use crate::cacher::lab::*;
use wavetank_engine::drive::Stepped;

const OLD: [Version; 2] = [V1_16, V1_20];

fn limited(limit: u64, options: ListOptions) -> ListOptions {
    ListOptions { limit, ..options }
}

fn exactly(revision: u64) -> ListOptions {
    ListOptions {
        resource_version_match: Some(Match::Exact),
        ..at(revision)
    }
}

#[test]
fn without_a_revision_old_releases_read_etcd() {
    for release in OLD {
        let script = vec![
            list_of(at(None)),
            list_of(at(0)),
            list_of(limited(1, at(0))),
            list_of(limited(1, at(3))),
            list_of(exactly(2)),
            Ask::Get("b", None),
            Ask::Get("b", Some(0)),
            Ask::Get("a", Some(2)),
        ];
        let mut lab = Plan::of(release, script).start();
        lab.put("a");
        lab.hold(None);
        lab.put("b");
        assert_eq!(lab.answer(0), "a@2 b@3 of 3", "{release}");
        assert_eq!(lab.answer(1), "a@2 of 2", "{release}");
        assert_eq!(lab.answer(2), "a@2 of 2", "{release}");
        assert_eq!(lab.answer(3), "a@2 of 3 more, Some(1) left", "{release}");
        assert_eq!(lab.answer(4), "a@2 of 2", "{release}");
        assert_eq!(lab.answer(5), "b@3", "{release}");
        assert_eq!(lab.answer(6), "NotFound", "{release}");
        assert_eq!(lab.answer(7), "a@2", "{release}");
    }
}

#[test]
fn a_revision_that_does_not_come_is_too_large_after_three_seconds() {
    for release in VERSIONS {
        let script = vec![list_of(at(9)), Ask::Get("a", Some(9)), list_of(at(4))];
        let mut lab = Plan::of(release, script).start();
        lab.put("a");
        for number in 0..2 {
            lab.ask(number);
            lab.run(2.99);
            assert!(lab.received(number).is_empty(), "{release}");
            lab.run(0.02);
            assert_eq!(
                lab.received(number),
                ["504 Timeout: Too large resource version: 9, current: 2 (1)"],
                "{release}"
            );
        }
        lab.ask(2);
        lab.put("b");
        assert!(lab.received(2).is_empty(), "{release}");
        lab.put("b");
        assert_eq!(lab.received(2), ["a@2 b@4 of 4"], "{release}");
    }
}

#[test]
fn a_quiet_cache_learns_how_far_etcd_is() {
    for release in VERSIONS {
        let script = vec![list_of(at(3))];
        let mut lab = Plan::of(release, script.clone()).start();
        lab.put("a");
        lab.put_endpoints("x");
        assert_eq!(lab.answer_within(0, 0.2), "a@2 of 3", "{release}");

        let plan = Plan::of(release, script).with(CacheDefect::QuietCacheFallsBehind);
        let mut lab = plan.start();
        lab.put("a");
        lab.put_endpoints("x");
        for _ in 0..2 {
            assert_eq!(
                lab.answer_within(0, 4.0),
                "504 Timeout: Too large resource version: 3, current: 2 (1)",
                "{release}"
            );
        }
    }
}

#[test]
fn etcd_tells_v1_36_every_ten_minutes_how_far_it_is() {
    for release in VERSIONS {
        let plan = Plan::of(release, vec![list_of(at(3))]);
        let mut plan = plan.with(CacheDefect::QuietCacheFallsBehind);
        plan.strict = false;
        let mut lab = plan.start();
        lab.put("a");
        lab.put_endpoints("x");
        lab.run(1300.0);
        let told = lab.answer_within(0, 4.0);
        let fresh = told == "a@2 of 3";
        assert_eq!(fresh, release == V1_36, "{release}: {told}");
    }
}

#[test]
fn what_shipped_with_that_defect() {
    for (release, quick) in [(V1_16, false), (V1_20, false), (V1_36, true)] {
        let mut lab = Plan::of(release, vec![list_of(at(3))]).shipped().start();
        lab.put("a");
        lab.put_endpoints("x");
        let told = lab.answer_within(0, 4.0);
        assert_eq!(told.starts_with("a@2"), quick, "{release}: {told}");
    }
}

#[test]
fn a_consistent_list_comes_from_the_cache_or_from_etcd_if_that_lags() {
    let script = vec![list_of(at(None))];
    let mut lab = Plan::of(V1_36, script.clone()).start();
    lab.put("a");
    lab.put_endpoints("x");
    assert_eq!(lab.answer_within(0, 0.2), "a@2 of 3");
    lab.hold(None);
    lab.put("b");
    lab.ask(0);
    lab.run(2.9);
    assert_eq!(lab.received(0).len(), 1);
    lab.run(0.2);
    assert_eq!(lab.received(0)[1], "a@2 b@4 of 4");

    let mut plan = Plan::of(V1_36, script);
    plan.progress = false;
    let mut lab = plan.start();
    lab.put("a");
    lab.hold(None);
    lab.put("b");
    assert_eq!(lab.answer(0), "a@2 b@3 of 3");
}

#[test]
fn pages_and_exact_revisions_come_from_snapshots() {
    let script = vec![
        list_of(limited(1, at(None))),
        list_of(limited(1, at(0))),
        list_of(exactly(3)),
        list_of(limited(2, at(3))),
        list_of(limited(1, named(at(None), "a"))),
        list_of(exactly(2)),
    ];
    let mut lab = Plan::of(V1_36, script).start();
    for name in ["c", "a", "b"] {
        lab.put(name);
    }
    lab.delete("c");
    assert_eq!(lab.answer(0), "a@3 of 5 more, Some(1) left");
    assert_eq!(lab.answer(1), "a@3 b@4 of 5");
    // etcd itself no longer knows.
    lab.compact(5);
    assert_eq!(lab.answer(2), "a@3 c@2 of 3");
    assert_eq!(lab.answer(3), "a@3 c@2 of 3");
    assert_eq!(lab.answer(4), "a@3 of 5 more, None left");
    lab.crash("a1");
    lab.start("a1");
    lab.run(0.5);
    assert_eq!(
        lab.answer(2),
        "410 The resourceVersion for the provided list is too old. (0)"
    );
}

#[test]
fn etcd_must_be_new_enough_to_be_asked() {
    let supported: Vec<String> = wavetank_releases::etcd::VERSIONS
        .into_iter()
        .filter(|release| !supports_progress(*release))
        .map(|release| release.to_string())
        .collect();
    assert_eq!(
        supported,
        [
            "v3.4.13", "v3.4.23", "v3.4.25", "v3.5.1", "v3.5.3", "v3.5.8"
        ]
    );
}
