//! Watches that begin with all there is and say when that is over (`sendInitialEvents`).

use wavetank_api::kinds::ENDPOINTS;
use wavetank_apiserver::CacheDefect;
use wavetank_releases::{V1_20, V1_36};

use crate::cacher::lab::*;
use wavetank_engine::drive::Stepped;

#[test]
fn all_there_is_then_a_bookmark_then_what_comes() {
    let script = vec![
        watch(streamed(at(None))),
        watch(streamed(at(0))),
        watch(streamed(at(2))),
        watch(streamed(coloured(at(None), "red"))),
    ];
    let mut lab = Plan::of(V1_36, script).start();
    lab.put("b");
    lab.paint("a", "red");
    for number in 0..4 {
        lab.follow(number);
    }
    lab.put("c");
    for number in 0..3 {
        assert_eq!(
            lab.received(number),
            ["ADDED a@3", "ADDED b@2", "BOOKMARK 3 end", "ADDED c@4"],
            "{number}"
        );
    }
    assert_eq!(lab.received(3), ["ADDED a@3", "BOOKMARK 3 end"]);
    lab.run(61.0);
    // One at the next tick, for it was waiting when it began; one a minute later.
    assert_eq!(lab.received(3)[2..], ["BOOKMARK 4", "BOOKMARK 4"]);
}

#[test]
fn old_releases_do_not_know_of_it() {
    let mut lab = Plan::of(V1_20, vec![watch(streamed(at(None)))]).start();
    lab.put("a");
    lab.follow(0);
    assert_eq!(lab.received(0), ["ADDED a@2"]);
}

#[test]
fn on_a_quiet_cache_it_needs_progress() {
    for defect in [false, true] {
        let mut plan = Plan::of(V1_36, vec![watch(streamed(at(None)))]);
        if defect {
            plan = plan.with(CacheDefect::WatchListWithoutProgress);
        }
        let mut lab = plan.start();
        lab.put("a");
        lab.put_endpoints("x");
        lab.ask(0);
        lab.run(4.0);
        lab.read(0);
        let told = lab.received(0);
        let too_large = "ERROR 504 Timeout: Too large resource version: 3, current: 2";
        match defect {
            false => assert_eq!(told, ["ADDED a@2", "BOOKMARK 3 end"]),
            true => assert_eq!(told, [too_large, "closed"]),
        }
    }
}

#[test]
fn a_slow_one_still_gets_the_end_that_is_in_its_buffer() {
    let options = streamed(at(None));
    let script = vec![Ask::Watch(&ENDPOINTS, "", options, None)];
    let mut lab = Plan::of(V1_36, script).start();
    for number in 0..20 {
        lab.put_endpoints(&format!("x{number}"));
    }
    // It is not read, so its initial events do not end; a bookmark comes into its buffer.
    lab.ask(0);
    lab.run(2.0);
    for _ in 0..20 {
        lab.put_endpoints("x0");
    }
    lab.run(1.0);
    lab.read(0);
    let told = lab.received(0);
    assert_eq!(told.len(), 20 + 1 + 9 + 1, "{told:?}");
    assert_eq!(told[20..22], ["BOOKMARK 21 end", "MODIFIED x0@22"]);
    assert_eq!(told[29..], ["MODIFIED x0@30", "closed"]);
}

#[test]
fn without_progress_it_is_refused() {
    let mut plan = Plan::of(V1_36, vec![watch(streamed(at(0)))]);
    plan.progress = false;
    let mut lab = plan.start();
    lab.follow(0);
    assert_eq!(
        lab.received(0),
        [
            "ERROR 500 a watch stream was requested by the client but the required storage \
             feature RequestWatchProgress is disabled",
            "closed"
        ]
    );
}
