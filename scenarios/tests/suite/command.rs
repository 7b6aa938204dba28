//! The command: exit codes, bad input, forms of output, interruption.

use crate::support;

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use support::{Done, files, game, game_command, quiet_seed, root, scratch, wavetank};

#[test]
fn exit_codes_say_how_a_sweep_ended() {
    let dir = scratch("exit-codes");
    let run = |args: &[&str]| game(&dir, &[&["run", "--seeds", "0..40"], args].concat());
    run(&["ping-pong"]).expect(0, &["verdict: clean", "40 seeds (0..40)"]);
    run(&["ping-pong", "--defect", "blind"]).expect(1, &["VIOLATION", "verdict: violated"]);
    run(&["clumsy"]).expect(
        0,
        &["expected VIOLATION", "the expected violation was found"],
    );
    run(&["clumsy", "--fixed"]).expect(0, &["verdict: clean"]);
    run(&["clumsy", "--defect", "superstitious", "--keep-going"])
        .expect(1, &["VIOLATION of no-panic"]);
    run(&["idle"]).expect(4, &["`every-ball-is-hit-once` was never put to the test"]);
    run(&["ping-pong", "--require", "a-ball-was-lost"]).expect(0, &["verdict: clean"]);
    run(&["ping-pong", "--for", "0s"]).expect(4, &["the time was over after 0 of 40 seeds"]);
    let seed = quiet_seed();
    let one = |args: &[&str]| game(&dir, &[&["run", "--seed", &seed], args].concat());
    let texts = ["`a-ball-was-lost`, which is required, was never reached"];
    one(&["ping-pong", "--require", "a-ball-was-lost"]).expect(4, &texts);
    let texts = ["the expected violation of `every-ball-is-hit-once` was not found"];
    one(&["clumsy"]).expect(4, &texts);
    game(&dir, &["run", "ping-pong", "--for", "200ms"]).expect(0, &["seeds (0..)"]);
    let texts = ["the time was over before one seed was run"];
    game(&dir, &["run", "ping-pong", "--for", "0s"]).expect(4, &texts);
}

#[test]
fn bad_input_is_told_and_nothing_is_run() {
    let dir = scratch("bad-input");
    fs::write(dir.join("file"), "").expect("a folder of our own");
    let run = |args: &[&str], texts: &[&str]| {
        let done = game(&dir, &[&["run"], args].concat()).expect(2, texts);
        assert_eq!(done.stdout, "");
    };
    run(
        &["ping-pon"],
        &["there is no scenario `ping-pon`; did you mean `ping-pong`?"],
    );
    run(
        &["chess"],
        &["the bundled scenarios are: clumsy, idle, ping-pong"],
    );
    run(&["chess.yaml"], &["chess.yaml: there is no such file"]);
    run(&["./"], &["is a directory, not a file"]);
    run(&["ping-pong", "--seeds", "9..3"], &["the range is empty"]);
    run(
        &["ping-pong", "--seeds", "7"],
        &["a range has two ends: write `7..8`"],
    );
    run(&["ping-pong", "--seeds", "0..=3"], &["half open"]);
    run(
        &["ping-pong", "--seed", "12x"],
        &["a whole number in 64 bits or a commit hash"],
    );
    run(
        &["ping-pong", "--seed", "abc"],
        &["a commit hash has 7 to 40 digits"],
    );
    run(
        &["ping-pong", "--seed", "1", "--seeds", "0..2"],
        &["cannot be used with"],
    );
    run(&["ping-pong", "--for", "10"], &["a duration needs a unit"]);
    run(
        &["ping-pong", "--defect", "deaf"],
        &["there is no defect `deaf`"],
    );
    run(
        &["ping-pong", "--require", "a-bal-was-lost"],
        &["has no property `a-bal-was-lost`; did you mean `a-ball-was-lost`?"],
    );
    run(
        &["ping-pong", "--out", "file/out"],
        &["cannot write into `file/out`"],
    );
    game(&dir, &["fly"]).expect(2, &["unrecognized subcommand"]);
    assert_eq!(files(&dir), ["file"]);
}

/// A gigabyte of zeros in a megabyte.
#[test]
fn what_would_fill_the_memory_is_no_trace() {
    let dir = scratch("bomb");
    let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
    let zeros = vec![0; 1 << 20];
    for _ in 0..=1024 {
        bomb.write_all(&zeros).expect("memory");
    }
    let bomb = bomb.finish().expect("memory");
    fs::write(dir.join("bomb.trace.gz"), bomb).expect("a folder of our own");
    let texts = ["bomb.trace.gz: no trace: it has more than 1024 MiB"];
    game(&dir, &["replay", "bomb.trace.gz"]).expect(2, &texts);
}

