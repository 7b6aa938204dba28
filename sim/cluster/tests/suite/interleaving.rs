//! A stop or a crash at any event of a round or of a removal, and races for the reconciler's lock.

use crate::common;

use common::{Bench, address, addresses, crash, seconds, shipped, start, stop};
use wavetank_components::kube_apiserver::bootstrap::{
    BootstrapNote, ReconcileError, master_lease_key,
};
use wavetank_components::kube_apiserver::gates::ENDPOINT_SLICES;
use wavetank_engine::drive::Stepped;
use wavetank_releases::{V1_36, VERSIONS};
use wavetank_version::Version;

const ROUND: &str = "reconcile-endpoints";

/// `a2` is about to take the lock for a round.
fn at_a_round(release: Version) -> Bench {
    let mut bench = Bench::settled(&shipped(release));
    bench.run_to("a round", 11.0, |b| b.is_offered_a_lock("a2", ROUND));
    bench
}

/// The round has looked at the stop channel and waits for the lock when the server is asked to
/// stop, and the removal is faster. Up to v1.20 the round then sees the flag under the lock. In
/// v1.36 it does not look again: that the lease storage is closed by then saves it, unless `Destroy`
/// comes late (`models/tests/held_up.rs`).
#[test]
fn a_round_that_gets_the_lock_after_the_removal_does_no_harm() {
    for release in VERSIONS {
        let mut bench = at_a_round(release);
        let round = bench.routine("a2", ROUND).expect("it waits");
        let asked = seconds(bench.now);
        bench.strike(stop("a2"));
        while bench.removal(2).is_none() {
            bench.step_past(round);
        }
        assert!(bench.routine("a2", ROUND).is_some(), "it still waits");
        let removed = seconds(bench.now);
        bench.run(60.0);
        let key = master_lease_key(&address(2));
        assert_eq!(bench.commits(&key, removed), [], "{release}");
        assert_eq!(bench.listed(), addresses(&[1, 3]), "{release}");
        let failed = bench.bootstrap_notes(asked);
        let failed = failed
            .iter()
            .any(|(_, note)| **note == BootstrapNote::RoundFailed(ReconcileError::Closed));
        assert_eq!(failed, release >= V1_36, "{release}");
        assert_eq!(bench.objections(), [""; 0], "{release}");
    }
}

/// More events than a round or a removal has.
const EVENTS: usize = 60;

#[test]
fn a_stop_at_any_event_of_a_round_removes_the_address() {
    for release in VERSIONS {
        for event in 0..EVENTS {
            let mut bench = at_a_round(release);
            (0..event).for_each(|_| assert!(bench.step()));
            let asked = seconds(bench.now);
            bench.strike(stop("a2"));
            bench.run_to("the removal", 1.0, |b| b.removal(2).is_some());
            let removed = seconds(bench.now);
            assert!(removed - asked < 0.05, "{release}, event {event}");
            assert_eq!(
                bench.leased(),
                addresses(&[1, 3]),
                "{release}, event {event}"
            );
            assert_eq!(
                bench.listed(),
                addresses(&[1, 3]),
                "{release}, event {event}"
            );
            bench.run(30.0);
            let key = master_lease_key(&address(2));
            assert_eq!(
                bench.commits(&key, removed + 1e-9),
                [],
                "{release}, event {event}"
            );
            assert_eq!(
                bench.listed(),
                addresses(&[1, 3]),
                "{release}, event {event}"
            );
            assert_eq!(bench.objections(), [""; 0], "{release}, event {event}");
        }
    }
}

#[test]
fn a_crash_at_any_event_of_a_removal_is_mended_by_the_others() {
    for release in VERSIONS {
        for event in 0..EVENTS {
            let mut bench = Bench::settled(&shipped(release));
            bench.strike(stop("a2"));
            (0..event).for_each(|_| assert!(bench.step()));
            bench.strike(crash("a2"));
            bench.run(15.0 + 0.5 + 10.0 + 0.1);
            assert_eq!(
                bench.listed(),
                addresses(&[1, 3]),
                "{release}, event {event}"
            );
            assert_eq!(
                bench.leased(),
                addresses(&[1, 3]),
                "{release}, event {event}"
            );
            bench.run(1.0);
            if release.has(ENDPOINT_SLICES) {
                assert_eq!(
                    bench.sliced(),
                    addresses(&[1, 3]),
                    "{release}, event {event}"
                );
            }
            assert_eq!(bench.objections(), [""; 0], "{release}, event {event}");
        }
    }
}

#[test]
fn a_crash_at_any_event_of_a_start_is_mended_by_the_next() {
    for release in VERSIONS {
        for event in 0..EVENTS {
            let mut bench = Bench::settled(&shipped(release));
            bench.strike(stop("a2"));
            bench.run(15.0);
            bench.strike(start("a2"));
            (0..event).for_each(|_| assert!(bench.step()));
            bench.strike(crash("a2"));
            bench.strike(start("a2"));
            bench.run(2.0);
            let all = addresses(&[1, 2, 3]);
            assert_eq!(bench.listed(), all, "{release}, event {event}");
            assert_eq!(bench.leased(), all, "{release}, event {event}");
            bench.run(30.0);
            assert_eq!(bench.listed(), all, "{release}, event {event}");
            assert_eq!(bench.objections(), [""; 0], "{release}, event {event}");
        }
    }
}
