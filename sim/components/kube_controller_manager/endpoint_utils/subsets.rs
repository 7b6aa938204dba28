//! Subsets of Endpoints (`pkg/api/v1/endpoints/util.go`): addresses that have the same ports stand together. And how many of
//! them there may be.

use std::collections::BTreeMap;

use wavetank_api::json::{self, Json, Map};

/// Upstream's `maxCapacity`
pub const MAX_CAPACITY: usize = 1000;

/// `EndpointSubset`
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Subset {
    pub addresses: Vec<Json>,
    pub not_ready_addresses: Vec<Json>,
    pub ports: Vec<Json>,
}

/// By what addresses are told apart and sorted (`LessEndpointAddress`): IP and UID.
type AddressKey = (String, String);
/// Addresses, and whether they are ready.
type AddressSet = BTreeMap<AddressKey, bool>;

impl Subset {
    /// A subset of stored Endpoints.
    fn of(json: &Json) -> Subset {
        let list = |field| json::list(json, &[field]).to_vec();
        Subset {
            addresses: list("addresses"),
            not_ready_addresses: list("notReadyAddresses"),
            ports: list("ports"),
        }
    }

    /// The subsets of stored Endpoints.
    pub fn all_of(endpoints: &Json) -> Vec<Subset> {
        let all = json::list(endpoints, &["subsets"]);
        all.iter().map(Subset::of).collect()
    }

    /// How many addresses it has.
    pub fn len(&self) -> usize {
        self.addresses.len() + self.not_ready_addresses.len()
    }

    /// As it is stored: what is empty is left out.
    pub fn json(&self) -> Json {
        let all = [
            ("addresses", &self.addresses),
            ("notReadyAddresses", &self.not_ready_addresses),
            ("ports", &self.ports),
        ];
        let some = all.into_iter().filter(|(_, list)| !list.is_empty());
        let fields = some.map(|(key, list)| (key.to_owned(), list.clone().into()));
        Json::Object(fields.collect::<Map>())
    }
}

fn address_key(address: &Json) -> AddressKey {
    let text = |path: &[&str]| json::text(address, path).to_owned();
    (text(&["ip"]), text(&["targetRef", "uid"]))
}

/// `RepackSubsets`. Upstream sorts subsets and ports by hashes of how Go prints them, here by their text.
pub fn repack_subsets(subsets: &[Subset]) -> Vec<Subset> {
    let mut all_addresses: BTreeMap<AddressKey, Json> = BTreeMap::new();
    // The port that stands for none has no definition.
    let mut by_port: BTreeMap<String, (Option<Json>, AddressSet)> = BTreeMap::new();
    for subset in subsets {
        let ports = subset.ports.iter().map(Some);
        let sentinel = subset.ports.is_empty().then_some(None);
        for port in ports.chain(sentinel) {
            let text = port.map(Json::to_string).unwrap_or_default();
            let (_, set) = by_port
                .entry(text)
                .or_insert_with(|| (port.cloned(), AddressSet::new()));
            let ready = subset.addresses.iter().map(|own| (own, true));
            let not_ready = subset.not_ready_addresses.iter().map(|own| (own, false));
            for (address, ready) in ready.chain(not_ready) {
                map_address_by_port(&mut all_addresses, set, address, ready);
            }
        }
    }
    let mut by_addresses: BTreeMap<Vec<(AddressKey, bool)>, Vec<Json>> = BTreeMap::new();
    for (port, set) in by_port.into_values() {
        by_addresses
            .entry(set.into_iter().collect())
            .or_default()
            .extend(port);
    }
    let pack = |(set, mut ports): (Vec<(AddressKey, bool)>, Vec<Json>)| {
        ports.sort_by_key(Json::to_string);
        let of = |wanted: bool| {
            let those = set.iter().filter(|(_, ready)| *ready == wanted);
            those.map(|(key, _)| all_addresses[key].clone()).collect()
        };
        Subset {
            addresses: of(true),
            not_ready_addresses: of(false),
            ports,
        }
    };
    let mut packed: Vec<Subset> = by_addresses.into_iter().map(pack).collect();
    packed.sort_by_key(|subset| subset.json().to_string());
    packed
}

/// `mapAddressByPort`: an address that is ready and not ready is not ready.
fn map_address_by_port(
    all: &mut BTreeMap<AddressKey, Json>,
    set: &mut AddressSet,
    address: &Json,
    ready: bool,
) {
    let key = address_key(address);
    all.entry(key.clone()).or_insert_with(|| address.clone());
    let own = set.entry(key).or_insert(ready);
    *own = *own && ready;
}

