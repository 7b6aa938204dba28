//! An operator and controller managers elect in one scenario, each under a lock of their own, and each lock is judged by
//! itself: that both have a leader at a time is no violation, and a leader of either that does not stop is one.

use wavetank::case::{Case, run_seed};
use wavetank::catalogue::Composition;
use wavetank::kube::Kube;
use wavetank::prelude::*;
use wavetank_api::kinds::LEASES;
use wavetank_client::leader_election::leads;
use wavetank_components::view::ClusterView;
use wavetank_engine::drive::Ending;
use wavetank_engine::trace::Record;
use wavetank_engine::{Name, World};
use wavetank_kube_controller_manager as kube_controller_manager;

const TEXT: &str = "\
name: two-elections
about: Controller managers and an operator elect, while all of them crash, pause and are cut off.
topology: {apiservers: 2, controller-managers: 2, look-ons: 2, watch-cache: true}
options: {endpoint-reconciler-type: none, leader-elect-release-on-cancel: [false, true]}
storm: 120s
calm: 600s
faults: {stop: {max: 6, lasts: 1s..9s}, crash: {max: 4, lasts: 1s..9s}, pause: {max: 4, lasts: 1s..20s}, stall: {max: 6, lasts: 1s..20s}}
properties:
  - lock-is-left-to-its-holder
  - leader-stops-in-time
  - one-leader-at-a-time
  - no-lock-write-after-release
  - somebody-leads
";

/// It looks on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct LookOn;

impl Reconciler for LookOn {
    const NAME: &'static str = "look-on";
    const REPLICAS: &'static str = "look-ons";
    const WATCHES: &'static [Watch] = &[Watch::of(&kinds::CONFIG_MAPS)];

    async fn reconcile(&self, _: &Context, _: &str) -> Result<(), Failure> {
        Ok(())
    }
}

fn kube() -> Kube {
    let operator = Operator::new("o", "an operator that looks on", |_| LookOn);
    wavetank::command().with(operator).catalogue()
}

fn case(text: &str, defects: &[&str]) -> Box<dyn Case> {
    let composition = Composition {
        fixed: true,
        defects: defects.iter().map(|&name| name.to_owned()).collect(),
        ..Composition::default()
    };
    let case = kube().case("two-elections.yaml", text, &composition);
    case.unwrap_or_else(|error| panic!("{error}"))
}

/// Who leads under this lock.
fn leaders(world: &World, lock: &'static str) -> Vec<String> {
    let all = world.processes();
    let leaders = all.filter(|process| leads(world, *process, Name::new(lock)));
    leaders.map(|own| world.name(own).to_owned()).collect()
}

wavetank::seeds!(each_lock_is_kept, case(TEXT, &[]), 0..6);

#[test]
fn each_lock_has_a_leader_of_its_own() {
    let faults = TEXT.find("faults:").expect("it has some");
    let properties = TEXT.find("properties:").expect("it has some");
    let quiet = [&TEXT[..faults], &TEXT[properties..]].concat();
    let outcome = run_seed(case(&quiet, &[]).as_ref(), 0, None, Record::default());
    assert_eq!(outcome.ending, Ending::Clean);
    for (lock, prefix) in [(kube_controller_manager::NAME, 'm'), (LookOn::NAME, 'o')] {
        let leaders = leaders(&outcome.world, lock);
        assert_eq!(leaders.len(), 1, "{lock}: {leaders:?}");
        assert!(leaders[0].starts_with(prefix), "{lock}: {leaders:?}");
    }
}

/// The properties see leaders of either lock.
#[test]
fn a_leader_of_either_lock_that_does_not_stop_is_found() {
    let case = case(TEXT, &["lost-leadership-goes-unnoticed"]);
    let mut found: Vec<char> = Vec::new();
    for seed in 0..40 {
        let outcome = run_seed(case.as_ref(), seed, None, Record::default());
        if let Ending::Violated(violated) = outcome.ending {
            assert_eq!(violated.property, "leader-stops-in-time");
            found.extend(violated.object.chars().next());
        }
        if found.contains(&'m') && found.contains(&'o') {
            return;
        }
    }
    panic!("found of: {found:?}");
}

/// Without controller managers the properties and the known bugs of elections are the operator's.
#[test]
fn an_operator_alone_is_held_to_its_lock() {
    let alone = [
        ("controller-managers: 2, ", ""),
        (", leader-elect-release-on-cancel: [false, true]", ""),
        ("  - no-lock-write-after-release\n", ""),
    ];
    let alone = alone.iter().fold(TEXT.to_owned(), |text, (ours, without)| {
        assert!(text.contains(ours), "{ours}");
        text.replace(ours, without)
    });
    let clean = run_seed(case(&alone, &[]).as_ref(), 0, None, Record::default());
    assert_eq!(clean.ending, Ending::Clean);
    let defect = "lost-leadership-goes-unnoticed";
    let unnoticed = case(&alone, &[defect]);
    let blamed = unnoticed.flips().into_iter().map(|flip| flip.name);
    assert!(blamed.collect::<Vec<_>>().contains(&defect.to_owned()));
    let found = (0..40).any(|seed| {
        let outcome = run_seed(unnoticed.as_ref(), seed, None, Record::default());
        matches!(outcome.ending, Ending::Violated(found) if found.property == "leader-stops-in-time")
    });
    assert!(found);
}

/// `--leader-elect=false`: each manager leads once it has begun, without a lock.
#[test]
fn managers_without_an_election_all_lead() {
    let without = [
        ("look-ons: 2", "clients: 1"),
        (
            "leader-elect-release-on-cancel: [false, true]",
            "leader-elect: false",
        ),
        ("calm: 600s", "calm: 60s"),
    ];
    let lines = TEXT.lines().filter(|line| {
        let is_of_storms = line.starts_with("faults:") || line.starts_with("storm:");
        !is_of_storms && !line.starts_with("  - ") && !line.starts_with("properties:")
    });
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let text = without.iter().fold(text, |text, (ours, other)| {
        assert!(text.contains(ours), "{ours}");
        text.replace(ours, other)
    });
    let case = case(&(text + "storm: 10s\n"), &[]);
    let outcome = run_seed(case.as_ref(), 0, None, Record::default());
    assert_eq!(outcome.ending, Ending::Clean);
    let leaders = leaders(&outcome.world, kube_controller_manager::NAME);
    assert_eq!(leaders, ["m1", "m2"]);
    let stored = ClusterView(&outcome.world).all(LEASES.registry);
    assert!(stored.is_empty(), "{stored:?}");
}
