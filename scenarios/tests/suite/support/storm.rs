//! Known bugs and findings in a storm: one seed shows each, and nothing without it.

use wavetank::case::run_seed;
use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::Kube;
use wavetank_engine::drive::Ending;
use wavetank_engine::trace::Record;

/// Which property a seed violates when all is fixed but for these, if any.
fn violated(
    scenario: &str,
    release: &str,
    seed: u64,
    defect: Option<&str>,
    fix: Option<&str>,
) -> Option<String> {
    let names = |name: Option<&str>| name.into_iter().map(str::to_owned).collect();
    let composition = Composition {
        fixed: true,
        release: Some(release.to_owned()),
        defects: names(defect),
        without: names(fix),
    };
    let case = Kube::default()
        .open(scenario, &composition)
        .expect("it opens");
    match run_seed(case.as_ref(), seed, None, Record::default()).ending {
        Ending::Clean => None,
        Ending::Violated(found) => Some(found.property),
    }
}

/// With the defect this seed violates this property, and without it none.
#[track_caller]
pub fn shows(scenario: &str, defect: &str, release: &str, seed: u64, property: &str) {
    let found = violated(scenario, release, seed, Some(defect), None);
    assert_eq!(found.as_deref(), Some(property));
    let fixed = violated(scenario, release, seed, None, None);
    assert_eq!(fixed, None, "without it");
}

/// Without the mending of a finding this seed violates this property, and with it none.
#[track_caller]
pub fn mends(scenario: &str, fix: &str, release: &str, seed: u64, property: &str) {
    let found = violated(scenario, release, seed, None, Some(fix));
    assert_eq!(found.as_deref(), Some(property));
    let fixed = violated(scenario, release, seed, None, None);
    assert_eq!(fixed, None, "with it");
}
