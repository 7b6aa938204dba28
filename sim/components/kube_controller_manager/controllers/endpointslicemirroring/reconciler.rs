//! What becomes of the slices that mirror Endpoints (`pkg/controller/endpointslicemirroring/reconciler.go`, v1.36.2). Where
//! upstream goes through a Go map, keys are in order here.

use std::collections::BTreeMap;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::ENDPOINT_SLICES;
use wavetank_api::{Method, Object, Request, Stored};
use wavetank_client::RestClient;
use wavetank_client::workqueue::Item;
use wavetank_engine::Rx;
use wavetank_version::Set;

use super::controller::MANAGER;
use super::defects::MirroringDefect;
use super::mirrored::{
    AddrTypePortMapKey, need_rebuild_existing_slices, new_addr_type_port_map_key,
    new_endpoint_slice, says_the_same,
};
use super::notes::Makes;
use super::plan::{DesiredCalc, SlicesByAction, given_name, recycle_slices};
use crate::controller_utils::{SyncError, pod_key};
use crate::endpoint_utils::notes::{Deleted, Finalizes, Wrote};
use crate::endpoint_utils::{
    EndpointSet, EndpointSliceTracker, Subset, endpoints as endpoints_of,
    endpoints_equal_beyond_hash, generation, hash_endpoint, repack_subsets, some,
};

/// `reconciler`
#[derive(Debug)]
pub(super) struct Reconciler {
    pub rest: RestClient,
    pub max_endpoints_per_subset: usize,
    pub tracker: EndpointSliceTracker,
    pub defects: Set<MirroringDefect>,
}

/// What slices of some ports are to be like.
#[derive(Clone, Copy)]
struct SliceMeta<'a> {
    endpoints: &'a Object,
    addr_type: &'a str,
    ports: &'a [Json],
}

impl Reconciler {
    /// `reconcile`
    pub async fn reconcile(
        &self,
        rx: Rx,
        endpoints: &Object,
        existing: &[Stored],
    ) -> Result<(), SyncError> {
        let desired = self.desired(endpoints);
        let mut by_key: BTreeMap<AddrTypePortMapKey, Vec<Stored>> = BTreeMap::new();
        for slice in existing {
            // `endpointSlicesByKey`
            let json = slice.object.json();
            let ports = json::list(json, &["ports"]);
            let key = new_addr_type_port_map_key(ports, json::text(json, &["addressType"]));
            by_key.entry(key).or_default().push(slice.clone());
        }
        let mut slices = SlicesByAction::default();
        for (key, (ports, set)) in desired.by_key {
            let of_key = by_key.remove(&key).unwrap_or_default();
            let of = SliceMeta {
                endpoints,
                addr_type: key.0,
                ports: &ports,
            };
            slices.append(self.reconcile_by_port_mapping(rx, &of_key, &set, of)?);
        }
        // Those of ports that nobody has any more.
        slices.delete.extend(by_key.into_values().flatten());
        self.finalize(rx, endpoints, slices).await
    }

    /// The endpoints that there should be, by the type of their addresses and by their ports: no more than the greatest number
    /// of each subset, and those that are ready first.
    fn desired(&self, endpoints: &Object) -> DesiredCalc {
        let stored = Subset::all_of(endpoints.json());
        let subsets = match self.defects.has(MirroringDefect::SubsetsAreNotRepacked) {
            true => stored,
            false => repack_subsets(&stored),
        };
        let all_ready = self.defects.has(MirroringDefect::NotReadyIsMirroredAsReady);
        let mut desired = DesiredCalc::default();
        for subset in subsets {
            let ports = desired.init_ports(&subset.ports);
            let ready = subset.addresses.iter().map(|own| (own, true));
            let not_ready = subset.not_ready_addresses.iter();
            let mut added = 0;
            for (address, ready) in ready.chain(not_ready.map(|own| (own, all_ready))) {
                if added >= self.max_endpoints_per_subset {
                    break;
                }
                added += usize::from(desired.add_address(address, &ports, ready));
            }
        }
        desired
    }

