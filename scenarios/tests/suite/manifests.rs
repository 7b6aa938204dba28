//! Cargo builds no tests where its manifests say that there are none, so there are none.

use std::fs;
use std::path::Path;

use crate::support::{root, sources};

/// The texts of the library of a crate, without what lies in folders of tests.
fn library(krate: &Path) -> Vec<String> {
    let own = krate.join("src");
    let mut paths = Vec::new();
    sources(if own.exists() { &own } else { krate }, &mut paths);
    let read = |path| fs::read_to_string(path).expect("it is text");
    paths.iter().map(read).collect()
}

/// Does a comment of the documentation open a block of code that rustdoc would run?
fn has_doctest(source: &str) -> bool {
    let comments = source.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("///").or(line.strip_prefix("//!"))?;
        line.trim_start().strip_prefix("```")
    });
    let mut fences = comments.step_by(2);
    fences.any(|kind| kind.is_empty() || kind.starts_with("rust") || kind.starts_with("no_run"))
}

#[test]
fn where_cargo_looks_for_no_test_there_is_none() {
    let root = root();
    let workspace = fs::read_to_string(root.join("Cargo.toml")).expect("it is text");
    let (_, members) = workspace.split_once("\nmembers = [").expect("the members");
    let (members, _) = members.split_once(']').expect("their end");
    let command = fs::read_to_string(root.join("scenarios/Cargo.toml")).expect("it is text");
    let (mut undocumented, mut untested) = (0, 0);
    for member in members.split('"').skip(1).step_by(2) {
        let krate = root.join(member);
        let manifest = fs::read_to_string(krate.join("Cargo.toml")).expect("it is text");
        let Some((_, flags)) = manifest.split_once("\n[lib]\n") else {
            continue;
        };
        let flags: Vec<&str> = flags.lines().take_while(|line| !line.is_empty()).collect();
        let library = library(&krate);
        if flags.contains(&"doctest = false") {
            undocumented += 1;
            assert!(!library.iter().any(|text| has_doctest(text)), "{member}");
        }
        if flags.contains(&"test = false") {
            untested += 1;
            let found = library.iter().any(|text| text.contains("#[test]"));
            // The package of the command builds them, or there are none.
            let is_built = ["src/lib.rs", "lib.rs"]
                .iter()
                .any(|lib| command.contains(&format!("path = \"../{member}/{lib}\"")));
            assert_eq!(found, is_built, "{member}");
            // Lints of benches would look at the tests in it once more.
            assert!(flags.contains(&"bench = false"), "{member}");
        }
    }
    assert!(
        undocumented > 10 && untested > 1,
        "{undocumented} {untested}"
    );
}

#[test]
fn a_block_of_code_is_seen() {
    assert!(has_doctest("/// Text.\n/// ```\n/// 1;\n/// ```\n"));
    assert!(!has_doctest("/// ```text\n/// 1;\n/// ```\n"));
    assert!(!has_doctest("let it = \"```\";\n"));
}
