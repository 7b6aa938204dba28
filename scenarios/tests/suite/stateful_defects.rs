//! The defects of the StatefulSet controller, and of who protects claims. `asks-the-cache-only` is found by `claims-in-use`,
//! the lack of `fix-claims-follow-at-once` by `claims-policy`, of `fix-claims-without-pods-go` by `claims-scaled`, of
//! `fix-names-that-are-free-are-told` by `stateful-set-made-anew`, and of `fix-look-for-the-current-revision` by `stateful-partition`.
//! `fix-delete-the-pod-it-saw` shows when a request is late by the time another manager needs to lead: here it is.

use crate::support::pins::pins;
use crate::support::planned::shows_fix;

pins! {
    stale_stateful_set: "stale-stateful-set",
    pods_do_not_wait: "pods-do-not-wait",
    equal_revision_collides: "equal-revision-collides",
    stale_claim_is_used: "stale-claim-is-used",
    history_is_kept: "history-is-kept",
    availability_is_not_awaited: "availability-is-not-awaited",
    available_sets_are_synced: "available-sets-are-synced",
    waits_for_broken_pod: "waits-for-broken-pod",
    fix_count_current_pods: "fix-count-current-pods",
    fix_claims_go_first: "fix-claims-go-first",
    fix_look_again_for_claims: "fix-look-again-for-claims",
    fix_look_again_for_caches: "fix-look-again-for-caches",
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

#[test]
fn fix_delete_the_pod_it_saw() {
    let fix = "fix-delete-the-pod-it-saw";
    shows_fix(LATE_DELETION, 0..24, fix, "deleted-pods-were-seen");
}
