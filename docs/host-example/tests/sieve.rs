//! The operators under Sieve's patterns, with no property but that a run ends as it does without faults.

mod cluster;

use std::future::Future;

use kube::Client;
use shop_operator::{Error, correct, halfway, intermediate, stale};
use wavetank_host::wavetank::replay::in_words;
use wavetank_host::wavetank::sweep::{Sweep, Unwatched};

/// So many seeds are tried.
const SEEDS: u64 = 40;

wavetank_host::wavetank::seeds!(
    the_correct_operator_ends_as_without_faults,
    cluster::command(correct::run).fixed("tests/sieve.yaml"),
    0..20
);

fn found<F>(says: &str, run: impl Fn(Client, String) -> F + Send + Sync + 'static)
where
    F: Future<Output = Result<(), Error>> + 'static,
{
    let case = cluster::command(run).fixed("tests/sieve.yaml");
    let out = std::env::temp_dir().join(format!("sieve-{}-{}", std::process::id(), says.len()));
    let sweep = Sweep::new(case.as_ref(), 0..SEEDS, &out);
    let swept = sweep.run(&Unwatched).expect("it can run");
    let found = &swept.candidates.first().expect("it is found").first;
    let words = in_words(&found.violation);
    std::fs::remove_dir_all(&out).expect("it was made");
    assert_eq!(found.violation.property, "shop-operators-end-alike", "{words}");
    assert!(words.contains(says), "{words}");
}

#[test]
fn who_trusts_what_it_sees_after_a_restart_ends_otherwise() {
    found("-banner-", stale::run);
}

#[test]
fn who_does_not_come_back_to_what_a_crash_cut_off_ends_otherwise() {
    found("-theme is not there", halfway::run);
}

#[test]
fn who_must_see_every_edition_ends_otherwise() {
    found("-edition-", intermediate::run);
}
