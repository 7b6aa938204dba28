//! The operator of docs/operator-example, as somebody outside of the workspace has it: a crate of its own, with one
//! dependency. What both take from the registry is not built again.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::root;

/// Cargo, on the crate. To cargo, Wavetank's crates are others than here, and are built again: to optimise them takes
/// longer than what they save.
fn cargo(out: &Path, arguments: &[&str]) -> Output {
    let root = root();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root.join("docs/operator-example"));
    let target = std::env::var_os("CARGO_TARGET_DIR").map(Into::into);
    cargo.env("CARGO_TARGET_DIR", target.unwrap_or(root.join("target")));
    cargo.env("WAVETANK_OUT", out);
    cargo.args([arguments[0], "--offline", "--quiet"]);
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("it is text");
    let own = manifest.lines().filter(|line| line.contains("{ path = "));
    for name in own.filter_map(|line| line.split(' ').next()) {
        let unoptimised = format!("profile.dev.package.{name}.opt-level=0");
        cargo.args(["--config", &unoptimised]);
    }
    cargo.args(&arguments[1..]);
    cargo.output().expect("cargo runs")
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

#[test]
fn an_operator_of_somebody_elses_is_simulated_blamed_and_searched() {
    let out = tempfile::tempdir().expect("a folder");
    let folder = out.path().to_str().expect("a name");
    let own = cargo(out.path(), &["test"]);
    assert!(own.status.success(), "{}", text(&own));
    for (defect, property) in [
        ("website-trusts-its-cache", "one-page-each"),
        ("website-overwrites-spec", "spec-is-kept"),
    ] {
        let run = ["run", "--", "run", "websites.yaml", "--fixed"];
        let flags = ["--defect", defect, "--seeds", "0..100", "--out", folder];
        let found = text(&cargo(out.path(), &[&run[..], &flags[..]].concat()));
        assert!(
            found.contains(&format!("VIOLATION of {property}")),
            "{found}"
        );
        let blame = found.lines().find(|line| line.starts_with("  blame"));
        assert!(blame.is_some_and(|blame| blame.contains(defect)), "{found}");
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
}
