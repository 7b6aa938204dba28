//! The operators under Sieve's patterns, with no property but that a run ends as it does without faults.

use std::future::Future;

use kube::Client;
use shop_operator::{Error, correct, halfway, intermediate, stale};
use wavetank_host::wavetank::replay::in_words;
use wavetank_host::wavetank::sweep::{Sweep, Unwatched};

use crate::cluster;

wavetank_host::wavetank::seeds!(
    the_correct_operator_ends_as_without_faults,
    cluster::command(correct::run).fixed("tests/sieve.yaml"),
    0..4
);

/// Under this seed the run ends otherwise, and says this.
fn found<F>(seed: u64, says: &str, run: impl Fn(Client, String) -> F + Send + Sync + 'static)
where
    F: Future<Output = Result<(), Error>> + 'static,
{
    let case = cluster::command(run).fixed("tests/sieve.yaml");
    let out = std::env::temp_dir().join(format!("sieve-{}-{}", std::process::id(), says.len()));
    let sweep = Sweep::new(case.as_ref(), seed..seed + 1, &out);
    let swept = sweep.run(&Unwatched).expect("it can run");
    let found = &swept.candidates.first().expect("it is found").first;
    let words = in_words(&found.violation);
    std::fs::remove_dir_all(&out).expect("it was made");
    assert_eq!(
        found.violation.property, "shop-operators-end-alike",
        "{words}"
    );
    assert!(words.contains(says), "{words}");
}

#[test]
fn who_trusts_what_it_sees_after_a_restart_ends_otherwise() {
    found(3, "-banner- is not there", stale::run);
}

#[test]
fn who_does_not_come_back_to_what_a_crash_cut_off_ends_otherwise() {
    found(9, "-theme is not there", halfway::run);
}

#[test]
fn who_must_see_every_edition_ends_otherwise() {
    found(0, "-edition-2 is not there", intermediate::run);
}
