//! The controller (`pkg/controller/endpoint/endpoints_controller.go`): what it is made of, one sync of a Service, and its
//! goroutine that looks for Endpoints that were left behind. What wakes it up is in `events`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::json::{self, Json, Map};
use wavetank_api::kinds::{ENDPOINTS, PODS, SERVICES};
use wavetank_api::{Method, Object, Reason, Request, Stored};
use wavetank_client::informer::Lister;
use wavetank_client::leader_election::Leading;
use wavetank_client::wait::Turn;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{Failure, RestClient};
use wavetank_engine::{Cell, Name, Rx};
use wavetank_etcd::Revision;
use wavetank_version::Set;

use super::defects::EndpointsDefect;
use super::events::add_event_handlers;
use super::notes::{Leaves, Refuses, Writes, Wrote};
use crate::controller::{Controller, ControllerContext, Work};
use crate::controller_utils::{SyncError, is_pod_ready, pod_key};
use crate::endpoint_utils::{
    CLUSTER_IP_NONE, MAX_CAPACITY, POD_LABELS_INDEX, PodWorkers, Queues, Subset, TRIGGER_TIME,
    TriggerTimeTracker, find_port, labels, pod_ips, pods_of, repack_subsets, selector,
    should_pod_be_in_endpoints, should_set_hostname, truncate_endpoints,
};
use wavetank_components::elected::process_next_work_item;

/// Its name in `--controllers`.
pub(super) const CONTROLLER: &str = "endpoints-controller";
/// Upstream's `ControllerName`, also that of its service account.
pub(super) const ACCOUNT: &str = "endpoint-controller";
pub(super) const QUEUES: Queues = Queues {
    services: WorkQueue::new(Name::new(CONTROLLER), "endpoint"),
    pods: WorkQueue::new(Name::new(CONTROLLER), "pods"),
};
/// `maxRetries`
const MAX_RETRIES: u32 = 15;

/// `FullServiceResyncPeriod`, after which releases that had it looked at each Service again.
const FULL_SERVICE_RESYNC_PERIOD: Duration = Duration::from_secs(30);

/// `LabelManagedBy`
const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
/// `IsHeadlessService`
pub(crate) const IS_HEADLESS: &str = "service.kubernetes.io/headless";
/// `EndpointsOverCapacity`
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";
/// `LeaderElectionRecordAnnotationKey`
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";

/// `staleEndpointsTracker`: revisions that were replaced, by their Endpoints.
static STALE: Cell<BTreeMap<Item, Revision>> = Cell::new("stale-endpoints");
const TRIGGER_TIMES: TriggerTimeTracker = TriggerTimeTracker(Name::new(CONTROLLER));

/// `Controller`
#[derive(Debug)]
struct Inner {
    rest: RestClient,
    services: Lister,
    pods: Lister,
    endpoints: Lister,
    defects: Set<EndpointsDefect>,
    workers: u32,
}

/// Its `worker`.
#[derive(Debug)]
struct Workers(Arc<Inner>);

/// Its goroutine for `checkLeftoverEndpoints`.
#[derive(Debug)]
struct Leftovers(Arc<Inner>);

/// Upstream's `NewEndpointController`
pub(super) fn new(cx: &mut ControllerContext, workers: u32) -> Arc<dyn Controller> {
    let services = cx.informers.informer_for(&SERVICES).lister();
    let mut pods = cx.informers.informer_for(&PODS);
    pods.add_indexers(&[POD_LABELS_INDEX]);
    let pods = pods.lister();
    let endpoints = cx.informers.informer_for(&ENDPOINTS).lister();
    add_event_handlers(cx);
    Arc::new(Workers(Arc::new(Inner {
        rest: cx.rest.clone(),
        services,
        pods,
        endpoints,
        defects: cx.defects.of(),
        workers,
    })))
}

impl Inner {
    fn caches(&self) -> [Lister; 3] {
        [self.pods, self.services, self.endpoints]
    }

    async fn wait_for_caches(&self, rx: Rx) {
        for cache in self.caches() {
            cache.wait_for_cache_sync(rx).await;
        }
    }

