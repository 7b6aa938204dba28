//! Releases are named in gate tables and in the table of releases only, and a release that is not there yet needs no
//! more than a row.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use wavetank::case::{Case as _, run_seed};
use wavetank::kube::Kube;
use wavetank_cluster::Components;
use wavetank_engine::drive::Ending;
use wavetank_engine::trace::Record;
use wavetank_releases::{Release, V1_20, V1_36, VERSIONS, etcd};
use wavetank_version::{Composition, NamedGate, Version};

use crate::support::{root, sources};

/// A release between two of the table's.
static HYPOTHETICAL: Release = Release {
    name: "v1.28",
    version: Version::new(28, 0),
    etcd: etcd::LATEST,
    about: "v1.28.0, which is not modelled",
};

/// The gate tables, by the folders of the components that they are of.
const TABLES: [(&str, &[NamedGate]); 10] = [
    ("sim/api/src", wavetank_api::gates::ALL),
    ("sim/apiserver/src", wavetank_apiserver::gates::ALL),
    (
        "sim/apiserver/src/cacher",
        wavetank_apiserver::cacher::gates::ALL,
    ),
    ("sim/client/src", wavetank_client::gates::ALL),
    (
        "sim/client/src/leader_election",
        wavetank_client::leader_election::gates::ALL,
    ),
    (
        "sim/components/identity",
        wavetank_components::identity::gates::ALL,
    ),
    (
        "sim/components/kube_apiserver",
        wavetank_components::kube_apiserver::gates::ALL,
    ),
    (
        "sim/components/kube_controller_manager",
        wavetank_kube_controller_manager::gates::ALL,
    ),
    ("sim/components/kubelets", wavetank_kubelet::gates::ALL),
    (
        "sim/components/services",
        wavetank_components::services::gates::ALL,
    ),
];

/// The code of a file without its comments and its tests.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let code = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    let lines = code.lines();
    let code = lines.map(|line| line.split("//").next().unwrap_or_default());
    (1..).zip(code)
}

/// Does a release stand in this line of code: as a constant of the table, as one made of numbers, or as a name?
fn names_a_release(line: &str) -> bool {
    let digit_after = |start: &str| {
        let mut rests = line
            .match_indices(start)
            .map(|(at, _)| &line[at + start.len()..]);
        rests.any(|rest| {
            rest.trim_start()
                .starts_with(|next: char| next.is_ascii_digit())
        })
    };
    let made = [
        "V1_",
        "Gate::since(",
        "Gate::until(",
        "gone_since(",
        "Version::new(",
        "Line::all(",
        "Line::from(",
        "Line::until(",
        "Line::within(",
        "\"v1.",
        "\"v3.",
        "minor >",
        "minor <",
        "minor ==",
        "minor >=",
        "minor <=",
    ];
    made.into_iter().any(digit_after)
}

#[test]
fn a_literal_is_recognised() {
    for line in [
        "if release >= V1_36 {",
        "const HERE: Gate = Gate::since(1, 27);",
        "EtcdVersion::new(5, 1)",
        "match name { \"v1.20\" => old() }",
        "if version.minor >= 6 {",
        "&[Line::until(4, 25)]",
    ] {
        assert!(names_a_release(line), "{line}");
    }
    for line in [
        "release.has(gates::WATCH_LIST)",
        "EtcdVersion::new(minor, patch)",
        "Gate::NEVER",
    ] {
        assert!(!names_a_release(line), "{line}");
    }
}

#[test]
fn releases_are_named_in_gate_tables_only() {
    let mut files = Vec::new();
    for folder in ["sim", "models", "scenarios", "docs"] {
        sources(&root().join(folder), &mut files);
    }
    assert!(files.len() > 300, "{}", files.len());
    // The table of releases, and the types, whose tests need some.
    let table = |path: &Path| {
        let text = path.to_string_lossy();
        path.ends_with("gates.rs")
            || text.contains("sim/releases/")
            || text.contains("sim/version/")
    };
    let mut wrong = Vec::new();
    for path in files.iter().filter(|path| !table(path)) {
        let text = fs::read_to_string(path).expect("it can be read");
        let named = code(&text).filter(|(_, line)| names_a_release(line));
        wrong.extend(named.map(|(at, line)| format!("{}:{at}: {line}", path.display())));
    }
    assert!(
        wrong.is_empty(),
        "ask a gate instead:\n{}",
        wrong.join("\n")
    );
}

