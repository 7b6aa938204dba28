//! `wavetank report`: whole traces as other programs read them, held to what their formats ask for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use regex::Regex;
use serde_json::Value as Json;
use wavetank::explain::PARSER;

use crate::support::{Done, files, root, scratch, wavetank};

fn report(dir: &Path, trace: &str, more: &[&str]) -> Done {
    let path = root().join("snapshots/traces").join(trace);
    let mut command = wavetank();
    command.current_dir(dir).arg("report").arg(path).args(more);
    command.output().expect("it starts").into()
}

/// Traces with pauses, crashes, partitions and slow links, and one with several lives.
const TRACES: [&str; 3] = [
    "finding-13-successor-loses-its-lock.trace",
    "finding-14-deadline-from-the-answer.trace",
    "k-k-22609-master-count.trace",
];

fn text(event: &Json, key: &str) -> String {
    let text = event[key].as_str();
    text.unwrap_or_else(|| panic!("no {key} in {event}"))
        .to_owned()
}

fn seconds(event: &Json, key: &str) -> f64 {
    let number = event[key].as_f64();
    number.unwrap_or_else(|| panic!("no {key} in {event}"))
}

/// The process and the thread.
fn thread(event: &Json) -> (u64, u64) {
    let number = |key: &str| event[key].as_u64();
    let both = number("pid").zip(number("tid"));
    both.unwrap_or_else(|| panic!("no thread of {event}"))
}

/// Each phase has what the format asks for: times, what is paired, slices that lie within each other or apart.
fn is_well_formed(events: &[Json]) {
    let mut named = BTreeSet::new();
    let mut slices: BTreeMap<(u64, u64), Vec<(f64, f64)>> = BTreeMap::new();
    let mut spans: BTreeMap<(String, String), Vec<(String, f64)>> = BTreeMap::new();
    let mut arrows: BTreeMap<u64, Vec<&Json>> = BTreeMap::new();
    for event in events {
        assert!(!text(event, "name").is_empty(), "{event}");
        let phase = text(event, "ph");
        match phase.as_str() {
            "M" => {
                assert!(!text(&event["args"], "name").is_empty());
                named.insert((text(event, "name"), thread(event)));
                continue;
            }
            "X" => {
                let (ts, dur) = (seconds(event, "ts"), seconds(event, "dur"));
                assert!(dur >= 0.0);
                slices.entry(thread(event)).or_default().push((ts, dur));
            }
            "b" | "e" => {
                let span = spans.entry((text(event, "cat"), text(event, "id")));
                span.or_default().push((phase, seconds(event, "ts")));
            }
            "s" | "f" => {
                let id = event["id"].as_u64().expect("a number");
                arrows.entry(id).or_default().push(event);
            }
            "i" => assert_eq!(text(event, "s"), "g"),
            other => panic!("phase {other}"),
        }
        assert!(seconds(event, "ts") >= 0.0);
        let (pid, tid) = thread(event);
        assert!(
            named.contains(&("process_name".to_owned(), (pid, 0))),
            "{event}"
        );
        assert!(
            named.contains(&("thread_name".to_owned(), (pid, tid))),
            "{event}"
        );
    }
    for own in slices.values() {
        for pair in own.windows(2) {
            let ((ts, dur), (next, lasts)) = (pair[0], pair[1]);
            let is_inside = next == ts && lasts <= dur;
            assert!(is_inside || next >= ts + dur, "slices overlap: {pair:?}");
        }
    }
    for (id, ends) in &spans {
        let phases: Vec<&str> = ends.iter().map(|(phase, _)| phase.as_str()).collect();
        assert!(
            phases == ["b", "e"] && ends[0].1 <= ends[1].1,
            "{id:?}: {ends:?}"
        );
    }
    assert!(!arrows.is_empty());
    for ends in arrows.values() {
        let [from, to] = ends.as_slice() else {
            panic!("an arrow with {} ends", ends.len())
        };
        assert_eq!(
            (text(from, "ph"), text(to, "ph")),
            ("s".to_owned(), "f".to_owned())
        );
        assert!(seconds(from, "ts") <= seconds(to, "ts"));
        assert_eq!(
            (text(from, "cat"), text(to, "bp")),
            (text(to, "cat"), "e".to_owned())
        );
        for end in ends {
            let own = slices.get(&thread(end)).expect("slices of its thread");
            let at = own.partition_point(|(ts, _)| *ts < seconds(end, "ts"));
            assert!(own[at].0 == seconds(end, "ts"), "{end}");
        }
    }
}

