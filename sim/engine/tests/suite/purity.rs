//! The engine knows nothing of what is simulated on it, and nothing of the machine it runs on.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the source folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

/// Lines of the engine's sources that contain one of these words, where `part` of the line is looked at.
fn lines_with(words: &[&str], part: fn(&str) -> &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/engine/src");
    let mut found = Vec::new();
    for path in sources(&folder) {
        let text = fs::read_to_string(&path).expect("a source file");
        for (number, line) in text.lines().enumerate() {
            let lower = part(line).to_lowercase();
            if words.iter().any(|word| lower.contains(word)) {
                found.push(format!(
                    "{}:{}: {}",
                    path.display(),
                    number + 1,
                    line.trim()
                ));
            }
        }
    }
    found
}

fn whole(line: &str) -> &str {
    line
}

/// What stands before a comment. Slashes in a text begin none.
fn code(line: &str) -> &str {
    let is_in_text = |before: &str| before.replace("\\\"", "").matches('"').count() % 2 == 1;
    let comments = line.match_indices("//").map(|(at, _)| at);
    let mut comments = comments.filter(|at| !is_in_text(&line[..*at]));
    comments.next().map_or(line, |at| &line[..at])
}

#[test]
fn the_engine_names_nothing_of_what_is_simulated_on_it() {
    let words = [
        "kube",
        "etcd",
        "apiserver",
        "kubelet",
        "endpoint",
        "namespace",
        "configmap",
        "reconcile",
        "resourceversion",
        "bookmark",
        "informer",
        "lease",
        "pod",
        "raft",
        "controller",
    ];
    assert_eq!(lines_with(&words, whole), Vec::<String>::new());
}

#[test]
fn the_engine_reads_no_clock_thread_or_machine() {
    let words = [
        "instant::now",
        "systemtime",
        "thread::",
        "hashmap",
        "hashset",
        "std::env",
        "std::fs",
        "std::net",
        "std::process::",
    ];
    assert_eq!(lines_with(&words, code), Vec::<String>::new());
}

#[test]
fn the_word_list_would_notice() {
    assert!(!lines_with(&["virtual time"], whole).is_empty());
    assert!(!lines_with(&["fn apply"], code).is_empty());
    assert_eq!(
        code("let at = Instant::now(); // the wall clock"),
        "let at = Instant::now(); "
    );
    let after_a_text = r#"let at = ("http://\"", Instant::now());"#;
    assert_eq!(code(after_a_text), after_a_text);
}
