//! The defects of etcd that a few seeds of `etcd-storm` show, and fixes that they need: each is found
//! by a monitor that its bug report names. `wavetank matrix etcd-storm` looks for all of them, under many seeds.

use std::ops::Range;

use wavetank::case::run_seed;
use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::Kube;
use wavetank_engine::drive::Ending;
use wavetank_engine::trace::Record;

/// Some of these seeds violate one of these properties with the defect, and none without.
fn shows(defect: &str, seeds: Range<u64>, properties: &[&str]) {
    let with = Composition {
        fixed: true,
        defects: vec![defect.to_owned()],
        ..Composition::default()
    };
    differs(defect, &with, seeds, properties);
}

/// Some of these seeds violate one of these properties without the fix, and none with it.
fn needs(fix: &str, seeds: Range<u64>, properties: &[&str]) {
    let without = Composition {
        fixed: true,
        without: vec![fix.to_owned()],
        ..Composition::default()
    };
    differs(fix, &without, seeds, properties);
}

fn differs(switch: &str, bad: &Composition, seeds: Range<u64>, properties: &[&str]) {
    let found = |composition: &Composition| {
        let case = Kube::default()
            .open("etcd-storm", composition)
            .expect("it opens");
        let mut seeds = seeds.clone();
        seeds.find_map(
            |seed| match run_seed(case.as_ref(), seed, None, Record::default()).ending {
                Ending::Clean => None,
                Ending::Violated(found) => Some((seed, found.property)),
            },
        )
    };
    let (seed, property) = found(bad).expect("it is found");
    println!("{switch}: {property} in seed {seed}");
    assert!(properties.contains(&property.as_str()), "{property}");
    let good = Composition {
        fixed: true,
        ..Composition::default()
    };
    assert_eq!(found(&good), None, "and all is well otherwise");
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
fn ticks_are_no_proof() {
    needs("fix-ticks-are-no-proof", 1..2, &["lease-lives"]);
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
