//! Where the kinds are served and stored that no scenario of a storm has: one line of names each, and its rules.

use super::{Resource, autoscalers, cluster, events, policies, volumes, workloads};
use crate::strategy::Strategy;

const fn of(
    [group, version, plural, kind, registry]: [&'static str; 5],
    namespaced: bool,
    strategy: &'static dyn Strategy,
) -> Resource {
    Resource {
        group,
        version,
        plural,
        kind,
        namespaced,
        registry,
        strategy,
    }
}

/// apiregistration.k8s.io/v1 apiservices
pub static API_SERVICES: Resource = of(
    [
        "apiregistration.k8s.io",
        "v1",
        "apiservices",
        "APIService",
        "/registry/apiregistration.k8s.io/apiservices",
    ],
    false,
    &cluster::API_SERVICES,
);

/// autoscaling/v2 horizontalpodautoscalers
pub static AUTOSCALERS: Resource = of(
    [
        "autoscaling",
        "v2",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
        "/registry/horizontalpodautoscalers",
    ],
    true,
    &autoscalers::AUTOSCALERS,
);

/// autoscaling/v1 horizontalpodautoscalers
pub static OLD_AUTOSCALERS: Resource = of(
    [
        "autoscaling",
        "v1",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
        "/registry/horizontalpodautoscalers",
    ],
    true,
    &autoscalers::OLD_AUTOSCALERS,
);

/// events.k8s.io/v1 events
pub static NEW_EVENTS: Resource = of(
    ["events.k8s.io", "v1", "events", "Event", "/registry/events"],
    true,
    &events::NewEvents,
);

/// certificates.k8s.io/v1 certificatesigningrequests
pub static CERTIFICATE_SIGNING_REQUESTS: Resource = of(
    [
        "certificates.k8s.io",
        "v1",
        "certificatesigningrequests",
        "CertificateSigningRequest",
        "/registry/certificatesigningrequests",
    ],
    false,
    &cluster::CERTIFICATE_SIGNING_REQUESTS,
);

/// rbac.authorization.k8s.io/v1 clusterrolebindings
pub static CLUSTER_ROLE_BINDINGS: Resource = of(
    [
        "rbac.authorization.k8s.io",
        "v1",
        "clusterrolebindings",
        "ClusterRoleBinding",
        "/registry/clusterrolebindings",
    ],
    false,
    &cluster::CLUSTER_ROLE_BINDINGS,
);

/// rbac.authorization.k8s.io/v1 clusterroles
pub static CLUSTER_ROLES: Resource = of(
    [
        "rbac.authorization.k8s.io",
        "v1",
        "clusterroles",
        "ClusterRole",
        "/registry/clusterroles",
    ],
    false,
    &cluster::CLUSTER_ROLES,
);

/// apps/v1 controllerrevisions
pub static CONTROLLER_REVISIONS: Resource = of(
    [
        "apps",
        "v1",
        "controllerrevisions",
        "ControllerRevision",
        "/registry/controllerrevisions",
    ],
    true,
    &workloads::CONTROLLER_REVISIONS,
);

/// batch/v1 cronjobs
pub static CRON_JOBS: Resource = of(
    ["batch", "v1", "cronjobs", "CronJob", "/registry/cronjobs"],
    true,
    &workloads::CRON_JOBS,
);

/// storage.k8s.io/v1 csidrivers
pub static CSI_DRIVERS: Resource = of(
    [
        "storage.k8s.io",
        "v1",
        "csidrivers",
        "CSIDriver",
        "/registry/csidrivers",
    ],
    false,
    &volumes::CSI_DRIVERS,
);

/// storage.k8s.io/v1 csinodes
pub static CSI_NODES: Resource = of(
    [
        "storage.k8s.io",
        "v1",
        "csinodes",
        "CSINode",
        "/registry/csinodes",
    ],
    false,
    &volumes::CSI_NODES,
);

/// storage.k8s.io/v1 csistoragecapacities
pub static CSI_STORAGE_CAPACITIES: Resource = of(
    [
        "storage.k8s.io",
        "v1",
        "csistoragecapacities",
        "CSIStorageCapacity",
        "/registry/csistoragecapacities",
    ],
    true,
    &volumes::CSI_STORAGE_CAPACITIES,
);

/// apps/v1 daemonsets
pub static DAEMON_SETS: Resource = of(
    [
        "apps",
        "v1",
        "daemonsets",
        "DaemonSet",
        "/registry/daemonsets",
    ],
    true,
    &workloads::DAEMON_SETS,
);

/// resource.k8s.io/v1 deviceclasses
pub static DEVICE_CLASSES: Resource = of(
    [
        "resource.k8s.io",
        "v1",
        "deviceclasses",
        "DeviceClass",
        "/registry/deviceclasses",
    ],
    false,
    &cluster::DEVICE_CLASSES,
);

/// flowcontrol.apiserver.k8s.io/v1 flowschemas
pub static FLOW_SCHEMAS: Resource = of(
    [
        "flowcontrol.apiserver.k8s.io",
        "v1",
        "flowschemas",
        "FlowSchema",
        "/registry/flowschemas",
    ],
    false,
    &policies::FLOW_SCHEMAS,
);

/// networking.k8s.io/v1 ingressclasses
pub static INGRESS_CLASSES: Resource = of(
    [
        "networking.k8s.io",
        "v1",
        "ingressclasses",
        "IngressClass",
        "/registry/ingressclasses",
    ],
    false,
    &cluster::INGRESS_CLASSES,
);

/// networking.k8s.io/v1 ingresses
pub static INGRESSES: Resource = of(
    [
        "networking.k8s.io",
        "v1",
        "ingresses",
        "Ingress",
        "/registry/ingress",
    ],
    true,
    &cluster::INGRESSES,
);

/// v1 limitranges
pub static LIMIT_RANGES: Resource = of(
    [
        "",
        "v1",
        "limitranges",
        "LimitRange",
        "/registry/limitranges",
    ],
    true,
    &policies::LIMIT_RANGES,
);

/// admissionregistration.k8s.io/v1 mutatingadmissionpolicies
pub static MUTATING_ADMISSION_POLICIES: Resource = of(
    [
        "admissionregistration.k8s.io",
        "v1",
        "mutatingadmissionpolicies",
        "MutatingAdmissionPolicy",
        "/registry/mutatingadmissionpolicies",
    ],
    false,
    &cluster::MUTATING_ADMISSION_POLICIES,
);

/// admissionregistration.k8s.io/v1 mutatingadmissionpolicybindings
pub static MUTATING_ADMISSION_POLICY_BINDINGS: Resource = of(
    [
        "admissionregistration.k8s.io",
        "v1",
        "mutatingadmissionpolicybindings",
        "MutatingAdmissionPolicyBinding",
        "/registry/mutatingadmissionpolicybindings",
    ],
    false,
    &cluster::ADMISSION_POLICY_BINDINGS,
);

/// admissionregistration.k8s.io/v1 mutatingwebhookconfigurations
pub static MUTATING_WEBHOOK_CONFIGURATIONS: Resource = of(
    [
        "admissionregistration.k8s.io",
        "v1",
        "mutatingwebhookconfigurations",
        "MutatingWebhookConfiguration",
        "/registry/mutatingwebhookconfigurations",
    ],
    false,
    &cluster::WEBHOOK_CONFIGURATIONS,
);

/// networking.k8s.io/v1 networkpolicies
pub static NETWORK_POLICIES: Resource = of(
    [
        "networking.k8s.io",
        "v1",
        "networkpolicies",
        "NetworkPolicy",
        "/registry/networkpolicies",
    ],
    true,
    &cluster::NETWORK_POLICIES,
);

/// v1 persistentvolumeclaims
pub static PERSISTENT_VOLUME_CLAIMS: Resource = of(
    [
        "",
        "v1",
        "persistentvolumeclaims",
        "PersistentVolumeClaim",
        "/registry/persistentvolumeclaims",
    ],
    true,
    &volumes::PERSISTENT_VOLUME_CLAIMS,
);

/// v1 persistentvolumes
pub static PERSISTENT_VOLUMES: Resource = of(
    [
        "",
        "v1",
        "persistentvolumes",
        "PersistentVolume",
        "/registry/persistentvolumes",
    ],
    false,
    &volumes::PERSISTENT_VOLUMES,
);

/// policy/v1 poddisruptionbudgets
pub static POD_DISRUPTION_BUDGETS: Resource = of(
    [
        "policy",
        "v1",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
        "/registry/poddisruptionbudgets",
    ],
    true,
    &policies::POD_DISRUPTION_BUDGETS,
);

/// v1 podtemplates
pub static POD_TEMPLATES: Resource = of(
    [
        "",
        "v1",
        "podtemplates",
        "PodTemplate",
        "/registry/podtemplates",
    ],
    true,
    &workloads::POD_TEMPLATES,
);

/// scheduling.k8s.io/v1 priorityclasses
pub static PRIORITY_CLASSES: Resource = of(
    [
        "scheduling.k8s.io",
        "v1",
        "priorityclasses",
        "PriorityClass",
        "/registry/priorityclasses",
    ],
    false,
    &policies::PRIORITY_CLASSES,
);

/// flowcontrol.apiserver.k8s.io/v1 prioritylevelconfigurations
pub static PRIORITY_LEVEL_CONFIGURATIONS: Resource = of(
    [
        "flowcontrol.apiserver.k8s.io",
        "v1",
        "prioritylevelconfigurations",
        "PriorityLevelConfiguration",
        "/registry/prioritylevelconfigurations",
    ],
    false,
    &policies::PRIORITY_LEVEL_CONFIGURATIONS,
);

/// apps/v1 replicasets
pub static REPLICA_SETS: Resource = of(
    [
        "apps",
        "v1",
        "replicasets",
        "ReplicaSet",
        "/registry/replicasets",
    ],
    true,
    &workloads::REPLICA_SETS,
);

/// v1 replicationcontrollers
pub static REPLICATION_CONTROLLERS: Resource = of(
    [
        "",
        "v1",
        "replicationcontrollers",
        "ReplicationController",
        "/registry/controllers",
    ],
    true,
    &workloads::REPLICATION_CONTROLLERS,
);

/// resource.k8s.io/v1 resourceclaimtemplates
pub static RESOURCE_CLAIM_TEMPLATES: Resource = of(
    [
        "resource.k8s.io",
        "v1",
        "resourceclaimtemplates",
        "ResourceClaimTemplate",
        "/registry/resourceclaimtemplates",
    ],
    true,
    &cluster::RESOURCE_CLAIM_TEMPLATES,
);

/// resource.k8s.io/v1 resourceclaims
pub static RESOURCE_CLAIMS: Resource = of(
    [
        "resource.k8s.io",
        "v1",
        "resourceclaims",
        "ResourceClaim",
        "/registry/resourceclaims",
    ],
    true,
    &cluster::RESOURCE_CLAIMS,
);

/// v1 resourcequotas
pub static RESOURCE_QUOTAS: Resource = of(
    [
        "",
        "v1",
        "resourcequotas",
        "ResourceQuota",
        "/registry/resourcequotas",
    ],
    true,
    &policies::RESOURCE_QUOTAS,
);

/// resource.k8s.io/v1 resourceslices
pub static RESOURCE_SLICES: Resource = of(
    [
        "resource.k8s.io",
        "v1",
        "resourceslices",
        "ResourceSlice",
        "/registry/resourceslices",
    ],
    false,
    &cluster::RESOURCE_SLICES,
);

/// rbac.authorization.k8s.io/v1 rolebindings
pub static ROLE_BINDINGS: Resource = of(
    [
        "rbac.authorization.k8s.io",
        "v1",
        "rolebindings",
        "RoleBinding",
        "/registry/rolebindings",
    ],
    true,
    &cluster::ROLE_BINDINGS,
);

/// rbac.authorization.k8s.io/v1 roles
pub static ROLES: Resource = of(
    [
        "rbac.authorization.k8s.io",
        "v1",
        "roles",
        "Role",
        "/registry/roles",
    ],
    true,
    &cluster::ROLES,
);

/// node.k8s.io/v1 runtimeclasses
pub static RUNTIME_CLASSES: Resource = of(
    [
        "node.k8s.io",
        "v1",
        "runtimeclasses",
        "RuntimeClass",
        "/registry/runtimeclasses",
    ],
    false,
    &cluster::RUNTIME_CLASSES,
);

/// v1 serviceaccounts
pub static SERVICE_ACCOUNTS: Resource = of(
    [
        "",
        "v1",
        "serviceaccounts",
        "ServiceAccount",
        "/registry/serviceaccounts",
    ],
    true,
    &cluster::SERVICE_ACCOUNTS,
);

/// apps/v1 statefulsets
pub static STATEFUL_SETS: Resource = of(
    [
        "apps",
        "v1",
        "statefulsets",
        "StatefulSet",
        "/registry/statefulsets",
    ],
    true,
    &workloads::STATEFUL_SETS,
);

/// storage.k8s.io/v1 storageclasses
pub static STORAGE_CLASSES: Resource = of(
    [
        "storage.k8s.io",
        "v1",
        "storageclasses",
        "StorageClass",
        "/registry/storageclasses",
    ],
    false,
    &volumes::STORAGE_CLASSES,
);

/// admissionregistration.k8s.io/v1 validatingadmissionpolicies
pub static VALIDATING_ADMISSION_POLICIES: Resource = of(
    [
        "admissionregistration.k8s.io",
        "v1",
        "validatingadmissionpolicies",
        "ValidatingAdmissionPolicy",
        "/registry/validatingadmissionpolicies",
    ],
    false,
    &cluster::VALIDATING_ADMISSION_POLICIES,
);

/// admissionregistration.k8s.io/v1 validatingadmissionpolicybindings
pub static VALIDATING_ADMISSION_POLICY_BINDINGS: Resource = of(
    [
        "admissionregistration.k8s.io",
        "v1",
        "validatingadmissionpolicybindings",
        "ValidatingAdmissionPolicyBinding",
        "/registry/validatingadmissionpolicybindings",
    ],
    false,
    &cluster::ADMISSION_POLICY_BINDINGS,
);

/// admissionregistration.k8s.io/v1 validatingwebhookconfigurations
pub static VALIDATING_WEBHOOK_CONFIGURATIONS: Resource = of(
    [
        "admissionregistration.k8s.io",
        "v1",
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
        "/registry/validatingwebhookconfigurations",
    ],
    false,
    &cluster::WEBHOOK_CONFIGURATIONS,
);

/// storage.k8s.io/v1 volumeattachments
pub static VOLUME_ATTACHMENTS: Resource = of(
    [
        "storage.k8s.io",
        "v1",
        "volumeattachments",
        "VolumeAttachment",
        "/registry/volumeattachments",
    ],
    false,
    &volumes::VOLUME_ATTACHMENTS,
);

/// storage.k8s.io/v1 volumeattributesclasses
pub static VOLUME_ATTRIBUTES_CLASSES: Resource = of(
    [
        "storage.k8s.io",
        "v1",
        "volumeattributesclasses",
        "VolumeAttributesClass",
        "/registry/volumeattributesclasses",
    ],
    false,
    &volumes::VOLUME_ATTRIBUTES_CLASSES,
);
