//! What changed between releases in the controllers of controller managers.

use wavetank_version::{Gate, gates};

gates! {
    /// The controllers of ReplicaSets and ReplicationControllers in the form that is here: pods that are to go are ranked by
    /// their cost and the logarithm of their age (`PodDeletionCost`, `LogarithmicScaleDown`, beta).
    pub REPLICA_SET_CONTROLLER = Gate::since(1, 22);
    /// The status says how many pods are terminating (`DeploymentReplicaSetTerminatingReplicas`, beta).
    pub TERMINATING_REPLICAS = Gate::since(1, 35);
    /// A ReplicaSet is not synced before the caches have seen what was written for it
    /// (`StaleControllerConsistencyReplicaSet`, beta).
    pub READS_OWN_WRITES = Gate::since(1, 36);
    /// The controllers of Endpoints and EndpointSlices in the form that is here: pods have a queue of their own, and what the
    /// Endpoints controller writes is labelled as its own.
    pub ENDPOINTS_CONTROLLER = Gate::since(1, 36);
    /// The controller that mirrors Endpoints in the form that is here: it packs subsets first (1.27), and looks at the UID of what a
    /// slice mirrors (1.31).
    pub MIRRORING_CONTROLLER = Gate::since(1, 36);
    /// The Deployment controller in the form that is here, over ReplicaSets as they are here.
    pub DEPLOYMENT_CONTROLLER = Gate::since(1, 22);
    /// The garbage collector in the form that is here: its client asks first whether it can have all resources at once.
    /// That workers waited while monitors were synced is left out.
    pub GARBAGE_COLLECTOR = Gate::since(1, 26);
    /// The controller of namespaces in the form that is here: its client does likewise.
    pub NAMESPACE_CONTROLLER = Gate::since(1, 26);
    /// Pods of a namespace go before all else (`OrderedNamespaceDeletion`, beta).
    pub NAMESPACE_DELETION_IS_ORDERED = Gate::since(1, 33);
    /// The controller of StatefulSets in the form that is here: a set is not synced before the caches have seen what was
    /// written for it (`StaleControllerConsistencyStatefulSet`, beta).
    pub STATEFUL_SET_CONTROLLER = Gate::since(1, 36);
    /// The controller of DaemonSets in the form that is here: a set is not synced before the caches have seen what was written
    /// for it (`StaleControllerConsistencyDaemonSet`, beta), and nodes have a queue of their own.
    pub DAEMON_SET_CONTROLLER = Gate::since(1, 36);
    /// The controller that protects claims in the form that is here.
    pub CLAIM_PROTECTION_CONTROLLER = Gate::since(1, 36);
    /// The controller that binds claims to volumes in the form that is here: it asks an apiserver for claims that its cache does not
    /// show as volumes have them, and gives classes to claims later on.
    pub VOLUME_BINDER_CONTROLLER = Gate::since(1, 36);
    /// The controller that protects volumes in the form that is here.
    pub VOLUME_PROTECTION_CONTROLLER = Gate::since(1, 36);
    /// The controller of quotas in the form that is here.
    pub QUOTA_CONTROLLER = Gate::since(1, 36);
    /// The pod garbage collector in the form that is here: what it says of a pod is a patch of its status.
    pub POD_GARBAGE_COLLECTOR = Gate::since(1, 36);
    /// The Job controller in the form that is here: a Job is not synced before the caches have seen what was written for it
    /// (`StaleControllerConsistencyJob`, beta), and keeps no start while it is suspended
    /// (`MutableSchedulingDirectivesForSuspendedJobs`, beta).
    pub JOB_CONTROLLER = Gate::since(1, 36);
    /// The CronJob controller in the form that is here: `ControllerV2` (beta in 1.21), with what was mended in it since.
    pub CRON_JOB_CONTROLLER = Gate::since(1, 36);
    /// The controller of disruption budgets in the form that is here: a budget says what became of its last sync, and a pod that
    /// was to be evicted and is not does not say so for ever.
    pub DISRUPTION_CONTROLLER = Gate::since(1, 36);
    /// A Job whose next pod has to wait says how many are active (PR #139457).
    pub BACKED_OFF_JOBS_HAVE_PODS = Gate::since(1, 37);
    /// The Job of a time that was made before is looked up in its namespace (PR #136920).
    pub EXISTING_JOBS_ARE_FOUND = Gate::since(1, 37);
    /// The node lifecycle controller in the form that is here: taint eviction is a controller of its own
    /// (`SeparateTaintEvictionController`, beta in 1.29), and a node may be silent for 50 s.
    pub NODE_LIFECYCLE_CONTROLLER = Gate::since(1, 36);
    /// The taint eviction controller in the form that is here.
    pub TAINT_EVICTION_CONTROLLER = Gate::since(1, 36);
    /// The node lifecycle controller asks for a Lease before it takes its node for lost (PR #138698).
    pub LEASES_ARE_ASKED_FOR = Gate::since(1, 37);
    /// The finalizer of a pod whose Job is gone is tried again where a request failed (PR #141329).
    pub ORPHANS_ARE_TRIED_AGAIN = Gate::since(1, 38);
    /// A slice whose deletion was seen before its update was answered is not tracked (PR #141593).
    pub GONE_SLICES_ARE_NOT_TRACKED = Gate::since(1, 38);
    /// A slice without endpoints is kept for a Service only if that owns it (PR #141593).
    pub PLACEHOLDERS_HAVE_THEIR_OWNER = Gate::since(1, 38);
    /// The publisher of the root certificate in the form that is here: its ConfigMap has a description.
    pub ROOT_CA_PUBLISHER = Gate::since(1, 36);
    /// The controller of ServiceAccounts in the form that is here.
    pub SERVICE_ACCOUNT_CONTROLLER = Gate::since(1, 36);
    /// The controller of tokens of ServiceAccounts in the form that is here: it makes no Secrets
    /// (`LegacyServiceAccountTokenNoAutoGeneration`, beta in 1.24).
    pub TOKENS_CONTROLLER = Gate::since(1, 36);
    /// The TTL controller, which is as it was.
    pub TTL_CONTROLLER = Gate::since(1, 36);
    /// The controller that gives ranges to nodes in the form that is here: a work queue (1.27), and ranges of nodes that are being
    /// deleted stay taken (1.32).
    pub NODE_IPAM_CONTROLLER = Gate::since(1, 36);
    /// The controller that aggregates ClusterRoles in the form that is here: it applies rules (1.21), and has no other way
    /// (PR #136700).
    pub CLUSTER_ROLE_AGGREGATION = Gate::since(1, 36);
    /// The controller of HorizontalPodAutoscalers in the form that is here: a scale that somebody else has changed is read again
    /// (PR #132007, 1.34), and tolerances are its own (`HPAConfigurableTolerance`, beta in 1.35).
    pub HORIZONTAL_POD_AUTOSCALER_CONTROLLER = Gate::since(1, 36);
}