#[test]
fn a_million_jobs_are_no_more_than_are_of_use() {
    let dir = scratch("jobs");
    let args = ["run", "ping-pong", "--seeds", "0..2", "--jobs", "1000000"];
    game(&dir, &args).expect(0, &["2 seeds (0..2)"]);
}

/// What was found is told, and that it is on no disk: the folder goes while the sweep runs.
#[test]
fn a_failure_that_cannot_be_written_is_told_and_is_an_error() {
    let dir = scratch("unwritten");
    let out = dir.join("out");
    fs::create_dir(&out).expect("a folder of our own");
    // A folder stands where the trace is to go.
    for seed in 0..100 {
        let taken = format!("ping-pong-every-ball-is-hit-once-seed{seed}.trace");
        fs::create_dir(out.join(taken)).expect("a folder of our own");
    }
    let args = ["run", "ping-pong", "--defect", "blind", "--seeds", "0..100"];
    let texts = [
        "VIOLATION of every-ball-is-hit-once",
        "cannot write the trace",
    ];
    game(&dir, &[&args[..], &["--out", "out"]].concat()).expect(2, &texts);
}

#[test]
fn the_explorer_says_when_its_port_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("bound").port();
    let explore = format!("--explore={port}");
    let done = wavetank()
        .args(["check", "lease-endpoints", &explore])
        .output();
    let texts = [
        &*format!("cannot serve at 127.0.0.1:{port}"),
        "choose another port",
    ];
    Done::from(done.expect("it starts")).expect(2, &texts);
}

/// Differences that are listed with their reasons are no failure. (All transcripts are replayed by the tests of the oracle.)
#[test]
fn conform_apiserver_is_clean_as_shipped() {
    let corpus = root().join("sim/oracle/corpus");
    let with_a_listed_one = corpus.join("03-finalizers-deletion.jsonl.gz");
    let all_alike = corpus.join("11-kubernetes-endpoints.jsonl.gz");
    let mut conform = wavetank();
    conform.args(["conform", "apiserver"]);
    let done = conform.args([with_a_listed_one, all_alike]).output();
    let done = Done::from(done.expect("it starts"));
    let done = done.expect(0, &["known-differences.txt lists, 0 more"]);
    assert!(
        done.stdout
            .lines()
            .last()
            .is_some_and(|line| line.starts_with("steps: "))
    );
}

#[test]
fn conform_apiserver_says_how_a_folder_is_named() {
    let folder = root().join("sim/oracle/corpus");
    let done = wavetank()
        .args(["conform", "apiserver"])
        .arg(&folder)
        .output();
    let right = format!("write --corpus {}", folder.display());
    Done::from(done.expect("it starts")).expect(2, &[&right]);
}

/// Where the tests are built as the command of every day is; what it says is tested beside it in each build.
#[cfg(not(feature = "real-etcd"))]
#[test]
fn conform_etcd_says_how_it_is_built() {
    let done = wavetank()
        .args(["conform", "etcd", "--operations", "7"])
        .output();
    let done = Done::from(done.expect("it starts"));
    let command = "cargo run --features real-etcd -- conform etcd --operations 7";
    done.expect(2, &["this build cannot speak to a real etcd", command]);
}

#[cfg(not(feature = "real-apiserver"))]
#[test]
fn conform_apiserver_live_says_how_it_is_built() {
    let live = ["conform", "apiserver", "--live", "--operations", "7"];
    let done = wavetank().args(live).output();
    let done = Done::from(done.expect("it starts"));
    let command =
        "cargo run --features real-apiserver -- conform apiserver --live --operations 7 --seed 0";
    done.expect(
        2,
        &["this build cannot speak to a real kube-apiserver", command],
    );
}

/// A transcript may be named, and what its head asks for is done or refused.
#[test]
fn conform_apiserver_refuses_a_flag_that_is_not_simulated() {
    let dir = scratch("flags");
    let path = dir.join("odd.jsonl");
    let head = r#"{"cluster":{"apiserver":"v1.36.2","etcd":"3.6.13","flags":{"watch-cache-sizes":"pods#1"}}}"#;
    std::fs::write(&path, head).expect("a file");
    let done = wavetank()
        .args(["conform", "apiserver"])
        .arg(&path)
        .output();
    let done = Done::from(done.expect("it starts"));
    done.expect(
        2,
        &["odd.jsonl:1: `--watch-cache-sizes=pods#1`: this flag is not simulated"],
    );
}

