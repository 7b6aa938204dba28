//! The defects of etcd that a few seeds of `etcd-storm` show: each is found by a monitor that its
//! bug report names. `wavetank matrix etcd-storm` looks for all of them, under many seeds.

use std::ops::Range;

use wavetank::case::run_seed;
use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::Kube;
use wavetank_engine::drive::Ending;
use wavetank_engine::trace::Record;

/// Some of these seeds violate one of these properties with the defect, and none without.
fn shows(defect: &str, seeds: Range<u64>, properties: &[&str]) {
    let found = |defects: Vec<String>| {
        let composition = Composition {
            fixed: true,
            defects,
            ..Composition::default()
        };
        let case = Kube::default()
            .open("etcd-storm", &composition)
            .expect("it opens");
        let mut seeds = seeds.clone();
        seeds.find_map(
            |seed| match run_seed(case.as_ref(), seed, None, Record::default()).ending {
                Ending::Clean => None,
                Ending::Violated(found) => Some((seed, found.property)),
            },
        )
    };
    let (seed, property) = found(vec![defect.to_owned()]).expect("it is found");
    println!("{defect}: {property} in seed {seed}");
    assert!(properties.contains(&property.as_str()), "{property}");
    assert_eq!(found(vec![]), None, "and all is well without it");
}

#[test]
fn progress_overtakes_events() {
    let properties = ["watch-reliable", "watch-bookmarkable"];
    shows("progress-overtakes-events", 0..3, &properties);
}

#[test]
fn progress_latch() {
    shows("progress-latch", 12..13, &["watch-catches-up"]);
}

#[test]
fn future_watch_gets_old_events() {
    shows(
        "future-watch-gets-old-events",
        2..3,
        &["watch-bookmarkable"],
    );
}

#[test]
fn promotion_restarts_leases() {
    shows(
        "promotion-restarts-leases",
        0..1,
        &["promotion-keeps-deadline"],
    );
}

#[test]
fn crash_loses_entries() {
    let properties = [
        "members-agree",
        "promotion-keeps-deadline",
        "revisions-never-go-back",
    ];
    shows("crash-loses-entries", 14..15, &properties);
}

#[test]
fn compaction_skips_slow_watch() {
    shows("compaction-skips-slow-watch", 0..2, &["watch-reliable"]);
}

#[test]
fn old_leader_revokes() {
    shows("old-leader-revokes", 1..2, &["lease-lives"]);
}

#[test]
fn stale_read_index() {
    shows("stale-read-index", 1332..1333, &["strictly-serializable"]);
}

#[test]
fn compaction_drops_tombstone() {
    shows("compaction-drops-tombstone", 31..32, &["watch-reliable"]);
}

#[test]
fn members_skip_ranges() {
    shows("members-skip-ranges", 0..1, &["members-agree"]);
}
