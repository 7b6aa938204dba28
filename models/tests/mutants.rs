//! Is the comparison with the naive search worth anything? The checker itself is changed, in one place at a
//! time: an answer that a remembered step depended on is not looked at, a part of the state is left out of
//! digests, a bound is forgotten. Each change has to be noticed on one of the first random worlds.
//!
//! The places are compiled in with a feature that nothing else has:
//! `cargo test -p wavetank-models --features mutants --test mutants`.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use wavetank_engine::mutant;
use wavetank_models::soundness::description::Description;
use wavetank_models::soundness::{Kind, Worlds, compare};

#[path = "suite/worlds.rs"]
#[allow(dead_code, reason = "the suite looks at more of them")]
mod worlds;

/// A mutant, and the first world on which it was noticed: the one that is looked at first.
type Mutant = (&'static str, u64);

/// So many worlds at most are looked at for each.
const WORLDS: u64 = 500;

/// What a remembered step depends on, and what it does.
const MEMORY: &[Mutant] = &[
    ("question: ends", 1),
    ("question: heard", 1),
    ("question: under way", 12),
    ("question: connections of", 20),
    ("question: connections to", 101),
    ("question: connection", 47),
    ("question: next connection", 21),
    ("question: timers", 63),
    ("question: now", 134),
    ("edit: enqueue", 0),
    ("edit: cancel", 0),
    ("edit: cancel all", 0),
    ("edit: land", 0),
    ("edit: fly", 0),
    ("edit: hear", 0),
    ("edit: park", 8),
    ("edit: unpark", 37),
    ("memory: instants", 181),
    ("parts: lost", 181),
    ("memory: links", 21),
    ("memory: frame", 2),
    ("memory: choice", 0),
    ("memory: dialed", 0),
    ("memory: ends", 0),
    ("memory: over", 1),
    ("memory: notes", 10),
    ("memory: injected", 10),
];

/// What a state is told apart by.
const DIGESTS: &[Mutant] = &[
    ("digest: type", 48),
    ("digest: stale", 0),
    ("digest: instants", 181),
    ("digest: when", 5),
    ("digest: frames", 50),
    ("digest: arrivals", 18),
    ("digest: heard", 11),
    ("digest: next connection", 27),
    ("digest: first process", 0),
    ("digest: connections", 2),
    ("digest: entries", 5),
    ("digest: order", 13),
    ("digest: properties", 35),
    ("node: deviations", 9),
    ("node: faults", 8),
    ("node: planned", 22),
    ("node: now", 8),
    ("seen: short", 2),
];

/// The same, within a process, a routine, a connection.
const PARTS: &[Mutant] = &[
    ("Slot: incarnation", 21),
    ("Slot: status", 7),
    ("Slot: paused", 106),
    ("Slot: clock", 5),
    ("Slot: process", 11),
    ("Slot: memory", 5),
    ("Slot: routines", 0),
    ("Slot: calls", 117),
    ("Slot: next_call", 240),
    ("Slot: waiting", 53),
    ("Slot: locks", 246),
    ("Clock: rate_ppm", 5),
    ("Routine: log", 0),
    ("Routine: task", 5),
    ("Routine: descheduled", 11),
    ("Routine: cancelled", 221),
    ("Call: origin", 411),
];

/// How far is searched, in which way, and how states recover.
const SEARCH: &[Mutant] = &[
    ("bounds: late", 6),
    ("bounds: plan", 9),
    ("bounds: horizon", 1),
    ("bounds: choice", 46),
    ("bounds: at most", 1),
    ("bounds: once", 1),
    ("bounds: deviations", 9),
    ("bounds: free", 9),
    ("reduction: way", 3),
    ("recovery: short", 21),
    ("recovery: calm", 21),
    ("recovery: start", 277),
    ("recovery: ends", 277),
];

/// A world, and the mutant that it shows.
type Shown = (&'static str, fn() -> Description, Kind);

/// What the first random worlds do not show, or once was wrong: small worlds that were made for it.
const SHOWN: &[Shown] = &[
    ("digest: type", worlds::types, Kind::Digest),
    ("digest: order", worlds::parked, Kind::Digest),
    ("question: connections of", worlds::go_away, Kind::Verdict),
    ("livelock", worlds::circle, Kind::Verdict),
    ("livelock: open", worlds::circle_later, Kind::Verdict),
    ("livelock: left out", worlds::drawn, Kind::Verdict),
    ("recovery: now", worlds::ages, Kind::Recovery),
    ("recovery: instants", worlds::instants, Kind::Recovery),
    ("recovery: stopping", worlds::stopping, Kind::Recovery),
    ("recovery: stopped", worlds::stopped, Kind::Recovery),
    ("reduction: grain", worlds::race, Kind::Reduced),
    ("reduction: now", worlds::clock, Kind::Reduced),
];

fn quietly() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info
                .location()
                .is_none_or(|place| place.file().contains("tests"))
            {
                loud(info);
            }
        }));
    });
}

/// On what the two searches disagree on a world.
fn disagreements(number: u64) -> BTreeSet<Kind> {
    let compared = Worlds::default().compare(number);
    let all = compared
        .into_iter()
        .flat_map(|compared| compared.disagreements);
    all.map(|found| found.kind).collect()
}

/// On what they disagree without any mutant: that the reduced search is empirical, and nothing else.
fn known(number: u64) -> &'static BTreeSet<Kind> {
    static KNOWN: [OnceLock<BTreeSet<Kind>>; WORLDS as usize] =
        [const { OnceLock::new() }; WORLDS as usize];
    KNOWN[number as usize].get_or_init(|| mutant::with(None, || disagreements(number)))
}

/// A world that shows it, and how.
fn noticed((mutated, world): Mutant) -> Option<(u64, BTreeSet<Kind>)> {
    mutant::with(Some(mutated), || {
        let more = |number: u64| {
            let kinds = &disagreements(number) - known(number);
            (!kinds.is_empty()).then_some((number, kinds))
        };
        std::iter::once(world).chain(0..WORLDS).find_map(more)
    })
}

fn each_is_noticed(mutants: &[Mutant]) {
    quietly();
    let mut survivors = Vec::new();
    for (mutated, world) in mutants {
        match noticed((mutated, *world)) {
            Some((number, kinds)) => println!("{mutated:<28} world {number:>3}: {kinds:?}"),
            None => survivors.push(mutated),
        }
    }
    assert!(survivors.is_empty(), "nothing notices {survivors:?}");
}

#[test]
fn what_is_left_out_of_the_memory_of_steps_is_noticed() {
    each_is_noticed(MEMORY);
}

#[test]
fn what_is_left_out_of_digests_is_noticed() {
    each_is_noticed(DIGESTS);
}

#[test]
fn what_is_left_out_of_the_digest_of_a_part_is_noticed() {
    each_is_noticed(PARTS);
}

#[test]
fn other_bounds_reductions_and_recoveries_are_noticed() {
    each_is_noticed(SEARCH);
}

#[test]
fn what_was_made_for_a_mutant_shows_it() {
    quietly();
    for (mutated, world, kind) in SHOWN {
        let kinds = |mutated| -> BTreeSet<Kind> {
            let compared = mutant::with(mutated, || compare(&world()));
            let all = compared.expect("it is small").disagreements;
            all.into_iter().map(|found| found.kind).collect()
        };
        assert_eq!(kinds(None), BTreeSet::new(), "{mutated}");
        let shown = kinds(Some(*mutated));
        assert!(shown.contains(kind), "{mutated}: {shown:?}");
        println!("{mutated:<28} {shown:?}");
    }
}
