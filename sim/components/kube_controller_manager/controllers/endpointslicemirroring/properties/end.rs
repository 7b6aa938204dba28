//! What mirrored slices list, say and belong to once all has been well for a while: worked out here anew from the Endpoints, as etcd
//! shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use wavetank_api::kinds::{ENDPOINT_SLICES, ENDPOINTS, SERVICES};
use wavetank_api::{Json, Object, json};
use wavetank_engine::{Check, Stable, World};

use super::super::controller::{CONTROLLER, MANAGER};
use super::super::mirrored::{LABEL_SKIP_MIRROR, LAST_APPLIED, LEADER};
use crate::endpoint_utils::{LABEL_MANAGED_BY, LABEL_SERVICE_NAME, TRIGGER_TIME, is_of_service_of};
use crate::somebody_runs;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// A port: its name, number and protocol.
type Port = (String, i64, String);
/// Addresses that have the same ports, and whether they are ready.
type Addresses = BTreeMap<String, bool>;
/// All of them, by their ports.
type Listing = BTreeMap<BTreeSet<Port>, Addresses>;

fn ports(of: &Json) -> BTreeSet<Port> {
    let all = json::list(of, &["ports"]).iter().map(|port| {
        let text = |field: &str| json::text(port, &[field]).to_owned();
        (
            text("name"),
            port["port"].as_i64().unwrap_or(0),
            text("protocol"),
        )
    });
    all.collect()
}

fn canonical(ip: &str) -> String {
    ip.parse::<IpAddr>()
        .map_or(ip.to_owned(), |ip| ip.to_string())
}

/// Are these to be mirrored?
fn is_to_be_mirrored(world: &World, endpoints: &Object) -> bool {
    let metadata = &endpoints.json()["metadata"];
    let service = SERVICES.key(endpoints.namespace(), endpoints.name());
    let service = ClusterView(world).get(&service);
    let has_no_selector = service.is_some_and(|own| own.value.json()["spec"]["selector"].is_null());
    metadata["labels"][LABEL_SKIP_MIRROR] != "true"
        && metadata["annotations"].get(LEADER).is_none()
        && has_no_selector
}

fn to_be_mirrored(world: &World) -> Vec<&Object> {
    let mut all = ClusterView(world).all(ENDPOINTS.registry);
    all.retain(|own| is_to_be_mirrored(world, own));
    all
}

/// The slices that mirror those of this name, but for such as go.
fn mirrors<'a>(world: &'a World, endpoints: &Object) -> Vec<&'a Object> {
    let mut all = ClusterView(world).all(ENDPOINT_SLICES.registry);
    let (namespace, name) = (endpoints.namespace(), endpoints.name());
    all.retain(|slice| {
        is_of_service_of(slice, MANAGER, namespace, name) && !slice.is_being_deleted()
    });
    all
}

/// What is to be listed: an address with all ports that it has; it is not ready if one subset says so.
fn expected(endpoints: &Json) -> Listing {
    let mut by_port: BTreeMap<Option<Port>, Addresses> = BTreeMap::new();
    for subset in json::list(endpoints, &["subsets"]) {
        let own: Vec<Option<Port>> = match ports(subset) {
            none if none.is_empty() => vec![None],
            some => some.into_iter().map(Some).collect(),
        };
        for port in own {
            let set = by_port.entry(port).or_default();
            for (field, ready) in [("addresses", true), ("notReadyAddresses", false)] {
                for address in json::list(subset, &[field]) {
                    let ip = canonical(json::text(address, &["ip"]));
                    let known = set.entry(ip).or_insert(true);
                    *known &= ready;
                }
            }
        }
    }
    let mut by_addresses: BTreeMap<Addresses, BTreeSet<Port>> = BTreeMap::new();
    for (port, set) in by_port {
        by_addresses.entry(set).or_default().extend(port);
    }
    let all = by_addresses.into_iter().map(|(set, ports)| (ports, set));
    all.collect()
}

/// What slices list; and an address that stands twice with the same ports, if one does.
fn listed(slices: &[&Object]) -> (Listing, Option<String>) {
    let mut all = Listing::new();
    let mut twice = None;
    for slice in slices {
        let of_ports = all.entry(ports(slice.json())).or_default();
        for endpoint in json::list(slice.json(), &["endpoints"]) {
            let ready = endpoint["conditions"]["ready"] == true;
            for ip in json::list(endpoint, &["addresses"]) {
                let ip = ip.as_str().unwrap_or_default().to_owned();
                if of_ports.insert(ip.clone(), ready).is_some() {
                    twice = Some(ip);
                }
            }
        }
    }
    all.retain(|_, own| !own.is_empty());
    (all, twice)
}

/// May one of these be left out for want of room?
fn fits(found: &Addresses, wanted: &Addresses) -> bool {
    let is_wanted = |(ip, ready): (&String, &bool)| wanted.get(ip) == Some(ready);
    let mut left_out = wanted.iter().filter(|(ip, _)| !found.contains_key(*ip));
    let lacks_ready = left_out.any(|(_, ready)| *ready);
    let has_others = found.values().any(|ready| !ready);
    found.iter().all(is_wanted) && !(lacks_ready && has_others)
}

