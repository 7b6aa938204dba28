//! A scope of the control plane, searched depth first: two apiservers of v1.20 that may be stopped
//! at any moment, under the one property that a stopped address is removed.

use crate::common::topology::fixed;
use stateright::{Checker, Path};
use wavetank_components::kube_apiserver::BootstrapDefect;
use wavetank_components::{ClusterView, ENDPOINTS};
use wavetank_engine::{Time, World};
use wavetank_models::{AUDIT, Audited, Move, Node, WorldModel};
use wavetank_version::Selection;

use super::{WINDOW, search, stoppable};

/// Both apiservers are listed, and nothing is going on.
const IDLE: Time = Time::from_secs(5);
/// Both have begun their second round, ten seconds after the first.
const IN_A_ROUND: Time = Time::from_nanos(10_003_500_000);

const FIRST_STOPS: Move = Move::Fault(0);
const SECOND_STOPS: Move = Move::Fault(1);

/// How many apiservers the Endpoints list.
fn listed(world: &World) -> usize {
    ClusterView(world).addresses(ENDPOINTS).0.len()
}

/// Both may be stopped within a window that begins about `from`, when both are listed.
fn scope(defects: Selection, from: Time, deviations: u32) -> WorldModel {
    let model = stoppable(defects, from, deviations);
    assert_eq!(listed(&model.start), 2);
    model
}

/// The counterexample violates the property, for this reason, in its last state and in no other.
/// Returns its moves.
#[track_caller]
fn counterexample(found: Option<Path<Node, Move>>, why: &str) -> Vec<Move> {
    let path = found.expect("the search finds it");
    let violated = path.last_state().violated.clone();
    let violated = violated.expect("the path ends there");
    assert_eq!(violated.property, "stopped-address-is-removed");
    assert!(violated.message.contains(why), "{violated:?}");
    let (states, moves) = (path.clone().into_states(), path.into_actions());
    let (_, before) = states.split_last().expect("more than none");
    assert!(before.iter().all(|node| node.violated.is_none()));
    moves
}

#[test]
fn the_last_apiserver_keeps_its_address() {
    let defect = fixed().with(BootstrapDefect::LastApiserverKeepsAddress, true);
    for deviations in 0..=2 {
        let (_, found) = search(scope(defect.clone(), IDLE, deviations));
        let moves = counterexample(found, "no master IPs were listed");
        assert!(moves.contains(&FIRST_STOPS) && moves.contains(&SECOND_STOPS));
        assert!(!matches!(moves.last(), Some(Move::Fault(_))));
    }
}

#[test]
fn a_removal_that_is_not_repeated_is_lost_to_the_other_one() {
    let unfixed = fixed().with(BootstrapDefect::FixRetryRemoveEndpoints, false);
    let (_, found) = search(scope(unfixed, IDLE, 0));
    let moves = counterexample(found, "the Endpoints have been modified");
    // Between the two stops the first removal has come some way.
    let at = |step| moves.iter().position(|m| *m == step).expect("both stop");
    assert!(at(FIRST_STOPS).abs_diff(at(SECOND_STOPS)) > 5);
}

/// Nothing is found, and there was enough to find it in.
fn is_clean(from: Time, deviations: u32) {
    let (checker, found) = search(scope(fixed(), from, deviations));
    assert_eq!(found.map(Path::into_actions), None);
    assert!(checker.unique_state_count() > 10_000);
}

#[test]
fn mended_apiservers_remove_their_addresses_however_they_are_stopped() {
    is_clean(IDLE, 1);
    is_clean(IN_A_ROUND, 0);
}

/// Every state has the digest that it should have, and is what its hash says.
fn is_sound(model: WorldModel) {
    let before = model.start.rebuilt();
    let (checker, found) = search(Audited::new(model));
    let violated = found.and_then(|path| path.last_state().violated.clone());
    assert_eq!(violated, None);
    let objected = checker.discovery(AUDIT);
    assert_eq!(objected.map(Path::into_actions), None);
    let states = checker.model().states();
    assert_eq!(states.len(), checker.unique_state_count());
    // Copies go on by running their routines again: else their equality would say little.
    let rebuilt = states.iter().map(|node| node.world.rebuilt() - before);
    assert!(rebuilt.max() > Some(10));
    // And the property was put to the test: all from two addresses down to none are in there.
    for addresses in 0..=2 {
        assert!(states.iter().any(|node| listed(&node.world) == addresses));
    }
}

#[test]
fn states_are_what_their_hashes_say_when_events_come_late() {
    is_sound(scope(fixed(), IDLE, 1));
}

#[test]
fn states_are_what_their_hashes_say_within_a_round() {
    let mut model = scope(fixed(), IN_A_ROUND, 0);
    // An audit takes its time: this is enough for two removals at once.
    model.bounds.horizon = model.bounds.horizon - WINDOW / 2;
    is_sound(model);
}