    /// Upstream's `syncService` with `handleErr`: what failed too often is dropped.
    async fn sync_or_drop(&self, rx: Rx, key: Item) -> Result<(), SyncError> {
        let requeues = QUEUES.services.num_requeues(rx, &key);
        match self.sync_service(rx, &key).await {
            Err(_) if requeues >= MAX_RETRIES => Ok(()),
            synced => synced,
        }
    }

    /// `syncService`
    async fn sync_service(&self, rx: Rx, key: &Item) -> Result<(), SyncError> {
        let Some(service) = self.services.get(rx, key) else {
            return self.delete_endpoints(rx, key).await;
        };
        let service = &service.object;
        if json::text(service.json(), &["spec", "type"]) == "ExternalName"
            || selector(service.json()).is_none()
        {
            return Ok(());
        }
        let pods = pods_of(rx, self.pods, service);
        let trigger_time =
            TRIGGER_TIMES.compute_endpoint_last_change_trigger_time(rx, key, service.json(), &pods);
        let subsets = subsets_of(service, &pods);
        let current = self.endpoints.get(rx, key);
        if let Some(current) = &current {
            let (service_key, seen) = (key.clone(), current.resource_version);
            let stale = rx.read(&STALE).get(key) == Some(&seen);
            if stale
                && !self
                    .defects
                    .has(EndpointsDefect::ComparesWithStaleEndpoints)
            {
                rx.note(Refuses {
                    service: service_key,
                    seen,
                });
                return Err(SyncError::Worded(format!(
                    "endpoints informer cache is out of date, resource version {seen} already processed for endpoints \
                     {key}"
                )));
            }
            let rewrites = subsets.is_empty()
                && self
                    .defects
                    .has(EndpointsDefect::EmptyEndpointsAreRewritten);
            if rewrites {
                QUEUES
                    .services
                    .add_after(rx, key.clone(), FULL_SERVICE_RESYNC_PERIOD);
            }
            if !rewrites && is_as_it_should_be(current.object.json(), service.json(), &subsets) {
                rx.note(Leaves {
                    service: service_key,
                    uid: current.object.uid().into(),
                    seen,
                });
                return Ok(());
            }
        }
        rx.note(Writes {
            service: key.clone(),
            ready: subsets.iter().map(|own| own.addresses.len()).sum(),
            not_ready: subsets
                .iter()
                .map(|own| own.not_ready_addresses.len())
                .sum(),
        });
        let new = new_endpoints(service, current.as_ref(), subsets, trigger_time);
        self.write(rx, key, current, new).await
    }

    /// The Service is gone.
    async fn delete_endpoints(&self, rx: Rx, key: &Item) -> Result<(), SyncError> {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
        let delete = Request::new(Method::Delete, ENDPOINTS.path(namespace, name)).with(options);
        match self.rest.request(rx, delete).await {
            Err(error) if !error.is(Reason::NotFound) => return Err(error.into()),
            _ => {}
        }
        TRIGGER_TIMES.delete_service(rx, key);
        rx.update(&STALE, |all| {
            all.remove(key);
        });
        Ok(())
    }

    async fn write(
        &self,
        rx: Rx,
        key: &Item,
        current: Option<Stored>,
        new: Json,
    ) -> Result<(), SyncError> {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let Some(current) = current else {
            let post = Request::new(Method::Post, ENDPOINTS.path(namespace, "")).with(new);
            return match self.rest.object(rx, post).await.map_err(SyncError::from) {
                Err(error) if is_forbidden(&error) && error.is_of_a_namespace_that_ends() => Ok(()),
                made => made.map(|made| wrote(rx, key, &made)),
            };
        };
        let put = Request::new(Method::Put, ENDPOINTS.path(namespace, name)).with(new);
        let updated = self.rest.object(rx, put).await?;
        wrote(rx, key, &updated);
        let unchanged = updated.resource_version == current.resource_version;
        if !unchanged || self.defects.has(EndpointsDefect::UnchangedIsStale) {
            rx.update(&STALE, |all| {
                all.insert(key.clone(), current.resource_version);
            });
        }
        Ok(())
    }

