//! The operator of docs/operator-example, as somebody outside of the workspace has it: a crate of its own, with one
//! dependency. What both take from the registry is not built again.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::root;

/// Cargo, on the crate, with the profile of Wavetank itself: so what both take from the registry is there already. To
/// cargo, Wavetank's crates are others than here and dependencies, which are not optimised: that would take longer than
/// what it saves.
fn cargo(out: &Path, arguments: &[&str]) -> Output {
    let root = root();
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("it is text");
    let from = manifest.find("[profile.dev]").expect("it is there");
    let to = manifest.find("[profile.release]").expect("it comes last");
    let profile = out.join("profile.toml");
    let lines = manifest[from..to].lines();
    let lines: Vec<_> = lines
        .filter(|line| !line.starts_with("wavetank-"))
        .collect();
    fs::write(&profile, lines.join("\n")).expect("the folder is ours");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root.join("docs/operator-example"));
    let target = std::env::var_os("CARGO_TARGET_DIR").map(Into::into);
    cargo.env("CARGO_TARGET_DIR", target.unwrap_or(root.join("target")));
    cargo.env("WAVETANK_OUT", out);
    // It is built once: what a second build could take over takes a fifth of the time to write down.
    cargo.env("CARGO_INCREMENTAL", "0");
    cargo.args([arguments[0], "--offline", "--quiet", "--config"]);
    cargo.arg(profile).args(&arguments[1..]);
    cargo.output().expect("cargo runs")
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// All Rust of the crate, tests included.
#[test]
fn it_has_at_most_two_hundred_lines_and_a_scenario_of_ten() {
    let crate_root = root().join("docs/operator-example");
    let lines = |path: &Path| {
        fs::read_to_string(path)
            .expect("it is text")
            .lines()
            .count()
    };
    let mut files = Vec::new();
    for folder in ["src", "tests"] {
        let listed = fs::read_dir(crate_root.join(folder)).expect("it is a folder");
        files.extend(listed.map(|entry| entry.expect("it can be listed").path()));
    }
    let all: usize = files.iter().map(|path| lines(path)).sum();
    assert!(files.len() >= 5, "{files:?}");
    assert!((100..=200).contains(&all), "{all} lines in {files:?}");
    let scenario = lines(&crate_root.join("websites.yaml"));
    assert!((5..=10).contains(&scenario), "{scenario} lines");
}

/// The numbers in a row of a table, `1,234` and the like.
fn numbers(row: &str) -> Vec<usize> {
    let words = row.split_whitespace().map(|word| word.replace(',', ""));
    words.filter_map(|word| word.parse().ok()).collect()
}

/// What stands in a line of this name.
fn line<'a>(text: &'a str, name: &str) -> &'a str {
    let mut lines = text.lines();
    let found = lines.find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(' '));
    found
        .unwrap_or_else(|| panic!("no `{name}` in {text}"))
        .trim()
}

/// Does `docs/OPERATOR.md` show this line? Columns may be wider there.
#[track_caller]
fn is_told(line: &str) {
    let page = fs::read_to_string(root().join("docs/OPERATOR.md")).expect("it is text");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words(&page).contains(&words(line)),
        "docs/OPERATOR.md shows what a command printed before, and not `{line}`: paste it anew"
    );
}

/// The other failure takes a minute to shrink where nothing is optimised.
const SHRUNK: &str = "website-trusts-its-cache";

/// A smaller run shows the same, and the same is to blame.
#[track_caller]
fn is_shrunk(shrunk: &str, violation: &str, defect: &str) {
    assert!(shrunk.contains(violation), "{shrunk}");
    assert_eq!(line(shrunk, "blame"), defect, "{shrunk}");
    let events = numbers(line(shrunk, "events"));
    let is_smaller = matches!(events[..], [before, after] if after * 2 < before);
    assert!(is_smaller, "{shrunk}");
}

#[test]
fn an_operator_of_somebody_elses_is_simulated_blamed_shrunk_and_searched() {
    let out = tempfile::tempdir().expect("a folder");
    let folder = out.path().to_str().expect("a name");
    let own = cargo(out.path(), &["test"]);
    assert!(own.status.success(), "{}", text(&own));
    for (defect, property) in [
        ("website-trusts-its-cache", "one-page-each"),
        ("website-overwrites-spec", "spec-is-kept"),
    ] {
        let run = ["run", "--", "run", "websites.yaml", "--fixed"];
        // From the first that the page shows.
        let flags = ["--defect", defect, "--seeds", "10..100", "--out", folder];
        let found = text(&cargo(out.path(), &[&run[..], &flags[..]].concat()));
        assert!(
            found.contains(&format!("VIOLATION of {property}")),
            "{found}"
        );
        assert_eq!(line(&found, "blame"), defect, "{found}");
        if defect == SHRUNK {
            let shrink = ["run", "--", "shrink", line(&found, "trace")];
            let shrunk = text(&cargo(out.path(), &shrink));
            for name in ["VIOLATION", "seeds"] {
                is_told(line(&found, name));
            }
            for name in ["events", "odd choices", "violation"] {
                is_told(line(&shrunk, name));
            }
            is_shrunk(&shrunk, &format!("violation of {property}"), defect);
        }
    }
    let check = [
        "run",
        "--",
        "check",
        "late-page.yaml",
        "--fixed",
        "--each",
        "--out",
        folder,
    ];
    let searched = cargo(out.path(), &check);
    assert!(searched.status.success(), "{}", text(&searched));
    is_told(line(&text(&searched), "size"));
}
