//! A handful of mutants, tried as `wavetank mutants` tries all: some are noticed by a storm, a scope or a transcript; one is
//! not reached where it is tried, and none is on without being asked for.

use std::process::Command;

use serde_json::Value as Json;

/// What the command reports about these mutants in these targets, and how it ends.
fn tried(only: &[&str], within: &str) -> (Json, Option<i32>) {
    let only = only.iter().flat_map(|name| ["--only", name]);
    let output = Command::new(env!("CARGO_BIN_EXE_wavetank"))
        .args([
            "mutants", "--seeds", "20", "--in", within, "--format", "json",
        ])
        .args(only)
        .output()
        .expect("it runs");
    let report = serde_json::from_slice(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    (
        report.unwrap_or_else(|why| panic!("{why}: {error}")),
        output.status.code(),
    )
}

fn outcomes(report: &Json) -> Vec<(&str, &str)> {
    let rows = report["rows"].as_array().expect("there are rows");
    rows.iter()
        .map(|row| {
            (
                row["name"].as_str().unwrap_or(""),
                row["outcome"].as_str().unwrap_or(""),
            )
        })
        .collect()
}

#[test]
fn a_storm_notices_some() {
    let (report, code) = tried(&["vote-without-log", "compacted-is-served"], "etcd-storm");
    let noticed = [
        ("compacted-is-served", "noticed"),
        ("vote-without-log", "noticed"),
    ];
    let mut outcomes = outcomes(&report);
    outcomes.sort_unstable();
    assert_eq!(outcomes, noticed, "{report:#}");
    assert_eq!(code, Some(0));
}

/// One mutant in one target comes to this, and the command ends so.
fn is_told(mutant: &str, within: &str, outcome: &str, ends: i32) {
    let (report, code) = tried(&[mutant], within);
    assert_eq!(outcomes(&report), [(mutant, outcome)], "{report:#}");
    assert_eq!(code, Some(ends));
}

#[test]
fn what_was_said_of_the_past_and_of_deletions_is_held() {
    is_told("compacts-the-present", "watch-storm v1.36", "noticed", 0);
    is_told("instances-stay", "crd-storm v1.36", "noticed", 0);
}

#[test]
fn a_recording_of_controllers_notices_one() {
    is_told("surge-is-ignored", "c-deployment", "noticed", 0);
}

#[test]
fn a_scope_notices_one() {
    is_told("lease-is-not-removed", "lease-endpoints", "noticed", 0);
}

#[test]
fn a_transcript_notices_one() {
    is_told("merge-patch-keeps-null", "transcript", "noticed", 0);
}

#[test]
fn what_is_not_reached_is_told_apart() {
    is_told(
        "ttl-is-not-waited-for",
        "etcd-transaction",
        "not-reached",
        1,
    );
}
