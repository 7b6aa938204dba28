//! Every request of a start, of rounds and of a removal, in order, as upstream makes them. The
//! snapshots were compared by hand with the sources of the releases.

use crate::common;

use common::topology::Topology;
use wavetank_components::kube_apiserver::bootstrap::Reconciler;

use common::{Bench, crash, shipped, start, stop};
use wavetank_components::kube_apiserver::BootstrapDefect;
use wavetank_engine::drive::Stepped;
use wavetank_releases::{V1_16, V1_20, V1_36, VERSIONS};
use wavetank_version::Version;

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshots/steps"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// The requests of `a1` from the start of a cluster of two until both are gone.
fn story(topology: &Topology) -> String {
    let mut bench = Bench::new(topology);
    let first = bench.id("a1");
    bench.strike(start("etcd"));
    bench.run_to_second(1.0);
    bench.requests.watch(first, "starts, and its first round");
    bench.strike(start("a1"));
    bench.run_to_second(6.0);
    bench.requests.watch(first, "a round with nothing to do");
    bench.run_to_second(14.0);
    bench
        .requests
        .watch(first, "a round after another server has come");
    bench.strike(start("a2"));
    bench.run_to_second(24.0);
    bench.strike(crash("a2"));
    bench.requests.watch(
        first,
        "the lease of the other, which has crashed, has expired; a round, and another",
    );
    bench.run_to_second(44.0);
    bench.requests.watch(first, "stops; the other is back");
    bench.strike(start("a2"));
    bench.run_to_second(46.0);
    bench.strike(stop("a1"));
    bench.run_to_second(60.0);
    assert!(!bench.is_up("a1"));
    bench.requests.watch(first, "starts again");
    bench.strike(start("a1"));
    bench.run_to_second(62.0);
    bench.strike(crash("a1"));
    bench.requests.watch(first, "starts again after a crash");
    bench.strike(start("a1"));
    bench.run_to_second(64.0);
    bench.requests.look_away();
    bench.strike(stop("a2"));
    bench.run_to_second(86.0);
    bench.requests.watch(first, "stops as the last one");
    bench.strike(stop("a1"));
    bench.run_to_second(93.0);
    assert!(!bench.is_up("a1"));
    bench.requests.text()
}

fn two(release: Version, reconciler: Reconciler) -> Topology {
    let mut topology = shipped(release);
    topology.apiservers.truncate(2);
    Topology {
        reconciler,
        apiserver_count: 2,
        ..topology
    }
}

#[test]
fn the_lease_reconciler_of_v1_16() {
    snapshot("lease-v1.16", &story(&two(V1_16, Reconciler::Lease)));
}

#[test]
fn the_lease_reconciler_of_v1_20() {
    snapshot("lease-v1.20", &story(&two(V1_20, Reconciler::Lease)));
}

#[test]
fn the_lease_reconciler_of_v1_36() {
    snapshot("lease-v1.36", &story(&two(V1_36, Reconciler::Lease)));
}

#[test]
fn the_master_count_reconciler_of_v1_16() {
    let topology = two(V1_16, Reconciler::MasterCount);
    snapshot("master-count-v1.16", &story(&topology));
}

#[test]
fn the_master_count_reconciler_of_v1_20() {
    let topology = two(V1_20, Reconciler::MasterCount);
    snapshot("master-count-v1.20", &story(&topology));
}

/// A start that finds no lease of a past life, above all, still leaves it at that.
#[test]
fn the_fixes_change_nothing_where_nothing_goes_wrong() {
    for release in VERSIONS {
        let shipped = two(release, Reconciler::Lease);
        let mut fixed = shipped.clone();
        for server in &mut fixed.apiservers {
            server.defects = server
                .defects
                .with(BootstrapDefect::FixRetryRemoveEndpoints, true)
                .with(BootstrapDefect::FixRemoveAbsentLease, true);
        }
        assert_eq!(story(&shipped), story(&fixed), "{release}");
    }
}
