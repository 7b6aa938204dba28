//! What is to be written (`pkg/controller/endpointslicemirroring/reconciler_helpers.go`, v1.36.2): what Endpoints should have, and
//! how slices that are to be made take the place of such as are to go.

use std::collections::BTreeMap;

use wavetank_api::Stored;
use wavetank_api::json::{self, Json};
use wavetank_engine::Rx;
use wavetank_version::Set;

use super::defects::MirroringDefect;
use super::mirrored::{
    ADDR_TYPES, AddrTypePortMapKey, address_to_endpoint, ep_ports_to_eps_ports,
    new_addr_type_port_map_key,
};
use crate::endpoint_utils::{EndpointSet, hash_endpoint};

/// `desiredCalc`: endpoints with their ports, by type of address and ports.
#[derive(Debug, Default)]
pub(super) struct DesiredCalc {
    pub by_key: BTreeMap<AddrTypePortMapKey, (Vec<Json>, EndpointSet)>,
}

impl DesiredCalc {
    /// `initPorts`: the ports of a subset, which slices of either type may have.
    pub fn init_ports(&mut self, subset_ports: &[Json]) -> Vec<Json> {
        let ports = ep_ports_to_eps_ports(subset_ports);
        for addr_type in ADDR_TYPES {
            let key = new_addr_type_port_map_key(&ports, addr_type);
            let (own, _) = self.by_key.entry(key).or_default();
            own.clone_from(&ports);
        }
        ports
    }

    /// `addAddress`: was it an address?
    pub fn add_address(&mut self, address: &Json, ports: &[Json], ready: bool) -> bool {
        let Some((endpoint, addr_type)) = address_to_endpoint(address, ready) else {
            return false;
        };
        let key = new_addr_type_port_map_key(ports, addr_type);
        let (_, endpoints) = self.by_key.entry(key).or_default();
        endpoints.insert(hash_endpoint(&endpoint), endpoint);
        true
    }
}

/// `slicesByAction`
#[derive(Clone, Debug, Default)]
pub(super) struct SlicesByAction {
    pub create: Vec<Json>,
    pub update: Vec<Json>,
    pub delete: Vec<Stored>,
}

impl SlicesByAction {
    /// `append`
    pub fn append(&mut self, other: SlicesByAction) {
        self.create.extend(other.create);
        self.update.extend(other.update);
        self.delete.extend(other.delete);
    }
}

fn addr_type(slice: &Json) -> &str {
    json::text(slice, &["addressType"])
}

fn name(slice: &Json) -> &str {
    json::text(slice, &["metadata", "name"])
}

/// `recycleSlices`: slices that are to be made take the names of such as are to go. Upstream tells slices apart by their names,
/// which new ones do not have: it takes off the list the first of them, whichever is meant. In which order it goes through
/// both types of addresses, and has put slices of both onto the list, that of two Go maps, is drawn where it matters.
pub(super) async fn recycle_slices(
    rx: Rx,
    slices: &mut SlicesByAction,
    defects: Set<MirroringDefect>,
) {
    if defects.has(MirroringDefect::FixRecycleWhatIsMeant) {
        for going in std::mem::take(&mut slices.delete) {
            let is_alike = |new: &Json| addr_type(new) == addr_type(going.object.json());
            match slices.create.iter().position(is_alike) {
                Some(at) => {
                    let new = slices.create.remove(at);
                    slices.update.push(named(new, going.object.name()));
                }
                None => slices.delete.push(going),
            }
        }
        return;
    }
    let of_both = ADDR_TYPES.map(|own| slices.create.iter().any(|new| addr_type(new) == own));
    let mut types = ADDR_TYPES;
    if of_both == [true, true] && !slices.delete.is_empty() {
        if rx.choose(2).await == 1 {
            slices.create.sort_by(|a, b| addr_type(b).cmp(addr_type(a)));
        }
        if rx.choose(2).await == 1 {
            types.reverse();
        }
    }
    recycle_in_order(slices, types);
}

/// It takes the name of another.
fn named(mut new: Json, name: &str) -> Json {
    json::remove(&mut new, &["metadata", "generateName"]);
    new["metadata"]["name"] = name.into();
    new
}