/// `truncateEndpoints`: ready addresses first, subsets in proportion. Was anything left out?
pub fn truncate_endpoints(subsets: &mut [Subset], capacity: usize) -> bool {
    let ready: usize = subsets.iter().map(|own| own.addresses.len()).sum();
    let not_ready: usize = subsets
        .iter()
        .map(|own| own.not_ready_addresses.len())
        .sum();
    if ready + not_ready <= capacity {
        return false;
    }
    let truncate_ready = ready > capacity;
    let (most, total) = match truncate_ready {
        true => (capacity, ready),
        false => (capacity - ready, not_ready),
    };
    let mut can_be_added = most;
    for subset in subsets {
        let list = match truncate_ready {
            true => &mut subset.addresses,
            false => &mut subset.not_ready_addresses,
        };
        let share = (list.len() * most).div_ceil(total);
        list.truncate(share.min(can_be_added));
        can_be_added -= list.len();
        if truncate_ready {
            subset.not_ready_addresses.clear();
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn address(ip: &str, uid: &str) -> Json {
        json!({"ip": ip, "targetRef": {"uid": uid}})
    }

    fn port(number: u16) -> Json {
        json!({"port": number, "protocol": "TCP"})
    }

    fn one(ip: &str, ready: bool, number: u16) -> Subset {
        let all = vec![address(ip, ip)];
        let (addresses, not_ready_addresses) = if ready { (all, vec![]) } else { (vec![], all) };
        Subset {
            addresses,
            not_ready_addresses,
            ports: vec![port(number)],
        }
    }

    #[test]
    fn addresses_with_the_same_ports_stand_together() {
        let all = [
            one("10.0.0.2", true, 80),
            one("10.0.0.1", true, 80),
            one("10.0.0.1", true, 81),
            one("10.0.0.2", true, 81),
            one("10.0.0.3", false, 80),
        ];
        let packed = repack_subsets(&all);
        let ips =
            |list: &[Json]| -> Vec<String> { list.iter().map(|own| address_key(own).0).collect() };
        assert_eq!(packed.len(), 2);
        let (both, only) = match packed[0].not_ready_addresses.is_empty() {
            true => (&packed[0], &packed[1]),
            false => (&packed[1], &packed[0]),
        };
        assert_eq!(ips(&both.addresses), ["10.0.0.1", "10.0.0.2"]);
        assert_eq!(both.ports, [port(81)]);
        assert_eq!(ips(&only.addresses), ["10.0.0.1", "10.0.0.2"]);
        assert_eq!(ips(&only.not_ready_addresses), ["10.0.0.3"]);
        assert_eq!(repack_subsets(&packed), packed);
    }

    #[test]
    fn one_address_of_two_pods_stands_twice_and_one_that_is_not_ready_once() {
        let mut other = one("10.0.0.1", true, 80);
        other.addresses = vec![address("10.0.0.1", "other")];
        let packed = repack_subsets(&[one("10.0.0.1", true, 80), other]);
        assert_eq!(packed[0].addresses.len(), 2);
        let packed = repack_subsets(&[one("10.0.0.1", true, 80), one("10.0.0.1", false, 80)]);
        assert_eq!(
            (
                packed[0].addresses.len(),
                packed[0].not_ready_addresses.len()
            ),
            (0, 1)
        );
    }

    #[test]
    fn addresses_without_a_port_are_kept() {
        let mut without = one("10.0.0.1", true, 80);
        without.ports.clear();
        let packed = repack_subsets(&[without.clone()]);
        assert_eq!(packed, [without]);
    }

    /// So many ready and not ready addresses of two subsets are left of a capacity.
    fn truncated(sizes: [(usize, usize); 2], capacity: usize) -> ([(usize, usize); 2], bool) {
        let mut all = sizes.map(|(ready, not_ready)| Subset {
            addresses: vec![address("10.0.0.1", "u"); ready],
            not_ready_addresses: vec![address("10.0.0.1", "u"); not_ready],
            ports: vec![],
        });
        let cut = truncate_endpoints(&mut all, capacity);
        (
            all.map(|own| (own.addresses.len(), own.not_ready_addresses.len())),
            cut,
        )
    }

    #[test]
    fn ready_addresses_are_kept_before_others_and_subsets_in_proportion() {
        assert_eq!(truncated([(2, 1), (1, 0)], 4), ([(2, 1), (1, 0)], false));
        assert_eq!(truncated([(2, 3), (1, 3)], 6), ([(2, 2), (1, 1)], true));
        assert_eq!(truncated([(6, 3), (3, 3)], 6), ([(4, 0), (2, 0)], true));
        assert_eq!(truncated([(5, 0), (5, 0)], 5), ([(3, 0), (2, 0)], true));
    }
}
