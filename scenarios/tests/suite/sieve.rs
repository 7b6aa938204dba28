//! What Sieve does to controller managers, a line each in a scenario, and what the oracle that goes with it finds without a
//! property of any controller.

use std::fs;

use crate::support::planned::{shows_defect, shows_fix};
use crate::support::{run, scratch};

const SIEVE: &str = include_str!("../../sieve.yaml");
const END: &str = "controller-managers-end-alike";

#[test]
fn fix_look_again_for_claims() {
    shows_fix(SIEVE, 1..2, "fix-look-again-for-claims", END);
}

#[test]
fn virtual_owners_are_not_asked_for() {
    shows_defect(SIEVE, 1..2, "virtual-owners-are-not-asked-for", END);
}

#[test]
fn equal_revision_collides() {
    shows_defect(SIEVE, 9..10, "equal-revision-collides", END);
}

/// Else it would not be known what managers ask, and nothing be compared.
#[test]
fn the_oracle_needs_a_pattern() {
    let dir = scratch("sieve-without");
    let lines = SIEVE.lines();
    let lines: Vec<&str> = lines
        .filter(|line| !line.contains("-state: {every"))
        .collect();
    let text = lines.join("\n").replace("name: sieve", "name: own");
    fs::write(dir.join("own.yaml"), text).expect("a folder of our own");
    let texts = [
        "is about one of Sieve's patterns, and there is none",
        "add `controller-managers-intermediate-state: {every: 10s}` to `workload`",
    ];
    run(&dir, &["run", "own.yaml"]).expect(2, &texts);
}

/// The story of a run with this pattern, and no other.
fn told(pattern: &str) -> String {
    let dir = scratch(&format!("sieve-{pattern}"));
    let asks = |line: &&str| {
        let asked = line.trim().strip_prefix("controller-managers-");
        asked.is_none_or(|asked| asked.starts_with(pattern))
    };
    let lines: Vec<&str> = SIEVE.lines().filter(asks).collect();
    let text = lines.join("\n").replace("name: sieve", "name: own");
    fs::write(dir.join("own.yaml"), text).expect("a folder of our own");
    let one = ["run", "own.yaml", "--fixed", "--seed", "0", "--all-traces"];
    run(&dir, &one).expect(0, &["verdict: clean"]);
    let mut traces = fs::read_dir(dir.join("wavetank-out")).expect("a trace");
    let trace = traces.next().expect("a trace").expect("a trace").path();
    let trace = trace.to_str().expect("a path").to_owned();
    run(&dir, &["replay", "--story", &trace])
        .expect(0, &[])
        .stdout
}

#[test]
fn a_manager_ends_between_two_writes() {
    let told = told("intermediate-state");
    assert!(told.contains(
        "m1     ends before it hears that its POST /api/v1/namespaces/default/pods is done"
    ));
    assert!(!told.contains("is held back"));
}

#[test]
fn a_manager_ends_and_sees_the_past() {
    let told = told("stale-state");
    assert!(told.contains("m1     ends before it hears"));
    assert!(told.contains("a1     its cache of statefulsets.apps is held back"));
}

#[test]
fn a_manager_misses_what_was_in_between() {
    let told = told("unobserved-state");
    assert!(told.contains("m1     informer 0 is held back"));
    assert!(!told.contains("ends before it hears"));
}
