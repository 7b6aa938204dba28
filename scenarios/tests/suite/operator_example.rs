//! The operator of docs/operator-example, as somebody outside of the workspace has it: a crate of its own, with one
//! dependency. To cargo, Wavetank's crates are others when they are asked for from another workspace, and to build all of
//! them once more takes longer than any other test. So the crate is built unchanged but for its last lines, in a folder
//! in which Wavetank lies where it lies here; that it stands on its own feet as well is asked of cargo.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::root;

const CRATE: &str = "docs/operator-example";

/// Cargo in this folder, which takes what has been built for these tests.
fn cargo_in(folder: &Path) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(folder);
    let target = std::env::var_os("CARGO_TARGET_DIR").map(Into::into);
    cargo.env("CARGO_TARGET_DIR", target.unwrap_or(root().join("target")));
    // It is built once: what a second build could take over takes a fifth of the time to write down.
    cargo.env("CARGO_INCREMENTAL", "0");
    cargo
}

/// What a manifest says of its crate: that it is a workspace of its own, and what comes of that, is left out.
fn of_the_crate(manifest: &str) -> String {
    let (package, rest) = manifest.split_once("[workspace]\n").expect("it is one");
    let (dependencies, _) = rest.split_once("\n# Storms").expect("a profile is last");
    [package, dependencies].concat()
}

/// A workspace of Wavetank's with the crate as its only member.
fn lay_out(folder: &Path) {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("it is text");
    let write = |path: &str, text: &str| fs::write(folder.join(path), text).expect("it is ours");
    let manifest = read("Cargo.toml");
    let shared = manifest.find("[workspace.package]").expect("it is there");
    let members = format!("[workspace]\nresolver = \"3\"\nmembers = [\"{CRATE}\"]\n\n");
    write("Cargo.toml", &(members + &manifest[shared..]));
    write("Cargo.lock", &read("Cargo.lock"));
    for linked in [".cargo", "sim", "models", "scenarios"] {
        symlink(root().join(linked), folder.join(linked)).expect("the folder is empty");
    }
    for part in ["src", "tests"] {
        let part = format!("{CRATE}/{part}");
        fs::create_dir_all(folder.join(CRATE)).expect("it is ours");
        symlink(root().join(&part), folder.join(&part)).expect("the folder is empty");
    }
    for scenario in ["websites", "late-page", "sieve"] {
        let scenario = format!("{CRATE}/{scenario}.yaml");
        write(&scenario, &read(&scenario));
    }
    let manifest = format!("{CRATE}/Cargo.toml");
    write(&manifest, &of_the_crate(&read(&manifest)));
}

/// Cargo, on the crate.
fn cargo(out: &Path, arguments: &[&str]) -> Output {
    let mut cargo = cargo_in(&out.join(CRATE));
    cargo.env("WAVETANK_OUT", out);
    cargo.args([arguments[0], "--offline", "--quiet"]);
    cargo.args(&arguments[1..]).output().expect("cargo runs")
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// All Rust of the crate, tests included.
#[test]
fn it_has_at_most_two_hundred_lines_and_a_scenario_of_ten() {
    let crate_root = root().join(CRATE);
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

/// The failure that the page shows.
const TOLD: &str = "website-trusts-its-cache";

/// A smaller run shows the same, and the same is to blame.
#[track_caller]
fn is_shrunk(shrunk: &str, violation: &str, defect: &str) {
    assert!(shrunk.contains(violation), "{shrunk}");
    assert_eq!(line(shrunk, "blame"), defect, "{shrunk}");
    let events = numbers(line(shrunk, "events"));
    let is_smaller = matches!(events[..], [before, after] if after * 2 < before);
    assert!(is_smaller, "{shrunk}");
}

/// With the versions in its lock file, which are those that Wavetank has.
#[test]
fn it_is_a_crate_of_its_own_with_one_dependency() {
    let mut cargo = cargo_in(&root().join(CRATE));
    let flags = ["--offline", "--locked", "--depth=1", "--edges=normal,dev"];
    cargo.arg("tree").args(flags);
    let told = cargo.output().expect("cargo runs");
    assert!(told.status.success(), "{}", text(&told));
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let lines: Vec<_> = told.lines().collect();
    assert!(
        matches!(lines[..], [own, other] if own.starts_with("website-operator v") && other.contains("wavetank v")),
        "{told}"
    );
}

#[test]
fn an_operator_of_somebody_elses_is_simulated_blamed_shrunk_and_searched() {
    let out = tempfile::tempdir().expect("a folder");
    let folder = out.path().to_str().expect("a name");
    lay_out(out.path());
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
        let shrink = ["run", "--", "shrink", line(&found, "trace")];
        let shrunk = text(&cargo(out.path(), &shrink));
        is_shrunk(&shrunk, &format!("violation of {property}"), defect);
        if defect == TOLD {
            for name in ["VIOLATION", "seeds"] {
                is_told(line(&found, name));
            }
            for name in ["events", "odd choices", "violation"] {
                is_told(line(&shrunk, name));
            }
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
