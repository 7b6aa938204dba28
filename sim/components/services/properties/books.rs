//! Who has what, and what is allocated, as far as etcd knows: kept up with each commit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::services::allocators::{Bitmap, ItemRange};
use wavetank_api::Object;
use wavetank_api::json::{self, Json};
use wavetank_engine::Note;
use wavetank_etcd::{Change, Committed, Key, Revision};
use wavetank_version::Version;

/// Where Services are stored.
pub const SERVICES: &str = "/registry/services/specs/";
/// Where the bitmap of addresses is stored.
const IPS: &str = "/registry/ranges/serviceips";
/// And that of the addresses of the other family.
const SECONDARY_IPS: &str = "/registry/ranges/secondaryserviceips";
/// Where the bitmap of ports is stored.
const PORTS: &str = "/registry/ranges/servicenodeports";
/// Where IPAddresses are stored.
pub const ADDRESSES: &str = "/registry/ipaddresses/";
/// The Service of the apiservers themselves.
pub const KUBERNETES: &str = "/registry/services/specs/default/kubernetes";

/// What a Service may be given.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Item {
    /// A cluster address.
    Address(Arc<str>),
    /// A node port.
    Port(i64),
}

impl Item {
    /// The kind of object, for violations.
    pub fn kind(&self) -> &'static str {
        match self {
            Item::Address(_) => "cluster address",
            Item::Port(_) => "node port",
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Address(ip) => f.write_str(ip),
            Item::Port(port) => write!(f, "port {port}"),
        }
    }
}

/// The addresses of a Service, if it is of a type that has any.
pub fn addresses(service: &Json) -> Vec<&str> {
    let external = json::text(service, &["spec", "type"]) == "ExternalName";
    let one = json::text(service, &["spec", "clusterIP"]);
    let all = match json::list(service, &["spec", "clusterIPs"]) {
        [] => vec![one],
        all => all.iter().filter_map(Json::as_str).collect(),
    };
    let all = all.into_iter();
    all.filter(|ip| !external && !matches!(*ip, "" | "None"))
        .collect()
}

/// All that a Service has been given; a port that two protocols share counts once. An ExternalName Service may
/// name ports, but nothing is given to it.
pub fn items(service: &Json) -> BTreeSet<Item> {
    let external = json::text(service, &["spec", "type"]) == "ExternalName";
    let ports = json::list(service, &["spec", "ports"]).iter();
    let ports = ports.filter(|_| !external);
    let ports = ports.filter_map(|port| json::number(port, &["nodePort"]));
    let check = json::number(service, &["spec", "healthCheckNodePort"]);
    let ports = ports.chain(check).filter(|port| *port != 0);
    let addresses = addresses(service).into_iter();
    let addresses = addresses.map(|ip| Item::Address(ip.into()));
    ports.map(Item::Port).chain(addresses).collect()
}

/// What a commit did.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A Service was written or deleted.
    Service {
        /// What it had.
        had: BTreeSet<Item>,
        /// What it has.
        has: BTreeSet<Item>,
    },
    /// Something may have been allocated, and this is free again.
    Allocation {
        /// What is free now.
        freed: BTreeSet<Item>,
    },
}

/// Who has what, and what is allocated.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Books {
    services: BTreeMap<Key, BTreeSet<Item>>,
    allocated: BTreeSet<Item>,
    revision: Revision,
}

impl Books {
    /// Takes over what a note tells; what has changed.
    pub fn learn(&mut self, note: &Note) -> Vec<Entry> {
        let Some(commit) = note.body.get::<Committed<Object>>() else {
            return Vec::new();
        };
        // A new leader may tell it once more.
        if commit.revision <= self.revision {
            return Vec::new();
        }
        self.revision = commit.revision;
        let changes = commit.changes.iter();
        changes.filter_map(|change| self.enter(change)).collect()
    }

