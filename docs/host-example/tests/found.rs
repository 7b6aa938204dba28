//! Each mistake is found with the scenario as it is, and shrunk.

mod cluster;

use std::future::Future;

use kube::Client;
use shop_operator::{Error, halfway, intermediate, stale};
use wavetank_host::wavetank::replay::{in_words, story};
use wavetank_host::wavetank::shrink::{Effort, shrink};
use wavetank_host::wavetank::sweep::{Sweep, Unwatched};
use wavetank_host::wavetank::trace_file;

/// So many seeds are tried.
const SEEDS: u64 = 20;
/// So many simulations a trace is shrunk by.
const ATTEMPTS: u64 = 60;

/// Shrunk, the trace tells `told` in its story.
fn found<F>(property: &str, told: &str, run: impl Fn(Client, String) -> F + Send + Sync + 'static)
where
    F: Future<Output = Result<(), Error>> + 'static,
{
    let case = cluster::command(run).fixed("tests/shops.yaml");
    let out = std::env::temp_dir().join(format!("shops-{}-{}", std::process::id(), told.len()));
    let sweep = Sweep::new(case.as_ref(), 0..SEEDS, &out);
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
    let (before, after) = (shrunk.before.actions, shrunk.after.actions);
    assert!(after < before, "{after} of {before} faults and operations");
    let words = in_words(&shrunk.trace.end().violation.clone().expect("it shows it"));
    let whole = format!("{words}\n{}", story.join("\n"));
    assert!(whole.contains(told), "{whole}");
}

#[test]
fn who_trusts_what_it_sees_after_a_restart_is_found() {
    found(
        "parts-stay",
        "/api/v1/namespaces/default/configmaps",
        stale::run,
    );
}

#[test]
fn who_does_not_come_back_to_what_a_crash_cut_off_is_found() {
    found("shops-are-complete", "has no theme", halfway::run);
}

#[test]
fn who_must_see_every_edition_is_found() {
    found("shops-are-complete", "has no edition-", intermediate::run);
}
