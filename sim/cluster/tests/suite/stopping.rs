//! Apiservers that are asked to stop: what they leave behind, in each release.

use crate::common;

use common::topology::Topology;

use common::{
    Bench, address, addresses, pause, plane, resume, seconds, shipped, start, stop, with,
};
use wavetank_apiserver::ServerNote;
use wavetank_components::kube_apiserver::BootstrapDefect;
use wavetank_components::kube_apiserver::bootstrap::{
    BootstrapNote, ReconcileError, RemovalOutcome,
};
use wavetank_components::kube_apiserver::gates::ENDPOINT_SLICES;
use wavetank_engine::drive::Stepped;
use wavetank_releases::{V1_36, VERSIONS};
use wavetank_version::Version;

/// The error of a removal that failed by no fault of etcd or the network.
fn failed(bench: &Bench, n: usize) -> ReconcileError {
    match bench.removal(n) {
        Some((_, RemovalOutcome::Failed(error))) => error,
        other => panic!("a{n}: {other:?}"),
    }
}

#[test]
fn a_graceful_stop_takes_the_address_away_at_once() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&shipped(release));
        let asked = seconds(bench.now);
        bench.strike(stop("a2"));
        let gone = bench.run_to("removal", 1.0, |b| b.removal(2).is_some()) - asked;
        assert!(gone < 0.1, "{release}: {gone} s");
        assert_eq!(bench.listed(), addresses(&[1, 3]), "{release}");
        assert_eq!(bench.leased(), addresses(&[1, 3]), "{release}");
        if release.has(ENDPOINT_SLICES) {
            assert_eq!(bench.sliced(), addresses(&[1, 3]), "{release}");
        }
        assert!(bench.is_up("a2"), "its shutdown delay has only begun");
        let ended = bench.run_to("exit", 70.0, |b| !b.is_up("a2")) - asked;
        assert!((5.0..6.0).contains(&ended), "{release}: {ended} s");
        bench.run(120.0);
        assert_eq!(bench.listed(), addresses(&[1, 3]), "{release}");
        assert_eq!(bench.objections(), [""; 0], "{release}");
    }
}

#[test]
fn one_that_was_stopped_comes_back() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&shipped(release));
        bench.strike(stop("a2"));
        bench.run(30.0);
        bench.strike(start("a2"));
        bench.run(5.0);
        assert_eq!(bench.listed(), addresses(&[1, 2, 3]), "{release}");
        assert_eq!(bench.leased(), addresses(&[1, 2, 3]), "{release}");
    }
}

/// Until v1.23 the listener closes while the removal still needs it (PR #108033): the lease goes,
/// the address stays until somebody else's next round.
#[test]
fn without_a_shutdown_delay_old_releases_close_their_own_door() {
    for release in VERSIONS {
        let topology = Topology {
            shutdown_delay: std::time::Duration::ZERO,
            ..shipped(release)
        };
        let mut bench = Bench::settled(&topology);
        bench.strike(stop("a2"));
        bench.run_to("removal", 1.0, |b| b.removal(2).is_some());
        assert_eq!(bench.leased(), addresses(&[1, 3]), "{release}");
        if release >= V1_36 {
            assert_eq!(bench.listed(), addresses(&[1, 3]));
            continue;
        }
        assert_eq!(failed(&bench, 2), ReconcileError::ListenerClosed);
        assert_eq!(bench.listed(), addresses(&[1, 2, 3]), "{release}");
        bench.run_to("somebody's round", 10.1, |b| {
            b.listed() == addresses(&[1, 3])
        });
        assert_eq!(bench.objections().len(), 1, "{:?}", bench.objections());
    }
}

#[test]
fn the_last_apiserver_keeps_its_address_until_v1_26() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&shipped(release));
        for name in ["a1", "a2"] {
            bench.strike(stop(name));
            bench.run(30.0);
        }
        assert_eq!(bench.listed(), addresses(&[3]), "{release}");
        bench.strike(stop("a3"));
        bench.run(60.0);
        assert!(!bench.is_up("a3"));
        assert_eq!(bench.leased(), [""; 0], "{release}");
        if release < V1_36 {
            // k/k#115804
            assert_eq!(bench.listed(), addresses(&[3]), "{release}");
            assert_eq!(failed(&bench, 3), ReconcileError::NoLeases);
            continue;
        }
        assert_eq!(bench.listed(), [""; 0]);
        assert_eq!(bench.sliced(), [""; 0]);
        assert!(matches!(
            bench.removal(3),
            Some((_, RemovalOutcome::Removed(_)))
        ));
        assert_eq!(bench.objections(), [""; 0]);
    }
}

#[test]
fn one_after_another_two_stops_leave_the_third() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&shipped(release));
        bench.strike(stop("a1"));
        bench.run(0.2);
        bench.strike(stop("a3"));
        bench.run(1.0);
        assert_eq!(bench.listed(), addresses(&[2]), "{release}");
        assert_eq!(bench.leased(), addresses(&[2]), "{release}");
        assert!(!bench.conflicted(30.0), "{release}");
    }
}

/// At the same instant both read the Endpoints, and the second to write them conflicts. Upstream
/// logs that and goes down. It does no harm here: both leases were gone when the first listed them.
#[test]
fn of_two_simultaneous_stops_one_conflicts() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&shipped(release));
        bench.strike(stop("a1"));
        bench.strike(stop("a3"));
        bench.run(1.0);
        assert!(bench.conflicted(30.0), "{release}");
        let outcomes = [1, 3].map(|n| bench.removal(n).expect("it has ended").1);
        let conflict = RemovalOutcome::Failed(ReconcileError::Conflict);
        let conflicts = outcomes.iter().filter(|outcome| **outcome == conflict);
        assert_eq!(conflicts.count(), 1, "{release}");
        assert_eq!(bench.listed(), addresses(&[2]), "{release}");
        assert_eq!(bench.objections(), [""; 0], "{release}");
    }
}

