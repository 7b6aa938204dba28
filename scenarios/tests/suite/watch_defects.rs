//! The defects of watch caches and informers that a few seeds of `watch-storm` show: each is found by a
//! monitor of what its bug report complains of. `wavetank matrix watch-storm` looks for all of them, under
//! many seeds. Two that no seed below 300 shows have scopes: `too-large-is-no-fallback` is found by `relist-too-large`,
//! where a link stalls for 50 s, and `watch-during-reinitialisation` by `watch-cache-refill`.

use std::ops::Range;

use wavetank::case::run_seed;
use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::Kube;
use wavetank_engine::drive::Ending;
use wavetank_engine::trace::Record;

/// Some of these seeds violate this property with the defect, and none without.
fn shows(defect: &str, release: &str, seeds: Range<u64>, property: &str) {
    let found = |defects: Vec<String>| {
        let composition = Composition {
            fixed: true,
            release: Some(release.to_owned()),
            defects,
            ..Composition::default()
        };
        let case = Kube::default()
            .open("watch-storm", &composition)
            .expect("it opens");
        let mut seeds = seeds.clone();
        seeds.find_map(
            |seed| match run_seed(case.as_ref(), seed, None, Record::default()).ending {
                Ending::Clean => None,
                Ending::Violated(found) => Some((seed, found.property)),
            },
        )
    };
    let (seed, broken) = found(vec![defect.to_owned()]).expect("it is found");
    println!("{defect}: {broken} in seed {seed}");
    assert_eq!(broken, property);
    assert_eq!(found(vec![]), None, "and all is well without it");
}

#[test]
fn empty_window_misses_event() {
    let property = "informer-misses-nothing";
    shows("empty-window-misses-event", "v1.20", 12..13, property);
}

#[test]
fn deleted_at_old_revision() {
    let property = "informer-watch-ordered";
    shows("deleted-at-old-revision", "v1.20", 0..1, property);
}

#[test]
fn quiet_cache_falls_behind() {
    let property = "known-revision-is-readable";
    shows("quiet-cache-falls-behind", "v1.36", 0..1, property);
}

#[test]
fn watch_list_without_progress() {
    let property = "known-revision-is-readable";
    shows("watch-list-without-progress", "v1.36", 3..4, property);
}

#[test]
fn watch_without_leader() {
    let property = "leaderless-caches-end";
    shows("watch-without-leader", "v1.36", 38..39, property);
}

#[test]
fn relist_at_zero() {
    let property = "store-never-goes-back";
    shows("relist-at-zero", "v1.16", 8..9, property);
}

#[test]
fn relist_is_a_sync() {
    shows("relist-is-a-sync", "v1.16", 0..1, "handlers-agree");
}

#[test]
fn replace_forgets_queued() {
    let property = "list-settles-the-store";
    shows("replace-forgets-queued", "v1.20", 6..7, property);
}

#[test]
fn synced_before_handlers() {
    let property = "work-begins-when-handlers-saw-all";
    shows("synced-before-handlers", "v1.20", 1..2, property);
}

#[test]
fn expired_goes_unnoticed() {
    let property = "informers-converge";
    shows("expired-goes-unnoticed", "v1.20", 0..1, property);
}

#[test]
fn stale_refusal_is_final() {
    let property = "refused-swap-is-outdated";
    shows("stale-refusal-is-final", "v1.20", 6..7, property);
}

#[test]
fn stopped_cache_keeps_watches() {
    let property = "informers-converge";
    shows("stopped-cache-keeps-watches", "v1.20", 37..38, property);
}

#[test]
fn stopped_cache_is_waited_for() {
    let property = "informers-converge";
    shows("stopped-cache-is-waited-for", "v1.20", 101..102, property);
}

#[test]
fn etcd_connection_is_not_checked() {
    let property = "known-revision-is-readable";
    shows("etcd-connection-is-not-checked", "v1.20", 0..1, property);
}
