//! A sweep in shards: put together they are what one machine finds, whatever becomes of single ones.

use crate::support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};
use support::{Done, files, game, game_command, root, scratch, wavetank};
use wavetank_api::Body;
use wavetank_api::decode::{self, FieldValidation, Reading};
use wavetank_api::kinds::JOBS;

/// What is swept: violations of several kinds, each in many seeds.
const WHAT: [&str; 7] = [
    "clumsy",
    "--defect",
    "superstitious",
    "--defect",
    "blind",
    "--seeds",
    "3..403",
];
const SHARDS: u32 = 8;

fn shard(dir: &Path, number: u32, out: &str) -> Done {
    let shard = format!("{number}/{SHARDS}");
    game(
        dir,
        &[&["run"], &WHAT[..], &["--shard", &shard, "--out", out]].concat(),
    )
}

/// A report as JSON without what depends on how long it took.
fn timeless(stdout: &str) -> Json {
    let mut report: Json = serde_json::from_str(stdout).expect("a report");
    let totals = report["totals"].as_object_mut().expect("there are totals");
    totals.retain(|key, _| !key.contains("real"));
    report
}

/// The lines of a report that do not tell how long it took: all but those of the first paragraph.
fn lines(stdout: &str) -> Vec<&str> {
    let after = stdout.split_once("\n\n").expect("a paragraph, then tables");
    after.1.lines().collect()
}

fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |name: String| {
        let bytes = fs::read(dir.join(&name)).expect("it is listed");
        (name, bytes)
    };
    files(dir).into_iter().map(read).collect()
}

