//! `wavetank explain`: kept traces are explained as their snapshots have it, the graph is whole, and what cannot be
//! explained is refused.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value as Json;

use crate::support::{Done, game, root, scratch, violated, wavetank};

fn explain(trace: &str, more: &[&str]) -> Done {
    let path = root().join("snapshots/traces").join(trace);
    let mut command = wavetank();
    command.arg("explain").arg(path).args(more);
    command.output().expect("it starts").into()
}

/// The explanation of a kept trace is that of its snapshot.
fn is_explained(trace: &str, name: &str) {
    let done = explain(trace, &[]).expect(0, &[]);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("snapshots/explanations"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, done.stdout));
}

#[test]
fn an_explanation_names_the_read_that_came_too_early() {
    is_explained("finding-1-conflict-on-removal.trace", "conflict-on-removal");
}

#[test]
fn an_explanation_names_the_pause_and_the_lock_that_is_not_its_own() {
    is_explained(
        "finding-13-successor-loses-its-lock.trace",
        "successor-loses-its-lock",
    );
}

/// Without the key that is deleted while somebody else is told that all is done, the cause would be left out.
#[test]
fn what_nobody_has_heard_of_is_told_too() {
    let done = explain("finding-9-service-is-made-anew.trace", &[]);
    done.expect(
        0,
        &[
            "has a wrong reference",
            "deletes /registry/ipaddresses/10.96.0.5",
        ],
    );
}

/// From the crash on every future violates, and none did before: the same on one thread as on all.
#[test]
fn a_crash_is_where_it_was_lost() {
    let trace = "k-k-22609-master-count.trace";
    let more = ["--futures", "6", "--simulations", "240"];
    let told = [
        "futures: 6 from each point",
        "fault a3 crashes (0% before, 100% after)",
    ];
    let all = explain(trace, &more).expect(0, &told);
    let mut one = wavetank();
    one.env("RAYON_NUM_THREADS", "1").arg("explain").args(more);
    let one = one
        .arg(root().join("snapshots/traces").join(trace))
        .output();
    assert_eq!(Done::from(one.expect("it starts")).stdout, all.stdout);
    // With less the search ends before it knows.
    let less = ["--futures", "6", "--simulations", "20"];
    let told = [
        "18 simulations",
        "lost here   between",
        "more --simulations tell where",
    ];
    explain(trace, &less).expect(0, &told);
    explain(trace, &["--futures", "0"]).expect(2, &["0 is not in 1.."]);
}

/// One of two that can be spared may stand in for the other.
#[test]
fn faults_are_spared_one_by_one_and_all_at_once() {
    let done = explain("finding-14-deadline-from-the-answer.trace", &[]);
    let told = [
        ": needed",
        ": not needed",
        "all that are not needed can be left out at once",
    ];
    let done = done.expect(0, &told);
    assert_eq!(done.stdout.matches(": not needed").count(), 2);
    // Nobody has asked.
    let some = explain(
        "finding-14-deadline-from-the-answer.trace",
        &["--attempts", "0"],
    );
    let some = some.expect(0, &[": the violation follows from it"]);
    assert!(!some.stdout.contains(": needed") && !some.stdout.contains("at once"));
}

fn lines(text: &str) -> Vec<Json> {
    let parsed = text.lines().map(serde_json::from_str);
    parsed.map(|line| line.expect("JSON")).collect()
}

fn number(event: &Json) -> u64 {
    event["event"].as_u64().expect("a number")
}

#[test]
fn the_slice_holds_all_that_its_events_follow_from() {
    let dir = scratch("explain-exports");
    let (dot, json) = (dir.join("slice.dot"), dir.join("slice.jsonl"));
    let (dot, json) = (dot.to_str().expect("UTF-8"), json.to_str().expect("UTF-8"));
    let more = ["--dot", dot, "--json-lines", json];
    explain("finding-13-successor-loses-its-lock.trace", &more).expect(0, &["story"]);
    let events = lines(&fs::read_to_string(json).expect("it is written"));
    let known: BTreeSet<u64> = events.iter().map(number).collect();
    assert_eq!(events.last().expect("there are some")["distance"], 0);
    let mut edges = 0;
    for event in &events {
        let because = event["because"].as_array().expect("a list");
        edges += because.len();
        for cause in because {
            let cause = number(cause);
            assert!(cause < number(event) && known.contains(&cause), "{event}");
        }
        let name = event["name"].as_str().expect("a name");
        assert_eq!(because.is_empty(), !follows(name), "{event}");
    }
    let told = || {
        events
            .iter()
            .flat_map(|event| event["told"].as_array())
            .flatten()
    };
    assert_eq!(told().filter(|told| told["step"].is_u64()).count(), 24);
    let mut released = told().filter(|told| told["function"] == "release");
    let line = released.next().expect("it gives up its lock")["line"].as_str();
    let file = "sim/client/src/leader_election/run.rs:";
    assert!(line.is_some_and(|line| line.starts_with(file)), "{line:?}");
    let dot = fs::read_to_string(dot).expect("it is written");
    assert!(dot.starts_with("digraph causes {") && dot.ends_with("}\n"));
    let nodes = dot.lines().filter(|line| line.contains("[label=\""));
    assert_eq!(nodes.count(), events.len());
    assert_eq!(dot.matches(" -> ").count(), edges);
    assert_eq!(dot.matches('{').count(), dot.matches('}').count());
}

/// What comes from outside follows from nothing, but for the end of a fault.
fn follows(name: &str) -> bool {
    !name.starts_with("act ") || name.contains("resume")
}

#[test]
fn an_observed_replay_is_the_same_to_the_last_digest() {
    let (dir, name) = violated("explain-game", "blind");
    let told = [
        "violation of",
        "blame       blind",
        "follows from",
        "no violation",
    ];
    let done = game(&dir, &["explain", &name]).expect(0, &told);
    assert_eq!(done.stdout, game(&dir, &["explain", &name]).stdout);
    // This build wrote it, so its digests are compared on the way.
    let text = fs::read_to_string(dir.join(&name)).expect("it is written");
    let digest = text.lines().find(|line| line.starts_with("# "));
    let digest = digest.expect("it has more than 64 events");
    let other = format!(
        "{} 0000000000000000",
        digest.rsplit_once(' ').expect("two words").0
    );
    fs::write(dir.join("other.trace"), text.replace(digest, &other)).expect("it can be written");
    game(&dir, &["explain", "other.trace"]).expect(3, &["no longer fits", "digest"]);
}

#[test]
fn what_cannot_be_explained_is_refused() {
    let dir = scratch("explain-refused");
    game(&dir, &["explain", "nothing.trace"]).expect(2, &["there is no such file"]);
    fs::write(dir.join("text.trace"), "hello\n").expect("it can be written");
    game(&dir, &["explain", "text.trace"]).expect(2, &["not a trace"]);
    let clean = [
        "run",
        "ping-pong",
        "--seed",
        "3",
        "--all-traces",
        "--out",
        ".",
    ];
    game(&dir, &clean).expect(0, &[]);
    let clean = ["explain", "ping-pong-clean-seed3.trace"];
    game(&dir, &clean).expect(2, &["nothing to explain"]);
    explain(
        "finding-1-conflict-on-removal.trace",
        &["--dot", "no/such/folder/x.dot"],
    )
    .expect(2, &["cannot write"]);
}