#[test]
fn perfetto_is_given_what_the_format_asks_for() {
    for trace in TRACES {
        let dir = scratch("report-perfetto");
        report(&dir, trace, &["--perfetto", "trace.json"]).expect(0, &["trace.json"]);
        let written = fs::read_to_string(dir.join("trace.json")).expect("it is written");
        let all: Json = serde_json::from_str(&written).expect("JSON");
        let events = all["traceEvents"].as_array().expect("a list");
        is_well_formed(events);
        let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
        let path = root().join("snapshots/traces").join(trace);
        let trace = wavetank::trace_file::read(&path).expect("it is kept");
        assert_eq!(of("X") as u64, trace.end().events);
        assert_eq!(of("i"), 1, "the violation");
        let has_span = |cat: &str| events.iter().any(|event| event["cat"] == cat);
        assert!(has_span("routine") && has_span("fault"));
    }
}

type Clock = BTreeMap<String, u64>;

/// As ShiViz reads a file: the expression, the delimiter, the log.
fn logged(written: &str) -> Vec<(String, Clock, String)> {
    let (parser, rest) = written.split_once('\n').expect("a first line");
    let (delimiter, log) = rest.split_once('\n').expect("a second line");
    assert_eq!((parser, delimiter), (PARSER, ""));
    // JavaScript takes a brace for itself where nothing can be repeated.
    let parser = Regex::new(&parser.replace("{.*}", r"\{.*\}")).expect("an expression");
    let captured = parser.captures_iter(log).map(|found| {
        let clock = serde_json::from_str(&found["clock"]).expect("JSON");
        (found["host"].to_owned(), clock, found["event"].to_owned())
    });
    let captured: Vec<(String, Clock, String)> = captured.collect();
    assert_eq!(captured.len() * 2, log.lines().count(), "each line is read");
    captured
}

#[test]
fn shiviz_is_given_clocks_that_fit_together() {
    for trace in TRACES {
        let dir = scratch("report-shiviz");
        report(&dir, trace, &["--shiviz", "trace.log"]).expect(0, &["trace.log"]);
        let written = fs::read_to_string(dir.join("trace.log")).expect("it is written");
        let mut known: BTreeMap<String, Vec<Clock>> = BTreeMap::new();
        let log = logged(&written);
        assert!(log.iter().any(|(host, ..)| host == "etcd"));
        for (host, clock, event) in log {
            assert!(!event.is_empty());
            let own = known.entry(host.clone()).or_default();
            assert_eq!(clock[&host], own.len() as u64 + 1, "one more than before");
            own.push(clock.clone());
            for (other, events) in &clock {
                // Whoever knows of an event knows all that this one knew.
                let theirs = &known[other][*events as usize - 1];
                let is_known = |(host, events): (&String, &u64)| clock.get(host) >= Some(events);
                assert!(theirs.iter().all(is_known), "{event}");
            }
        }
        assert!(known.len() > 2);
    }
}

#[test]
fn what_cannot_be_reported_is_refused() {
    let dir = scratch("report-refused");
    let trace = TRACES[2];
    report(&dir, trace, &[]).expect(2, &["--perfetto <FILE>"]);
    report(&dir, "nothing.trace", &["--shiviz", "x"]).expect(2, &["there is no such file"]);
    report(&dir, trace, &["--shiviz", "no/folder/x"]).expect(2, &["cannot write"]);
    assert!(files(&dir).is_empty());
}