/// The same, if Go's maps have this order. A slice of upstream's is one on both lists: who gives it a name does so on both.
fn recycle_in_order(slices: &mut SlicesByAction, types: [&str; 2]) {
    let all = slices.create.clone();
    // By their places in `all`: which are to be made still, and the names that they have by then.
    let mut create: Vec<usize> = (0..all.len()).collect();
    let mut names: BTreeMap<usize, String> = BTreeMap::new();
    let going = std::mem::take(&mut slices.delete);
    let mut goes = vec![true; going.len()];
    let mut update = Vec::new();
    for own in types {
        let new = (0..all.len()).filter(|at| addr_type(&all[*at]) == own);
        let old = (0..going.len()).filter(|at| addr_type(going[*at].object.json()) == own);
        for (new, old) in new.zip(old) {
            // `removeSlice`: it has no name, and so the first of those that have none is taken off.
            if let Some(at) = create.iter().position(|at| !names.contains_key(at)) {
                create.remove(at);
            }
            goes[old] = false;
            names.insert(new, going[old].object.name().to_owned());
            update.push(new);
        }
    }
    let slice = |at: &usize| match names.get(at) {
        Some(name) => named(all[*at].clone(), name),
        None => all[*at].clone(),
    };
    slices.create = create.iter().map(slice).collect();
    slices.update.extend(update.iter().map(slice));
    let stays = going.into_iter().zip(goes).filter(|(_, goes)| *goes);
    slices.delete = stays.map(|(slice, _)| slice).collect();
}

/// The name that a slice is to be made under; none if an apiserver is to give it one.
pub(super) fn given_name(slice: &Json) -> Option<&str> {
    Some(name(slice)).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wavetank_api::Object;

    fn slice(addr_type: &str) -> Json {
        json!({"metadata": {"generateName": "web-"}, "addressType": addr_type})
    }

    fn going(name: &str, addr_type: &str) -> Stored {
        Stored {
            object: Object::new(json!({"metadata": {"name": name}, "addressType": addr_type})),
            resource_version: 1,
        }
    }

    /// The names, and types, of what is made and of what is updated, and how many go.
    fn recycled(create: &[&str], delete: &[(&str, &str)], types: [&str; 2]) -> Told {
        let mut slices = SlicesByAction {
            create: create.iter().map(|own| slice(own)).collect(),
            update: Vec::new(),
            delete: delete.iter().map(|(name, own)| going(name, own)).collect(),
        };
        recycle_in_order(&mut slices, types);
        let told = |all: &[Json]| -> Vec<(String, String)> {
            let one = |own: &Json| (name(own).to_owned(), addr_type(own).to_owned());
            all.iter().map(one).collect()
        };
        (
            told(&slices.create),
            told(&slices.update),
            slices.delete.len(),
        )
    }

    type Told = (Vec<(String, String)>, Vec<(String, String)>, usize);

    fn pair(name: &str, addr_type: &str) -> (String, String) {
        (name.to_owned(), addr_type.to_owned())
    }

    #[test]
    fn new_slices_of_one_type_take_the_names_of_those_that_go() {
        let told = recycled(&["IPv4", "IPv4"], &[("a", "IPv4")], ADDR_TYPES);
        assert_eq!(told, (vec![pair("", "IPv4")], vec![pair("a", "IPv4")], 0));
        let told = recycled(&["IPv4"], &[("a", "IPv6")], ADDR_TYPES);
        assert_eq!(told, (vec![pair("", "IPv4")], vec![], 1));
    }

    /// Finding 51.
    #[test]
    fn of_two_types_one_may_be_made_under_the_name_that_it_takes_and_the_other_not_at_all() {
        let both = [("a", "IPv4"), ("b", "IPv6")];
        let updated = vec![pair("a", "IPv4"), pair("b", "IPv6")];
        let (made, told, _) = recycled(&["IPv4", "IPv6"], &both, ADDR_TYPES);
        assert_eq!((made, told), (vec![], updated.clone()));
        let (made, told, _) = recycled(&["IPv6", "IPv4"], &both, ADDR_TYPES);
        assert_eq!((made, told), (vec![pair("a", "IPv4")], updated));
        let (made, told, _) = recycled(&["IPv4", "IPv6"], &[("b", "IPv6")], ADDR_TYPES);
        assert_eq!(
            (made, told),
            (vec![pair("b", "IPv6")], vec![pair("b", "IPv6")])
        );
    }
}
