//! The identities of apiservers, and their end.

use crate::common;

use common::topology::{Topology, shipped_with};
use wavetank_components::ClusterView;

use common::{Bench, crash, plane, stop, with};
use wavetank_api::Object;
use wavetank_apiserver::ServerNote;
use wavetank_components::identity::IdentityDefect;
use wavetank_components::identity::IdentityStopped;
use wavetank_engine::drive::Stepped;
use wavetank_engine::{Fault, RoutineId};
use wavetank_etcd::Committed;
use wavetank_releases::{V1_36, VERSIONS};
use wavetank_version::{Selection, Version};

fn with_identities(release: Version, defects: Selection, apiservers: usize) -> Topology {
    let mut topology = plane(release, defects, apiservers);
    topology.watching.front.identity = true;
    topology
}

fn has_identity(bench: &Bench, n: usize) -> bool {
    let key = format!("/registry/leases/kube-system/apiserver-{n}");
    ClusterView(&bench.world).get(&key).is_some()
}

#[test]
fn only_v1_36_has_them_and_a_stopped_server_takes_its_own_along() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&with_identities(release, shipped_with(release), 2));
        let has = release == V1_36;
        assert_eq!(has_identity(&bench, 1), has, "{release}");
        bench.strike(stop("a1"));
        bench.run(10.0);
        assert!(!has_identity(&bench, 1), "{release}");
        assert_eq!(has_identity(&bench, 2), has, "{release}");
        assert!(bench.objections().is_empty(), "{:?}", bench.objections());
    }
}

#[test]
fn it_is_renewed_every_ten_seconds() {
    let release = V1_36;
    let mut bench = Bench::settled(&with_identities(release, shipped_with(release), 1));
    bench.notes.clear();
    bench.run(100.0);
    let is_renewal = |commit: &Committed<Object>| {
        let mut keys = commit.changes.iter().map(|change| &*change.key);
        keys.any(|key| key == "/registry/leases/kube-system/apiserver-1")
    };
    let commits = bench.notes.iter().filter_map(|(_, note)| note.body.get());
    assert_eq!(commits.filter(|commit| is_renewal(commit)).count(), 10);
}

#[test]
fn that_of_a_crashed_server_is_collected_an_hour_later() {
    let release = V1_36;
    let mut bench = Bench::settled(&with_identities(release, shipped_with(release), 2));
    bench.strike(crash("a1"));
    bench.run_to_second(3660.0);
    assert!(has_identity(&bench, 1), "the collector has just looked");
    bench.run_to_second(7230.0);
    assert!(!has_identity(&bench, 1));
    assert!(has_identity(&bench, 2));
}

/// `Stop` waits for a renewal: for one that tries on until the server no longer serves (k/k#140242), and for one whose
/// requests etcd does not answer (finding 16).
#[test]
fn a_stop_does_not_wait_for_a_renewal() {
    let overdue = |waits, cancels| {
        let defects = with(V1_36, IdentityDefect::IdentityStopWaits, waits)
            .with(IdentityDefect::FixCancelIdentity, cancels);
        let mut bench = Bench::settled(&with_identities(V1_36, defects, 1));
        let (from, to) = ("a1".to_owned(), "etcd".to_owned());
        bench.strike(Fault::Stall { from, to });
        bench.run(30.0);
        bench.strike(stop("a1"));
        bench.run(120.0);
        let mut notes = bench.notes.iter();
        notes.any(|(_, note)| note.body.get() == Some(&ServerNote::ShutdownOverdue))
    };
    assert!(overdue(true, true));
    assert!(overdue(false, false));
    assert!(!overdue(false, true));
}

fn renewal(bench: &Bench) -> RoutineId {
    let mut routines = bench.world.routines(bench.id("a1"));
    let found = routines.find(|id| id.kind.as_str() == "renew-identity");
    found.expect("it is under way")
}

/// Finding 17: a renewal that has looked whether the server stops, and then waits for the lock while `Stop` has it.
#[test]
fn a_renewal_that_waited_for_the_lock_does_not_bring_the_lease_back() {
    let comes_back = |fixed| {
        let defects = shipped_with(V1_36).with(IdentityDefect::FixIdentityUnderLock, fixed);
        let mut bench = Bench::settled(&with_identities(V1_36, defects, 1));
        bench.run_to("a renewal is about to begin", 15.0, |b| {
            b.is_offered_a_lock("a1", "renew-identity")
        });
        let renewal = renewal(&bench);
        bench.strike(stop("a1"));
        let stopped = |b: &Bench| {
            let mut notes = b.notes.iter();
            notes.any(|(_, note)| note.body.get::<IdentityStopped>().is_some())
        };
        while !stopped(&bench) {
            bench.step_past(renewal);
        }
        bench.run(1.0);
        assert_eq!(bench.objections().is_empty(), fixed);
        has_identity(&bench, 1)
    };
    assert!(comes_back(false));
    assert!(!comes_back(true));
}
