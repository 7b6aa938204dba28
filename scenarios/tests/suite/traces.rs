//! Traces: the same bytes from the same seed, replayed to the same verdict, made smaller, compared,
//! kept; and what is said about one that is damaged or strange.

use crate::support;

use std::fs;
use std::path::Path;

use wavetank::attribution::{Attribution, Depth, attribute};
use wavetank::shrink::{Effort, shrink};
use wavetank::testing;
use wavetank::trace_file;
use wavetank_engine::drive::plan::Plan;

use support::table::{Table, Tables};
use support::{Done, files, game, scratch, violated, wavetank};

fn edit(dir: &Path, name: &str, change: impl FnOnce(String) -> String) -> String {
    let text = fs::read_to_string(dir.join(name)).expect("a trace");
    let edited = format!("edited-{name}");
    fs::write(dir.join(&edited), change(text)).expect("a folder of our own");
    edited
}

#[test]
fn fresh_processes_write_the_same_bytes() {
    let dir = scratch("fresh");
    for (out, jobs) in [("a", "1"), ("b", "1"), ("c", "2")] {
        let args = ["run", "ping-pong", "--seeds", "0..50", "--all-traces"];
        let more = ["--keep-going", "--jobs", jobs, "--out", out];
        game(&dir, &[args.as_slice(), &more].concat()).expect(0, &["verdict: clean"]);
    }
    let names = files(&dir.join("a"));
    assert_eq!(names.len(), 50);
    for other in ["b", "c"] {
        assert_eq!(names, files(&dir.join(other)));
        for name in &names {
            let read = |out: &str| fs::read(dir.join(out).join(name)).expect("listed");
            assert!(read("a") == read(other), "{other}/{name} differs");
        }
    }
}

#[test]
fn a_trace_replays_to_its_verdict() {
    let (dir, name) = violated("replays", "blind");
    let verdict = [
        "this build wrote it",
        "events match",
        "violation of every-ball-is-hit-once",
    ];
    let whole = game(&dir, &["replay", &name]).expect(1, &verdict);
    assert_eq!(whole.stdout, game(&dir, &["replay", &name]).stdout);
    game(&dir, &["replay", &name, "--until", "9", "--verbose"]).expect(
        0,
        &[
            "stopped after 9 events",
            "pending:",
            "choose ping.1/serve#0.0 of 3 =",
        ],
    );
    game(&dir, &["run", "ping-pong", "--seed", "3", "--all-traces"]).expect(0, &[]);
    let clean = "wavetank-out/ping-pong-clean-seed3.trace";
    game(&dir, &["replay", clean]).expect(0, &["no violation"]);
}

#[test]
fn a_panic_is_a_violation_with_a_trace() {
    let (dir, name) = violated("panic", "superstitious");
    let done = game(&dir, &["replay", &name]).expect(1, &["violation of no-panic", "ball 44"]);
    assert!(
        done.stderr.contains("game.rs"),
        "the place of the panic: {}",
        done.stderr
    );
}

#[test]
fn another_build_replays_by_names() {
    let (dir, name) = violated("another-build", "blind");
    let build = wavetank::head::build();
    let older = edit(&dir, &name, |text| {
        let text = text.replace(build, "0.0.1+0000000000000000");
        let digestless = |line: &str| match line.split_once(' ') {
            Some(("#", rest)) => format!(
                "# {} 0000000000000000",
                rest.split(' ').next().unwrap_or("")
            ),
            _ => line.to_owned(),
        };
        text.lines().map(|line| digestless(line) + "\n").collect()
    });
    game(&dir, &["replay", &older]).expect(1, &["names decide", "events match"]);
}

#[test]
fn a_trace_that_does_not_fit_says_where() {
    let (dir, name) = violated("misfit", "blind");
    let strange = edit(&dir, &name, |text| {
        text.replacen(
            "request ping.1/serve#0.0 pong",
            "request ping.1/smash#0.0 pong",
            1,
        )
    });
    game(&dir, &["replay", &strange]).expect(
        3,
        &[
            "at event ",
            "`request ping.1/smash#0.0 pong`",
            "is pending, but `request ping.1/serve",
        ],
    );
    let digest = edit(&dir, &name, |text| {
        let at = text.find("\n# 64 ").expect("it has more than 64 events") + 6;
        format!("{}{}{}", &text[..at], "0123456789abcdef", &text[at + 16..])
    });
    game(&dir, &["replay", &digest])
        .expect(3, &["at event 64: the trace says digest 0123456789abcdef"]);
    let verdict = edit(&dir, &name, |text| {
        text.replace("\"property\":\"every", "\"property\":\"any")
    });
    game(&dir, &["replay", &verdict]).expect(3, &["a violation of `any-ball-is-hit-once`"]);
    game(&dir, &["keep", &verdict, "kept"]).expect(3, &["it no longer fits"]);
    assert!(files(&dir.join("kept")).is_empty());
}

