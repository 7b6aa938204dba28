//! The simulated kube-apiserver against the recorded transcripts that come with the sources.

use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Value as Json, json};
use wavetank_oracle::corpus::{self, Recording};
use wavetank_oracle::{Known, Replayed, Score, replay};

fn recordings() -> Vec<Recording> {
    corpus::bundled().expect("the corpus")
}

static REPLAYED: LazyLock<Vec<Replayed>> = LazyLock::new(|| {
    let files = recordings();
    let replayed = files
        .iter()
        .map(|file| replay(file).expect("servers of ours"));
    replayed.collect()
});

#[test]
fn what_differs_is_listed_and_what_is_listed_differs() {
    let score = Score {
        files: REPLAYED.clone(),
        verbose: false,
    };
    println!("{score}");
    let known = Known::parse(Known::bundled()).expect("the list");
    let disagreements = known.disagreements(&REPLAYED);
    assert!(disagreements.is_empty(), "{disagreements:#?}");
}

#[test]
fn at_least_95_of_100_steps_are_equal() {
    for file in &*REPLAYED {
        assert!(file.percent() >= 95.0, "{}", file.name);
    }
}

/// The first recording, with one line changed.
fn with_a_line_changed(change: impl Fn(&mut Json) -> bool) -> String {
    let mut recording = recordings().remove(0);
    let changed = recording.lines[1..].iter_mut().any(change);
    assert!(changed, "there is such a line");
    replay(&recording).expect_err("nobody can do that")
}

#[test]
fn what_cannot_be_done_to_the_servers_is_refused_with_its_line() {
    let odd_method = |line: &mut Json| {
        line.get_mut("request")
            .map(|request| request["method"] = "BREW".into())
            .is_some()
    };
    let wrong = with_a_line_changed(odd_method);
    assert!(wrong.contains(".jsonl.gz:"), "{wrong}");
    assert!(
        wrong.ends_with("BREW is no method of HTTP that a kube-apiserver knows"),
        "{wrong}"
    );

    for (note, why) in [
        ("after SIGKILL of 192.0.2.13", "names server 3"),
        (
            "a lease key without an etcd lease was written",
            "names no address",
        ),
    ] {
        let wrong = with_a_line_changed(|line| {
            line["note"] = note.into();
            true
        });
        assert!(
            wrong.contains(".jsonl.gz:2: ") && wrong.contains(why),
            "{wrong}"
        );
    }
}

/// What is not known is not compared: a recording that says it is refused.
#[test]
fn what_nobody_knows_is_refused() {
    let wrong = with_a_line_changed(|line| {
        let Some(answer) = line.get("response").cloned() else {
            return false;
        };
        line["respons"] = answer;
        true
    });
    assert!(
        wrong.contains("nobody knows `respons`; there are `request`"),
        "{wrong}"
    );
    let wrong = with_a_line_changed(|line| {
        *line = json!({"step": 1});
        true
    });
    assert!(
        wrong.contains(".jsonl.gz:2: a line has one of `request`, `watch`"),
        "{wrong}"
    );
    let mut recording = recordings().remove(0);
    recording.lines[0]["cluster"]["flagss"] = json!({});
    let wrong = replay(&recording).expect_err("it would ask for nothing");
    assert!(
        wrong.contains(".jsonl.gz:1: nobody knows `flagss`"),
        "{wrong}"
    );
    let mut recording = recordings().remove(0);
    recording.lines.truncate(1);
    let wrong = replay(&recording).expect_err("it would be equal");
    assert!(wrong.ends_with("no request, watch or state"), "{wrong}");
}

/// Changes what was allocated or said; `false` in a line about something else.
fn alter_allocations(line: &mut Json) -> bool {
    for range in ["/bitmap/range", "/nodeports/range"] {
        if let Some(range) = line.pointer_mut(range) {
            *range = "other".into();
            return true;
        }
    }
    for list in [
        "/ipaddresses",
        "/kvs",
        "/messages",
        "/masterleases",
        "/fact/endpoints",
    ] {
        if let Some(Json::Array(items)) = line.pointer_mut(list) {
            items.push("other".into());
            return true;
        }
    }
    false
}

