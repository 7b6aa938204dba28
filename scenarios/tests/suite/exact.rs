//! What a search relies on: a step that is known does what running it does, and which states there are
//! does not depend on the order in which they are met.

use std::collections::BTreeSet;

use wavetank_engine::{Digest, Memo};
use wavetank_models::{Move, Node, WorldModel};

use crate::support::scope;

/// Every state within the bounds, met in the order of the moves or against it, but no more than so many.
fn states(model: &WorldModel, backwards: bool, most: usize) -> BTreeSet<Digest> {
    let mut memo = Memo::new();
    let first = model.first();
    let mut seen = BTreeSet::from([first.fingerprint()]);
    let mut left = vec![first];
    while let Some(node) = left.pop() {
        for taken in moves(model, &node, backwards) {
            let Some((next, _)) = model.next(&mut memo, &node, taken) else {
                continue;
            };
            if seen.len() < most && seen.insert(next.fingerprint()) {
                left.push(next);
            }
        }
    }
    seen
}

fn moves(model: &WorldModel, node: &Node, backwards: bool) -> Vec<Move> {
    let mut moves = Vec::new();
    model.moves(node, &mut moves);
    if backwards {
        moves.reverse();
    }
    moves
}

#[test]
fn the_order_in_which_states_are_met_does_not_matter() {
    for name in ["cluster-ips-bitmap", "first-address", "lease-recovery"] {
        let model = scope(name, &[]).model;
        let forwards = states(&model, false, usize::MAX);
        assert!(forwards == states(&model, true, usize::MAX), "{name}");
        assert!(forwards.len() > 1_000, "{name}");
    }
}

/// What pauses and resumes leave behind was once kept in the order of its origin, which is no part of the
/// state: a few states in a million were met in one order only.
#[test]
fn what_a_pause_holds_up_has_one_order() {
    let mut model = scope("lease-endpoints", &[]).model;
    let keeps = |at: &usize| [0, 3, 4, 5].contains(at);
    let faults = (0..model.bounds.faults.len()).filter(keeps);
    model.bounds.faults = faults.map(|at| model.bounds.faults[at].clone()).collect();
    let forwards = states(&model, false, usize::MAX);
    assert!(forwards == states(&model, true, usize::MAX));
}

/// Two walks side by side, one with what is known and one that runs everything.
fn known_steps_are_right(name: &str, most: usize) {
    let model = scope(name, &[]).model;
    let (mut memo, mut off) = (Memo::new(), Memo::off());
    let first = model.first();
    let mut seen = BTreeSet::from([first.fingerprint()]);
    let mut left = vec![(first.clone(), first)];
    while let Some((by_memory, by_running)) = left.pop() {
        for taken in moves(&model, &by_running, false) {
            let known = model.next(&mut memo, &by_memory, taken);
            let run = model.next(&mut off, &by_running, taken);
            assert_eq!(
                known.as_ref().map(|(_, stepped)| stepped),
                run.as_ref().map(|(_, stepped)| stepped),
                "{name}: {taken:?}"
            );
            let (Some((known, _)), Some((run, _))) = (known, run) else {
                continue;
            };
            assert!(known == run, "{name}: {taken:?} leads elsewhere");
            if seen.len() < most && seen.insert(run.fingerprint()) {
                left.push((known, run));
            }
        }
    }
    let (known, missed) = memo.uses();
    assert!(
        known * 10 > missed,
        "{name}: {known} were known, {missed} were not"
    );
}

#[test]
fn known_steps_of_stops_and_pauses_are_right() {
    known_steps_are_right("lease-endpoints", 6_000);
    known_steps_are_right("three-lease-endpoints", 3_000);
}

#[test]
fn known_steps_of_etcd_are_right() {
    known_steps_are_right("etcd-watch", 4_000);
    known_steps_are_right("etcd-leases", 3_000);
    known_steps_are_right("etcd-members", 3_000);
    known_steps_are_right("etcd-snapshot", 3_000);
}

#[test]
fn known_steps_of_services_are_right() {
    known_steps_are_right("service-repair-objects", 6_000);
    known_steps_are_right("service-updates", 3_000);
    known_steps_are_right("service-finalizers", 3_000);
}

#[test]
fn known_steps_of_watches_are_right() {
    known_steps_are_right("watch-cache", 3_000);
    known_steps_are_right("reflector", 3_000);
    known_steps_are_right("leader-lease", 3_000);
    known_steps_are_right("watch-cache-start", 3_000);
}