    /// `checkLeftoverEndpoints`
    fn check_leftover_endpoints(&self, rx: Rx) {
        if self.defects.has(EndpointsDefect::LeftoversAreNotChecked) {
            return;
        }
        for endpoints in self.endpoints.list(rx) {
            if !is_leader_lock(&endpoints.object) {
                QUEUES.services.add(rx, pod_key(&endpoints.object));
            }
        }
    }
}

/// Are these Endpoints what leaders of before v1.20 lock?
pub(super) fn is_leader_lock(endpoints: &Object) -> bool {
    let annotations = json::at(endpoints.json(), &["metadata", "annotations"]);
    annotations.is_some_and(|own| own.get(LEADER).is_some())
}

fn wrote(rx: Rx, service: &Item, endpoints: &Stored) {
    rx.note(Wrote {
        service: service.clone(),
        uid: endpoints.object.uid().into(),
        revision: endpoints.resource_version,
    });
}

fn is_forbidden(error: &SyncError) -> bool {
    matches!(error, SyncError::Request(Failure::Status(status)) if status.code == 403)
}

fn is_headless(service: &Json) -> bool {
    json::text(service, &["spec", "clusterIP"]) == CLUSTER_IP_NONE
}

/// The addresses of the pods, with the ports that the Service has of each.
fn subsets_of(service: &Object, pods: &[Stored]) -> Vec<Subset> {
    let spec = &service.json()["spec"];
    let publishes = spec["publishNotReadyAddresses"] == true;
    let ports = json::list(spec, &["ports"]);
    let mut subsets = Vec::new();
    for pod in pods.iter().map(|pod| &pod.object) {
        if !should_pod_be_in_endpoints(pod, publishes) {
            continue;
        }
        let Some(mut address) = pod_to_endpoint_address_for_service(service.json(), pod) else {
            continue;
        };
        if should_set_hostname(pod, service) {
            address["hostname"] = pod.json()["spec"]["hostname"].clone();
        }
        let ready = publishes || is_pod_ready(pod.json()).is_some();
        if ports.is_empty() && is_headless(service.json()) {
            subsets.push(endpoint_subset(address.clone(), ready, None));
        }
        for port in ports {
            if let Some(number) = find_port(pod.json(), port) {
                let port = endpoint_port_from_service_port(port, number);
                subsets.push(endpoint_subset(address.clone(), ready, Some(port)));
            }
        }
    }
    repack_subsets(&subsets)
}

/// Upstream's `addEndpointSubset`
fn endpoint_subset(address: Json, ready: bool, port: Option<Json>) -> Subset {
    let all = vec![address];
    let (addresses, not_ready_addresses) = match ready {
        true => (all, Vec::new()),
        false => (Vec::new(), all),
    };
    Subset {
        addresses,
        not_ready_addresses,
        ports: port.into_iter().collect(),
    }
}

/// `podToEndpointAddressForService`: the first address of the pod that is of the Service's family.
fn pod_to_endpoint_address_for_service(service: &Json, pod: &Object) -> Option<Json> {
    let is_ipv6 = |ip: &str| ip.contains(':');
    let cluster_ip = json::text(service, &["spec", "clusterIP"]);
    let wants_ipv6 = match json::list(service, &["spec", "ipFamilies"]).first() {
        Some(family) => family == "IPv6",
        None if !cluster_ip.is_empty() && cluster_ip != CLUSTER_IP_NONE => is_ipv6(cluster_ip),
        None => is_ipv6(json::text(pod.json(), &["status", "podIP"])),
    };
    let ip = pod_ips(pod.json()).find(|ip| is_ipv6(ip) == wants_ipv6)?;
    Some(json!({
        "ip": ip,
        "nodeName": json::text(pod.json(), &["spec", "nodeName"]),
        "targetRef": {
            "kind": PODS.kind,
            "namespace": pod.namespace(),
            "name": pod.name(),
            "uid": pod.uid(),
        },
    }))
}

/// `endpointPortFromServicePort`
fn endpoint_port_from_service_port(service_port: &Json, number: i64) -> Json {
    let mut port = json!({"port": number, "protocol": "TCP"});
    for field in ["name", "protocol", "appProtocol"] {
        if let Some(value) = service_port.get(field).filter(|own| **own != "") {
            port[field] = value.clone();
        }
    }
    port
}

