//! Is the comparison with the naive search worth anything? The checker itself is changed, in one place at a
//! time: an answer that a remembered step depended on is not looked at, a part of the state is left out of
//! digests, a bound is forgotten. Each change has to be noticed on one of the first random worlds.
//!
//! The places are compiled in with a feature that nothing else has:
//! `cargo test -p wavetank-models --features mutants --test mutants`.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use wavetank_engine::mutant;
use wavetank_models::soundness::{Kind, Worlds};

/// So many worlds at most are looked at for each.
const WORLDS: u64 = 500;

/// What a remembered step depends on, and what it does.
const MEMORY: &[&str] = &[
    "question: ends",
    "question: heard",
    "question: under way",
    "question: connections of",
    "question: connections to",
    "question: connection",
    "question: next connection",
    "question: entry",
    "question: timers",
    "question: now",
    "edit: enqueue",
    "edit: cancel",
    "edit: cancel all",
    "edit: land",
    "edit: fly",
    "edit: hear",
    "edit: park",
    "edit: unpark",
    "memory: instants",
    "memory: links",
    "memory: frame",
    "memory: choice",
    "memory: spoiled",
    "memory: dialed",
    "memory: over",
    "memory: notes",
    "memory: struck",
    "memory: ends",
];

/// What a state is told apart by.
const DIGESTS: &[&str] = &[
    "digest: type",
    "digest: stale",
    "digest: instants",
    "digest: when",
    "digest: frames",
    "digest: arrivals",
    "digest: heard",
    "digest: phase",
    "digest: links",
    "digest: next connection",
    "digest: first process",
    "digest: properties",
    "digest: entries",
    "digest: connections",
    "node: deviations",
    "node: faults",
    "node: planned",
    "node: now",
    "seen: short",
];

/// The same, within a process, a routine, a connection.
const PARTS: &[&str] = &[
    "Slot: incarnation",
    "Slot: status",
    "Slot: stopping",
    "Slot: paused",
    "Slot: clock",
    "Slot: process",
    "Slot: memory",
    "Slot: routines",
    "Slot: calls",
    "Slot: next_call",
    "Clock: rate_ppm",
    "Clock: ahead",
    "Memory: cells",
    "Memory: raised",
    "Memory: buffers",
    "Buffer: closed",
    "Buffer: items",
    "Routine: log",
    "Routine: serving",
    "Routine: descheduled",
    "Routine: inbox",
    "Ends: open",
    "Ends: server_end",
    "Ends: client_end",
    "Ends: dead",
    "Ends: backlog",
    "Ends: inbound",
    "Ends: pinging",
    "Inbound: unacknowledged",
    "StreamState: parts",
    "StreamState: taken",
];

/// How far is searched, in which way, and how states recover.
const SEARCH: &[&str] = &[
    "bounds: late",
    "bounds: plan",
    "bounds: horizon",
    "bounds: deadline",
    "bounds: choice",
    "bounds: at most",
    "bounds: once",
    "bounds: deviations",
    "bounds: free",
    "livelock",
    "reduction: way",
    "reduction: budgets",
    "reduction: cuts",
    "reduction: now",
    "reduction: grain",
    "recovery: now",
    "recovery: until",
    "recovery: stopping",
    "recovery: stopped",
    "recovery: instants",
    "recovery: start",
    "recovery: ends",
    "recovery: calm",
    "recovery: short",
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

/// The first world that shows it, and how.
fn noticed(mutated: &'static str) -> Option<(u64, BTreeSet<Kind>)> {
    mutant::with(Some(mutated), || {
        let more = |number: u64| {
            let kinds = &disagreements(number) - known(number);
            (!kinds.is_empty()).then_some((number, kinds))
        };
        (0..WORLDS).find_map(more)
    })
}

fn each_is_noticed(mutants: &'static [&'static str]) {
    quietly();
    let mut survivors = Vec::new();
    for mutated in mutants {
        match noticed(mutated) {
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
