//! The defects of controllers of sets of pods that a seed of `workload-storm`, `rollout-storm` or `controller-staleness` shows;
//! `stale-replicas` is found by `replication-stale`, `deletions-count-twice` by `replicaset-stale`, `fix-count-no-deleted` by
//! `replicaset-deletes`, `same-size-keeps-annotations` by `deployment-resized`,
//! `fix-failed-scale-downs-are-tried-again` by `deployment-scale-down`. `fix-wake-when-expired` is found by
//! `replicaset-unseen`, and shows in fewer seeds than a test can try: here a set is made anew at the moment that matters.

use crate::support::pins::pins;
use crate::support::planned::shows_fix;

pins! {
    acts_without_expectations: "acts-without-expectations",
    adopts_unchecked: "adopts-unchecked",
    adopts_by_replacing: "adopts-by-replacing",
    requeues_after_success: "requeues-after-success",
    fix_replication_consistency: "fix-replication-consistency",
    takes_any_set_of_its_name: "takes-any-set-of-its-name",
    cleans_up_sets_in_use: "cleans-up-sets-in-use",
    deadline_is_not_awaited: "deadline-is-not-awaited",
    fix_complete_is_not_stuck: "fix-complete-is-not-stuck",
    fix_scale_recreated_sets: "fix-scale-recreated-sets",
    fix_keep_what_is_scaled: "fix-keep-what-is-scaled",
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

#[test]
fn fix_wake_when_expired() {
    let fix = "fix-wake-when-expired";
    shows_fix(MADE_ANEW, 0..8, fix, "replicas-are-met");
}
