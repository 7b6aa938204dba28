//! What changed between releases in the generic apiserver: its life, its handlers, its storage. The watch cache has
//! a table of its own. Where it is not known in which release something changed, the gate
//! stands at the first modelled release that has it, and says so.

pub use wavetank_api::gates::ENDPOINTS_ARE_DEPRECATED;
use wavetank_version::{Gate, gates};

gates! {
    /// Clients of etcd look whether their connections live (PR #58008, `storagebackend/factory/etcd3.go`).
    pub ETCD_CONNECTIONS_ARE_CHECKED = Gate::since(1, 10);
    /// A refusal by a cached object is looked at again with the stored one (PR #82303, `etcd3/store.go`).
    pub REFUSALS_ARE_OF_CURRENT_DATA = Gate::since(1, 16);
    /// A stopping server waits for open watches (`WatchRequestWaitGroup` of `Shutdown`; the first modelled release that
    /// has it).
    pub SHUTDOWN_WAITS_FOR_WATCHES = Gate::since(1, 20);
    /// A deletion begins with what a cache has, as an update does (PR #89828, `Cacher.Delete`, later
    /// `CacheDelegator.Delete`).
    pub DELETIONS_BEGIN_WITH_THE_CACHE = Gate::since(1, 21);
    /// A request that takes too long has its context ended, and with it the calls to etcd (`WithRequestDeadline`);
    /// before, the client was answered and the handler went on (`WithTimeoutForNonLongRunningRequests`).
    pub REQUESTS_HAVE_DEADLINES = Gate::since(1, 21);
    /// Reads of etcd are retried: its client has an interceptor that works (PR #105069).
    pub ETCD_READS_ARE_RETRIED = Gate::since(1, 23);
    /// Objects carry `managedFields` in the form that is modelled: from their creation on, and by subresource
    /// (`ServerSideApply` is stable). Before, servers had them in other forms, which are not.
    pub MANAGED_FIELDS = Gate::since(1, 22);
    /// A stopping server closes its listener once its hooks are done (PR #108033).
    pub LISTENER_CLOSES_LAST = Gate::since(1, 24);
    /// `/readyz` asks etcd a second time, over a client of its own (`etcd-readiness`, PR #111399).
    pub READINESS_ASKS_ETCD = Gate::since(1, 25);
    /// A deleted object comes back with the revision of its deletion (k/k#113368).
    pub DELETED_HAVE_THEIR_REVISION = Gate::since(1, 26);
    /// Custom resources are served in the form that is modelled: an update is forgiven what it leaves alone
    /// (`CRDValidationRatcheting` is stable). Before, servers had them in other forms, which are not.
    pub CUSTOM_RESOURCES = Gate::since(1, 33);
    /// `/readyz` waits for the informers of the server (`NewInformerSyncHealthz`; the first modelled release that does).
    pub READY_WAITS_FOR_INFORMERS = Gate::since(1, 20);
    /// Another name is made for an object whose generated name is taken, up to seven times (`RetryGenerateName`, beta in 1.31).
    pub GENERATED_NAMES_ARE_TRIED_AGAIN = Gate::since(1, 31);
    /// ValidatingAdmissionPolicies admit (`ValidatingAdmissionPolicy` is stable).
    pub ADMISSION_POLICIES = Gate::since(1, 30);
    /// A policy looks up a namespace that the informer does not show (PR #135359).
    pub POLICIES_LOOK_UP_NAMESPACES = Gate::since(1, 35);
    /// `/api` and `/apis` answer with all resources at once for those who ask (`apidiscovery.k8s.io/v2`).
    pub AGGREGATED_DISCOVERY = Gate::since(1, 30);
    /// `/openapi/v3` (KEP-2896, `OpenAPIV3`, beta; alpha and off since 1.23).
    pub OPENAPI_V3 = Gate::since(1, 24);
    /// The admission plugin for quotas in the form that is here: quotas are looked up only before the informer has synced, and
    /// an update of a pod is charged where its scope changes.
    pub QUOTA_ADMISSION = Gate::since(1, 36);
    /// Evictions in the form that is here: pods that are not ready go by the policy of their budget, and each pod says that it
    /// is about to be evicted.
    pub EVICTION = Gate::since(1, 36);
    /// A server knows the oldest release beside it, and stores what that one can read (KEP-4330, `emulatedStorageVersion`).
    /// Before, whoever added a version listed by hand what had to wait for the next release.
    pub STORED_AS_THE_OLDEST_KNOWS = Gate::since(1, 31);
    /// `/` lists the checks of health checks, and each is served by its name. All releases do; of older ones the names are
    /// not known.
    pub CHECKS_ARE_LISTED = Gate::since(1, 36);
    /// `/version` tells which releases a server emulates and goes with (the first modelled release that has it).
    pub VERSION_TELLS_COMPATIBILITY = Gate::since(1, 36);
}
