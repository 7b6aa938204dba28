//! What becomes of the slices of a Service (`k8s.io/endpointslice/reconciler.go`, v1.36.2): which endpoints it has, which
//! slices these are put into, and the writes. Where upstream goes through a Go map, keys are in order here.

use std::collections::BTreeMap;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::ENDPOINT_SLICES;
use wavetank_api::{Method, Object, Request, Stored};
use wavetank_client::RestClient;
use wavetank_client::informer::Lister;
use wavetank_client::workqueue::Item;
use wavetank_engine::Rx;
use wavetank_version::Set;

use super::controller::MANAGER;
use super::defects::EndpointSliceDefect;
use super::port_mapping::{Plan, SliceMeta, reconcile_by_port_mapping};
use super::slices::{
    add_trigger_time_annotation, get_address_types_for_service, get_endpoint_ports, is_placeholder,
    new_endpoint_slice, owned_by, pod_to_endpoint,
};
use crate::controller_utils::{SyncError, pod_key};
use crate::endpoint_utils::notes::{Deleted, Finalizes, Wrote};
use crate::endpoint_utils::{
    EndpointSet, EndpointSliceTracker, generation, hash_endpoint, new_port_map_key,
    should_pod_be_in_endpoints,
};

/// `Reconciler`
#[derive(Debug)]
pub(super) struct Reconciler {
    pub rest: RestClient,
    pub nodes: Lister,
    pub max_endpoints_per_slice: usize,
    pub tracker: EndpointSliceTracker,
    pub defects: Set<EndpointSliceDefect>,
}

/// What a Service should have.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub service: &'a Object,
    pub pods: &'a [Stored],
    /// Since when a change is to be seen.
    pub trigger_time: Option<&'a str>,
}

/// The endpoints that have the same ports.
#[derive(Default)]
struct Desired {
    ports: Vec<Json>,
    endpoints: EndpointSet,
}

/// Upstream's `NewAggregate`
fn new_aggregate(errors: Vec<SyncError>) -> Result<(), SyncError> {
    let texts: Vec<String> = errors.iter().map(SyncError::to_string).collect();
    match texts.is_empty() {
        true => Ok(()),
        false => Err(SyncError::Worded(texts.join(", "))),
    }
}

fn address_type(slice: &Stored) -> &str {
    json::text(slice.object.json(), &["addressType"])
}

impl Reconciler {
    /// `Reconcile`
    pub async fn reconcile(
        &self,
        rx: Rx,
        wanted: Wanted<'_>,
        existing: &[Stored],
    ) -> Result<(), SyncError> {
        let types = get_address_types_for_service(wanted.service.json());
        let (kept, to_delete): (Vec<Stored>, Vec<Stored>) = existing
            .iter()
            .cloned()
            .partition(|slice| types.contains(&address_type(slice)));
        let mut errors = Vec::new();
        for own in types {
            let of_type = kept.iter().filter(|slice| address_type(slice) == own);
            let of_type: Vec<Stored> = of_type.cloned().collect();
            let reconciled = self.reconcile_by_address_type(rx, wanted, &of_type, own);
            errors.extend(reconciled.await.err());
        }
        for slice in &to_delete {
            errors.extend(self.delete(rx, wanted.service, slice).await.err());
        }
        new_aggregate(errors)
    }

    /// `reconcileByAddressType`
    async fn reconcile_by_address_type(
        &self,
        rx: Rx,
        wanted: Wanted<'_>,
        existing: &[Stored],
        address_type: &str,
    ) -> Result<(), SyncError> {
        let service = wanted.service;
        let takes_any = self
            .defects
            .has(EndpointSliceDefect::TakesSlicesOfAnotherService);
        let mut by_ports: BTreeMap<String, Vec<Stored>> = BTreeMap::new();
        let mut plan = Plan::default();
        for slice in existing {
            match takes_any || owned_by(slice.object.json(), service) {
                true => {
                    let key = new_port_map_key(json::list(slice.object.json(), &["ports"]));
                    by_ports.entry(key).or_default().push(slice.clone());
                }
                false => plan.delete.push(slice.clone()),
            }
        }
        let (desired, mut errors) = self.desired(rx, wanted, address_type);
        for (key, desired) in desired {
            let of_ports = by_ports.remove(&key).unwrap_or_default();
            let of = SliceMeta {
                service,
                address_type,
                ports: &desired.ports,
                max_endpoints: self.max_endpoints_per_slice,
            };
            let own = reconcile_by_port_mapping(&of_ports, desired.endpoints, of);
            plan.create.extend(own.create);
            plan.update.extend(own.update);
            plan.delete.extend(own.delete);
        }
        // Those of sets of ports that nobody has any more.
        plan.delete.extend(by_ports.into_values().flatten());
        if existing.len() == plan.delete.len() && plan.create.is_empty() {
            let placeholder = new_endpoint_slice(service, &[], address_type);
            let rewrites = self
                .defects
                .has(EndpointSliceDefect::PlaceholdersAreRewritten);
            match &plan.delete[..] {
                [only]
                    if is_placeholder(only.object.json(), &placeholder)
                        && !rewrites
                        && self.may_be_kept(only.object.json(), service) =>
                {
                    plan.delete.clear();
                }
                _ => plan.create.push(placeholder),
            }
        }
        errors.extend(self.finalize(rx, wanted, plan).await.err());
        new_aggregate(errors)
    }

