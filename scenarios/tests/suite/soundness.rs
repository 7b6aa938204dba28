//! `wavetank soundness`: the figures do not depend on threads, and exit codes are as elsewhere.

use crate::support;

use std::path::Path;

use support::{Done, files, scratch, wavetank};

fn soundness(dir: &Path, args: &[&str]) -> Done {
    let output = wavetank()
        .current_dir(dir)
        .arg("soundness")
        .args(args)
        .output();
    output.expect("the command starts").into()
}

#[test]
fn what_it_prints_does_not_depend_on_threads() {
    let dir = scratch("soundness");
    let outs = ["1", "2"].map(|jobs| {
        let done = soundness(&dir, &["--worlds", "40..70", "--jobs", jobs]);
        let texts = [
            "worlds 40..70",
            "30 worlds",
            "steps compared",
            "no disagreement",
        ];
        done.expect(0, &texts).stdout
    });
    assert_eq!(outs[0], outs[1]);
    let number = |before: &str, after: &str| -> u64 {
        let (words, _) = outs[0].split_once(after).expect("it is told");
        let words = words
            .rsplit_once(before)
            .map_or(words, |(_, number)| number);
        words.trim().parse().expect("a number")
    };
    let steps = number("\n", " steps compared");
    let known = number(", ", " of which memory knew");
    assert!(0 < known && known < steps, "{}", outs[0]);
    assert_eq!(files(&dir.join("wavetank-out")), [""; 0]);
}

#[test]
fn who_compares_nothing_does_not_agree() {
    let dir = scratch("soundness-too-large");
    let texts = [
        "1 world not compared",
        "limits: 293",
        "nothing was compared",
    ];
    soundness(&dir, &["--worlds", "293..294"]).expect(4, &texts);
}

#[test]
fn a_world_that_takes_too_long_is_no_disagreement() {
    // Nobody waits for so many worlds, or for one of them.
    let dir = scratch("soundness-timed-out");
    let args = ["--worlds", "0..1000000", "--patience", "0s"];
    let texts = [
        "took longer than --patience allows, so it was not compared",
        "timed out; no disagreement until then",
    ];
    let done = soundness(&dir, &args).expect(4, &texts);
    assert!(!done.stdout.contains("DISAGREEMENT"), "{}", done.stdout);
    let written = files(&dir.join("wavetank-out"));
    let [name] = &written[..] else {
        panic!("it is written: {written:?}");
    };
    assert!(name.ends_with("-timed-out.rs"), "{name}");
    let text = std::fs::read_to_string(dir.join("wavetank-out").join(name)).expect("listed");
    assert!(text.contains("Again: wavetank soundness --worlds") && text.contains("Description"));
}

#[test]
fn bad_input_is_told() {
    let dir = scratch("soundness-bad");
    soundness(&dir, &["--worlds", "7"]).expect(2, &["a range has two ends"]);
    soundness(&dir, &["--worlds", "0..=3"]).expect(2, &["half open"]);
    std::fs::write(dir.join("file"), "").expect("a folder of our own");
    soundness(&dir, &["--out", "file"]).expect(2, &["cannot write into"]);
}