    fn enter(&mut self, change: &Change<Object>) -> Option<Entry> {
        let now = change.now.as_ref().map(|now| now.value.json());
        let key = &*change.key;
        if key.starts_with(SERVICES) {
            let has = now.map(items).unwrap_or_default();
            let had = match now {
                Some(_) => self.services.insert(change.key.clone(), has.clone()),
                None => self.services.remove(&change.key),
            };
            return Some(Entry::Service {
                had: had.unwrap_or_default(),
                has,
            });
        }
        let range = match key {
            IPS | SECONDARY_IPS => bits(now?, |range| {
                ItemRange::of_addresses(range, Version::LATEST)
            }),
            PORTS => bits(now?, |range| {
                let (first, last) = range.split_once('-')?;
                let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
                Some(ItemRange::of_ports(
                    (first, last - first + 1),
                    Version::LATEST,
                ))
            }),
            _ => {
                let ip = key.strip_prefix(ADDRESSES)?;
                let item = BTreeSet::from([Item::Address(ip.into())]);
                let none = BTreeSet::new();
                let (taken, freed) = match now {
                    Some(_) => (item, none),
                    None => (none, item),
                };
                return Some(self.allocate(taken, freed));
            }
        };
        let ranged = match key {
            PORTS => None,
            _ => ItemRange::of_addresses(json::text(now?, &["range"]), Version::LATEST),
        };
        let own = |item: &&Item| match (item, &ranged) {
            (Item::Port(_), None) => true,
            (Item::Address(ip), Some(range)) => ip.contains(':') == range.is_six(),
            _ => false,
        };
        let before: BTreeSet<Item> = self.allocated.iter().filter(own).cloned().collect();
        let taken = range.difference(&before).cloned().collect();
        let freed = before.difference(&range).cloned().collect();
        Some(self.allocate(taken, freed))
    }

    fn allocate(&mut self, taken: BTreeSet<Item>, freed: BTreeSet<Item>) -> Entry {
        self.allocated.extend(taken.iter().cloned());
        self.allocated.retain(|item| !freed.contains(item));
        Entry::Allocation { freed }
    }

    /// The newest commit that it has taken over.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Is it allocated?
    pub fn is_allocated(&self, item: &Item) -> bool {
        self.allocated.contains(item)
    }

    /// The Services that have it.
    pub fn users<'a>(&'a self, item: &'a Item) -> impl Iterator<Item = &'a Key> {
        let all = self.services.iter();
        let using = all.filter(|(_, items)| items.contains(item));
        using.map(|(key, _)| key)
    }

    /// What Services have and is not allocated, with one that has it.
    pub fn unallocated(&self) -> Option<(&Item, &Key)> {
        let all = self.services.iter();
        let mut all = all.flat_map(|(key, items)| items.iter().map(move |item| (item, key)));
        all.find(|(item, _)| !self.is_allocated(item))
    }

    /// All that Services have and is not allocated.
    pub fn all_unallocated(&self) -> BTreeSet<Item> {
        let all = self.services.values().flatten();
        all.filter(|item| !self.is_allocated(item))
            .cloned()
            .collect()
    }

    /// What is allocated and no Service has. That of `kubernetes` is left out: the apiservers make it by
    /// themselves.
    pub fn leaked(&self, first: &str) -> BTreeSet<Item> {
        let all = self.allocated.iter();
        let leaked = all.filter(|item| {
            let own = matches!(item, Item::Address(ip) if **ip == *first);
            !own && self.is_leaked(item)
        });
        leaked.cloned().collect()
    }

    /// Is it allocated, and no Service has it?
    pub fn is_leaked(&self, item: &Item) -> bool {
        self.is_allocated(item) && self.users(item).next().is_none()
    }
}

/// What a RangeAllocation has allocated.
fn bits(range: &Json, items: impl Fn(&str) -> Option<ItemRange>) -> BTreeSet<Item> {
    let Some(items) = items(json::text(range, &["range"])) else {
        return BTreeSet::new();
    };
    let taken = Bitmap::parse(json::text(range, &["data"])).unwrap_or_default();
    let item = |offset| {
        let text = items.item(offset);
        match text.parse() {
            Ok(port) => Item::Port(port),
            Err(_) => Item::Address(text.into()),
        }
    };
    taken.taken().map(item).collect()
}

/// A Service by its namespace and name.
pub fn named(key: &str) -> &str {
    key.strip_prefix(SERVICES).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use wavetank_api::kinds;

    use super::*;

    #[test]
    fn keys_are_those_of_the_server() {
        assert!(kinds::SERVICES.key("n", "s").starts_with(SERVICES));
        assert!(
            kinds::IP_ADDRESSES
                .key("", "10.0.0.1")
                .starts_with(ADDRESSES)
        );
        assert_eq!(&*kinds::SERVICES.key("default", "kubernetes"), KUBERNETES);
    }
}
