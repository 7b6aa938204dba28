//! EndpointSlices (`kubernetes/pkg/registry/discovery/endpointslice/strategy.go`,
//! `pkg/apis/discovery/v1/defaults.go`, `pkg/apis/discovery/validation/validation.go`).

use std::collections::BTreeSet;

use super::endpoints::PROTOCOLS;
use super::pod_spec::objects_mut;
use super::pods::count_generation;
use crate::addresses;
use crate::json::{self, Json};
use crate::metadata;
use crate::names;
use crate::strategy::{Context, Part, Strategy};
use crate::validation::ErrorList;

const MAX_ENDPOINTS: usize = 1000;
const MAX_ADDRESSES: usize = 100;
const MAX_PORTS: usize = 20_000;

/// The rules of EndpointSlices.
pub struct EndpointSlices;

impl Strategy for EndpointSlices {
    fn default(&self, slice: &mut Json) {
        for port in objects_mut(slice, &["ports"]) {
            for (field, value) in [("name", ""), ("protocol", "TCP")] {
                let slot = port.entry(field).or_insert(Json::Null);
                if slot.is_null() {
                    *slot = value.into();
                }
            }
        }
    }

    fn prepare_for_create(&self, _cx: &Context, slice: &mut Json) {
        json::set(slice, &["metadata", "generation"], 1);
    }

    fn prepare_for_update(&self, _cx: &Context, _part: Part, slice: &mut Json, old: &Json) {
        let labels = |of| json::at(of, &["metadata", "labels"]).cloned();
        let same = |field| slice.get(field) == old.get(field);
        if !["addressType", "endpoints", "ports"].into_iter().all(same)
            || labels(slice) != labels(old)
        {
            count_generation(slice, old);
        }
    }

    fn validate(&self, _cx: &Context, slice: &Json) -> ErrorList {
        validate_endpoint_slice(slice, None)
    }

    fn validate_update(&self, _cx: &Context, _part: Part, slice: &Json, old: &Json) -> ErrorList {
        let mut errors = validate_endpoint_slice(slice, Some(old));
        let kind = |of| json::text(of, &["addressType"]).to_owned();
        if kind(slice) != kind(old) {
            errors.invalid("addressType", kind(slice), metadata::IMMUTABLE);
        }
        errors
    }

    fn warnings(&self, _cx: &Context, slice: &Json, old: Option<&Json>) -> Vec<String> {
        if old.is_none() && json::text(slice, &["addressType"]) == "FQDN" {
            return vec!["spec.addressType: FQDN endpoints are deprecated".to_owned()];
        }
        Vec::new()
    }
}

/// `ValidateEndpointSlice`; addresses that were there before are not looked at again.
fn validate_endpoint_slice(slice: &Json, old: Option<&Json>) -> ErrorList {
    let mut errors = metadata::validate_object_meta(slice, true, &names::name_is_dns_subdomain);
    let kind = json::text(slice, &["addressType"]);
    let kinds = ["FQDN", "IPv4", "IPv6"];
    match kind {
        "" => errors.required("addressType", ""),
        kind if kinds.contains(&kind) => {}
        other => errors.not_supported("addressType", other, &kinds),
    }
    let endpoints = |of| json::list(of, &["endpoints"]);
    let before = old.map_or(&[][..], endpoints).iter();
    let known: BTreeSet<&str> = before
        .flat_map(|endpoint| json::list(endpoint, &["addresses"]))
        .filter_map(Json::as_str)
        .collect();
    let all = endpoints(slice);
    if all.len() > MAX_ENDPOINTS {
        errors.too_many("endpoints", all.len(), MAX_ENDPOINTS);
    } else {
        for (at, endpoint) in all.iter().enumerate() {
            validate_endpoint(
                endpoint,
                kind,
                &known,
                &format!("endpoints[{at}]"),
                &mut errors,
            );
        }
    }
    validate_ports(json::list(slice, &["ports"]), &mut errors);
    errors
}

