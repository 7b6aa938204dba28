//! Mistakes in the controllers of ReplicaSets and ReplicationControllers, and the fixes of findings.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const STALE_REPLICAS: Defect = Defect::known(
    "stale-replicas",
    "k/k#129795 (before StaleControllerConsistencyReplicaSet, 1.36)",
    "a ReplicaSet is synced from a cache that has not seen what was written for it: pods are made again",
)
.ships(Gate::NEVER)
.fits_only(gates::REPLICA_SET_CONTROLLER);

const ACTS_WITHOUT_EXPECTATIONS: Defect = Defect::known(
    "acts-without-expectations",
    "`SatisfiedExpectations` of `syncReplicaSet`, left out",
    "pods are counted before the cache has shown those that were just made or deleted",
)
.ships(Gate::NEVER)
.fits_only(gates::REPLICA_SET_CONTROLLER);

const DELETIONS_COUNT_TWICE: Defect = Defect::known(
    "deletions-count-twice",
    "`UIDTrackingControllerExpectations`, left out",
    "a pod that is marked and then gone counts as two of the deletions that are expected",
)
.ships(Gate::NEVER)
.fits_only(gates::REPLICA_SET_CONTROLLER);

const REQUEUES_AFTER_SUCCESS: Defect = Defect::known(
    "requeues-after-success",
    "the condition of the availability check of `syncReplicaSet`, left out",
    "a set with `minReadySeconds` is synced again and again, although all its pods are available",
)
.ships(Gate::NEVER)
.fits_only(gates::REPLICA_SET_CONTROLLER);

const FIX_WAKE_WHEN_EXPIRED: Defect = Defect::fix(
    "fix-wake-when-expired",
    "FINDINGS.md, 23",
    "a set is looked at again when what it expects has expired, and not only when something of it changes",
)
.fits_only(gates::REPLICA_SET_CONTROLLER);

const FIX_REPLICATION_CONSISTENCY: Defect = Defect::fix(
    "fix-replication-consistency",
    "FINDINGS.md, 24",
    "a ReplicationController is not synced before the caches have seen what was written for it, as a ReplicaSet is not",
)
.fits_only(gates::REPLICA_SET_CONTROLLER);

const FIX_COUNT_NO_DELETED: Defect = Defect::fix(
    "fix-count-no-deleted",
    "FINDINGS.md, 25",
    "a pod whose deletion was accepted is not counted any more, however long the cache does not show that",
)
.fits_only(gates::REPLICA_SET_CONTROLLER);

defects! {
    /// A mistake in the controllers of sets of pods, or the fix of one.
    pub enum ReplicaSetDefect in "controllers of ReplicaSets and ReplicationControllers" {
        StaleReplicas = STALE_REPLICAS,
        ActsWithoutExpectations = ACTS_WITHOUT_EXPECTATIONS,
        DeletionsCountTwice = DELETIONS_COUNT_TWICE,
        RequeuesAfterSuccess = REQUEUES_AFTER_SUCCESS,
        FixWakeWhenExpired = FIX_WAKE_WHEN_EXPIRED,
        FixReplicationConsistency = FIX_REPLICATION_CONSISTENCY,
        FixCountNoDeleted = FIX_COUNT_NO_DELETED,
    }
}
