//! One server at a time compacts, and snapshots go with the history.

use wavetank_api::Object;
use wavetank_api::kinds::CONFIG_MAPS;
use wavetank_apiserver::CacheDefect;
use wavetank_apiserver::cacher::CacheNote;
use wavetank_apiserver::options::{ListOptions, Match};
use wavetank_etcd::Etcd;
use wavetank_releases::{V1_36, VERSIONS};

use crate::cacher::fills::between_a1_and_e1;
use crate::cacher::lab::*;
use wavetank_engine::drive::Stepped;

impl Lab {
    fn compacted(&self) -> u64 {
        let etcd = self.bench.world.find("e1").expect("it is there");
        let etcd = self
            .bench
            .world
            .process::<Etcd<Object>>(etcd)
            .expect("an etcd");
        etcd.store().compacted()
    }
}

#[test]
fn every_five_minutes_at_the_revision_of_five_minutes_ago() {
    for release in VERSIONS {
        let mut plan = Plan::of(release, Vec::new());
        plan.servers = 3;
        plan.compacts = true;
        let mut lab = plan.start();
        let mut compacted = Vec::new();
        for _ in 0..5 {
            lab.put("a");
            lab.run(302.0);
            compacted.push(lab.compacted());
        }
        // Each round writes a and the key itself.
        assert_eq!(compacted, [0, 3, 5, 7, 9], "{release}");
    }
}

#[test]
fn snapshots_go_with_the_history() {
    let exactly = ListOptions {
        resource_version_match: Some(Match::Exact),
        ..at(2)
    };
    let mut plan = Plan::of(V1_36, vec![list_of(exactly)]);
    plan.compacts = true;
    let mut lab = plan.start();
    lab.put("a");
    lab.put("b");
    lab.run(590.0);
    assert_eq!(lab.answer(0), "a@2 of 2");
    lab.run(30.0);
    assert_eq!(
        lab.answer(0),
        "410 The resourceVersion for the provided list is too old. (0)"
    );
}

#[test]
fn a_server_that_was_cut_off_learns_what_was_compacted_meanwhile() {
    let exactly = ListOptions {
        resource_version_match: Some(Match::Exact),
        ..at(2)
    };
    let mut plan = Plan::of(V1_36, vec![list_of(exactly)]);
    plan.servers = 2;
    plan.compacts = true;
    let mut lab = plan.start();
    lab.put("a");
    lab.put("b");
    lab.run(590.0);
    assert_eq!(lab.answer(0), "a@2 of 2");
    lab.strike(between_a1_and_e1(true));
    lab.reset();
    lab.run(20.0);
    assert_eq!(lab.compacted(), 4, "by the other one");
    lab.strike(between_a1_and_e1(false));
    lab.run(30.0);
    assert_eq!(
        lab.answer(0),
        "410 The resourceVersion for the provided list is too old. (0)"
    );
}

#[test]
fn a_cache_that_differs_from_etcd_keeps_no_snapshots() {
    for differs in [false, true] {
        let exactly = ListOptions {
            resource_version_match: Some(Match::Exact),
            ..at(3)
        };
        let mut plan = Plan::of(V1_36, vec![list_of(exactly)]);
        if differs {
            plan = plan.with(CacheDefect::DeletedAtOldRevision);
        }
        let mut lab = plan.start();
        lab.put("a");
        lab.put("b");
        lab.delete("a");
        lab.run(310.0);
        let found = lab
            .cache_notes()
            .contains(&CacheNote::Inconsistent(&CONFIG_MAPS, 2));
        assert_eq!(found, differs);
        lab.compact(4);
        let told = lab.answer(0);
        let gone = "410 The resourceVersion for the provided list is too old. (0)";
        assert_eq!(told, if differs { gone } else { "a@2 b@3 of 3" });
    }
}
