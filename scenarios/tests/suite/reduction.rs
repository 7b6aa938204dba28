//! The reduced search comes to the verdicts of the full one and sees the properties remember the same; and
//! reductions that leave out too much are caught by this very comparison.

use std::collections::BTreeSet;

use wavetank::search::Search;
use wavetank_engine::{Action, Digest, Fault, Memo, digest};
use wavetank_models::{Ended, Explored, Explorer, Move, Recovery, Reduction, Seen, WorldModel};

use crate::support::scope;

fn explore(search: &Search, reduction: Reduction) -> Explored {
    let recovery = search.calm.map(Recovery::within);
    Explorer {
        model: &search.model,
        recovery: recovery.as_ref(),
        reduction,
        threads: 1,
        watch: &|_| true,
    }
    .run_from(search.starts())
}

/// What is counted: a search also keeps one in 1,024 of the states that it passes through, by its digest, so
/// that how many it has moves with whatever is hashed.
const CHOICES: Reduction = Reduction {
    keep_one_in: u64::MAX,
    ..Reduction::ORDERS
};

/// Do both say the same of a scope in which nothing is violated?
fn agree(full: &Explored, reduced: &Explored) -> bool {
    full.ended == reduced.ended && full.coverage.remembered() == reduced.coverage.remembered()
}

#[track_caller]
fn is_reduced(name: &str, by: u64) {
    let search = scope(name, &[]);
    let full = explore(&search, Reduction::NONE);
    let reduced = explore(&search, Reduction::ORDERS);
    assert_eq!(full.ended, Ended::Complete);
    assert!(agree(&full, &reduced));
    let reached = |explored: &Explored| explored.coverage.faults(&search.model);
    assert_eq!(reached(&full), reached(&reduced));
    let choices = explore(&search, CHOICES);
    assert!(agree(&full, &choices));
    let (states, fewer) = (full.progress.unique, choices.progress.unique);
    assert!(fewer * by <= states, "{fewer} instead of {states} states");
}

macro_rules! reduced {
    ($($test:ident: $scope:literal by $factor:literal,)*) => {
        $(
            #[test]
            fn $test() {
                is_reduced($scope, $factor);
            }
        )*
    };
}

// Those that are not here take longer than a test should: `cargo bench --bench search -- reduction`.
reduced! {
    cluster_ips_dual: "cluster-ips-dual" by 25,
    etcd_compaction: "etcd-compaction" by 5,
    etcd_old_leader: "etcd-old-leader" by 9,
    external_name: "external-name" by 55,
    first_address: "first-address" by 48,
    identity_stop: "identity-stop" by 3,
    leader_release: "leader-release" by 3,
    reflector: "reflector" by 20,
    relist_too_large: "relist-too-large" by 11,
    service_late_release: "service-late-release" by 34,
    service_leaks: "service-leaks" by 9,
    service_ports: "service-ports" by 31,
    service_repair_objects: "service-repair-objects" by 8,
    watch_cache: "watch-cache" by 20,
}

/// The property that a search finds violated.
fn violated(explored: &Explored) -> Option<&str> {
    match &explored.ended {
        Ended::Violated(found) => Some(&found.violation.property),
        _ => None,
    }
}

#[track_caller]
fn both_find(name: &str, defect: &str, property: &str) {
    let search = scope(name, &[defect]);
    for reduction in [Reduction::NONE, Reduction::ORDERS] {
        let explored = explore(&search, reduction);
        assert_eq!(violated(&explored), Some(property));
    }
}

#[test]
fn both_find_what_lets_an_address_stay() {
    let property = "stopped-address-is-removed";
    for defect in [
        "last-apiserver-keeps-address",
        "listener-closes-before-removal",
    ] {
        both_find("lease-endpoints", defect, property);
    }
}

#[test]
fn both_find_what_gives_the_first_address_away() {
    both_find(
        "first-address",
        "first-address-is-given-away",
        "kubernetes-keeps-the-first-address",
    );
}

#[test]
fn both_find_what_deletes_at_an_old_revision() {
    both_find(
        "reflector",
        "deleted-at-old-revision",
        "informer-watch-ordered",
    );
}

/// Takes worlds for one whatever is pending.
const BLIND: Reduction = Reduction {
    key: |_, node| {
        let parts = node.world.parts();
        let processes: Vec<Digest> = parts.iter().map(|(_, digest)| *digest).collect();
        digest(&(node.faults, node.planned, processes))
    },
    exact: false,
    keep_one_in: 1,
};

#[test]
fn a_reduction_that_does_not_see_what_is_pending_is_caught() {
    let search = scope("lease-recovery", &[]);
    let full = explore(&search, Reduction::NONE);
    assert!(!agree(&full, &explore(&search, BLIND)));
}

/// What the properties remember if a fault strikes a process only right before an event of its own:
/// events of others commute with it. But for what it leads to, which then comes later.
fn remembered_by_process(model: &WorldModel) -> BTreeSet<Digest> {
    let seen = Seen::default();
    let mut remembered = BTreeSet::new();
    let mut left = vec![model.first()];
    let mut memo = Memo::new();
    while let Some(node) = left.pop() {
        let mut moves = Vec::new();
        model.moves(&node, &mut moves);
        let next = node.world.next_entry();
        let next = next.map(|entry| node.world.name(entry.process).to_owned());
        moves.retain(|taken| match taken {
            Move::Fault(fault) => concerns(&model.bounds.faults[*fault], next.as_deref()),
            _ => true,
        });
        for taken in moves {
            let Some((next, _)) = model.next(&mut memo, &node, taken) else {
                continue;
            };
            remembered.insert(next.world.remembered());
            if seen.insert(next.fingerprint()) {
                left.push(next);
            }
        }
    }
    remembered
}

fn concerns(fault: &Action, next: Option<&str>) -> bool {
    match fault {
        Action::Fault(Fault::Stop { process } | Fault::Crash { process }) => {
            next.is_none_or(|next| next == process)
        }
        _ => true,
    }
}

#[test]
fn a_reduction_by_processes_is_caught() {
    let mut search = scope("three-lease-endpoints", &[]);
    search.model.bounds.at_most = Some(2);
    let full = explore(&search, Reduction::NONE);
    assert!(agree(&full, &explore(&search, Reduction::ORDERS)));
    let by_process = remembered_by_process(&search.model);
    assert!(by_process.is_subset(full.coverage.remembered()));
    assert!(by_process.len() < full.coverage.remembered().len());
}
