//! Goroutines that are held up at any two moments of a round and of a shutdown: too many
//! coincidences for seeds, few enough for a search.

use std::time::Duration;

use crate::common::topology::fixed;
use stateright::Path;
use wavetank_components::kube_apiserver::BootstrapDefect;
use wavetank_components::kube_apiserver::bootstrap::Reconciler;
use wavetank_engine::{Action, Fault, Time};
use wavetank_models::{Bounds, Move, WorldModel};
use wavetank_releases::{Release, V1_36};
use wavetank_version::{Selection, Set};

use super::{search, undisturbed};
use crate::common::topology::{Apiserver, EtcdCluster, Topology};

/// The second round is about to begin.
const BEFORE_A_ROUND: Time = Time::from_secs(10);
/// A removal and a round take less.
const WINDOW: Duration = Duration::from_millis(20);

/// An apiserver of v1.36 that is stopped, whose round is held up and goes on again, and whose
/// removal is held up, in any order and at any moments.
fn scope(defects: Selection) -> WorldModel {
    let topology = Topology {
        etcd: EtcdCluster::single(Release::of(V1_36).etcd, Set::NONE),
        etcd_clients: 0,
        watching: Default::default(),
        services: None,
        service_writers: 0,
        apiservers: vec![Apiserver {
            release: V1_36,
            defects,
        }],
        clients: 0,
        reconciler: Reconciler::Lease,
        apiserver_count: 1,
        shutdown_delay: Duration::from_secs(5),
    };
    let process = || "a1".to_owned();
    let round = || "reconcile-endpoints#0".to_owned();
    let faults = [
        Fault::Deschedule {
            process: process(),
            routine: round(),
        },
        Fault::Stop { process: process() },
        Fault::Deschedule {
            process: process(),
            routine: "remove-endpoints#0".to_owned(),
        },
        Fault::Reschedule {
            process: process(),
            routine: round(),
        },
    ];
    let start = undisturbed(&topology, "no-lease-write-after-removal", BEFORE_A_ROUND);
    WorldModel {
        start,
        bounds: Bounds {
            horizon: BEFORE_A_ROUND + WINDOW,
            faults: faults.into_iter().map(Action::Fault).collect(),
            ..Bounds::default()
        },
    }
}

/// FINDINGS.md, 3.
#[test]
fn a_round_that_waited_for_the_lock_writes_the_lease_of_a_stopped_apiserver() {
    let unfixed = fixed().with(BootstrapDefect::FixStopUnderLock, false);
    let (_, found) = search(scope(unfixed));
    let path = found.expect("the search finds it");
    let violated = path.last_state().violated.clone();
    let violated = violated.expect("the path ends there");
    assert_eq!(violated.property, "no-lease-write-after-removal");
    assert!(violated.message.contains("written again after its removal"));
    let moves = path.into_actions();
    let faults = moves.iter().filter(|m| matches!(m, Move::Fault(_)));
    assert_eq!(faults.count(), 4, "it takes every one of them");
}

#[test]
fn with_the_flag_looked_at_under_the_lock_it_does_not() {
    let (_, found) = search(scope(fixed()));
    assert_eq!(found.map(Path::into_actions), None);
}
