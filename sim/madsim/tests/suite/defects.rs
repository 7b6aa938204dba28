//! Two executors, one verdict: what the engine's own order of events finds of a defect, madsim finds as well.

use wavetank::case::{Case, run_seed};
use wavetank::catalogue::{Catalogue, Composition};
use wavetank::engine::drive::Ending;
use wavetank::engine::trace::{FoundViolation, Record};
use wavetank::kube::Kube;

fn endpoints(composition: &Composition) -> Box<dyn Case> {
    let case = Kube::default().open("kubernetes-endpoints", composition);
    case.expect("it is bundled")
}

fn on_madsim(case: &dyn Case, property: &str, seeds: u64) -> Option<FoundViolation> {
    let found = (0..seeds).filter_map(|seed| wavetank_madsim::run_seed(case, seed).violation);
    found
        .into_iter()
        .find(|violation| violation.property == property)
}

fn on_the_engine(case: &dyn Case, property: &str, seeds: u64) -> Option<FoundViolation> {
    let found =
        (0..seeds).filter_map(
            |seed| match run_seed(case, seed, None, Record::default()).ending {
                Ending::Violated(violation) => Some(violation),
                Ending::Clean => None,
            },
        );
    found
        .into_iter()
        .find(|violation| violation.property == property)
}

/// Both find a violation of this property, of one kind of object, and madsim finds none without the defect.
fn both_find(release: &str, defect: &str, property: &str) {
    let with = endpoints(&Composition {
        release: Some(release.to_owned()),
        fixed: true,
        defects: vec![defect.to_owned()],
        without: Vec::new(),
    });
    let engine = on_the_engine(with.as_ref(), property, 200);
    let madsim = on_madsim(with.as_ref(), property, 80);
    let engine = engine.unwrap_or_else(|| panic!("the engine does not find {defect}"));
    let madsim = madsim.unwrap_or_else(|| panic!("madsim does not find {defect}"));
    assert!(madsim.is_like(&engine), "{madsim:?} is not like {engine:?}");
}

#[test]
fn last_apiserver_keeps_address() {
    both_find(
        "v1.20",
        "last-apiserver-keeps-address",
        "stopped-address-is-removed",
    );
}

#[test]
fn listener_closes_before_removal() {
    both_find(
        "v1.20",
        "listener-closes-before-removal",
        "stopped-address-is-removed",
    );
}

#[test]
fn listed_before_ready() {
    both_find("v1.20", "listed-before-ready", "only-ready-are-listed");
}

#[test]
fn master_lease_double_slash() {
    both_find(
        "v1.20",
        "master-lease-double-slash",
        "stopped-address-is-removed",
    );
}

#[test]
fn master_lease_too_long() {
    both_find("v1.20", "master-lease-too-long", "master-leases-expire");
}

#[test]
fn remove_endpoints_unbounded() {
    both_find("v1.36", "remove-endpoints-unbounded", "shutdown-ends");
}

/// v1.20 as it shipped has k/k#115804, and more that violates the same property.
#[test]
fn a_release_as_it_shipped_is_found_out() {
    let shipped = endpoints(&Composition {
        release: Some("v1.20".to_owned()),
        ..Composition::default()
    });
    let found = (0..80).any(|seed| {
        let violation = wavetank_madsim::run_seed(shipped.as_ref(), seed).violation;
        violation.is_some_and(|found| {
            let says = "no master IPs were listed in storage, refusing to erase all endpoints";
            found.property == "stopped-address-is-removed" && found.message.contains(says)
        })
    });
    assert!(found, "k/k#115804 is not found");
    let fixed = endpoints(&Composition {
        release: Some("v1.20".to_owned()),
        fixed: true,
        ..Composition::default()
    });
    for seed in 0..8 {
        let outcome = wavetank_madsim::run_seed(fixed.as_ref(), seed);
        assert_eq!(outcome.violation, None, "seed {seed}");
    }
}
