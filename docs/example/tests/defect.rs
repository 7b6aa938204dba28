//! A violation and what can be done with it: found by a sweep, put to the test without the defect,
//! blamed, replayed from disk, told, made smaller.

use std::fs;
use std::path::{Path, PathBuf};

use wavetank::attribution::{Attribution, Depth, attribute};
use wavetank::case::Case;
use wavetank::replay::follow;
use wavetank::shrink::{Effort, shrink};
use wavetank::sweep::{Candidate, Ended, Sweep, Swept, Unwatched};
use wavetank::trace_file::{self, Trace};
use wavetank_engine::drive::replay::Fit;
use wavetank_engine::trace::FoundViolation;
use wavetank_example::Vaults;
use wavetank_example::case::NO_FENCING;

const BROKEN: Vaults = Vaults { no_fencing: true };
const GUARANTEE: &str = "tokens-never-go-back";

/// An empty folder of this test.
fn scratch(test: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    if dir.exists() {
        fs::remove_dir_all(&dir).expect("left from the last run");
    }
    dir
}

fn sweep(case: &Vaults, test: &str) -> Swept {
    let out = scratch(test);
    let sweep = Sweep::new(case, 0..32, &out);
    sweep.run(&Unwatched).expect("a folder that can be written")
}

/// What a sweep over the defect finds first, and its trace as it is on disk.
fn find(test: &str) -> (Candidate, Trace) {
    let swept = sweep(&BROKEN, test);
    assert_eq!(swept.ended, Ended::Violation);
    let found = swept.candidates.into_iter().next().expect("it ended so");
    let path = found.first.trace.as_ref().expect("written");
    let trace = trace_file::read(path).expect("whole");
    (found, trace)
}

/// The violation that a trace comes to when it is followed to its end, and how it is told.
fn replay(trace: &Trace, fit: Fit) -> (Option<FoundViolation>, Vec<String>) {
    let followed = follow(&BROKEN, trace, fit, None, &mut |_, _, _| {}).expect("it fits");
    let story = followed.story();
    (followed.violation, story)
}

fn blamed() -> Attribution {
    Attribution::Each(vec![NO_FENCING.to_owned()])
}

#[test]
fn every_property_is_put_to_the_test() {
    let swept = sweep(&Vaults::default(), "put-to-the-test");
    assert_eq!(swept.ended, Ended::AllSeeds);
    assert!(swept.untested().is_empty());
    for (name, total) in &swept.totals.properties {
        assert!(total.tested.seeds > 0, "{name}: {total:?}");
    }
    // Every kind of fault injected somewhere.
    assert!(swept.totals.injected.values().all(|count| count.seeds > 0));
}

#[test]
fn a_sweep_finds_the_violation_and_blames_the_defect() {
    let (found, trace) = find("found");
    assert_eq!(found.first.violation.property, GUARANTEE);
    assert_eq!(found.first.attribution, blamed());
    assert_eq!(
        attribute(&BROKEN, &trace, Depth::Each),
        blamed(),
        "the trace tells it, too"
    );
}

#[test]
fn the_trace_on_disk_replays_to_the_same_verdict() {
    let (found, trace) = find("replayed");
    assert_eq!(trace.head.identity, BROKEN.identity());
    // Strictly, as the build that wrote it must, and by names only, as any later build will.
    for fit in [Fit::Strict, Fit::ByName] {
        let (violation, story) = replay(&trace, fit);
        assert_eq!(violation.as_ref(), Some(&found.first.violation));
        let end = story.last().expect("something happened");
        assert!(
            end.contains("vault") && end.contains("stores"),
            "{story:#?}"
        );
    }
}

#[test]
fn without_the_defect_the_same_trace_does_not_fit() {
    let (_, trace) = find("fixed");
    let fixed = Vaults::default();
    assert!(follow(&fixed, &trace, Fit::Strict, None, &mut |_, _, _| {}).is_err());
}

#[test]
fn shrinking_keeps_the_violation() {
    let (found, trace) = find("shrunk");
    let small = shrink(&BROKEN, &trace, Effort::default()).expect("its plan shows it again");
    assert_eq!(small.attribution, blamed());
    assert!(small.after.events < small.before.events);
    assert!(small.after.actions < small.before.actions);
    assert_eq!(small.after.processes, 3, "two writers are enough");
    let (violation, story) = replay(&small.trace, Fit::Strict);
    let violation = violation.expect("it is what was kept");
    assert!(violation.is_like(&found.first.violation));
    assert!(story.len() < 25, "{story:#?}");
}
