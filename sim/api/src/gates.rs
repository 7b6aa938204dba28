//! What changed between releases in what requests mean. Where it is not known in which release something changed, the
//! gate stands at the first modelled release that has it, and says so.

use wavetank_version::{Gate, gates};

gates! {
    /// EndpointSlices as `discovery.k8s.io/v1` (this and what follows as `APILifecycleIntroduced` of each type says).
    pub ENDPOINT_SLICES_V1 = Gate::since(1, 21);
    /// CronJobs as `batch/v1`.
    pub CRON_JOBS_V1 = Gate::since(1, 21);
    /// PodDisruptionBudgets as `policy/v1`.
    pub POD_DISRUPTION_BUDGETS_V1 = Gate::since(1, 21);
    /// HorizontalPodAutoscalers as `autoscaling/v2`.
    pub AUTOSCALERS_V2 = Gate::since(1, 23);
    /// Ingresses as `networking.k8s.io/v1`.
    pub INGRESSES_V1 = Gate::since(1, 19);
    /// CertificateSigningRequests as `certificates.k8s.io/v1`.
    pub CERTIFICATE_SIGNING_REQUESTS_V1 = Gate::since(1, 19);
    /// RuntimeClasses as `node.k8s.io/v1`.
    pub RUNTIME_CLASSES_V1 = Gate::since(1, 20);
    /// CSIDrivers as `storage.k8s.io/v1`.
    pub CSI_DRIVERS_V1 = Gate::since(1, 18);
    /// CSINodes as `storage.k8s.io/v1`.
    pub CSI_NODES_V1 = Gate::since(1, 17);
    /// `resourceVersionMatch` of a list (KEP-1904, `apimachinery/pkg/apis/meta/v1/types.go`).
    pub RESOURCE_VERSION_MATCH = Gate::since(1, 19);
    /// Services have as many addresses as families: `clusterIPs`, `ipFamilies` (PR #91824,
    /// `pkg/apis/core/validation/validation.go`).
    pub CLUSTER_IPS = Gate::since(1, 20);
    /// Families are completed by defaults and by the strategy, and by the layer before the registry; hooks of the
    /// registry do it later.
    pub FAMILIES_BEFORE_HOOKS = Gate::since(1, 20).gone_since(1, 23);
    /// What depends on the type of a Service is dropped when it changes (`dropTypeDependentFields`,
    /// `pkg/registry/core/service/strategy.go`; the first modelled release that has it).
    pub TYPE_DEPENDENT_FIELDS_ARE_DROPPED = Gate::since(1, 20);
    /// Two families need no gate (`IPv6DualStack`, beta).
    pub DUAL_STACK = Gate::since(1, 21);
    /// Every namespace is labelled with its name (`NamespaceDefaultLabelName`, beta).
    pub NAMESPACES_ARE_LABELLED = Gate::since(1, 21);
    /// `allocateLoadBalancerNodePorts` (`ServiceLBNodePortControl`, beta).
    pub LOAD_BALANCER_NODE_PORTS = Gate::since(1, 22);
    /// `internalTrafficPolicy` (`ServiceInternalTrafficPolicy`, beta).
    pub INTERNAL_TRAFFIC_POLICY = Gate::since(1, 22);
    /// `loadBalancerClass` (`ServiceLoadBalancerClass`, beta).
    pub LOAD_BALANCER_CLASS = Gate::since(1, 22);
    /// Ports for health checks and traffic policies are checked by validation, and not once the layer before the
    /// registry has allocated (`validateServiceExternalTrafficPolicy`; the layer is gone since).
    pub TRAFFIC_IS_VALIDATED = Gate::since(1, 23);
    /// Services are deleted as a collection, too: their storage is the generic one since then
    /// (`pkg/registry/core/service/storage/storage.go`).
    pub SERVICES_HAVE_DELETE_COLLECTION = Gate::since(1, 23);
    /// `ttlSecondsAfterFinished` of a Job (`TTLAfterFinished`, beta; alpha and off since 1.12).
    pub TTL_AFTER_FINISHED = Gate::since(1, 21);
    /// `fieldValidation` (KEP-2885, `ServerSideFieldValidation`, beta; alpha and off since 1.23).
    pub FIELD_VALIDATION = Gate::since(1, 25);
    /// Only load balancers have an ingress in their status (`AllowServiceLBStatusOnNonLB`, off).
    pub INGRESS_OF_LOAD_BALANCERS_ONLY = Gate::since(1, 29);
    /// `ipMode` of an ingress (`LoadBalancerIPMode`, beta).
    pub LOAD_BALANCER_IP_MODE = Gate::since(1, 30);
    /// `trafficDistribution` (`ServiceTrafficDistribution`, beta).
    pub TRAFFIC_DISTRIBUTION = Gate::since(1, 31);
    /// The status of a Job may change only as its controller changes it (KEP-4368, `getStatusValidationOptions`).
    pub JOB_STATUS_IS_VALIDATED = Gate::since(1, 31);
    /// Endpoints are deprecated (`APILifecycleDeprecated`).
    pub ENDPOINTS_ARE_DEPRECATED = Gate::since(1, 33);
    /// Pods count their generation (`pkg/registry/core/pod/strategy.go`).
    pub PODS_COUNT_GENERATIONS = Gate::since(1, 33);
    /// A watch may ask for initial events (`WatchList`, on for good since then).
    pub WATCH_LIST = Gate::since(1, 34);
    /// A Service with external addresses has a traffic policy whatever its type (`isAccessible`; the first modelled
    /// release that has it).
    pub EXTERNAL_ADDRESSES_HAVE_A_POLICY = Gate::since(1, 36);
    /// Errors show lists as JSON, not as Go writes them (the first modelled release that has it).
    pub LISTS_ARE_SHOWN_AS_JSON = Gate::since(1, 36);
    /// Names of Services may begin with a digit (KEP-5311, `RelaxedServiceNameValidation`; the first modelled release
    /// that has it).
    pub SERVICE_NAMES_ARE_LABELS = Gate::since(1, 36);
    /// Services are warned about (`pkg/api/service/warnings.go`; the first modelled release that has all of them).
    pub SERVICE_WARNINGS = Gate::since(1, 36);
    /// A pod that has a node is not nominated for one, and a Binding hands its labels on to the pod
    /// (`ClearingNominatedNodeNameAfterBinding`, `PodTopologyLabelsAdmission`; the first modelled release that has both).
    pub BOUND_PODS_ARE_NOT_NOMINATED = Gate::since(1, 36);
    /// The status of a pod keeps its class of service, and has one address of each family (`ValidatePodStatusUpdate`; the
    /// first modelled release that has all of it).
    pub POD_STATUSES_ARE_VALIDATED = Gate::since(1, 36);
    /// `terminationGracePeriodSeconds` of a pod that was negative may be set to 1 (`ValidatePodUpdate`; the first
    /// modelled release that has it).
    pub NEGATIVE_GRACE_MAY_BE_MENDED = Gate::since(1, 36);
}
