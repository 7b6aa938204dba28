//! Each component says beside its code where the model is simpler, and ARCHITECTURE.md leads there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use wavetank_cluster::Components;

use crate::support::root;

const TABLE: &str = "SIMPLER.md";

/// All tables below a folder, and all folders, by their paths from the root.
fn walk(folder: &Path, tables: &mut BTreeSet<PathBuf>, folders: &mut Vec<PathBuf>) {
    folders.push(folder.to_owned());
    for entry in fs::read_dir(root().join(folder)).expect("it can be listed") {
        let entry = entry.expect("it can be listed");
        let path = folder.join(entry.file_name());
        let name = entry.file_name();
        if name == TABLE {
            tables.insert(path);
        } else if entry.path().is_dir() && name != "target" {
            walk(&path, tables, folders);
        }
    }
}

fn tables() -> (BTreeSet<PathBuf>, Vec<PathBuf>) {
    let (mut tables, mut folders) = (BTreeSet::new(), Vec::new());
    walk(Path::new("sim"), &mut tables, &mut folders);
    (tables, folders)
}

/// The cells of the lines below the head of a table.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().filter(|line| line.starts_with("| "));
    lines
        .skip(1)
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect()
}

#[test]
fn architecture_leads_to_every_table() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("it is text");
    let links = text.split("](").skip(1);
    let links = links.filter_map(|rest| rest.split_once(')'));
    let links: BTreeSet<PathBuf> = links
        .map(|(link, _)| PathBuf::from(link))
        .filter(|link| link.ends_with(TABLE))
        .collect();
    assert_eq!(links, tables().0);
}

#[test]
fn every_row_says_what_and_why_and_what_that_can_hide() {
    for table in tables().0 {
        let text = fs::read_to_string(root().join(&table)).expect("it is text");
        assert!(text.starts_with("# Where the model of "), "{table:?}");
        let rows = rows(&text);
        assert!(!rows.is_empty(), "{table:?}");
        for row in rows {
            let is_full = row.len() == 3 && row.iter().all(|cell| !cell.is_empty());
            assert!(is_full, "{table:?}: {row:?}");
        }
    }
}

/// A component that has defects has an algorithm of upstream's, and somewhere it is simpler. The table of a controller is
/// that of the manager that runs it.
#[test]
fn every_component_with_an_algorithm_has_a_table() {
    let (tables, folders) = tables();
    let components = Components::default();
    let with_defects = components.iter().filter(|own| !own.defects().is_empty());
    let mut looked_at = 0;
    for component in with_defects {
        let name = component.name().replace('-', "_");
        let mut folders = folders.iter().filter(|folder| folder.ends_with(&name));
        let has_table = folders.any(|folder| {
            let above = folder.ancestors();
            let mut above = above.take_while(|above| !above.ends_with("components"));
            folder.starts_with("sim/components")
                && above.any(|above| tables.contains(&above.join(TABLE)))
        });
        assert!(has_table, "{name} has no {TABLE}");
        looked_at += 1;
    }
    assert!(looked_at > 5, "{looked_at}");
}
