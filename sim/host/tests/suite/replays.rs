//! A trace replays wherever it is read: what a program draws does not depend on what its process did before.
#![allow(
    clippy::disallowed_types,
    reason = "they are programs as people write them, and have hash maps"
)]

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use rand_0_8::Rng;
use wavetank_host::Operator;
use wavetank_host::wavetank;
use wavetank_host::wavetank::catalogue::Catalogue;
use wavetank_host::wavetank::engine::trace::Line;
use wavetank_host::wavetank::prelude::*;
use wavetank_host::wavetank::sweep::{Sweep, Unwatched};
use wavetank_host::wavetank::{replay, trace_file};

/// Where the trace is that the other process replays.
const TRACE: &str = "REPLAYED_TRACE";
const SEEDS: u64 = 3;

/// Whatever people make once for a whole program, at its first use.
static WORDS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| [("one", "two")].into());

/// Makes it when a world is built. Who runs seeds builds one before it starts the process of the first; who replays does
/// not.
struct Dictionary;

impl Component for Dictionary {
    fn name(&self) -> &'static str {
        "dictionary"
    }

    fn about(&self) -> &'static str {
        "words"
    }

    fn build(&self, _: &Setup, _: &mut Wiring) {
        assert_eq!(WORDS.get("one"), Some(&"two"));
    }
}

/// Asks for what it has drawn, by each way that there is, and backs off as kube did by `backoff` 0.4.
async fn draw(client: Client) {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    loop {
        let drawn = [
            rand_0_8::random::<u16>().into(),
            fastrand::u16(..).into(),
            ahash::RandomState::new().hash_one(1) % 0x1_0000,
            RandomState::new().hash_one(1) % 0x1_0000,
        ];
        let _ = maps
            .get_opt(&drawn.map(|drawn| format!("{drawn:x}")).join("-"))
            .await;
        let millis = rand_0_8::thread_rng().gen_range(400..1_200);
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }
}

fn command() -> wavetank::Command {
    let operator = Operator::new("programs", "prog", "a program", |client, _| draw(client));
    let operator = operator
        .uses::<ConfigMap>()
        .settles_within(Duration::from_secs(10));
    wavetank::command().with(operator).with(Dictionary)
}

/// Runs seeds of a scenario, and says where their traces are.
fn traces(scenario: &str, out: &Path) -> Vec<PathBuf> {
    let case = command().fixed(scenario);
    let mut sweep = Sweep::new(case.as_ref(), 0..SEEDS, out);
    sweep.all_traces = true;
    sweep.keep_going = true;
    sweep.run(&Unwatched).expect("it runs");
    let written = std::fs::read_dir(out).expect("there are traces");
    written.map(|entry| entry.expect("one").path()).collect()
}

/// Not a test of its own: what the other process does.
#[test]
fn replays_what_it_is_given() {
    let Some(path) = std::env::var_os(TRACE) else {
        return;
    };
    let trace = trace_file::read(Path::new(&path)).expect("a trace");
    let case = command().catalogue().reopen(&trace.head.identity);
    let case = case.expect("the same program has written it");
    replay::follow(
        case.as_ref(),
        &trace,
        trace.head.fit(),
        None,
        &mut |_, _, _| {},
    )
    .unwrap_or_else(|parted| panic!("{parted}"));
    println!("<<<followed>>>");
}

/// Its traces, each in a process of its own.
#[track_caller]
fn replays(scenario: &str, name: &str) -> Vec<PathBuf> {
    let out = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
    let traces = traces(scenario, &out);
    assert_eq!(traces.len() as u64, SEEDS);
    for trace in &traces {
        let me = std::env::current_exe().expect("this program");
        let mut child = Command::new(me);
        child.args([
            "--exact",
            "replays::replays_what_it_is_given",
            "--nocapture",
        ]);
        let child = child.env(TRACE, trace).output().expect("it runs");
        let (out, err) = (child.stdout, child.stderr);
        let said = String::from_utf8_lossy(&out);
        assert!(
            said.contains("<<<followed>>>"),
            "{}",
            String::from_utf8_lossy(&err)
        );
    }
    traces
}

#[test]
fn a_trace_replays_in_a_fresh_process() {
    // Here somebody has used ahash already.
    let _ = ahash::RandomState::new();
    let traces = replays("tests/program.yaml", "replays");
    let _ = std::fs::remove_dir_all(traces[0].parent().expect("its folder"));
}

/// A program that is told something cannot be copied before, in case it refuses.
#[test]
fn a_trace_with_the_patterns_of_sieve_replays() {
    let traces = replays("tests/patterns.yaml", "patterns");
    for pattern in ["intermediate-state", "stale-state", "unobserved-state"] {
        let tells = |trace: &PathBuf| {
            let trace = trace_file::read(trace).expect("a trace");
            trace.lines.iter().any(|line| match line {
                Line::Event(event) => event.what.to_string().contains(pattern),
                _ => false,
            })
        };
        assert!(traces.iter().any(tells), "none has {pattern}");
    }
    let _ = std::fs::remove_dir_all(traces[0].parent().expect("its folder"));
}