#[test]
fn a_commit_hash_is_a_seed() {
    let dir = scratch("hash");
    let hash = "ffffffffffffffffe83c5163316f89bfbde7d9ab";
    game(&dir, &["run", "ping-pong", "--seed", hash]).expect(0, &["1 seed (18446744073709551615)"]);
}

#[test]
fn the_json_form_is_stable() {
    let dir = scratch("json");
    let args = [
        "run",
        "ping-pong",
        "--defect",
        "blind",
        "--defect",
        "renumbers",
    ];
    let more = ["--seeds", "0..100", "--keep-going", "--format", "json"];
    let done = game(&dir, &[args.as_slice(), &more].concat()).expect(1, &[]);
    let mut json: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
    json["build"] = "(build)".into();
    for figure in [
        "real-seconds",
        "simulated-per-real-second",
        "events-per-real-second",
    ] {
        assert!(json["totals"][figure].as_f64().expect("a number") > 0.0);
        json["totals"][figure] = "(real time)".into();
    }
    let violations = json["violations"].as_array_mut().expect("a list");
    for violation in violations {
        let replay = violation["replay"].as_str().expect("a text");
        assert!(
            replay.contains(" replay wavetank-out/ping-pong-"),
            "{replay}"
        );
        violation["replay"] = "(command)".into();
    }
    snapshot("run-json", &format!("{json:#}"));
    let listed = game(&dir, &["list", "scenarios", "--format", "json"]).expect(0, &[]);
    snapshot("list-json", &listed.stdout);
}

#[test]
fn the_report_reads_well() {
    let dir = scratch("report");
    let done = game(
        &dir,
        &["run", "ping-pong", "--defect", "blind", "--seeds", "0..100"],
    );
    let (first, rest) = done.stdout.split_once('\n').expect("lines");
    assert!(first.starts_with("ping-pong: "), "{first}");
    let replay = rest
        .lines()
        .find(|line| line.trim_start().starts_with("replay"))
        .expect("it");
    snapshot(
        "run-human",
        &rest.replace(replay, "  replay      (command)"),
    );
}

#[test]
fn help_and_version_are_results() {
    let say = |args: &[&str]| Done::from(wavetank().args(args).output().expect("it starts"));
    let help = say(&["--help"]).expect(0, &["Exit codes:", "Simulate a scenario under many seeds"]);
    assert_eq!(help.stderr, "");
    say(&["--version"]).expect(0, &["wavetank 0.1.0 (build 0.1.0+"]);
    say(&["schema"]).expect(0, &["\"$schema\""]);
    say(&[]).expect(2, &["Usage:"]);
}

/// A sweep without end is interrupted: what was found stays found.
#[cfg(unix)]
#[test]
#[allow(clippy::disallowed_methods, reason = "waits for another process")]
fn an_interrupted_sweep_loses_nothing() {
    let interrupt = |out: &Path, args: &[&str]| -> Done {
        let child = game_command()
            .args(["run", "ping-pong", "--for", "1h", "--out"])
            .arg(out)
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut patience = 6_000;
        while !files(out).iter().any(|name| name.ends_with(".trace")) {
            std::thread::sleep(Duration::from_millis(5));
            patience -= 1;
            assert!(patience > 0, "it writes no trace");
        }
        let kill = format!("kill -INT {}", child.id());
        let killed = Command::new("sh").args(["-c", &kill]).status();
        assert!(killed.expect("a shell").success());
        child.wait_with_output().expect("it ends").into()
    };
    let texts = ["interrupted, nothing found", "every-ball-is-hit-once"];
    interrupt(&scratch("interrupted-clean"), &["--all-traces"]).expect(130, &texts);
    let dir = scratch("interrupted");
    let texts = ["VIOLATION", "blame       blind", "verdict: violated"];
    interrupt(&dir, &["--defect", "blind", "--keep-going"]).expect(1, &texts);
    let traces = files(&dir);
    let are_whole = traces.iter().all(|name| name.ends_with(".trace"));
    assert!(!traces.is_empty() && are_whole, "{traces:?}");
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshots/command"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}