fn validate_endpoint(
    endpoint: &Json,
    kind: &str,
    known: &BTreeSet<&str>,
    path: &str,
    errors: &mut ErrorList,
) {
    let list = json::list(endpoint, &["addresses"]);
    let field = format!("{path}.addresses");
    if list.is_empty() {
        errors.required(field.clone(), "must contain at least 1 address");
    } else if list.len() > MAX_ADDRESSES {
        errors.too_many(field.clone(), list.len(), MAX_ADDRESSES);
    }
    for (at, address) in list.iter().enumerate() {
        let address = address.as_str().unwrap_or_default();
        let each = format!("{field}[{at}]");
        if known.contains(address) {
            continue;
        }
        match kind {
            "IPv4" | "IPv6" => {
                let Some(ip) = addresses::is_valid_ip_for_legacy_field(address, &each, errors)
                else {
                    continue;
                };
                match kind {
                    "IPv4" if ip.is_ipv6() => {
                        errors.invalid(field.clone(), address, "must be an IPv4 address");
                    }
                    "IPv6" if ip.is_ipv4() => {
                        errors.invalid(field.clone(), address, "must be an IPv6 address");
                    }
                    _ => addresses::validate_endpoint_ip(address, &each, errors),
                }
            }
            "FQDN" => is_fully_qualified_domain_name(address, &each, errors),
            _ => {}
        }
    }
    if let Some(node) = endpoint.get("nodeName").and_then(Json::as_str) {
        let found = names::name_is_dns_subdomain(node, false);
        errors.invalid_each(&format!("{path}.nodeName"), node, found);
    }
    let topology = format!("{path}.deprecatedTopology");
    metadata::validate_labels(endpoint, &["deprecatedTopology"], &topology, errors);
    if let Some(hostname) = endpoint.get("hostname").and_then(Json::as_str) {
        errors.invalid_each(
            &format!("{path}.hostname"),
            hostname,
            names::is_dns1123_label(hostname),
        );
    }
}

/// `IsFullyQualifiedDomainName`
fn is_fully_qualified_domain_name(name: &str, field: &str, errors: &mut ErrorList) {
    if name.is_empty() {
        errors.required(field, "");
        return;
    }
    let bare = name.strip_suffix('.').unwrap_or(name);
    let found = names::is_dns1123_subdomain(bare);
    if !found.is_empty() {
        errors.invalid(field, bare, found.join(","));
        return;
    }
    if !bare.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        errors.invalid(field, bare, detail);
        return;
    }
    for label in bare.split('.') {
        let found = names::is_dns1123_label(label);
        if !found.is_empty() {
            errors.invalid(field, label, found.join(","));
            return;
        }
    }
}

fn validate_ports(ports: &[Json], errors: &mut ErrorList) {
    if ports.len() > MAX_PORTS {
        errors.too_many("ports", ports.len(), MAX_PORTS);
        return;
    }
    let mut all = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let at = |field: &str| format!("ports[{index}].{field}");
        let name = json::text(port, &["name"]);
        if !name.is_empty() {
            errors.invalid_each(&at("name"), name, names::is_dns1123_label(name));
        }
        if !all.insert(name) {
            errors.duplicate(at("name"), name);
        }
        match port.get("protocol").and_then(Json::as_str) {
            None => errors.required(at("protocol"), ""),
            Some(protocol) if PROTOCOLS.contains(&protocol) => {}
            Some(other) => errors.not_supported(at("protocol"), other, &PROTOCOLS),
        }
        if let Some(number) = json::number(port, &["port"]) {
            errors.invalid_each(&at("port"), number, names::is_valid_port_num(number));
        }
        if let Some(protocol) = port.get("appProtocol").and_then(Json::as_str) {
            errors.invalid_each(
                &at("appProtocol"),
                protocol,
                names::is_qualified_name(protocol),
            );
        }
    }
}
