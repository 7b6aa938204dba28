//! Fixes and defects that show at a moment which few seeds come to: a scenario of a test's own brings that moment about.

use std::ops::Range;

use wavetank::attribution::Attribution;
use wavetank::case::Case;
use wavetank::kube::Kube;
use wavetank::sweep::{Sweep, Swept, Unwatched};
use wavetank_cluster::Components;
use wavetank_version::Composition;

use super::scratch;

/// Without the fix some of these seeds violate the property, and nothing else, and the fix is what is to blame. With all
/// fixed none violates anything, and the property is put to the test.
pub fn shows_fix(scenario: &str, seeds: Range<u64>, fix: &str, property: &str) {
    shows(scenario, seeds, (&[], &[fix]), property);
}

/// The same with the defect.
pub fn shows_defect(scenario: &str, seeds: Range<u64>, defect: &str, property: &str) {
    shows(scenario, seeds, (&[defect], &[]), property);
}

/// The defects that are on, and the fixes that are off.
type Switched<'a> = (&'a [&'a str], &'a [&'a str]);

fn shows(scenario: &str, seeds: Range<u64>, switched: Switched<'_>, property: &str) {
    let broken = swept(scenario, seeds.clone(), switched);
    let own = [switched.0, switched.1].concat();
    let own = Attribution::Each(own.into_iter().map(str::to_owned).collect());
    assert!(!broken.candidates.is_empty(), "no seed shows it");
    for candidate in &broken.candidates {
        assert_eq!(candidate.first.violation.property, property);
        assert_eq!(candidate.first.attribution, own);
    }
    let clean = swept(scenario, seeds, (&[], &[]));
    assert!(clean.candidates.is_empty(), "{:?}", clean.candidates);
    let held = &clean.totals.properties[property];
    assert!(held.tested.total > 0, "never put to the test");
}

/// So many seeds of it, with all that is fixed but for these.
fn swept(scenario: &str, seeds: Range<u64>, (on, off): Switched<'_>) -> Swept {
    let name = scenario
        .lines()
        .find_map(|line| line.strip_prefix("name: "));
    let file = format!("{}.yaml", name.expect("it has a name"));
    let scenario = Kube::default().read(&file, scenario);
    let scenario = scenario.unwrap_or_else(|why| panic!("{why}"));
    let out = scratch(&format!(
        "{}-{}",
        scenario.name,
        [on, off].concat().join("-")
    ));
    let named = |name: &&str| Components::default().defect(name).expect("it is declared");
    let composition = Composition {
        fixed: true,
        on: on.iter().map(named).collect(),
        off: off.iter().map(named).collect(),
    };
    let case = Kube::default().job(scenario, None, composition);
    let case = case.unwrap_or_else(|why| panic!("{why}"));
    let sweep = Sweep {
        keep_going: true,
        ..Sweep::new(&case as &dyn Case, seeds, &out)
    };
    sweep.run(&Unwatched).expect("a sweep")
}
