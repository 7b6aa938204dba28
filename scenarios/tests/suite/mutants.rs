//! The list of mutants, and that of those which nothing notices. Whether the others are noticed is what `wavetank mutants`
//! finds out; `mutants_tried` tries a handful.

use std::collections::BTreeSet;
use std::fs;

use wavetank::mutants::{Mutant, Unnoticed};

use crate::support::root;

#[test]
fn each_has_a_name_and_a_sentence_of_its_own() {
    let (mut names, mut sentences) = (BTreeSet::new(), BTreeSet::new());
    for mutant in Mutant::all() {
        let (name, what) = (mutant.name, mutant.what);
        let is_letter = |letter: char| letter.is_ascii_lowercase() || letter == '-';
        assert!(!name.is_empty() && name.chars().all(is_letter), "{name}");
        assert!(names.insert(name), "there are two mutants `{name}`");
        assert!(sentences.insert(what), "two mutants do the same: {what}");
        assert!(what.contains(' ') && !what.ends_with('.'), "{name}: {what}");
    }
    assert!(names.len() >= 150, "{} mutants", names.len());
}

#[test]
fn all_parts_of_the_world_have_some() {
    let areas: BTreeSet<&str> = Mutant::all().iter().map(|mutant| mutant.area()).collect();
    let wanted = [
        "api",
        "apiserver",
        "client",
        "deployment",
        "etcd",
        "identity",
        "kube_apiserver",
        "replicaset",
        "services",
        "ttl_after_finished",
    ];
    for area in wanted {
        assert!(areas.contains(area), "no mutant of {area}: {areas:?}");
    }
}

#[test]
fn what_goes_unnoticed_is_in_the_docs_with_its_reason() {
    let page = fs::read_to_string(root().join("docs/MUTANTS.md")).expect("it is there");
    let unnoticed = Unnoticed::bundled();
    let mut rows = 0;
    for (name, reason) in unnoticed.iter() {
        let row = format!("| `{name}` | {reason} |");
        assert!(page.contains(&row), "docs/MUTANTS.md lacks the line\n{row}");
        rows += 1;
    }
    let in_page = page.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(
        in_page, rows,
        "docs/MUTANTS.md has a row that scenarios/mutants-not-noticed.txt has not"
    );
    let all = Mutant::all().len();
    assert!(
        rows * 10 <= all,
        "{rows} of {all} go unnoticed, which is more than a tenth"
    );
}

#[test]
fn a_list_with_a_mistake_is_refused() {
    let refused = |text: &str| Unnoticed::parse(text).expect_err("it is wrong");
    assert_eq!(refused("quorum-of-less"), "line 1: wants `name: reason`");
    assert_eq!(
        refused("# a\n\nnobody: why"),
        "line 3: there is no mutant `nobody`"
    );
    let twice = "quorum-of-less: why\nquorum-of-less: why";
    assert_eq!(refused(twice), "line 2: `quorum-of-less` is there twice");
}
