//! Campaigns: they go on from where they were killed, find what is to be found, and say what is wrong with what they are given.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::yield_now;

use serde_json::Value as Json;
use wavetank::case::{Case as _, run_seed};
use wavetank_engine::drive::{Limits, Run, Turned, places};
use wavetank_engine::trace::{Line, Record};
use wavetank_engine::{ProcId, Time};

use crate::support::table::Table;
use crate::support::{Done, files, game, game_command, scratch, wavetank};

fn campaign(dir: &Path, args: &[&str]) -> Done {
    let command = ["campaign", "clumsy", "ping-pong", "idle"];
    game(dir, &[&command[..], args].concat())
}

/// Everything that a campaign has left.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for folder in ["", "traces"] {
        for name in files(&dir.join(folder)) {
            let path = dir.join(folder).join(&name);
            if path.is_file() {
                let bytes = fs::read(&path).expect("it is listed");
                all.insert(format!("{folder}/{name}"), bytes);
            }
        }
    }
    all
}

fn log(dir: &Path) -> String {
    fs::read_to_string(dir.join("campaign.jsonl")).unwrap_or_default()
}

#[test]
fn a_campaign_goes_on_as_if_nobody_had_stopped_it() {
    let dir = scratch("campaign-goes-on");
    campaign(&dir, &["--state", "whole", "--batches", "24"]).expect(0, &["batches    24"]);
    let whole = contents(&dir.join("whole"));
    assert!(whole.len() > 2, "it found nothing: {:?}", whole.keys());
    for (batches, jobs) in [("3", "1"), ("11", "2"), ("24", "3")] {
        let args = ["--state", "parts", "--batches", batches, "--jobs", jobs];
        campaign(&dir, &args);
        // A kill may leave half a line.
        let begun = log(&dir.join("parts")) + "{\"leg\":\"clum";
        fs::write(dir.join("parts/campaign.jsonl"), begun).expect("it can be written");
    }
    campaign(&dir, &["--state", "parts", "--batches", "24"]).expect(0, &[]);
    assert!(contents(&dir.join("parts")) == whole, "they differ");
}

