//! The defects of the StatefulSet controller, and of who protects claims. `asks-the-cache-only` is found by `claims-in-use`.
//! `fix-delete-the-pod-it-saw` shows when a request is late by the time another manager needs to lead: here it is.

use wavetank::attribution::Attribution;
use wavetank::case::Case;
use wavetank::kube::Kube;
use wavetank::sweep::{Sweep, Swept, Unwatched};
use wavetank_cluster::Components;
use wavetank_version::Composition;

use crate::support::pins::pins;
use crate::support::scratch;

pins! {
    stale_stateful_set: "stale-stateful-set",
    pods_do_not_wait: "pods-do-not-wait",
    equal_revision_collides: "equal-revision-collides",
    stale_claim_is_used: "stale-claim-is-used",
    history_is_kept: "history-is-kept",
    availability_is_not_awaited: "availability-is-not-awaited",
    waits_for_broken_pod: "waits-for-broken-pod",
    fix_count_current_pods: "fix-count-current-pods",
    fix_claims_go_first: "fix-claims-go-first",
    fix_look_again_for_claims: "fix-look-again-for-claims",
}

const LATE_DELETION: &str = "
name: late-deletion
about: A set is rolled out; a DELETE is held up until another manager has done that and the pod is a new one.
release: v1.36
topology:
  {etcd: 1, apiservers: 1, controller-managers: 2, stateful-set-users: 1, pod-runners: 1, watch-cache: true}
options: {endpoint-reconciler-type: none, controllers: [statefulset-controller]}
workload:
  run-pods: {every: 300ms}
network: {latency: 5ms..20ms}
storm: 90s
calm: 10s
plan:
  - {at: 30s, tell: {process: y1, what: use, with: {what: create, set: a, replicas: 1}}}
  - {at: 45s, tell: {process: y1, what: use, with: {what: roll-out, set: a, image: 'image:2'}}}
  - {at: 45.1s, fault: {stall: {from: m1, to: a1}}}
  - {at: 46s, fault: {pause: {process: m1}}}
  - {at: 70s, fault: {unstall: {from: m1, to: a1}}}
  - {at: 71s, fault: {resume: {process: m1}}}
properties: [deleted-pods-were-seen]
";

/// So many seeds of it, with all that is fixed but for these.
fn late_deletion(off: &[&str]) -> Swept {
    let scenario = Kube::default().read("late-deletion.yaml", LATE_DELETION);
    let scenario = scenario.unwrap_or_else(|why| panic!("{why}"));
    let named = |name: &&str| Components::default().defect(name).expect("it is declared");
    let composition = Composition {
        fixed: true,
        on: Vec::new(),
        off: off.iter().map(named).collect(),
    };
    let case = Kube::default().job(scenario, None, composition);
    let case = case.unwrap_or_else(|why| panic!("{why}"));
    let out = scratch(&format!("late-deletion-{}", off.len()));
    let sweep = Sweep {
        keep_going: true,
        ..Sweep::new(&case as &dyn Case, 0..24, &out)
    };
    sweep.run(&Unwatched).expect("a sweep")
}

#[test]
fn fix_delete_the_pod_it_saw() {
    let broken = late_deletion(&["fix-delete-the-pod-it-saw"]);
    let own = Attribution::Each(vec!["fix-delete-the-pod-it-saw".to_owned()]);
    assert!(!broken.candidates.is_empty(), "no seed shows it");
    for candidate in &broken.candidates {
        assert_eq!(candidate.first.violation.property, "deleted-pods-were-seen");
        assert_eq!(candidate.first.attribution, own);
    }
    let clean = late_deletion(&[]);
    assert!(clean.candidates.is_empty(), "{:?}", clean.candidates);
    let held = &clean.totals.properties["deleted-pods-were-seen"];
    assert!(held.tested.total > 0, "never put to the test");
}