#[test]
fn shards_together_are_what_one_machine_finds() {
    let dir = scratch("shards");
    let human = game(&dir, &[&["run"], &WHAT[..], &["--keep-going"]].concat()).expect(1, &[]);
    let json = ["--keep-going", "--format", "json"];
    let json = game(&dir, &[&["run"], &WHAT[..], &json].concat()).expect(1, &[]);
    let report = timeless(&json.stdout);
    let kinds = report["violations"].as_array().expect("a list").len();
    assert!(kinds > 1, "{report:#}");
    let traces = contents(&dir.join("wavetank-out"));
    assert!(traces.len() > 2);

    fs::remove_dir_all(dir.join("wavetank-out")).expect("it is ours");
    for number in 1..=SHARDS {
        let out = format!("of/{}", number % 3);
        let done = shard(&dir, number, &out);
        assert!([Some(1), Some(0), Some(4)].contains(&done.code));
        let part_of = format!("this was shard {number} of 8: `wavetank merge {out}`");
        assert!(done.stdout.contains(&part_of), "{}", done.stdout);
    }
    let merged = |args: &[&str]| game(&dir, &[&["merge", "of"], args].concat()).expect(1, &[]);
    assert_eq!(lines(&merged(&[]).stdout), lines(&human.stdout));
    assert_eq!(timeless(&merged(&["--format", "json"]).stdout), report);
    assert_eq!(contents(&dir.join("wavetank-out")), traces);

    // One is killed in its middle and leaves nothing; then it and another are run once more, elsewhere.
    let lost = dir.join("of/2/clumsy-shard-2-of-8.shard.json");
    fs::remove_file(&lost).expect("it was left");
    let mut killed = game_command()
        .current_dir(&dir)
        .args([
            "run",
            "clumsy",
            "--seeds",
            "3..40000003",
            "--shard",
            "2/8",
            "--out",
            "killed",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    while files(&dir.join("killed")).is_empty() {
        std::thread::yield_now();
    }
    killed.kill().expect("it runs");
    killed.wait().expect("it is killed");
    let missing = game(&dir, &["merge", "of", "killed", "--format", "json"]).expect(1, &[]);
    let missing = timeless(&missing.stdout);
    let because = missing["because"].as_array().expect("a list");
    assert!(because.contains(&json!("shard 2 of 8 is missing")));
    for number in [2, 5] {
        shard(&dir, number, "again");
    }
    fs::remove_dir_all(dir.join("wavetank-out")).expect("it is ours");
    let again = game(
        &dir,
        &["merge", "again", "of", "killed", "--format", "json"],
    )
    .expect(1, &[]);
    assert_eq!(timeless(&again.stdout), report);
    assert_eq!(contents(&dir.join("wavetank-out")), traces);
}

#[test]
fn a_shard_alone_says_nothing_of_all() {
    let dir = scratch("one-shard");
    let run = |args: &[&str]| {
        game(
            &dir,
            &[&["run", "ping-pong", "--seeds", "0..40"], args].concat(),
        )
    };
    run(&["--shard", "2/4", "--out", "two"])
        .expect(4, &["10 seeds (0..40)", "this was shard 2 of 4"]);
    game(&dir, &["merge", "two"]).expect(
        4,
        &[
            "10 seeds (0..40)",
            "shard 1 of 4 is missing",
            "shard 3 of 4 is missing",
            "shard 4 of 4 is missing",
        ],
    );
    for shard in ["1/4", "3/4", "4/4"] {
        run(&["--shard", shard, "--out", "two"]).expect(4, &[]);
    }
    game(&dir, &["merge", "two"]).expect(0, &["40 seeds (0..40)", "verdict: clean"]);
    // Not all seeds of a shard were run.
    run(&["--shard", "2/4", "--out", "short", "--for", "0s"]).expect(4, &[]);
    fs::remove_file(dir.join("two/ping-pong-shard-2-of-4.shard.json")).expect("it was left");
    game(&dir, &["merge", "two", "short"])
        .expect(4, &["shard 2 of 4 ran out of time after 0 of 10 seeds"]);
    // The number of an Indexed Job is counted from 0.
    let mut indexed = game_command();
    indexed
        .current_dir(&dir)
        .env("JOB_COMPLETION_INDEX", "1")
        .args([
            "run",
            "ping-pong",
            "--seeds",
            "0..40",
            "--shard",
            "auto/4",
            "--out",
            "two",
        ]);
    let indexed: Done = indexed.output().expect("it starts").into();
    indexed.expect(4, &["this was shard 2 of 4"]);
    game(&dir, &["merge", "two", "short"]).expect(0, &["verdict: clean"]);
}

#[test]
fn what_does_not_belong_together_is_not_merged() {
    let dir = scratch("odd-shards");
    let run = |out: &str, args: &[&str]| {
        let args = [&["run", "--out", out, "--keep-going"], args].concat();
        game(&dir, &args)
    };
    let base = ["ping-pong", "--seeds", "0..8", "--shard", "1/2"];
    run("base", &base).expect(4, &[]);
    for (out, args, told) in [
        (
            "seeds",
            &["ping-pong", "--seeds", "0..9", "--shard", "2/2"][..],
            "their seeds are 0..8 and 0..9",
        ),
        (
            "count",
            &["ping-pong", "--seeds", "0..8", "--shard", "2/3"],
            "the numbers of their shards are 2 and 3",
        ),
        (
            "case",
            &["idle", "--seeds", "0..8", "--shard", "2/2"],
            "they are of ping-pong and idle",
        ),
        (
            "defect",
            &[
                "ping-pong",
                "--seeds",
                "0..8",
                "--shard",
                "2/2",
                "--defect",
                "blind",
            ],
            "their scenarios, releases, defects or fixes are not the same",
        ),
        (
            "flags",
            &[
                "ping-pong",
                "--seeds",
                "0..8",
                "--shard",
                "2/2",
                "--require",
                "a-ball-was-lost",
            ],
            "they were run with different flags",
        ),
    ] {
        run(out, args);
        let done =
            game(&dir, &["merge", "base", out]).expect(2, &["are of different sweeps", told]);
        assert_eq!(done.stdout, "");
    }
    // Two runs of one shard that differ.
    let left = "base/ping-pong-shard-1-of-2.shard.json";
    let text = fs::read_to_string(dir.join(left)).expect("it was left");
    let mut part: Json = serde_json::from_str(&text).expect("JSON");
    let events = part["totals"]["events"].as_u64().expect("a number");
    part["totals"]["events"] = json!(events + 1);
    fs::create_dir(dir.join("odd")).expect("a folder of our own");
    fs::write(dir.join("odd/x.shard.json"), part.to_string()).expect("a folder of our own");
    game(&dir, &["merge", "base", "odd"])
        .expect(2, &["two runs of shard 1 of 2", "this must not be"]);
    for (content, told) in [
        (
            text[..text.len() / 2].to_owned(),
            "is not what a shard leaves: EOF",
        ),
        (
            text.replace("\"1/2\"", "\"3/2\""),
            "there is no shard 3 of 2",
        ),
        (
            text.replace("\"version\": 1", "\"version\": 9"),
            "has version 9",
        ),
    ] {
        fs::write(dir.join("odd/x.shard.json"), content).expect("a folder of our own");
        game(&dir, &["merge", "odd"]).expect(2, &[told]);
    }
    fs::create_dir(dir.join("nothing")).expect("a folder of our own");
    game(&dir, &["merge", "nothing"]).expect(2, &["no shard has left anything in `nothing`"]);
    game(&dir, &["merge", "nowhere.shard.json"]).expect(2, &["there is no such file"]);
    game(&dir, &["run", "ping-pong", "--shard", "0/2"])
        .expect(2, &["--shard: there is no shard 0 of 2"]);
    game(&dir, &["run", "ping-pong", "--shard", "auto/2"])
        .expect(2, &["none of JOB_COMPLETION_INDEX"]);
}

/// The Job of the documentation is one that an apiserver takes, and its command runs a shard.
#[test]
fn the_job_of_the_documentation_runs_a_shard() {
    let text = fs::read_to_string(root().join("docs/scale/job.yaml")).expect("it is there");
    let documents = text.split("\n---\n");
    let [_, job] = documents
        .collect::<Vec<_>>()
        .try_into()
        .expect("a claim and a Job");
    let body = Body::Bytes(job.as_bytes().into());
    let read = decode::object(
        &body,
        Some("application/yaml"),
        &JOBS,
        Reading::newest(FieldValidation::Strict),
    );
    let (job, warnings) = read.expect("every field is one of a Job");
    assert!(warnings.is_empty(), "{warnings:?}");
    let spec = &job["spec"];
    assert_eq!(spec["completionMode"], "Indexed");
    assert_eq!(spec["parallelism"], spec["completions"]);
    let line = spec["template"]["spec"]["containers"][0]["args"][0].as_str();
    let line = line.expect("a line for the shell");
    assert!(line.contains(&format!("--shard auto/{}", spec["completions"])));

    let dir = scratch("job");
    let bin = Path::new(env!("CARGO_BIN_EXE_wavetank"))
        .parent()
        .expect("a folder");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let out = dir.display().to_string();
    let line = line.replace("0..200000", "0..8").replace("/out", &out);
    for (index, code) in [("7", 0), ("8", 2)] {
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).env("PATH", &path);
        let ended = shell.env("JOB_COMPLETION_INDEX", index).output();
        let ended: Done = ended.expect("there is a shell").into();
        ended.expect(code, &[]);
    }
    assert_eq!(files(&dir), ["service-storm-shard-8-of-8.shard.json"]);
}

const PARTS: u32 = 4;

/// Searches one of the parts of a scope, and says how that ended.
fn search(dir: &Path, scope: &str, number: u32, flags: &[&str]) -> Done {
    let (shard, out) = (format!("{number}/{PARTS}"), format!("parts/{number}"));
    let what = ["check", scope, "--fixed", "--threads", "1"];
    let where_to = ["--shard", &shard, "--out", &out];
    command(dir, &[&what[..], flags, &where_to].concat())
}

fn command(dir: &Path, args: &[&str]) -> Done {
    let output = wavetank().current_dir(dir).args(args).output();
    Done::from(output.expect("it runs"))
}

/// What a whole search reports, and what its parts do together.
fn whole_and_merged(dir: &Path, scope: &str) -> (Json, Json) {
    let checked = |done: Done| {
        let all: Json = serde_json::from_str(&done.stdout).expect("a report");
        all[0].clone()
    };
    let json = ["--format", "json"];
    let whole = ["check", scope, "--fixed", "--threads", "1"];
    let whole = command(dir, &[&whole[..], &json].concat()).expect(0, &[]);
    for number in 1..=PARTS {
        let says = format!("this was shard {number} of 4");
        search(dir, scope, number, &[]).expect(4, &[&says]);
    }
    let merged = command(dir, &[&["merge", "parts"], &json[..]].concat()).expect(0, &[]);
    (checked(whole), checked(merged))
}

fn states(report: &Json) -> u64 {
    report["figures"]["states"].as_u64().expect("a number")
}

#[test]
fn parts_of_a_small_search_are_exactly_the_search() {
    let dir = scratch("small-parts");
    let (whole, merged) = whole_and_merged(&dir, "external-name");
    assert_eq!(merged["verdict"], "clean");
    assert_eq!(states(&merged), states(&whole));
    let lists = [
        "faults",
        "tested",
        "untested",
        "places",
        "missed",
        "missed-places",
    ];
    for reached in lists {
        let sorted = |of: &Json| {
            let all = of["coverage"][reached].as_array().expect("a list");
            let mut all: Vec<String> = all.iter().map(Json::to_string).collect();
            all.sort();
            all
        };
        assert_eq!(sorted(&merged), sorted(&whole), "{reached}");
    }
    fs::remove_dir_all(dir.join("parts/3")).expect("it is ours");
    let incomplete = ["incomplete", "shard 3 of 4 is missing"];
    command(&dir, &["merge", "parts"]).expect(4, &incomplete);
    let refused = [
        "check",
        "external-name",
        "--fixed",
        "--each",
        "--shard",
        "1/2",
    ];
    command(&dir, &refused).expect(2, &["cannot be used with"]);
}

#[test]
fn parts_of_a_larger_search_share_the_work() {
    let dir = scratch("large-parts");
    let (whole, merged) = whole_and_merged(&dir, "cluster-ips-bitmap");
    let (states, estimate) = (states(&whole), states(&merged));
    assert!(
        estimate.abs_diff(states) * 30 < states,
        "{estimate} of {states}"
    );
    let searched = merged["shards"]["searched"].as_u64().expect("a number");
    // Each does less than all, and together they do some of it twice.
    assert!(
        (states + 1..states * 2).contains(&searched),
        "{searched} of {states}"
    );
    command(&dir, &["merge", "parts"]).expect(0, &["shards ", "of them again"]);
}

#[test]
fn what_a_part_finds_all_find() {
    let dir = scratch("found-by-a-part");
    let defect = ["--defect", "first-address-is-given-away"];
    let code = |number| search(&dir, "first-address", number, &defect).code;
    let codes: Vec<_> = (1..=PARTS).map(code).collect();
    assert!(codes.contains(&Some(1)), "{codes:?}");
    let merged = command(&dir, &["merge", "parts", "--out", "all"]);
    let merged = merged.expect(1, &["VIOLATION of", "replay"]);
    let trace = files(&dir.join("all")).into_iter().next().expect("a trace");
    assert!(merged.stdout.contains(&trace), "{}", merged.stdout);
    command(&dir, &["replay", &format!("all/{trace}")]).expect(1, &[]);
}
