//! A cache follows etcd, and watches follow the cache.

use wavetank_api::kinds::CONFIG_MAPS;
use wavetank_apiserver::cacher::CacheNote;
use wavetank_releases::{V1_36, VERSIONS};

use crate::cacher::lab::*;
use wavetank_engine::drive::Stepped;

#[test]
fn a_watch_from_the_beginning_gets_what_is_there_and_what_comes() {
    for release in VERSIONS {
        let mut lab = Plan::of(release, vec![watch(at(0)), list_of(at(0)), watch(at(3))]).start();
        lab.put("b");
        lab.put("a");
        assert_eq!(lab.answer(1), "a@3 b@2 of 3", "{release}");
        lab.follow(0);
        lab.put("a");
        lab.delete("b");
        lab.put("b");
        lab.follow(2);
        assert_eq!(
            lab.received(0),
            [
                "ADDED a@3",
                "ADDED b@2",
                "MODIFIED a@4",
                "DELETED b@5",
                "ADDED b@6"
            ],
            "{release}"
        );
        assert_eq!(
            lab.received(2),
            ["MODIFIED a@4", "DELETED b@5", "ADDED b@6"],
            "{release}"
        );
        assert_eq!(lab.answer(1), "a@4 b@6 of 6", "{release}");
        lab.end(0);
        lab.put("c");
        assert_eq!(lab.received(0).last().map(String::as_str), Some("closed"));
        assert_eq!(
            lab.received(2).last().map(String::as_str),
            Some("ADDED c@7")
        );
    }
}

#[test]
fn objects_that_begin_or_cease_to_match_are_added_or_deleted() {
    for release in VERSIONS {
        let script = vec![watch(coloured(at(0), "red")), watch(named(at(0), "b"))];
        let mut lab = Plan::of(release, script).start();
        lab.paint("a", "red");
        lab.follow(0);
        lab.follow(1);
        lab.paint("a", "blue");
        lab.paint("b", "blue");
        lab.paint("b", "red");
        lab.paint("b", "red");
        lab.delete("b");
        lab.delete("a");
        assert_eq!(
            lab.received(0),
            [
                "ADDED a@2",
                "DELETED a@3",
                "ADDED b@5",
                "MODIFIED b@6",
                "DELETED b@7"
            ],
            "{release}"
        );
        assert_eq!(
            lab.received(1),
            ["ADDED b@4", "MODIFIED b@5", "MODIFIED b@6", "DELETED b@7"],
            "{release}"
        );
    }
}

#[test]
fn a_cache_is_held_and_let_go() {
    for release in VERSIONS {
        let mut lab = Plan::of(release, vec![watch(at(0)), list_of(at(0))]).start();
        lab.put("a");
        lab.follow(0);
        lab.hold(Some(3));
        lab.put("b");
        lab.put("c");
        assert_eq!(lab.answer(1), "a@2 b@3 of 3", "{release}");
        lab.run(10.0);
        assert_eq!(lab.received(0), ["ADDED a@2", "ADDED b@3"], "{release}");
        lab.release();
        assert_eq!(lab.answer(1), "a@2 b@3 c@4 of 4", "{release}");
        lab.hold(None);
        lab.put("d");
        assert_eq!(lab.received(0).len(), 3, "{release}");
        lab.release();
        assert_eq!(
            lab.received(0)[2..],
            ["ADDED c@4", "ADDED d@5"],
            "{release}"
        );
    }
}

#[test]
fn a_hold_may_have_an_end() {
    let mut lab = Plan::of(V1_36, vec![list_of(at(0))]).start();
    lab.put("a");
    let hold = |lab: &mut Lab| {
        let args = serde_json::json!({"resource": "configmaps", "seconds": 5});
        lab.command("a1", "hold", args);
    };
    hold(&mut lab);
    lab.put("b");
    lab.run(4.5);
    assert_eq!(lab.answer(0), "a@2 of 2");
    lab.run(1.0);
    assert_eq!(lab.answer(0), "a@2 b@3 of 3");
    assert!(lab.cache_notes().contains(&CacheNote::LetGo(&CONFIG_MAPS)));
    // One without an end outlasts it.
    hold(&mut lab);
    lab.hold(None);
    lab.put("c");
    lab.run(10.0);
    assert_eq!(lab.answer(0), "a@2 b@3 of 3");
}

#[test]
fn only_what_is_cached_can_be_held() {
    let lab = Plan::of(V1_36, Vec::new()).start();
    let told = wavetank_engine::Action::Command {
        process: "a1".to_owned(),
        what: "hold".to_owned(),
        args: serde_json::json!({"resource": "endpoint"}),
    };
    let mut world = lab.bench.world;
    let event = wavetank_engine::Event::Act(&told);
    let refused = world
        .apply(lab.bench.now, event, &mut |s| s.nominal)
        .unwrap_err();
    let message = refused.to_string();
    assert!(message.contains("no resource `endpoint`"), "{message}");
}