    /// May a placeholder stay as that of the Service?
    fn may_be_kept(&self, placeholder: &Json, service: &Object) -> bool {
        let whosever = EndpointSliceDefect::PlaceholdersOutliveTheirService;
        owned_by(placeholder, service) || self.defects.has(whosever)
    }

    /// The endpoints that there should be, by their ports, and why some are left out.
    fn desired(
        &self,
        rx: Rx,
        wanted: Wanted<'_>,
        address_type: &str,
    ) -> (BTreeMap<String, Desired>, Vec<SyncError>) {
        let Wanted { service, pods, .. } = wanted;
        let publishes = service.json()["spec"]["publishNotReadyAddresses"] == true;
        let mut all: BTreeMap<String, Desired> = BTreeMap::new();
        let mut errors = Vec::new();
        for pod in pods.iter().map(|pod| &pod.object) {
            if !should_pod_be_in_endpoints(pod, true) {
                continue;
            }
            let ports = get_endpoint_ports(service.json(), pod.json());
            let of_ports = all.entry(new_port_map_key(&ports)).or_default();
            of_ports.ports = ports;
            let node = json::text(pod.json(), &["spec", "nodeName"]);
            let found = self.nodes.get(rx, node);
            if found.is_none() && !publishes {
                errors.push(SyncError::Worded(format!(
                    "skipping Pod {} for Service {}: Node {node} Not Found",
                    pod.name(),
                    pod_key(service)
                )));
                continue;
            }
            let node = found.as_ref().map(|node| node.object.json());
            let endpoint = pod_to_endpoint(pod, node, service, address_type);
            if !json::list(&endpoint, &["addresses"]).is_empty() {
                of_ports
                    .endpoints
                    .insert(hash_endpoint(&endpoint), endpoint);
            }
        }
        (all, errors)
    }

    /// `finalize`: who is to be made takes the place of who is to go.
    async fn finalize(&self, rx: Rx, wanted: Wanted<'_>, mut plan: Plan) -> Result<(), SyncError> {
        let service = wanted.service;
        let mut at = 0;
        while at < plan.delete.len() {
            let Some(mut slice) = plan.create.pop() else {
                break;
            };
            let going = plan.delete[at].object.json();
            if going["addressType"] == slice["addressType"] && owned_by(going, service) {
                slice["metadata"]["name"] = going["metadata"]["name"].clone();
                plan.update.push(slice);
                plan.delete.remove(at);
            } else {
                plan.create.push(slice);
                at += 1;
            }
        }
        rx.note(Finalizes {
            manager: MANAGER,
            service: pod_key(service),
            create: plan.create.len(),
            update: plan.update.len(),
            delete: plan.delete.len(),
        });
        // The collector may be about to delete what is made for a Service that goes.
        if !service.is_being_deleted() {
            for mut slice in plan.create {
                add_trigger_time_annotation(&mut slice, wanted.trigger_time);
                let path = ENDPOINT_SLICES.path(service.namespace(), "");
                let post = Request::new(Method::Post, path).with(slice);
                match self.rest.object(rx, post).await.map_err(SyncError::from) {
                    Err(error) if error.is_of_a_namespace_that_ends() => return Ok(()),
                    made => self.wrote(rx, service, &made?)?,
                }
            }
        }
        for mut slice in plan.update {
            add_trigger_time_annotation(&mut slice, wanted.trigger_time);
            let name = json::text(&slice, &["metadata", "name"]);
            let path = ENDPOINT_SLICES.path(service.namespace(), name);
            let put = Request::new(Method::Put, path).with(slice);
            let updated = self.rest.object(rx, put).await?;
            self.wrote(rx, service, &updated)?;
        }
        for slice in &plan.delete {
            self.delete(rx, service, slice).await?;
        }
        Ok(())
    }

    /// A slice was made or updated.
    fn wrote(&self, rx: Rx, service: &Object, slice: &Stored) -> Result<(), SyncError> {
        let key: Item = pod_key(service);
        if self.tracker.update(rx, slice).is_err() {
            let slice = slice.object.name();
            return Err(SyncError::Worded(format!(
                "EndpointSlice {slice} of Service {key} has left before its update was answered"
            )));
        }
        rx.note(Wrote {
            manager: MANAGER,
            service: key,
            of: service.uid().into(),
            slice: pod_key(&slice.object),
            uid: slice.object.uid().into(),
            generation: generation(&slice.object),
        });
        Ok(())
    }

    async fn delete(&self, rx: Rx, service: &Object, slice: &Stored) -> Result<(), SyncError> {
        let path = ENDPOINT_SLICES.path(service.namespace(), slice.object.name());
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
        let delete = Request::new(Method::Delete, path).with(options);
        self.rest.request(rx, delete).await?;
        self.tracker.expect_deletion(rx, slice);
        rx.note(Deleted {
            manager: MANAGER,
            of: service.uid().into(),
            uid: slice.object.uid().into(),
        });
        Ok(())
    }
}
