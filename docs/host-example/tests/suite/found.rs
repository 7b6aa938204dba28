//! Each mistake is found with the scenario as it is, and shrunk.

use std::future::Future;

use kube::Client;
use shop_operator::{Error, halfway, intermediate, stale};
use wavetank_host::wavetank::engine::trace::{Line, TraceWhat};
use wavetank_host::wavetank::engine::{Action, Fault};
use wavetank_host::wavetank::replay::{in_words, story};
use wavetank_host::wavetank::shrink::{Effort, shrink};
use wavetank_host::wavetank::sweep::{Sweep, Unwatched};
use wavetank_host::wavetank::trace_file;

use crate::cluster;

/// So many seeds are tried, from the first one given on.
const SEEDS: u64 = 20;
/// So many simulations a trace is shrunk by.
const ATTEMPTS: u64 = 75;
/// So many faults, operations and choices other than usual there are left. That everybody starts is none of them.
const LEFT: u64 = 8;

/// Shrunk, the trace tells `told` in its story.
fn found<F>(
    first: u64,
    property: &str,
    told: &str,
    run: impl Fn(Client, String) -> F + Send + Sync + 'static,
) where
    F: Future<Output = Result<(), Error>> + 'static,
{
    let case = cluster::command(run).fixed("tests/shops.yaml");
    let out = std::env::temp_dir().join(format!("shops-{}-{}", std::process::id(), told.len()));
    let sweep = Sweep::new(case.as_ref(), first..first + SEEDS, &out);
    let swept = sweep.run(&Unwatched).expect("it can run");
    let found = &swept.candidates.first().expect("it is found").first;
    let words = in_words(&found.violation);
    assert_eq!(found.violation.property, property, "{words}");
    let trace = trace_file::read(found.trace.as_ref().expect("it is written"));
    let trace = trace.expect("it can be read");
    let effort = Effort {
        attempts: ATTEMPTS,
        ..Effort::default()
    };
    let shrunk = shrink(case.as_ref(), &trace, effort).expect("its plan shows it");
    let story = story(case.as_ref(), &shrunk.trace).expect("it is replayed");
    std::fs::remove_dir_all(&out).expect("it was made");
    let started = shrunk
        .trace
        .lines
        .iter()
        .filter(|line| is_start(line))
        .count() as u64;
    let left = shrunk.after.actions - started + shrunk.after.choices;
    assert!(left <= LEFT, "{:?} with {started} starts", shrunk.after);
    let words = in_words(&shrunk.trace.end().violation.clone().expect("it shows it"));
    let whole = format!("{words}\n{}", story.join("\n"));
    assert!(whole.contains(told), "{whole}");
}

fn is_start(line: &Line) -> bool {
    let Line::Event(event) = line else {
        return false;
    };
    matches!(
        &event.what,
        TraceWhat::Act(Action::Fault(Fault::Start { .. }))
    )
}

#[test]
fn who_trusts_what_it_sees_after_a_restart_is_found() {
    found(
        0,
        "parts-stay",
        "/api/v1/namespaces/default/configmaps",
        stale::run,
    );
}

#[test]
fn who_does_not_come_back_to_what_a_crash_cut_off_is_found() {
    found(2, "shops-are-complete", "has no theme", halfway::run);
}

#[test]
fn who_must_see_every_edition_is_found() {
    found(
        0,
        "shops-are-complete",
        "has no edition-",
        intermediate::run,
    );
}