/// Changes one value of what was answered, told or written in every step.
fn altered(recording: &Recording) -> Recording {
    let mut altered = recording.clone();
    let last = altered.lines.len() - 1;
    for line in &mut altered.lines[1..last] {
        if alter_allocations(line) {
            continue;
        }
        let path = if line.get("response").is_some() {
            "/response/code"
        } else {
            "/end"
        };
        match line.pointer_mut(path) {
            Some(Json::Number(code)) => *code = (code.as_u64().unwrap_or(0) + 1).into(),
            Some(end) => *end = "other".into(),
            None => line["writes"] = serde_json::json!([["PUT", "/registry/other", "rv-1"]]),
        }
    }
    altered
}

/// Changes a value deep inside: a revision, a uid, a text.
fn altered_deeply(recording: &Recording) -> Recording {
    fn alter(json: &mut Json) -> bool {
        match json {
            Json::String(text) if text.starts_with("rv-") || text.starts_with("uid-") => {
                text.push('9');
                true
            }
            Json::String(text) if text != "time" && text != "date" => {
                text.push('x');
                true
            }
            Json::Array(items) => items.iter_mut().any(alter),
            Json::Object(fields) => fields.values_mut().any(alter),
            _ => false,
        }
    }
    let mut altered = recording.clone();
    let last = altered.lines.len() - 1;
    for line in &mut altered.lines[1..last] {
        if alter_allocations(line) {
            continue;
        }
        let inside = line
            .pointer_mut("/response/body/metadata")
            .is_some_and(alter)
            || line.pointer_mut("/response/body").is_some_and(alter)
            || line.pointer_mut("/events").is_some_and(alter);
        if !inside && line.get("watch").is_some() {
            line["end"] = "other".into();
        } else if !inside {
            line["writes"] = serde_json::json!([["PUT", "/registry/other", "rv-1"]]);
        }
    }
    altered
}

#[test]
fn a_corpus_with_one_value_altered_in_each_step_scores_nothing() {
    for recording in recordings()
        .iter()
        .filter(|file| !file.name.starts_with("random"))
    {
        for altered in [altered(recording), altered_deeply(recording)] {
            let replayed = replay(&altered).expect("servers of ours");
            let differ: Vec<u64> = replayed.differences.iter().map(|d| d.step).collect();
            let steps = replayed.steps;
            assert_eq!(
                replayed.equal(),
                0,
                "{}: {} of {steps} differ",
                replayed.name,
                differ.len()
            );
        }
    }
}

#[test]
fn a_replay_is_the_same_twice() {
    let recording = recordings()
        .into_iter()
        .find(|file| file.name.starts_with("05-watch-"));
    let recording = recording.expect("it is in the corpus");
    assert_eq!(replay(&recording), replay(&recording));
}

#[test]
fn a_folder_without_recordings_and_a_broken_file_are_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let none = corpus::read(folder.path()).expect_err("there is none");
    assert!(none.contains("*.jsonl"), "{none}");
    let path = folder.path().join("x.jsonl");
    std::fs::write(&path, "{\"cluster\": {}}\n{nonsense\n").expect("written");
    let broken = corpus::read(folder.path()).expect_err("it is broken");
    assert!(broken.contains("x.jsonl:2: "), "{broken}");
    let missing = corpus::read(Path::new("/nowhere")).expect_err("there is no such folder");
    assert!(missing.contains("/nowhere"), "{missing}");
}

#[test]
fn a_list_of_differences_that_is_not_understood_names_its_line() {
    let wrong = Known::parse("# a comment\n01 x: why\n").expect_err("x is no step");
    assert!(wrong.starts_with("line 2: "), "{wrong}");
}