#[test]
fn a_campaign_outlives_a_kill() {
    let dir = scratch("campaign-killed");
    let state = dir.join("state");
    let mut command = game_command();
    command.current_dir(&dir).args(["campaign", "ping-pong"]);
    command.args(["--state", "state", "--for", "1h"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    while log(&state).lines().count() < 5 {
        yield_now();
    }
    child.kill().expect("it runs");
    child.wait().expect("it has ended");
    let until = (log(&state).lines().count() + 3).to_string();
    let go_on = |state: &str| {
        let args = ["campaign", "ping-pong", "--state", state];
        game(&dir, &[&args[..], &["--batches", &until]].concat()).expect(0, &[]);
    };
    go_on("state");
    go_on("at-once");
    assert_eq!(log(&state), log(&dir.join("at-once")));
}

/// A storm in which two mistakes show soon.
const SHORT: &str = "
name: short
about: Apiservers stop, and their addresses go.
topology: {etcd: 1, apiservers: 2, clients: 1}
options: {endpoint-reconciler-type: lease, shutdown-delay: [0s]}
storm: 20s
calm: 60s
faults:
  stop: {max: 3, lasts: 2s..10s, gone: 0.3}
  crash: {max: 2, lasts: 1s..10s}
";

#[test]
fn defects_are_found_and_what_is_fixed_is_clean() {
    let dir = scratch("campaign-defects");
    fs::write(dir.join("short.yaml"), SHORT).expect("a folder of its own");
    let run = |batches: &str| -> Done {
        let mut command = wavetank();
        command.current_dir(&dir).args(["campaign", "short.yaml"]);
        command.args(["--state", "state", "--format", "json", "--batches", batches]);
        command.output().expect("it starts").into()
    };
    // Not each leg has had its turn.
    run("2").expect(4, &[]);
    let done = run("20").expect(0, &[]);
    let report: Json = serde_json::from_str(&done.stdout).expect("a report");
    let legs = report["legs"].as_array().expect("legs");
    let found = legs.iter().filter(|leg| leg["is-found"] == true);
    let found: Vec<&str> = found.filter_map(|leg| leg["defect"].as_str()).collect();
    assert!(found.contains(&"last-apiserver-keeps-address"), "{found:?}");
    for leg in legs {
        let name = leg["leg"].as_str().expect("a name");
        let violations = leg["violations"].as_array().expect("a list");
        if name.ends_with("fixed") {
            assert!(violations.is_empty(), "{name}: {violations:?}");
        }
        let is_over = leg["is-found"] == true;
        let batches = log(&dir.join("state"));
        let own = format!("\"leg\":\"{name}\"");
        let own = batches.lines().filter(|line| line.contains(&own)).count();
        assert!(!is_over || own < 20, "{name} goes on for {own} batches");
    }
    let page = fs::read_to_string(dir.join("state/index.html")).expect("a page");
    for trace in files(&dir.join("state/traces")) {
        assert!(page.contains(&format!("traces/{trace}")), "no {trace}");
        let mut replay = wavetank();
        replay
            .arg("replay")
            .arg(dir.join("state/traces").join(trace));
        let replayed: Done = replay.output().expect("it starts").into();
        replayed.expect(1, &["events match", "violation of"]);
    }
}

/// What happened in a run, line by line, with when it did.
fn lines(turns: &[(Time, u64)]) -> Vec<(Time, String)> {
    let case = Table::new("ping-pong", &[]);
    let options = case.derive(3);
    let world = case.world(&options).expect("its own options");
    let choices = Turned::new(
        3,
        turns.iter().copied(),
        &world,
        case.fault_schedule(&options),
    );
    let limits = Limits::until(case.until(&options));
    let outcome = Run::new(world, choices, limits, Record::default()).finish();
    let name = |process: ProcId| outcome.world.name(process).to_owned();
    let lines = outcome.record.lines(&name, outcome.end());
    let event = |line: Line| match line {
        Line::Event(event) => Some((event.at, format!("{event:?}"))),
        _ => None,
    };
    lines.filter_map(event).collect()
}

#[test]
fn until_it_turns_a_seed_is_the_seed() {
    let straight = lines(&[]);
    let seeded = run_seed(&Table::new("ping-pong", &[]), 3, None, Record::default());
    assert_eq!(straight.len() as u64, seeded.tallies.events);
    let at = Time::from_nanos(5_000_000_000);
    let turned = lines(&[(at, 77)]);
    let before = |lines: &[(Time, String)]| -> Vec<String> {
        // A delay of an event before it may be drawn at that moment.
        let before = lines.iter().take_while(|(when, _)| *when < at);
        before.map(|(_, line)| line.clone()).collect()
    };
    assert!(before(&straight).len() > 20);
    assert_eq!(before(&straight), before(&turned));
    assert_ne!(straight, turned);
    assert_eq!(turned, lines(&[(at, 77)]));
    let later = Time::from_nanos(8_000_000_000);
    assert_ne!(turned, lines(&[(at, 77), (later, 78)]));
}

#[test]
fn a_run_reaches_places_of_its_own() {
    let case = Table::new("ping-pong", &[]);
    let of = |seed| {
        let outcome = run_seed(&case, seed, None, Record::default());
        places(&outcome.record, &outcome.world)
    };
    assert_eq!(of(1), of(1));
    let one = of(1);
    let all: BTreeSet<u64> = (0..20).flat_map(of).collect();
    assert!(one.len() > 10 && all.is_superset(&one));
    assert!(all.len() > one.len(), "one seed reaches all there is");
    // How often something happens does not count: places are few beside events.
    assert!(all.len() < 1_000, "{}", all.len());
}

#[test]
fn what_a_campaign_cannot_do_it_says() {
    let dir = scratch("campaign-refused");
    let refused = |args: &[&str], told: &str| {
        game(&dir, &[&["campaign"], args].concat()).expect(2, &[told]);
    };
    refused(&["--state", "a"], "say how long it is to take with --for");
    refused(&["pingpong", "--state", "a", "--batches", "1"], "ping-pong");
    game(
        &dir,
        &["campaign", "idle", "--state", "a", "--batches", "1"],
    );
    refused(
        &["ping-pong", "--state", "a", "--batches", "1"],
        "is of another campaign: it is of other scenarios; name another folder with --state",
    );
    refused(
        &["idle", "--state", "a", "--batches", "1", "--seed", "7"],
        "its seeds begin at 0, and not at 7",
    );
    let spoilt = log(&dir.join("a")) + "{}\n";
    fs::write(dir.join("a/campaign.jsonl"), spoilt).expect("it can be written");
    refused(
        &["idle", "--state", "a", "--batches", "3"],
        "campaign.jsonl:3: not what a batch leaves: missing field `leg`",
    );
    fs::write(dir.join("file"), "").expect("it can be written");
    refused(
        &["idle", "--state", "file", "--batches", "1"],
        "cannot write into `file`",
    );
}
