//! Each known bug of client-go: with it the property that it breaks is violated, without it the same steps
//! are clean.

use crate::common;

use std::time::Duration;

use common::server::Like;
use common::{Bench, Setup, fitting, fixed, only};
use wavetank_client::InformerDefect;
use wavetank_client::informer::{HandlerSpec, Lag, Resync};
use wavetank_engine::drive::Stepped;

/// Does `steps` break these properties with the defect in each release that has a place for it, and none
/// without it?
fn breaks(defect: InformerDefect, properties: &[&str], steps: impl Fn(Setup) -> Bench) {
    for release in fitting(defect) {
        for on in [true, false] {
            let defects = match on {
                true => only(defect),
                false => fixed(),
            };
            let bench = steps(Setup {
                defects,
                ..Setup::new(release)
            });
            let expected: &[&str] = if on { properties } else { &[] };
            let shown = bench.violations();
            assert_eq!(bench.broken(), expected, "{release}, {on}: {shown:?}");
            let tested = |property: &&str| bench.held(property);
            assert!(
                on || properties.iter().all(tested),
                "{release}: never tested"
            );
        }
    }
}

fn nothing() -> serde_json::Value {
    serde_json::Value::Null
}

#[test]
fn replace_forgets_queued() {
    breaks(
        InformerDefect::ReplaceForgetsQueued,
        &["list-settles-the-store", "informers-converge"],
        |setup| {
            let release = setup.release;
            let mut bench = Bench::settled(&setup);
            // Its addition is queued, its deletion never comes.
            bench.hold(true);
            bench.put("c");
            bench.run(0.1);
            bench.command("a1", "lag", nothing());
            bench.delete("c");
            bench.run(0.1);
            bench.command("a2", "compact", nothing());
            bench.crash("a1");
            bench.run(5.0);
            bench.hold(false);
            bench.run(1.0);
            bench.settle(release);
            bench
        },
    );
}

#[test]
fn synced_before_handlers() {
    let property = "work-begins-when-handlers-saw-all";
    breaks(
        InformerDefect::SyncedBeforeHandlers,
        &[property],
        |mut setup| {
            let slow = Lag {
                one_in: 1,
                upto: Duration::from_secs(2),
            };
            setup.specs[0].handlers.push(HandlerSpec {
                lag: Some(slow),
                ..HandlerSpec::new("slow")
            });
            let mut bench = Bench::served(&setup);
            bench.choose(|_, _, domain| domain - 1);
            bench.start("c1");
            bench.run(10.0);
            bench
        },
    );
}

#[test]
fn too_large_is_no_fallback() {
    breaks(
        InformerDefect::TooLargeIsNoFallback,
        &["too-large-falls-back", "informers-converge"],
        |setup| {
            let release = setup.release;
            let plain = Like {
                watch_list: false,
                pages: false,
                stingy: None,
            };
            let mut bench = Bench::settled(&Setup {
                fronts: vec![plain; 2],
                ..setup
            });
            // A cache that stays behind; nothing in it moves.
            bench.command("a2", "lag", nothing());
            bench.put("c");
            bench.run(0.1);
            bench.move_to(1);
            bench.run(2.0);
            bench.delete("a");
            bench.command("a2", "expire", nothing());
            bench.settle(release);
            bench
        },
    );
}

#[test]
fn expired_goes_unnoticed() {
    breaks(
        InformerDefect::ExpiredGoesUnnoticed,
        &["informers-converge"],
        |setup| {
            let release = setup.release;
            let mut bench = Bench::settled(&setup);
            bench.command("a1", "lag", nothing());
            bench.put("c");
            bench.delete("a");
            bench.run(0.1);
            bench.command("a2", "compact", nothing());
            bench.crash("a1");
            bench.settle(release);
            bench
        },
    );
}

#[test]
fn relist_at_zero() {
    breaks(
        InformerDefect::RelistAtZero,
        &["store-never-goes-back"],
        |setup| {
            let mut bench = Bench::settled(&setup);
            bench.command("a2", "lag", nothing());
            bench.put("c");
            bench.delete("a");
            bench.run(0.1);
            bench.move_to(1);
            bench.run(2.0);
            bench.command("a2", "expire", nothing());
            bench.run(60.0);
            bench
        },
    );
}

#[test]
fn relist_is_a_sync() {
    breaks(
        InformerDefect::RelistIsASync,
        &["handlers-agree"],
        |mut setup| {
            let release = setup.release;
            setup.specs[0].resync = Some(Duration::from_secs(10));
            setup.specs[0].handlers.push(HandlerSpec {
                resync: Resync::Never,
                ..HandlerSpec::new("never")
            });
            let mut bench = Bench::settled(&setup);
            bench.run(20.0);
            // What happens meanwhile only a list tells.
            bench.command("a1", "lag", nothing());
            bench.put("c");
            bench.put("a");
            bench.run(0.1);
            bench.command("a2", "compact", nothing());
            bench.crash("a1");
            bench.settle(release);
            bench
        },
    );
}

#[test]
fn watch_list_without_end() {
    breaks(
        InformerDefect::WatchListWithoutEnd,
        &["informers-converge"],
        |setup| {
            let release = setup.release;
            let stingy = Like {
                watch_list: true,
                pages: false,
                stingy: Some(2),
            };
            let mut bench = Bench::settled(&Setup {
                fronts: vec![stingy; 2],
                ..setup
            });
            bench.settle(release);
            bench
        },
    );
}