/// The first lists the leases just before the second deletes its own, and writes just after the
/// second has read.
fn a_harmful_conflict(release: Version, fixed: bool) -> Bench {
    let defects = with(release, BootstrapDefect::FixRetryRemoveEndpoints, fixed);
    let mut bench = Bench::settled(&plane(release, defects, 3));
    bench.strike(stop("a1"));
    bench.run(0.0025);
    bench.strike(stop("a3"));
    bench.run_to("the removals", 1.0, |b| {
        b.removal(1).is_some() && b.removal(3).is_some()
    });
    assert!(bench.conflicted(30.0), "{release}");
    assert_eq!(bench.leased(), addresses(&[2]), "{release}");
    bench
}

#[test]
fn after_a_conflict_the_address_stays_until_somebody_else_s_round() {
    for release in VERSIONS {
        let mut bench = a_harmful_conflict(release, false);
        assert_eq!(failed(&bench, 3), ReconcileError::Conflict, "{release}");
        assert_eq!(bench.listed(), addresses(&[2, 3]), "{release}");
        assert_eq!(bench.objections().len(), 1, "{:?}", bench.objections());
        bench.run_to("a2's round", 10.1, |b| b.listed() == addresses(&[2]));
    }
}

#[test]
fn after_a_conflict_the_fix_tries_again() {
    for release in VERSIONS {
        let bench = a_harmful_conflict(release, true);
        assert_eq!(bench.listed(), addresses(&[2]), "{release}");
        if release.has(ENDPOINT_SLICES) {
            assert_eq!(bench.sliced(), addresses(&[2]), "{release}");
        }
        assert_eq!(bench.objections(), [""; 0], "{release}");
    }
}

/// The only apiserver stands still until its lease has expired, and is asked to stop as soon as it
/// goes on: its own removal finds no lease. (Any other would have removed it by then.)
fn stopped_without_a_lease(release: Version, fixed: bool) -> Bench {
    let defects = with(release, BootstrapDefect::FixRemoveAbsentLease, fixed)
        .with(BootstrapDefect::LastApiserverKeepsAddress, false);
    let mut bench = Bench::settled(&plane(release, defects, 1));
    bench.strike(pause("a1"));
    bench.run_to("expiry", 30.0, |b| b.leased().is_empty());
    bench.strike(resume("a1"));
    bench.strike(stop("a1"));
    bench.run(60.0);
    bench
}

#[test]
fn a_removal_that_finds_no_lease_leaves_the_address() {
    for release in VERSIONS {
        let bench = stopped_without_a_lease(release, false);
        assert_eq!(
            failed(&bench, 1),
            ReconcileError::LeaseNotFound,
            "{release}"
        );
        assert_eq!(bench.listed(), addresses(&[1]), "{release}");
        assert!(!bench.is_up("a1"));
    }
}

#[test]
fn a_removal_that_finds_no_lease_goes_on_with_the_fix() {
    for release in VERSIONS {
        let bench = stopped_without_a_lease(release, true);
        assert!(
            matches!(bench.removal(1), Some((_, RemovalOutcome::Removed(_)))),
            "{release}: {:?}",
            bench.removal(1)
        );
        assert_eq!(bench.listed(), [""; 0], "{release}");
        assert_eq!(bench.objections(), [""; 0], "{release}");
    }
}

#[test]
fn with_etcd_down_the_hook_gives_up_after_20_s_and_the_shutdown_ends() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&shipped(release));
        bench.strike(common::crash("etcd"));
        bench.run(0.5);
        let asked = seconds(bench.now);
        bench.strike(stop("a2"));
        let own: std::sync::Arc<str> = address(2).into();
        let gave_up = |b: &Bench| {
            let note = BootstrapNote::RemovalGivenUp {
                address: own.clone(),
            };
            b.bootstrap_notes(asked).iter().any(|(_, n)| **n == note)
        };
        let after = bench.run_to("giving up", 25.0, gave_up) - asked;
        assert!((after - 20.0).abs() < 0.01, "{release}: {after} s");
        assert!(bench.removal(2).is_none(), "{release}");
        let ended = bench.run_to("exit", 61.0, |b| !b.is_up("a2")) - asked;
        assert!(ended < 20.0 + 61.0, "{release}: {ended} s");
        assert!(bench.noted("a2", &ServerNote::ShutdownOverdue).is_none());
        assert_eq!(bench.objections(), [""; 0], "{release}");
    }
}

/// A round that hangs holds the lock that `StopReconciling` wants in v1.16 and v1.20, and
/// `RemoveEndpoints` in v1.36: the 20 s bound that wait, too.
#[test]
fn a_round_that_hangs_does_not_hold_the_shutdown_for_ever() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&shipped(release));
        bench.strike(common::crash("etcd"));
        // Into the next round of every server.
        bench.run(10.5);
        let asked = seconds(bench.now);
        bench.strike(stop("a2"));
        let ended = bench.run_to("exit", 100.0, |b| !b.is_up("a2")) - asked;
        assert!((20.0..82.0).contains(&ended), "{release}: {ended} s");
        let started = bench.bootstrap_notes(asked);
        let started = started
            .iter()
            .any(|(_, n)| matches!(n, BootstrapNote::RemovalStarted { .. }));
        assert_eq!(started, release >= V1_36, "an atomic flag since PR #116685");
    }
}