    /// `reconcileByPortMapping`
    fn reconcile_by_port_mapping(
        &self,
        rx: Rx,
        existing: &[Stored],
        desired: &EndpointSet,
        of: SliceMeta<'_>,
    ) -> Result<SlicesByAction, SyncError> {
        let mut slices = SlicesByAction::default();
        if desired.is_empty() {
            slices.delete = existing.to_vec();
            return Ok(slices);
        }
        // All but one go.
        slices.delete = existing.iter().skip(1).cloned().collect();
        if let Some(first) = existing.first() {
            let json = first.object.json();
            let keeps_others = self.defects.has(MirroringDefect::SlicesOfAnotherUidAreKept);
            if !has_changes(json, desired)
                && says_the_same(json, of.endpoints, self.defects)
                && (keeps_others || !need_rebuild_existing_slices(of.endpoints, json))
            {
                let tracks = !self
                    .defects
                    .has(MirroringDefect::MatchingSlicesAreNotTracked);
                if tracks && !self.tracker.has(rx, first) {
                    self.track(rx, of.endpoints, first)?;
                }
                return Ok(slices);
            }
        }
        let name = existing.first().map(|slice| slice.object.name());
        let mut slice =
            new_endpoint_slice(of.endpoints, of.ports, of.addr_type, name, self.defects);
        let most = self.max_endpoints_per_subset;
        slice["endpoints"] = some(desired.values().take(most).cloned().collect());
        match name {
            Some(_) => slices.update.push(slice),
            None => slices.create.push(slice),
        }
        Ok(slices)
    }

    /// `finalize`
    async fn finalize(
        &self,
        rx: Rx,
        endpoints: &Object,
        mut plan: SlicesByAction,
    ) -> Result<(), SyncError> {
        recycle_slices(rx, &mut plan, self.defects).await;
        rx.note(Finalizes {
            manager: MANAGER,
            service: pod_key(endpoints),
            create: plan.create.len(),
            update: plan.update.len(),
            delete: plan.delete.len(),
        });
        let namespace = endpoints.namespace();
        // The collector may be about to delete what is made for Endpoints that go.
        if !endpoints.is_being_deleted() {
            for slice in plan.create {
                rx.note(Makes {
                    endpoints: pod_key(endpoints),
                    name: given_name(&slice).map(Item::from),
                });
                let post = Request::new(Method::Post, ENDPOINT_SLICES.path(namespace, ""));
                let made = self.rest.object(rx, post.with(slice)).await;
                match made.map_err(SyncError::from) {
                    Err(error) if error.is_of_a_namespace_that_ends() => return Ok(()),
                    made => self.wrote(rx, endpoints, &made?)?,
                }
            }
        }
        for slice in plan.update {
            let name = json::text(&slice, &["metadata", "name"]);
            let path = ENDPOINT_SLICES.path(namespace, name);
            let put = Request::new(Method::Put, path).with(slice);
            let updated = self.rest.object(rx, put).await?;
            self.wrote(rx, endpoints, &updated)?;
        }
        for slice in &plan.delete {
            self.delete(rx, slice).await?;
            self.tracker.expect_deletion(rx, slice);
            rx.note(Deleted {
                manager: MANAGER,
                of: endpoints.uid().into(),
                uid: slice.object.uid().into(),
            });
        }
        Ok(())
    }

    /// `deleteEndpoints`
    pub async fn delete_endpoints(&self, rx: Rx, slices: &[Stored]) -> Result<(), SyncError> {
        let mut first = None;
        for slice in slices {
            let failed = self.delete(rx, slice).await.err();
            first = first.or(failed);
        }
        first.map_or(Ok(()), |error| Err(SyncError::Worded(error.to_string())))
    }

    async fn delete(&self, rx: Rx, slice: &Stored) -> Result<(), SyncError> {
        let path = ENDPOINT_SLICES.path(slice.object.namespace(), slice.object.name());
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
        let delete = Request::new(Method::Delete, path).with(options);
        self.rest.request(rx, delete).await?;
        Ok(())
    }

    /// A slice was made or updated.
    fn wrote(&self, rx: Rx, endpoints: &Object, slice: &Stored) -> Result<(), SyncError> {
        self.track(rx, endpoints, slice)?;
        rx.note(Wrote {
            manager: MANAGER,
            service: pod_key(endpoints),
            of: endpoints.uid().into(),
            slice: pod_key(&slice.object),
            uid: slice.object.uid().into(),
            generation: generation(&slice.object),
        });
        Ok(())
    }

    fn track(&self, rx: Rx, endpoints: &Object, slice: &Stored) -> Result<(), SyncError> {
        let has_left = |_| {
            let (slice, key) = (slice.object.name(), pod_key(endpoints));
            SyncError::Worded(format!(
                "EndpointSlice {slice} of Endpoints {key} has left before its update was answered"
            ))
        };
        self.tracker.update(rx, slice).map_err(has_left)
    }
}

/// Does a slice differ from what is desired (`totalChanges`)?
fn has_changes(slice: &Json, desired: &EndpointSet) -> bool {
    let all = endpoints_of(slice);
    let is_desired = |endpoint: &Json| {
        let wanted = desired.get(&hash_endpoint(endpoint));
        wanted.is_some_and(|wanted| endpoints_equal_beyond_hash(wanted, endpoint))
    };
    all.len() != desired.len() || !all.iter().all(is_desired)
}
