//! What properties and stories look at: the world as a control plane.

use std::sync::Arc;

use wavetank_api::{Object, views};
use wavetank_apiserver::{ApiServer, STOP_BEGUN};
use wavetank_engine::{ProcId, Status, World};
use wavetank_etcd::{Etcd, KeyValue, Keys, Revision, Store};

use crate::kube_apiserver::bootstrap::Bootstrap;
use crate::kube_apiserver::gates::ENDPOINT_SLICES;

/// Where the Endpoints default/kubernetes are stored.
pub const ENDPOINTS: &str = "/registry/services/endpoints/default/kubernetes";
/// Where the EndpointSlice default/kubernetes is stored.
pub const SLICE: &str = "/registry/endpointslices/default/kubernetes";

/// A world seen as a control plane.
#[derive(Clone, Copy, Debug)]
pub struct ClusterView<'a>(pub &'a World);

impl<'a> ClusterView<'a> {
    /// What etcd stores: at the member that has applied most.
    pub fn store(self) -> &'a Store<Object> {
        let world = self.0;
        let members = world
            .processes()
            .filter_map(|p| world.process::<Etcd<Object>>(p));
        let furthest = members.max_by_key(|member| member.state().index);
        furthest.expect("every topology has one").store()
    }

    /// A key as it is stored.
    pub fn get(self, key: &str) -> Option<&'a KeyValue<Object>> {
        self.store().get(key)
    }

    /// All objects of a resource, by where these are stored.
    pub fn all(self, registry: &str) -> Vec<&'a Object> {
        let prefix = Keys::Prefix(format!("{registry}/").into());
        let keys = self.store().iter(&prefix).map(|kv| kv.key.clone());
        let keys: Vec<_> = keys.collect();
        let found = keys.iter().filter_map(|key| self.get(key));
        found.map(|kv| &kv.value).collect()
    }

    /// The addresses under a key, and the revision of the key; nothing if there is no such key.
    pub fn addresses(self, key: &str) -> (Vec<Arc<str>>, Revision) {
        self.get(key).map_or((Vec::new(), 0), |kv| {
            let mut addresses = views::addresses(kv.value.json());
            addresses.sort();
            (addresses, kv.mod_revision)
        })
    }

    /// The apiservers.
    pub fn apiservers(self) -> impl Iterator<Item = (ProcId, &'a ApiServer<Bootstrap>)> {
        let world = self.0;
        world
            .processes()
            .filter_map(move |p| Some((p, world.process::<ApiServer<Bootstrap>>(p)?)))
    }

    /// The apiservers that advertise this address.
    pub fn by_address(self, address: &str) -> impl Iterator<Item = ProcId> {
        let all = self.apiservers();
        let those = all.filter(move |(_, server)| *server.config().address == *address);
        those.map(|(process, _)| process)
    }

    /// Does the process run?
    pub fn is_up(self, process: ProcId) -> bool {
        self.0.status(process) == Status::Up
    }

    /// Does it run, and has no shutdown begun?
    pub fn is_serving(self, process: ProcId) -> bool {
        self.is_up(process) && !self.0.cell(process, &STOP_BEGUN)
    }

    /// Sorted addresses of the apiservers for which this is true; several may have the same.
    pub fn addresses_of(self, wanted: impl Fn(ProcId) -> bool) -> Vec<Arc<str>> {
        let mut found: Vec<Arc<str>> = self
            .apiservers()
            .filter(|(p, _)| wanted(*p))
            .map(|(_, server)| server.config().address.clone())
            .collect();
        found.sort();
        found.dedup();
        found
    }

    /// Does a serving apiserver keep EndpointSlices?
    pub fn keeps_slices(self) -> bool {
        self.apiservers()
            .any(|(p, s)| self.is_serving(p) && s.config().release.has(ENDPOINT_SLICES))
    }
}
