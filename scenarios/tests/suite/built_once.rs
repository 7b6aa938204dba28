//! What `cargo run` has built, `cargo test` takes over. Cargo builds a crate with what all packages that it builds want of
//! it, so a wish of a test alone would have all that stands on the crate built twice; the manifest of the command has them
//! all.

use std::collections::BTreeSet;
use std::process::Command;

/// A line for each crate that such a selection of packages builds, with its features.
fn built(selection: &[&str]) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    cargo.args(["tree", "--offline", "--prefix", "none"]);
    cargo.args(["--format", "{p} {f}"]).args(selection);
    let output = cargo.output().expect("cargo runs");
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{why}");
    let lines = String::from_utf8(output.stdout).expect("it is text");
    let lines = lines.lines().map(|line| line.trim_end_matches(" (*)"));
    lines.map(|line| line.trim().to_owned()).collect()
}

/// What is built for the command and not for such a selection of tests.
pub fn only_the_command(tests: &[&str]) -> Vec<String> {
    let command = built(&["--package", "wavetank", "--edges", "normal,build"]);
    assert!(command.len() > 100, "{command:?}");
    let tests = built(&[&["--edges", "normal,build,dev"], tests].concat());
    command.difference(&tests).cloned().collect()
}

#[test]
fn tests_want_no_more_of_a_crate_than_the_command() {
    for tests in [&[][..], &["--package", "wavetank"]] {
        assert_eq!(only_the_command(tests), [""; 0], "{tests:?}");
    }
}