/// Is all listed, or of what has no room as much as has? There is the same room for all of the same ports.
fn is_all_listed(found: &Listing, wanted: &Listing) -> bool {
    let none = Addresses::new();
    let ports: BTreeSet<&BTreeSet<Port>> = found.keys().chain(wanted.keys()).collect();
    let mut room: BTreeSet<usize> = BTreeSet::new();
    for ports in &ports {
        let (own, wanted) = (
            found.get(*ports).unwrap_or(&none),
            wanted.get(*ports).unwrap_or(&none),
        );
        if !fits(own, wanted) {
            return false;
        }
        if own.len() < wanted.len() {
            room.insert(own.len());
        }
    }
    let Some(least) = room.first() else {
        return true;
    };
    room.len() == 1 && *least > 0 && found.values().all(|own| own.len() <= *least)
}

fn in_words(all: &Listing) -> String {
    let one = |(ports, set): (&BTreeSet<Port>, &Addresses)| {
        let ports: Vec<String> = ports.iter().map(|(_, port, _)| port.to_string()).collect();
        let word = |(ip, ready): (&String, &bool)| match ready {
            true => ip.clone(),
            false => format!("{ip} (not ready)"),
        };
        let set: Vec<String> = set.iter().map(word).collect();
        format!("{} at {}", set.join(", "), ports.join("+"))
    };
    let all: Vec<String> = all.iter().map(one).collect();
    format!("[{}]", all.join("; "))
}

/// Something that holds of each of those that are to be mirrored: what is wrong, if it does not.
fn of_each(world: &World, wrong: fn(&World, &Object) -> Option<String>) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    let mut checked = Check::Idle;
    for endpoints in to_be_mirrored(world) {
        if let Some(message) = wrong(world, endpoints) {
            return violated("endpoints", endpoints.name(), message);
        }
        checked = Check::Held;
    }
    checked
}

fn stable(name: &'static str, after: Duration, holds: fn(&World) -> Check) -> Stable {
    Stable::new(name, after, |_, _| Check::Idle, holds)
}

fn are_listed(world: &World, endpoints: &Object) -> Option<String> {
    let wanted = expected(endpoints.json());
    let (found, twice) = listed(&mirrors(world, endpoints));
    let name = endpoints.name();
    if let Some(ip) = twice {
        return Some(format!("the slices that mirror {name} list {ip} twice"));
    }
    (!is_all_listed(&found, &wanted)).then(|| {
        format!(
            "the slices that mirror {name} list {}; they should list {}",
            in_words(&found),
            in_words(&wanted)
        )
    })
}

pub(super) fn mirrors_list_the_addresses(after: Duration) -> Stable {
    stable("mirrors-list-the-addresses", after, |world| {
        of_each(world, are_listed)
    })
}

/// Labels or annotations, without those that are of one side alone.
fn said(object: &Object, field: &str, but: &[&str]) -> BTreeMap<String, Json> {
    let all = object.json()["metadata"][field].as_object();
    let all = all.into_iter().flatten();
    let kept = all.filter(|(key, _)| !but.contains(&&***key));
    kept.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn say_the_same(world: &World, endpoints: &Object) -> Option<String> {
    let labels = said(endpoints, "labels", &[LABEL_MANAGED_BY, LABEL_SERVICE_NAME]);
    let annotations = said(endpoints, "annotations", &[TRIGGER_TIME, LAST_APPLIED]);
    let differs = |slice: &&&Object| {
        said(slice, "labels", &[LABEL_MANAGED_BY, LABEL_SERVICE_NAME]) != labels
            || said(slice, "annotations", &[]) != annotations
    };
    let slices = mirrors(world, endpoints);
    let other = slices.iter().find(differs)?;
    let message = format!(
        "the slice {} has not the labels and annotations of the Endpoints that it mirrors",
        other.name()
    );
    Some(message)
}

pub(super) fn mirrors_say_what_endpoints_say(after: Duration) -> Stable {
    stable("mirrors-say-what-endpoints-say", after, |world| {
        of_each(world, say_the_same)
    })
}

fn are_theirs(world: &World, endpoints: &Object) -> Option<String> {
    let is_theirs = |slice: &&&Object| {
        let owners = json::list(slice.json(), &["metadata", "ownerReferences"]);
        owners.iter().any(|own| own["uid"] == endpoints.uid())
    };
    let slices = mirrors(world, endpoints);
    let other = slices.iter().find(|slice| !is_theirs(slice))?;
    let message = format!(
        "the slice {} is of other Endpoints {} that are gone",
        other.name(),
        endpoints.name()
    );
    Some(message)
}

pub(super) fn mirrors_are_of_their_endpoints(after: Duration) -> Stable {
    stable("mirrors-are-of-their-endpoints", after, |world| {
        of_each(world, are_theirs)
    })
}

fn none_is_left(world: &World) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    let mirrored = to_be_mirrored(world);
    let mut checked = Check::Idle;
    for slice in ClusterView(world).all(ENDPOINT_SLICES.registry) {
        let labels = &slice.json()["metadata"]["labels"];
        if labels[LABEL_MANAGED_BY] != MANAGER || slice.is_being_deleted() {
            continue;
        }
        let is_of = |own: &&Object| is_of_service_of(slice, MANAGER, own.namespace(), own.name());
        if !mirrored.iter().any(is_of) {
            let of = json::text(labels, &[LABEL_SERVICE_NAME]);
            let message = format!(
                "the slice {} is left, which mirrors {of}: there are no such Endpoints that are to be mirrored",
                slice.name()
            );
            return violated("slice", of, message);
        }
        checked = Check::Held;
    }
    checked
}

pub(super) fn no_mirrors_are_left(after: Duration) -> Stable {
    stable("no-mirrors-are-left", after, none_is_left)
}