#[test]
fn a_damaged_or_strange_trace_is_refused() {
    let (dir, name) = violated("damaged", "blind");
    let say =
        |name: &str, texts: &[&str]| -> Done { game(&dir, &["replay", name]).expect(2, texts) };
    let cut = edit(&dir, &name, |text| text[..text.len() / 2].to_owned());
    let lines = fs::read_to_string(dir.join(&cut))
        .expect("written")
        .lines()
        .count();
    assert!(lines > 10);
    say(&cut, &["error: edited-"]);
    let cut = edit(&dir, &name, |text| {
        text.split_inclusive('\n').take(20).collect()
    });
    say(&cut, &["cut off after line 20", "should begin with `end`"]);
    let cut = edit(&dir, &name, |_| String::new());
    say(&cut, &["not a trace"]);
    let newer = edit(&dir, &name, |text| {
        text.replace("wavetank-trace 1", "wavetank-trace 2")
    });
    say(
        &newer,
        &["version 2 of the format; this build reads version 1"],
    );
    let headless = edit(&dir, &name, |text| text.replace("\"seed\":", "\"sprout\":"));
    say(&headless, &["its head"]);
    let other = edit(&dir, &name, |text| {
        text.replace("\"scenario\":\"ping-pong\"", "\"scenario\":\"badminton\"")
    });
    say(
        &other,
        &["`ping-pong`, cannot be opened: there is no table `badminton`"],
    );
    let other = edit(&dir, &name, |text| {
        text.replace("\"case\":\"ping-pong\"", "\"case\":\"idle\"")
    });
    say(
        &other,
        &["its head says `idle`, but what it describes is `ping-pong`"],
    );
    let options = edit(&dir, &name, |text| {
        text.replace("spectators\":", "dancers\":")
    });
    say(
        &options,
        &["its world cannot be built", "missing field `spectators`"],
    );
    say("missing.trace", &["missing.trace: there is no such file"]);
    say(".", &[".: is a directory, not a file"]);
    let foreign = wavetank()
        .current_dir(&dir)
        .args(["replay", &name])
        .output();
    Done::from(foreign.expect("it starts")).expect(2, &["cannot be opened"]);
}

#[test]
fn a_large_trace_is_compressed_and_read_back() {
    let dir = scratch("large");
    let bytes = testing::trace_of(&Table::new("ping-pong", &[]), 1);
    let path = trace_file::write(&dir, "small", &bytes).expect("written");
    assert!(path.ends_with("small.trace"));
    let trace = trace_file::read(&path).expect("whole");
    assert_eq!(trace.to_bytes(), bytes);
    let padding = format!("# 0 {:016x}\n", 0).repeat(80_000);
    let end = bytes
        .windows(4)
        .rposition(|w| w == b"end ")
        .expect("it has an end");
    let large = [&bytes[..end], padding.as_bytes(), &bytes[end..]].concat();
    let path = trace_file::write(&dir, "small", &large).expect("written");
    assert_eq!(files(&dir), ["small.trace.gz"], "the other form is gone");
    assert!(fs::metadata(&path).expect("written").len() < large.len() as u64 / 10);
    assert_eq!(trace_file::read(&path).expect("whole").to_bytes(), large);
    let packed = fs::read(&path).expect("written");
    fs::write(&path, &packed[..packed.len() / 2]).expect("a file of our own");
    let error = trace_file::read(&path).expect_err("cut off").to_string();
    assert!(error.contains("cut off"), "{error}");
}

#[test]
fn shrinking_keeps_the_violation_and_its_reason() {
    let (dir, name) = violated("shrinks", "blind");
    let case = Table::new("ping-pong", &["blind"]);
    let before = trace_file::read(&dir.join(&name)).expect("whole");
    game(&dir, &["shrink", &name]).expect(0, &["faults and operations", "blame       blind"]);
    let small = name.replace(".trace", "-shrunk.trace");
    let after = trace_file::read(&dir.join(&small)).expect("whole");
    let (old, new) = (
        before.end().violation.as_ref(),
        after.end().violation.as_ref(),
    );
    assert!(old.expect("violated").is_like(new.expect("violated")));
    assert_eq!(
        attribute(&case, &after, Depth::Each),
        Attribution::Each(vec!["blind".to_owned()])
    );
    let plan = |trace: &trace_file::Trace| Plan::from_trace(trace.lines.iter());
    assert!(plan(&after).actions.len() < plan(&before).actions.len());
    assert_eq!(
        after.head.options["spectators"], 0,
        "who only watches is not needed"
    );
    game(&dir, &["replay", &small]).expect(1, &["shrunk", "events match"]);
    let again = shrink(&case, &before, Effort::default()).expect("it fails");
    assert_eq!(again.trace, after, "shrinking is deterministic");
    game(&dir, &["run", "ping-pong", "--seed", "3", "--all-traces"]).expect(0, &[]);
    let clean = "wavetank-out/ping-pong-clean-seed3.trace";
    game(&dir, &["shrink", clean]).expect(2, &["it holds no violation"]);
}

#[test]
fn diff_finds_the_first_difference() {
    let (dir, name) = violated("diff", "blind");
    game(&dir, &["diff", &name, &name]).expect(0, &["the same"]);
    let later = edit(&dir, &name, |text| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let at = lines
            .iter()
            .position(|line| line.contains("choose"))
            .expect("it has choices");
        let (start, value) = lines[at].rsplit_once("= ").expect("a choice");
        let value: u64 = value.parse().expect("a number");
        lines[at] = format!("{start}= {}", (value + 1) % 3);
        lines.join("\n") + "\n"
    });
    let differ = [
        "the first difference comes after",
        "\n  - ",
        "\n  + ",
        "these differ",
        "\n    ping\n",
    ];
    game(&dir, &["diff", &name, &later]).expect(1, &differ);
    let seed = edit(&dir, &name, |text| {
        text.replace("\"spectators\":", "\"spectators\":1")
    });
    game(&dir, &["diff", &name, &seed])
        .expect(1, &["head options.spectators", "all events are the same"]);
    game(&dir, &["diff", &name, "missing.trace"]).expect(2, &["there is no such file"]);
}

#[test]
fn what_is_kept_is_replayed_by_tests() {
    let (dir, name) = violated("kept", "blind");
    game(&dir, &["keep", &name, "traces"]).expect(0, &["kept as traces/"]);
    assert_eq!(testing::replay_all(&dir.join("traces"), &Tables), 1);
    let kept = |name: &str| fs::read(dir.join(name)).expect("a trace");
    assert_eq!(kept(&name), kept(&format!("traces/{name}")));
}
