//! One seed of the main scenario, one history: on one thread or two, in this process or another,
//! with routines that live on or that are rebuilt after every event.

use crate::support;

use std::fs;
use std::path::{Path, PathBuf};

use wavetank::case::{Case, run_seed};
use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::head::Head;
use wavetank::kube::Kube;
use wavetank::trace_file::Trace;
use wavetank_engine::drive::{Ending, Limits, Outcome};
use wavetank_engine::trace::Record;

use support::{Done, files, scratch, wavetank};

const SEEDS: &str = "0..50";

/// Sweeps in a process of its own; every trace is kept.
fn sweep(out: &Path, jobs: &str, flags: &[&str]) -> Vec<(String, Vec<u8>)> {
    let mut command = wavetank();
    command.args(["run", "kubernetes-endpoints", "--release", "v1.20"]);
    command.args(["--seeds", SEEDS, "--keep-going", "--all-traces"]);
    command.args(["--jobs", jobs, "--out"]).arg(out).args(flags);
    let done = Done::from(command.output().expect("it starts"));
    assert!(
        matches!(done.code, Some(0 | 1)),
        "{}{}",
        done.stdout,
        done.stderr
    );
    let read = |name: String| {
        let bytes = fs::read(out.join(&name)).expect("it was listed");
        (name, bytes)
    };
    files(out).into_iter().map(read).collect()
}

/// On one thread, on two, and on one again in another process.
fn three_times(name: &str, flags: &[&str]) -> Vec<(String, Vec<u8>)> {
    let out = |n: usize| -> PathBuf { scratch(&format!("determinism-{name}-{n}")) };
    let first = sweep(&out(1), "1", flags);
    for (n, jobs) in [(2, "2"), (3, "1")] {
        let again = sweep(&out(n), jobs, flags);
        assert_eq!(first.len(), again.len());
        for ((a, left), (b, right)) in first.iter().zip(&again) {
            assert_eq!(a, b);
            assert!(left == right, "{a} differs, with --jobs {jobs}");
        }
    }
    first
}

#[test]
fn clean_seeds_have_one_history() {
    let traces = three_times("fixed", &["--fixed"]);
    assert_eq!(traces.len(), 50, "a trace a seed");
}

#[test]
fn violations_have_one_history() {
    let traces = three_times("shipped", &[]);
    let violations = traces.iter().filter(|(name, _)| !name.contains("clean"));
    assert!(violations.count() > 0, "v1.20 has known bugs");
}

fn main_scenario(fixed: bool) -> Box<dyn Case> {
    let composition = Composition {
        release: Some("v1.20".to_owned()),
        fixed,
        ..Composition::default()
    };
    let opened = Kube::default().open("kubernetes-endpoints", &composition);
    opened.unwrap_or_else(|why| panic!("{why}"))
}

/// A run with other limits than usual.
fn run(case: &dyn Case, seed: u64, change: impl FnOnce(&mut Limits)) -> Outcome {
    let mut limits = Limits::until(case.until(&case.derive(seed)));
    change(&mut limits);
    run_seed(case, seed, Some(limits), Record::default())
}

fn bytes(case: &dyn Case, seed: u64, outcome: &Outcome) -> Vec<u8> {
    Trace::of(Head::new(case, seed, case.derive(seed)), outcome).to_bytes()
}

#[test]
fn rebuilt_routines_make_no_difference_to_the_control_plane() {
    for fixed in [true, false] {
        let case = main_scenario(fixed);
        let case = case.as_ref();
        for seed in 0..12 {
            let live = run(case, seed, |_| {});
            let rebuilt = run(case, seed, |limits| limits.rebuild = true);
            assert!(
                bytes(case, seed, &live) == bytes(case, seed, &rebuilt),
                "seed {seed}"
            );
            assert_eq!(live.world.rebuilt(), 0, "seed {seed}");
            let (times, events) = (rebuilt.world.rebuilt(), rebuilt.tallies.events);
            assert!(
                times > events / 4,
                "seed {seed}: {times} in {events} events"
            );
        }
    }
}

#[test]
fn cached_digests_are_never_stale() {
    let case = main_scenario(true);
    for seed in 0..4 {
        // The run itself compares them after every event.
        let outcome = run(case.as_ref(), seed, |limits| limits.check_digests = true);
        assert_eq!(outcome.ending, Ending::Clean, "seed {seed}");
    }
}
