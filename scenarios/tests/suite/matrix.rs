//! `wavetank matrix`: defects of a scenario are found one at a time, and nothing without them.

use crate::support;

use std::path::Path;

use support::{Done, files, scratch, wavetank};

/// Within these seeds one defect is found, and the other needs more of them.
const SEEDS: &str = "0..14";
const FOUND: &str = "last-apiserver-keeps-address";
const NOT_FOUND: &str = "listener-closes-before-removal";

fn matrix(dir: &Path, args: &[&str]) -> Done {
    let mut command = wavetank();
    command.current_dir(dir).args(["matrix"]).args(args);
    command.output().expect("it starts").into()
}

/// A small matrix over the main scenario.
fn small(dir: &Path, format: &str) -> Done {
    let args = ["kubernetes-endpoints", "--seeds", SEEDS, "--jobs", "2"];
    let defects = ["--defect", FOUND, "--defect", NOT_FOUND];
    matrix(dir, &[&args[..], &defects, &["--format", format]].concat())
}

#[test]
fn the_table_reads_well() {
    let dir = scratch("matrix-human");
    let done = small(&dir, "human").expect(1, &["fixed", "with `last-apiserver"]);
    snapshot("matrix-human", &done.stdout);
    let kept = files(&dir.join("wavetank-out").join(FOUND));
    let shrunk = kept.iter().filter(|name| name.ends_with("-shrunk.trace"));
    assert_eq!(shrunk.count(), 1, "{kept:?}");
}

#[test]
fn the_json_form_of_a_matrix_is_stable() {
    let done = small(&scratch("matrix-json"), "json").expect(1, &[]);
    let mut json: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
    json["build"] = "(build)".into();
    json["identity"] = "(identity)".into();
    let rows = json["rows"].as_array_mut().expect("a list");
    for violation in rows
        .iter_mut()
        .flat_map(|row| row["violations"].as_array_mut().expect("a list"))
    {
        let story = violation["story"].as_array().expect("lines");
        assert!(!story.is_empty());
        violation["story"] = "(story)".into();
        violation["replay"] = "(command)".into();
    }
    snapshot("matrix-json", &format!("{json:#}"));
}

#[test]
fn a_matrix_of_what_is_found_is_as_it_should_be() {
    let dir = scratch("matrix-found");
    let seeds = ["--seeds", SEEDS, "--defect", FOUND];
    let args = [&["kubernetes-endpoints", "--release", "v1.20"], &seeds[..]].concat();
    let said = ["clean when fixed, and every defect is found"];
    matrix(&dir, &args).expect(0, &said);
}

#[test]
fn a_matrix_that_cannot_be_is_told() {
    let dir = scratch("matrix-bad-input");
    let texts = ["is no defect that has a place in `kubernetes-endpoints`; did you mean"];
    let misspelt = [
        "kubernetes-endpoints",
        "--defect",
        "last-apiserver-keeps-adress",
    ];
    matrix(&dir, &misspelt).expect(2, &texts);
    let texts = ["is no defect that has a place in `etcd-storm`"];
    matrix(&dir, &["etcd-storm", "--defect", FOUND]).expect(2, &texts);
    let texts = ["`etcd-storm` has nobody who could be of v1.20"];
    matrix(&dir, &["etcd-storm", "--release", "v1.20"]).expect(2, &texts);
    assert_eq!(files(&dir).len(), 0);
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshots/command"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}
