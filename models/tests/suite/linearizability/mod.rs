//! Small histories of an etcd of three members, judged by stateright's `LinearizabilityTester`:
//! is there any order at all in which the calls can have happened one after another?
//!
//! It knows of keys and values and nothing else: no revision, no commit, nothing that a member told.
//! The monitor `strictly-serializable` looks each answer up in the order that revisions give; this
//! one would notice if that order were wrong, too.

mod history;
mod storm;

use wavetank_engine::drive::Ending;

use history::{Call, Linearizable, Op, Ret};
use storm::{Reads, simulate};

const SEEDS: u64 = 150;

#[test]
fn etcd_is_linearizable_whether_or_not_clients_learn_what_became_of_their_writes() {
    let (mut with_unknown, mut calls) = (0, 0);
    for seed in 0..SEEDS {
        let (ending, history) = simulate(seed, Reads::Linearizable);
        assert_eq!(ending, Ending::Clean, "seed {seed}: {history:#?}");
        with_unknown += u64::from(history.unknown() > 0);
        calls += history.calls().len();
    }
    println!("{calls} calls; unknown outcomes in {with_unknown} of {SEEDS} seeds");
    assert!(calls as u64 > 8 * SEEDS);
    assert!(with_unknown > SEEDS / 2);
}

/// What clients would see if members answered every read from what they have.
#[test]
fn reads_without_a_quorum_are_not_linearizable() {
    let found = (0..SEEDS).filter(|seed| {
        let (ending, _) = simulate(*seed, Reads::Serializable);
        ending != Ending::Clean
    });
    let found: Vec<_> = found.collect();
    println!("found in {} of {SEEDS} seeds", found.len());
    assert!(found.len() > 4);
}

const PUT_1: Op = Op::Put { key: 0, value: 1 };
const PUT_2: Op = Op::Put { key: 0, value: 2 };
const GET: Op = Op::Get { key: 0 };

/// Calls one after another; those without an answer may have happened, or may happen yet.
fn judged(calls: &[(Op, Option<Ret>)]) -> bool {
    let one_by_one = calls.iter().enumerate();
    let calls = one_by_one.map(|(at, (op, ret))| Call {
        op: *op,
        invoked: 2 * at,
        returned: ret.map(|ret| (2 * at + 1, ret)),
    });
    Linearizable::of(calls).is_consistent()
}

#[test]
fn a_write_without_an_answer_happens_once_or_never() {
    let got = |value| (GET, Some(Ret::Got(value)));
    let first = (PUT_1, Some(Ret::Done));
    let unknown = (PUT_2, None);
    assert!(judged(&[first, unknown, got(Some(1)), got(Some(1))]));
    assert!(judged(&[first, unknown, got(Some(1)), got(Some(2))]));
    assert!(judged(&[unknown, first, got(Some(2)), got(Some(2))]));
    assert!(!judged(&[first, unknown, got(Some(2)), got(Some(1))]));
    assert!(!judged(&[first, got(Some(2)), unknown]));
    let back = (PUT_1, Some(Ret::Done));
    let seen = [first, unknown, got(Some(2)), back];
    assert!(judged(&seen) && !judged(&[&seen[..], &[got(Some(2))]].concat()));
}

#[test]
fn a_stale_read_or_a_swap_of_what_is_not_there_is_found() {
    let first = (PUT_1, Some(Ret::Done));
    let second = (PUT_2, Some(Ret::Done));
    let got = |value| (GET, Some(Ret::Got(value)));
    assert!(judged(&[got(None), first, second, got(Some(2))]));
    assert!(!judged(&[first, second, got(Some(1))]));
    let swap = |ret| {
        let op = Op::Swap {
            key: 0,
            from: Some(1),
            to: 3,
        };
        (op, Some(ret))
    };
    assert!(judged(&[first, swap(Ret::Done), got(Some(3))]));
    assert!(!judged(&[second, swap(Ret::Done)]));
    assert!(judged(&[second, swap(Ret::Got(Some(2)))]));
    assert!(!judged(&[first, swap(Ret::Got(Some(1)))]));
}
