//! Endpoints (`kubernetes/pkg/registry/core/endpoint/strategy.go`,
//! `pkg/apis/core/validation/validation.go`). The server keeps subsets as they are sent; repacking is
//! the controllers'.

use wavetank_version::Version;

use super::pod_spec::{default, objects_mut};
use crate::addresses;
use crate::gates;
use crate::json::{self, Json};
use crate::metadata;
use crate::names;
use crate::strategy::{Context, Part, Strategy};
use crate::validation::ErrorList;

/// The rules of Endpoints.
pub struct Endpoints;

pub(super) const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

impl Strategy for Endpoints {
    fn shown(&self) -> crate::discovery::Shown {
        crate::discovery::Shown::called(&["ep"])
    }

    fn default(&self, endpoints: &mut Json) {
        let subsets = endpoints.get_mut("subsets").and_then(Json::as_array_mut);
        for subset in subsets.into_iter().flatten() {
            for port in objects_mut(subset, &["ports"]) {
                default(port, "protocol", "TCP");
            }
        }
    }

    fn validate(&self, _cx: &Context, endpoints: &Json) -> ErrorList {
        validate_endpoints(endpoints, None)
    }

    fn validate_update(
        &self,
        _cx: &Context,
        _part: Part,
        endpoints: &Json,
        old: &Json,
    ) -> ErrorList {
        let mut errors = metadata::validate_object_meta_update(endpoints, old);
        errors.extend(validate_endpoints(endpoints, Some(old)));
        errors
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }
}

/// The warning that every answer about Endpoints carries, reads and failures included
/// (`APILifecycleDeprecated` of `k8s.io/api/core/v1`).
pub fn deprecation(release: Version) -> Option<&'static str> {
    const WARNING: &str =
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
    release
        .has(gates::ENDPOINTS_ARE_DEPRECATED)
        .then_some(WARNING)
}

/// `ValidateEndpoints`; subsets that stay as they were are not looked at again.
fn validate_endpoints(endpoints: &Json, old: Option<&Json>) -> ErrorList {
    let mut errors = metadata::validate_object_meta(endpoints, true, &names::name_is_dns_subdomain);
    let subsets = |of| json::list(of, &["subsets"]);
    if old.is_some_and(|old| subsets(old) == subsets(endpoints)) {
        return errors;
    }
    for (at, subset) in subsets(endpoints).iter().enumerate() {
        let path = format!("subsets[{at}]");
        let lists = ["addresses", "notReadyAddresses"];
        if lists
            .iter()
            .all(|list| json::list(subset, &[list]).is_empty())
        {
            let detail = "must specify `addresses` or `notReadyAddresses`";
            errors.required(path.clone(), detail);
        }
        for list in lists {
            for (index, address) in json::list(subset, &[list]).iter().enumerate() {
                validate_address(address, &format!("{path}.{list}[{index}]"), &mut errors);
            }
        }
        let ports = json::list(subset, &["ports"]);
        for (index, port) in ports.iter().enumerate() {
            let field = format!("{path}.ports[{index}]");
            validate_port(port, ports.len() > 1, &field, &mut errors);
        }
    }
    errors
}

fn validate_address(address: &Json, path: &str, errors: &mut ErrorList) {
    let text = |field| json::text(address, &[field]);
    let ip = text("ip");
    addresses::is_valid_ip_for_legacy_field(ip, &format!("{path}.ip"), errors);
    let hostname = text("hostname");
    if !hostname.is_empty() {
        errors.invalid_each(
            &format!("{path}.hostname"),
            hostname,
            names::is_dns1123_label(hostname),
        );
    }
    if let Some(node) = address.get("nodeName").and_then(Json::as_str) {
        let found = names::name_is_dns_subdomain(node, false);
        errors.invalid_each(&format!("{path}.nodeName"), node, found);
    }
    addresses::validate_endpoint_ip(ip, &format!("{path}.ip"), errors);
}

fn validate_port(port: &Json, named: bool, path: &str, errors: &mut ErrorList) {
    let at = |field: &str| format!("{path}.{field}");
    match json::text(port, &["name"]) {
        "" if named => errors.required(at("name"), ""),
        "" => {}
        name => errors.invalid_each(&at("name"), name, names::is_dns1123_label(name)),
    }
    let number = json::number(port, &["port"]).unwrap_or(0);
    errors.invalid_each(&at("port"), number, names::is_valid_port_num(number));
    match json::text(port, &["protocol"]) {
        "" => errors.required(at("protocol"), ""),
        protocol if PROTOCOLS.contains(&protocol) => {}
        other => errors.not_supported(at("protocol"), other, &PROTOCOLS),
    }
    if let Some(protocol) = port.get("appProtocol").and_then(Json::as_str) {
        errors.invalid_each(
            &at("appProtocol"),
            protocol,
            names::is_qualified_name(protocol),
        );
    }
}
