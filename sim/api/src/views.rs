//! Typed views of the objects that controllers here work on: the fields that their algorithms read
//! and write. What else stands in an object stays in its tree.

use std::sync::Arc;

use serde_json::json;

use crate::json::{self, Json};
use crate::kinds;

/// `subsets[]` of an Endpoints.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Subset {
    /// Ready addresses.
    pub addresses: Vec<Arc<str>>,
    /// Ports.
    pub ports: Vec<Port>,
}

/// A port of a subset or slice.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Port {
    /// Its name.
    pub name: Arc<str>,
    /// Its number.
    pub port: u16,
}

/// The subsets of an Endpoints.
pub fn subsets(endpoints: &Json) -> Vec<Subset> {
    let subset = |subset: &Json| Subset {
        addresses: json::list(subset, &["addresses"])
            .iter()
            .map(|address| json::text(address, &["ip"]).into())
            .collect(),
        ports: ports(subset),
    };
    json::list(endpoints, &["subsets"])
        .iter()
        .map(subset)
        .collect()
}

/// Puts subsets into an Endpoints; none leave no field.
pub fn set_subsets(endpoints: &mut Json, subsets: &[Subset]) {
    if subsets.is_empty() {
        json::remove(endpoints, &["subsets"]);
        return;
    }
    let subset = |subset: &Subset| {
        let mut tree = json!({});
        if !subset.addresses.is_empty() {
            let ips = subset.addresses.iter().map(|ip| json!({"ip": **ip}));
            tree["addresses"] = ips.collect();
        }
        set_ports(&mut tree, &subset.ports);
        tree
    };
    json::set(
        endpoints,
        &["subsets"],
        subsets.iter().map(subset).collect::<Json>(),
    );
}

/// The addresses of a slice, one an endpoint.
pub fn slice_addresses(slice: &Json) -> Vec<Arc<str>> {
    let endpoints = json::list(slice, &["endpoints"]).iter();
    let addresses = endpoints.flat_map(|endpoint| json::list(endpoint, &["addresses"]));
    addresses.filter_map(Json::as_str).map(Into::into).collect()
}

/// All addresses that an Endpoints or an EndpointSlice lists.
pub fn addresses(object: &Json) -> Vec<Arc<str>> {
    if json::text(object, &["kind"]) == kinds::ENDPOINT_SLICES.kind {
        return slice_addresses(object);
    }
    subsets(object)
        .into_iter()
        .flat_map(|subset| subset.addresses)
        .collect()
}

/// The ports of a subset or slice.
pub fn ports(tree: &Json) -> Vec<Port> {
    let port = |port: &Json| Port {
        name: json::text(port, &["name"]).into(),
        port: json::number(port, &["port"]).unwrap_or(0) as u16,
    };
    json::list(tree, &["ports"]).iter().map(port).collect()
}

/// Puts ports into a subset or slice.
pub fn set_ports(tree: &mut Json, ports: &[Port]) {
    let port = |port: &Port| json!({"name": *port.name, "port": port.port, "protocol": "TCP"});
    json::set(tree, &["ports"], ports.iter().map(port).collect::<Json>());
}
