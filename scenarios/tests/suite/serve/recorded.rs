//! What kubectl prints against `wavetank serve` is what it printed against a real kube-apiserver v1.36.2: the recording is
//! in `sim/oracle/corpus-kubectl`.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::Value as Json;

use super::normal::normal;
use super::serving::{Serving, scenario};

/// The kubectl that was recorded.
const RECORDED: &[u8] = include_bytes!("../../../../sim/oracle/corpus-kubectl/v1.32.jsonl.gz");
const MINOR: &str = "32";

/// Steps that differ, with a reason.
const KNOWN: &str = include_str!("../../../../sim/oracle/corpus-kubectl/known-differences.txt");

fn recorded() -> Vec<Json> {
    let mut text = String::new();
    let read = GzDecoder::new(RECORDED).read_to_string(&mut text);
    read.expect("it is compressed text");
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// `NUMBER: reason`
fn known() -> BTreeMap<usize, &'static str> {
    let lines = KNOWN.lines().filter(|line| !line.starts_with('#'));
    let known = lines.filter_map(|line| line.split_once(": "));
    known
        .map(|(number, reason)| (number.parse().expect("a number"), reason))
        .collect()
}

fn text<'a>(step: &'a Json, field: &str) -> &'a str {
    step[field].as_str().expect("a text")
}

#[test]
fn kubectl_prints_what_it_printed_against_a_real_server() {
    let steps = recorded();
    let args = ["--at", "20s", "--speed", "1", "--writes"];
    let serving = Serving::of(&scenario("cluster"), &args);
    let Some(kubectl) = serving.kubectl("a1") else {
        return;
    };
    for (name, file) in steps[0]["files"].as_object().expect("files") {
        kubectl.write(name, file.as_str().expect("a text"));
    }
    let compares_texts = kubectl.minor == MINOR;
    if !compares_texts {
        eprintln!(
            "kubectl is of 1.{}: only its exit codes are compared",
            kubectl.minor
        );
    }
    let mut differ = BTreeMap::new();
    for (number, step) in steps.iter().enumerate().skip(1) {
        let command = text(step, "command");
        let done = kubectl.line(command);
        let mut wrong = String::new();
        if done.code.map(i64::from) != step["exit"].as_i64() {
            wrong += &format!("exit {:?}, recorded {}\n", done.code, step["exit"]);
        }
        for (name, own) in [("stdout", &done.stdout), ("stderr", &done.stderr)] {
            let own = normal(command, &kubectl.without_place(own));
            let recorded = normal(command, text(step, name));
            if compares_texts && own != recorded {
                wrong += &format!("{name}\n{own}\nrecorded\n{recorded}\n");
            }
        }
        if !wrong.is_empty() {
            differ.insert(number, format!("{command}\n{wrong}"));
        }
    }
    let known = known();
    // Where only exit codes are compared, fewer steps may differ.
    let gone = known
        .iter()
        .filter(|(number, _)| compares_texts && !differ.contains_key(number));
    let gone: Vec<_> = gone.collect();
    differ.retain(|number, _| !known.contains_key(number));
    let new: Vec<String> = differ
        .iter()
        .map(|(n, wrong)| format!("{n}: {wrong}"))
        .collect();
    assert!(
        new.is_empty(),
        "differ, and are not listed:\n{}",
        new.join("\n")
    );
    assert!(gone.is_empty(), "are listed, and do not differ: {gone:#?}");
}