/// Is nothing to be written?
fn is_as_it_should_be(current: &Json, service: &Json, subsets: &[Subset]) -> bool {
    let stored = Subset::all_of(current);
    (stored == subsets || repack_subsets(&stored) == subsets)
        && labels_correct_for_endpoints(labels(current), labels(service))
        && capacity_annotation_set_correctly(current, &stored)
}

/// `labelsCorrectForEndpoints`
fn labels_correct_for_endpoints(own: Option<&Map>, of_service: Option<&Map>) -> bool {
    let none = Map::new();
    let (own, of_service) = (own.unwrap_or(&none), of_service.unwrap_or(&none));
    if own.get(MANAGED_BY).is_none_or(|by| by != ACCOUNT) {
        return false;
    }
    let derived = own
        .iter()
        .filter(|(key, _)| *key != MANAGED_BY && *key != IS_HEADLESS);
    let derived: Vec<_> = derived.collect();
    let is_of_service = derived
        .iter()
        .all(|(key, value)| of_service.get(*key) == Some(*value));
    is_of_service && derived.len() == of_service.len()
}

/// `capacityAnnotationSetCorrectly`
fn capacity_annotation_set_correctly(current: &Json, subsets: &[Subset]) -> bool {
    let count: usize = subsets.iter().map(Subset::len).sum();
    let annotations = json::at(current, &["metadata", "annotations"]);
    count <= MAX_CAPACITY && annotations.is_none_or(|own| own.get(OVER_CAPACITY).is_none())
}

/// The Endpoints as they are to be written.
fn new_endpoints(
    service: &Object,
    current: Option<&Stored>,
    mut subsets: Vec<Subset>,
    trigger_time: Option<String>,
) -> Json {
    let mut new = match current {
        Some(current) => current.json(),
        None => json!({
            "apiVersion": ENDPOINTS.api_version(),
            "kind": ENDPOINTS.kind,
            "metadata": {"name": service.name()},
        }),
    };
    let truncated = truncate_endpoints(&mut subsets, MAX_CAPACITY);
    new["subsets"] = subsets.iter().map(Subset::json).collect();
    let annotations = json::map_mut(&mut new, &["metadata", "annotations"]);
    let mut annotate = |key: &str, value: Option<String>| match value {
        Some(value) => drop(annotations.insert(key.to_owned(), value.into())),
        None => drop(annotations.remove(key)),
    };
    annotate(TRIGGER_TIME, trigger_time);
    annotate(OVER_CAPACITY, truncated.then(|| "truncated".to_owned()));
    let mut labels = labels(service.json()).cloned().unwrap_or_default();
    let cluster_ip = json::text(service.json(), &["spec", "clusterIP"]);
    match cluster_ip.is_empty() || cluster_ip == CLUSTER_IP_NONE {
        true => drop(labels.insert(IS_HEADLESS.to_owned(), "".into())),
        false => drop(labels.remove(IS_HEADLESS)),
    }
    labels.insert(MANAGED_BY.to_owned(), ACCOUNT.into());
    new["metadata"]["labels"] = labels.into();
    new
}

impl Controller for Workers {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![QUEUES.services, QUEUES.pods]
    }

    fn workers(&self) -> u32 {
        self.0.workers
    }

    fn beside(&self) -> Vec<Arc<dyn Controller>> {
        let own = &self.0;
        let pod_workers = PodWorkers {
            name: "endpoints-controller-pods",
            workers: own.workers,
            caches: own.caches().to_vec(),
            services: own.services,
            queues: QUEUES,
        };
        vec![Arc::new(pod_workers), Arc::new(Leftovers(own.clone()))]
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.0.wait_for_caches(rx).await;
            let sync = |key| self.0.sync_or_drop(rx, key);
            process_next_work_item(rx, leading, QUEUES.services, sync).await
        })
    }
}

impl Controller for Leftovers {
    fn name(&self) -> &'static str {
        "endpoints-controller-leftovers"
    }

    fn work<'a>(&'a self, rx: Rx, _: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.0.wait_for_caches(rx).await;
            self.0.check_leftover_endpoints(rx);
            Turn::Over
        })
    }
}
