//! What each event follows from, in storms with every kind of fault; and that to observe changes nothing.

use std::collections::BTreeMap;

use crate::common;

use common::{END, Flaw, lines, simulate, world};
use wavetank_engine::drive::Limits;
use wavetank_engine::drive::causes::{Because, Causes};
use wavetank_engine::drive::replay::{Fit, Replay, Replayed};
use wavetank_engine::trace::{Line, TraceEvent, TraceWhat};

/// An event of a run, with the process at which it happens.
struct Seen {
    event: TraceEvent,
    process: Option<String>,
}

impl Seen {
    fn name(&self) -> String {
        self.event.what.to_string()
    }
}

/// A run under this seed, replayed and observed: the replay compares each digest.
fn observed(seed: u64) -> (Causes, Vec<Seen>) {
    let outcome = simulate(world(3, false, Flaw::None), seed, Limits::until(END));
    let mut replay = Replay::new(world(3, false, Flaw::None), Fit::Strict)
        .in_order()
        .observed();
    let (mut causes, mut seen) = (Causes::default(), Vec::new());
    let mut digests = 0;
    for line in lines(&outcome) {
        let replayed = replay
            .follow(&line)
            .unwrap_or_else(|parting| panic!("{parting}"));
        match (replayed, line) {
            (Replayed::Event { entry, report }, Line::Event(event)) => {
                causes.add(replay.world(), &event, entry.as_ref(), &report);
                let process = entry.map(|entry| replay.world().name(entry.process).to_owned());
                seen.push(Seen { event, process });
            }
            (Replayed::Digest, _) => digests += 1,
            _ => {}
        }
    }
    assert!(digests > 0, "seed {seed}");
    (causes, seen)
}

/// Who sends a frame, by the name of its arrival.
fn sender(name: &str) -> Option<String> {
    let (verb, rest) = name.split_once(' ')?;
    let (life, server) = rest.split_once(' ')?;
    let client = life.split(['/', ':']).next()?.rsplit_once('.')?.0;
    match verb {
        "open" | "request" | "cancel" | "part" | "window" | "cast" | "ping" => {
            Some(client.to_owned())
        }
        "accept" | "refuse" | "answer" | "push" | "pong" | "go-away" => Some(server.to_owned()),
        _ => None,
    }
}

#[test]
fn a_frame_follows_from_the_event_that_sent_it() {
    let (mut frames, mut exact) = (0, 0);
    for seed in 0..25 {
        let (causes, seen) = observed(seed);
        let mut left: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for (at, own) in seen.iter().enumerate() {
            let name = own.name();
            let Some(sent_by) = sender(&name) else {
                continue;
            };
            let before = causes.before(at).into_iter();
            let messages = before.filter(|(_, because)| *because == Because::Message);
            let messages: Vec<usize> = messages.map(|(sent, _)| sent).collect();
            let [sent] = messages.as_slice() else {
                panic!("seed {seed}: {name} was sent by {messages:?}")
            };
            // A fault at the sender may send, too: the machine of a process that crashes does.
            let by = seen[*sent].process.as_deref();
            assert!(
                by.is_none_or(|by| by == sent_by),
                "seed {seed}: {name} by {by:?}"
            );
            let delays = left
                .entry(*sent)
                .or_insert_with(|| seen[*sent].event.delays.clone());
            let took = own.event.at.nanos() - seen[*sent].event.at.nanos();
            let fitting = delays.iter().position(|delay| *delay == took);
            frames += 1;
            exact += u64::from(fitting.is_some());
            let fitting = fitting.or_else(|| delays.iter().position(|delay| *delay <= took));
            let fitting = fitting.unwrap_or_else(|| panic!("seed {seed}: {name} took {took}"));
            delays.remove(fitting);
        }
    }
    // The others are behind a slower one, or were held up.
    assert!(
        frames > 10_000 && exact * 10 > frames * 8,
        "{exact} of {frames}"
    );
}

#[test]
fn whatever_happens_inside_follows_from_something() {
    for seed in 0..10 {
        let (causes, seen) = observed(seed);
        assert_eq!(causes.len(), seen.len());
        for (at, own) in seen.iter().enumerate() {
            let before = causes.before(at);
            assert!(before.iter().all(|(cause, _)| *cause < at));
            match own.event.what {
                TraceWhat::Pending(_) | TraceWhat::Choice(..) => {
                    assert!(!before.is_empty(), "seed {seed}: {}", own.name());
                }
                TraceWhat::Act(_) | TraceWhat::Calm => {}
            }
        }
    }
}

#[test]
fn what_goes_on_follows_from_what_held_it_up() {
    let mut held_up = 0;
    for seed in 0..25 {
        let (causes, seen) = observed(seed);
        for (at, own) in seen.iter().enumerate() {
            let name = own.name();
            let before = causes.before(at);
            let of_faults = before
                .iter()
                .filter(|(_, because)| *because == Because::Fault);
            let faults: Vec<String> = of_faults.map(|(fault, _)| seen[*fault].name()).collect();
            if name.starts_with("act ") && name.contains("{\"resume\"") && !faults.is_empty() {
                assert!(
                    faults.iter().all(|fault| fault.contains("{\"pause\"")),
                    "{faults:?}"
                );
            }
            held_up += u64::from(faults.iter().any(|fault| fault.contains("{\"resume\"")));
        }
    }
    assert!(held_up > 50, "only {held_up}");
}
