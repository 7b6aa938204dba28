//! The main scenario on madsim: clean when all is fixed, and the same seed is the same run.

use wavetank::case::Case;
use wavetank::catalogue::{Catalogue, Composition};
use wavetank::kube::Kube;
use wavetank_madsim::{Outcome, run_here, run_seed};

fn fixed() -> Box<dyn Case> {
    let composition = Composition {
        fixed: true,
        ..Composition::default()
    };
    let case = Kube::default().open("kubernetes-endpoints", &composition);
    case.expect("it is bundled")
}

#[test]
fn it_is_clean_when_all_is_fixed_and_every_guarantee_is_tested() {
    let case = fixed();
    let outcomes: Vec<Outcome> = (0..12).map(|seed| run_seed(case.as_ref(), seed)).collect();
    for (seed, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.violation, None, "seed {seed}");
    }
    let times = |property: &str| {
        let of = |outcome: &Outcome| {
            outcome
                .tested
                .iter()
                .find(|(name, _)| name == property)
                .map_or(0, |(_, times)| *times)
        };
        outcomes.iter().map(of).sum::<u64>()
    };
    for property in [
        "clients-reach-an-apiserver",
        "endpoints-are-not-emptied",
        "endpoints-converge",
        "master-leases-expire",
        "no-lease-write-after-removal",
        "only-ready-are-listed",
        "quiet-when-stable",
        "shutdown-ends",
        "slice-agrees",
        "stopped-address-is-removed",
    ] {
        assert!(times(property) > 0, "no seed put {property} to the test");
    }
    let struck = |fault: &str| {
        outcomes
            .iter()
            .any(|outcome| outcome.injected.iter().any(|(name, _)| name == fault))
    };
    for fault in [
        "stop",
        "crash",
        "power-loss",
        "pause",
        "deschedule",
        "partition",
        "partition-one-way",
        "stall",
        "reset",
        "half-open",
        "lose-answer",
        "loss",
        "slow-network",
        "clock-rate",
    ] {
        assert!(struck(fault), "{fault} never struck");
    }
}

#[test]
fn a_seed_is_one_run_alone_and_after_others() {
    let case = fixed();
    let alone = run_seed(case.as_ref(), 3);
    let other = run_seed(case.as_ref(), 4);
    let again = run_seed(case.as_ref(), 3);
    assert!(
        alone.log.len() > 1_000,
        "{} lines are no storm",
        alone.log.len()
    );
    assert_ne!(alone.log, other.log);
    assert!(alone.log == again.log, "one seed, two logs");
}

/// What a service's own test looks like: madsim's attribute, and its `MADSIM_TEST_SEED`.
#[madsim::test]
async fn under_the_seed_of_the_environment() {
    let seed = madsim::runtime::Handle::current().seed();
    let outcome = run_here(fixed().as_ref(), seed).await;
    assert_eq!(outcome.violation, None, "MADSIM_TEST_SEED={seed}");
}