/// Components cannot even name one: the table of releases is above them.
#[test]
fn components_do_not_depend_on_the_table_of_releases() {
    for component in ["version", "api", "etcd", "client", "apiserver", "cluster"] {
        let path = root().join("sim").join(component).join("Cargo.toml");
        let text = fs::read_to_string(path).expect("it is a crate");
        let own = text.split("[dependencies]").nth(1).unwrap_or_default();
        let own = own.split("\n[").next().unwrap_or_default();
        assert!(!own.contains("wavetank-releases"), "{component}");
    }
}

#[test]
fn every_gate_table_is_looked_at() {
    let mut files = Vec::new();
    sources(&root().join("sim"), &mut files);
    let is_table = |path: &&PathBuf| {
        let text = fs::read_to_string(path).expect("it can be read");
        path.ends_with("gates.rs") && text.contains("\ngates! {")
    };
    let root = root();
    let found: Vec<String> = files
        .iter()
        .filter(is_table)
        .map(|path| {
            path.parent()
                .expect("a folder")
                .strip_prefix(&root)
                .expect("below it")
        })
        .map(|folder| folder.to_string_lossy().into_owned())
        .collect();
    for folder in &found {
        assert!(TABLES.iter().any(|(known, _)| known == folder), "{folder}");
    }
    assert_eq!(found.len(), TABLES.len());
}

/// A release between is before what came after it and after what came before it, gate by gate.
#[test]
fn a_release_between_two_is_on_the_right_side_of_every_gate() {
    let mut lines = String::new();
    for (table, gates) in TABLES {
        lines += &format!("{table}\n");
        for NamedGate { name, gate } in gates {
            let side = |version: Version| match version.has(*gate) {
                true => "yes",
                false => "no ",
            };
            let between = side(HYPOTHETICAL.version);
            // Nothing is there only in between: what came after v1.20 and went before v1.36 has no model.
            assert!(
                [side(V1_20), side(V1_36)].contains(&between),
                "{table} {name}"
            );
            let [oldest, old, new] = VERSIONS.map(side);
            lines += &format!("  {oldest} {old} {between} {new}  {name}\n");
        }
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../snapshots/versions"
    ));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_description("v1.16, v1.20, a hypothetical v1.28, v1.36");
    settings.bind(|| insta::assert_snapshot!("gates", lines));
}

#[test]
fn a_release_between_two_ships_what_was_not_fixed_yet() {
    let shipped = Components::default().selection(&Composition::default(), HYPOTHETICAL.version);
    let has = |name: &str| shipped.iter().any(|defect| defect.name == name);
    // Fixed in 1.29 and later.
    assert!(has("status-finalizer-leaks") && has("release-from-memory"));
    // Fixed in 1.27 and 1.28.
    assert!(!has("last-apiserver-keeps-address") && !has("quiet-cache-falls-behind"));
    // Of v1.16 and v1.20 only.
    assert!(!has("relist-at-zero") && !has("failed-update-counts-as-done"));
    // Its algorithm came later.
    assert!(!has("watch-list-without-end"));
}

/// Every bundled scenario with apiservers runs under it, and is clean when all is fixed; but for those that name a controller
/// which is there since a later release only.
#[test]
fn a_release_between_two_needs_no_more_than_a_row() {
    let mut ran = 0;
    let mut younger = Vec::new();
    let mut found = BTreeMap::new();
    for scenario in Kube::default().bundled() {
        let fixed = Composition {
            fixed: true,
            ..Composition::default()
        };
        if Components::default().releases(&scenario.spec()).is_empty() {
            continue;
        }
        let name = scenario.name.clone();
        let job = match Kube::default().job(scenario, Some((&HYPOTHETICAL).into()), fixed) {
            Ok(job) => job,
            Err(why) => {
                assert!(why.contains("do not run the controller"), "{name}: {why}");
                younger.push(name);
                continue;
            }
        };
        let outcome = run_seed(&job, 0, None, Record::default());
        if let Ending::Violated(violation) = outcome.ending {
            found.insert(job.name().to_owned(), violation);
        }
        ran += 1;
    }
    assert!(ran > 5, "{ran}");
    assert_eq!(
        younger,
        [
            "autoscale-storm",
            "controller-staleness",
            "cron-storm",
            "daemon-storm",
            "disruption-storm",
            "endpoints-storm",
            "failover",
            "furnished-storm",
            "job-storm",
            "mirroring-storm",
            "node-storm",
            "pod-gc-storm",
            "quota-storm",
            "range-storm",
            "sieve",
            "stateful-storm",
            "volume-storm"
        ]
    );
    assert!(found.is_empty(), "{found:?}");
}
