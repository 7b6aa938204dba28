//! The defects of controllers of sets of pods and of Endpoints that a seed of `workload-storm`, `rollout-storm` or
//! `endpoints-storm` shows;
//! `deletions-count-twice` is found by `replicaset-stale`, `fix-count-no-deleted` by `replicaset-deletes`. `fix-wake-when-expired` shows in fewer seeds than a test can try: here a set is made anew at the
//! moment that matters.

use wavetank::attribution::Attribution;
use wavetank::case::Case;
use wavetank::kube::Kube;
use wavetank::sweep::{Sweep, Swept, Unwatched};
use wavetank_cluster::Components;
use wavetank_version::Composition;

use crate::support::pins::pins;
use crate::support::scratch;

pins! {
    stale_replicas: "stale-replicas",
    acts_without_expectations: "acts-without-expectations",
    adopts_unchecked: "adopts-unchecked",
    adopts_by_replacing: "adopts-by-replacing",
    requeues_after_success: "requeues-after-success",
    fix_replication_consistency: "fix-replication-consistency",
    takes_any_set_of_its_name: "takes-any-set-of-its-name",
    cleans_up_sets_in_use: "cleans-up-sets-in-use",
    deadline_is_not_awaited: "deadline-is-not-awaited",
    fix_complete_is_not_stuck: "fix-complete-is-not-stuck",
    compares_with_stale_endpoints: "compares-with-stale-endpoints",
    unchanged_endpoints_are_stale: "unchanged-endpoints-are-stale",
    leftovers_are_not_checked: "leftovers-are-not-checked",
}

const MADE_ANEW: &str = "
name: set-made-anew
about: A ReplicaSet that asks for no pods adopts one, and is made anew meanwhile.
release: v1.36
topology: {etcd: 1, apiservers: 1, controller-managers: 1, replica-set-users: 2, watch-cache: true}
options: {endpoint-reconciler-type: none, controllers: [replicaset-controller]}
network: {latency: 1ms..20ms}
storm: 50s
calm: 900s
plan:
  - {at: 30s, tell: {process: k1, what: use, with: {what: create, kind: ReplicaSet, set: a, replicas: 0}}}
  - {at: 40s, tell: {process: k1, what: use, with: {what: create-pod, kind: ReplicaSet, set: a, pod: own}}}
  - {at: 40s, tell: {process: k2, what: use, with: {what: recreate, kind: ReplicaSet, set: a, replicas: 1}}}
properties: [replicas-are-met]
";

/// So many seeds of it, with all that is fixed but for these.
fn made_anew(off: &[&str]) -> Swept {
    let scenario = Kube::default().read("set-made-anew.yaml", MADE_ANEW);
    let scenario = scenario.unwrap_or_else(|why| panic!("{why}"));
    let named = |name: &&str| Components::default().defect(name).expect("it is declared");
    let composition = Composition {
        fixed: true,
        on: Vec::new(),
        off: off.iter().map(named).collect(),
    };
    let case = Kube::default().job(scenario, None, composition);
    let case = case.unwrap_or_else(|why| panic!("{why}"));
    let out = scratch(&format!("set-made-anew-{}", off.len()));
    let sweep = Sweep {
        keep_going: true,
        ..Sweep::new(&case as &dyn Case, 0..8, &out)
    };
    sweep.run(&Unwatched).expect("a sweep")
}

#[test]
fn fix_wake_when_expired() {
    let broken = made_anew(&["fix-wake-when-expired"]);
    let own = Attribution::Each(vec!["fix-wake-when-expired".to_owned()]);
    assert!(!broken.candidates.is_empty(), "no seed shows it");
    for candidate in &broken.candidates {
        assert_eq!(candidate.first.violation.property, "replicas-are-met");
        assert_eq!(candidate.first.attribution, own);
    }
    let clean = made_anew(&[]);
    assert!(clean.candidates.is_empty(), "{:?}", clean.candidates);
    let held = &clean.totals.properties["replicas-are-met"];
    assert!(held.tested.total > 0, "never put to the test");
}
