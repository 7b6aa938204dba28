//! What is wrong with a Service (`kubernetes/pkg/apis/core/validation/validation.go`).

use std::collections::BTreeSet;

use wavetank_version::Version;

use super::endpoints::PROTOCOLS;
use super::service_one_ip;
use super::services::{externally_accessible, is_headless, name_errors, needs_health_check};
use crate::addresses;
use crate::gates;
use crate::internal;
use crate::json::{self, Json};
use crate::metadata;
use crate::names;
use crate::quote;
use crate::validation::{Bad, ErrorList};

const EXTERNAL: &str = "may not be set for ExternalName services";
const CHANGED: &str = "may not change once set";
/// The port of the kubelet.
const KUBELET: i64 = 10250;

fn text<'a>(service: &'a Json, field: &str) -> &'a str {
    json::text(service, &["spec", field])
}

fn list<'a>(service: &'a Json, field: &str) -> &'a [Json] {
    json::list(service, &["spec", field])
}

/// A list as messages show it; older releases show it as Go would write it.
fn shown(release: Version, items: &[Json]) -> Bad {
    if !release.has(gates::LISTS_ARE_SHOWN_AS_JSON) {
        let texts: Vec<&str> = items.iter().filter_map(Json::as_str).collect();
        return match texts.is_empty() {
            true => Bad::shown("[]string(nil)"),
            false => Bad::shown(quote::go_strings(&texts)),
        };
    }
    match items {
        [] => Bad::shown("null"),
        items => Bad::from(&Json::Array(items.to_vec())),
    }
}

/// The addresses of a Service, as messages show them.
pub fn shown_ips(release: Version, service: &Json) -> Bad {
    shown(release, list(service, "clusterIPs"))
}

/// `ValidateService`
pub(super) fn validate_service(release: Version, service: &Json) -> ErrorList {
    let names = |name: &str, prefix: bool| name_errors(release, name, prefix);
    let mut errors = metadata::validate_object_meta(service, true, &names);
    let kind = text(service, "type");
    let headless = is_headless(service);
    let plural = release.has(gates::CLUSTER_IPS);
    let ports = list(service, "ports");
    if ports.is_empty() && !headless && kind != "ExternalName" {
        errors.required("spec.ports", "");
    }
    match kind {
        "LoadBalancer" => {
            for (at, port) in ports.iter().enumerate() {
                if json::number(port, &["port"]) == Some(KUBELET) {
                    let detail = "may not expose port 10250 externally since it is used by kubelet";
                    errors.invalid(format!("spec.ports[{at}]"), KUBELET, detail);
                }
            }
            if headless && plural {
                let detail = "may not be set to 'None' for LoadBalancer services";
                errors.invalid("spec.clusterIPs[0]", "None", detail);
            }
        }
        "NodePort" if headless && plural => {
            let detail = "may not be set to 'None' for NodePort services";
            errors.invalid("spec.clusterIPs[0]", "None", detail);
        }
        "ExternalName" => external_name(service, &mut errors),
        _ => {}
    }
    if !plural {
        service_one_ip::of_type(service, &mut errors);
    }
    let mut all_names = BTreeSet::new();
    for (at, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{at}]");
        validate_service_port(port, ports.len() > 1, &mut all_names, &path, &mut errors);
    }
    metadata::validate_labels(service, &["spec", "selector"], "spec.selector", &mut errors);
    affinity(service, &mut errors);
    if !plural {
        service_one_ip::itself(service, &mut errors);
    } else if kind != "ExternalName" {
        validate_service_cluster_ips_related_fields(release, service, &mut errors);
    }
    for (at, ip) in list(service, "externalIPs").iter().enumerate() {
        let ip = ip.as_str().unwrap_or_default();
        let field = format!("spec.externalIPs[{at}]");
        if addresses::is_valid_ip_for_legacy_field(ip, &field, &mut errors).is_some() {
            addresses::validate_endpoint_ip(ip, &field, &mut errors);
        }
    }
    let kinds = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    match kind {
        "" => errors.required("spec.type", ""),
        kind if kinds.contains(&kind) => {}
        other => errors.not_supported("spec.type", other, &kinds),
    }
    node_ports(ports, kind, &mut errors);
    let balanced = json::at(service, &["spec", "allocateLoadBalancerNodePorts"]);
    let only = "may only be used when `type` is 'LoadBalancer'";
    if !list(service, "loadBalancerSourceRanges").is_empty() && kind != "LoadBalancer" {
        errors.forbidden("spec.LoadBalancerSourceRanges", only);
    }
    if balanced.is_some_and(|b| !b.is_null()) && kind != "LoadBalancer" {
        errors.forbidden("spec.allocateLoadBalancerNodePorts", only);
    }
    if let Some(class) = json::at(service, &["spec", "loadBalancerClass"]).and_then(Json::as_str) {
        if kind != "LoadBalancer" {
            errors.forbidden("spec.loadBalancerClass", only);
        }
        let found = names::is_qualified_name(class);
        errors.invalid_each("spec.loadBalancerClass", class, found);
    }
    traffic(release, service, &mut errors);
    errors
}

fn external_name(service: &Json, errors: &mut ErrorList) {
    for field in ["clusterIPs", "ipFamilies"] {
        if !list(service, field).is_empty() {
            errors.forbidden(format!("spec.{field}"), EXTERNAL);
        }
    }
    if !text(service, "ipFamilyPolicy").is_empty() {
        errors.forbidden("spec.ipFamilyPolicy", EXTERNAL);
    }
    let name = text(service, "externalName");
    match name.strip_suffix('.').unwrap_or(name) {
        "" => errors.required("spec.externalName", ""),
        name => errors.invalid_each("spec.externalName", name, names::is_dns1123_subdomain(name)),
    }
}

/// `validateServicePort`
fn validate_service_port<'a>(
    port: &'a Json,
    named: bool,
    all_names: &mut BTreeSet<&'a str>,
    path: &str,
    errors: &mut ErrorList,
) {
    let at = |field: &str| format!("{path}.{field}");
    match json::text(port, &["name"]) {
        "" if named => errors.required(at("name"), ""),
        "" => {}
        name => {
            errors.invalid_each(&at("name"), name, names::is_dns1123_label(name));
            if !all_names.insert(name) {
                errors.duplicate(at("name"), name);
            }
        }
    }
    let number = json::number(port, &["port"]).unwrap_or(0);
    errors.invalid_each(&at("port"), number, names::is_valid_port_num(number));
    match json::text(port, &["protocol"]) {
        "" => errors.required(at("protocol"), ""),
        protocol if PROTOCOLS.contains(&protocol) => {}
        other => errors.not_supported(at("protocol"), other, &PROTOCOLS),
    }
    match port.get("targetPort") {
        Some(Json::String(name)) => {
            errors.invalid_each(&at("targetPort"), name, names::is_valid_port_name(name));
        }
        target => {
            let number = target.and_then(Json::as_i64).unwrap_or(0);
            errors.invalid_each(&at("targetPort"), number, names::is_valid_port_num(number));
        }
    }
    if let Some(protocol) = port.get("appProtocol").and_then(Json::as_str) {
        errors.invalid_each(
            &at("appProtocol"),
            protocol,
            names::is_qualified_name(protocol),
        );
    }
}

fn affinity(service: &Json, errors: &mut ErrorList) {
    const SECONDS: &str = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
    let affinity = text(service, "sessionAffinity");
    let config = json::at(service, &["spec", "sessionAffinityConfig"]);
    match affinity {
        "" => errors.required("spec.sessionAffinity", ""),
        "ClientIP" => {
            let path = [
                "spec",
                "sessionAffinityConfig",
                "clientIP",
                "timeoutSeconds",
            ];
            match json::number(service, &path) {
                None => errors.required(SECONDS, ""),
                Some(1..=86400) => {}
                Some(seconds) => {
                    errors.invalid(
                        SECONDS,
                        seconds,
                        "must be greater than 0 and less than 86400",
                    );
                }
            }
        }
        "None" => {
            if config.is_some_and(|config| !config.is_null()) {
                let detail = "must not be set when session affinity is None";
                errors.forbidden("spec.sessionAffinityConfig", detail);
            }
        }
        other => errors.not_supported("spec.sessionAffinity", other, &["ClientIP", "None"]),
    }
}

/// `ValidateServiceClusterIPsRelatedFields` of v1.36, which allocation asks for, too.
pub(super) fn cluster_ips_errors(service: &Json) -> ErrorList {
    let mut errors = ErrorList::default();
    validate_service_cluster_ips_related_fields(Version::LATEST, service, &mut errors);
    errors
}

/// `validateServiceClusterIPsRelatedFields`
fn validate_service_cluster_ips_related_fields(
    release: Version,
    service: &Json,
    errors: &mut ErrorList,
) {
    const FIELD: &str = "spec.clusterIPs";
    let ips = list(service, "clusterIPs");
    let one = text(service, "clusterIP");
    match (one, ips.first()) {
        ("", None) => {}
        ("", Some(_)) => {
            errors.invalid(
                FIELD,
                shown(release, ips),
                "must be empty when `clusterIP` is not specified",
            );
        }
        (_, None) => errors.required(FIELD, ""),
        (one, Some(first)) if first != one => {
            errors.invalid(
                FIELD,
                shown(release, ips),
                "first value must match `clusterIP`",
            );
        }
        _ => {}
    }
    let families = list(service, "ipFamilies");
    let mut seen = BTreeSet::new();
    for (at, family) in families.iter().enumerate() {
        let family = family.as_str().unwrap_or_default();
        let field = format!("spec.ipFamilies[{at}]");
        if !matches!(family, "IPv4" | "IPv6") {
            errors.not_supported(field.clone(), family, &["IPv4", "IPv6"]);
        }
        if !seen.insert(family) {
            errors.duplicate(field, family);
        }
    }
    let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
    let policy = json::at(service, &["spec", "ipFamilyPolicy"]).and_then(Json::as_str);
    if let Some(policy) = policy.filter(|policy| !policies.contains(policy)) {
        errors.not_supported("spec.ipFamilyPolicy", policy, &policies);
    }
    let before = errors.len();
    for (at, ip) in ips.iter().enumerate() {
        let ip = ip.as_str().unwrap_or_default();
        if at == 0 && ip == "None" {
            if ips.len() > 1 {
                errors.invalid(
                    FIELD,
                    shown(release, ips),
                    "'None' must be the first and only value",
                );
            }
            continue;
        }
        addresses::is_valid_ip_for_legacy_field(ip, &format!("{FIELD}[{at}]"), errors);
    }
    let any_is_bad = errors.len() > before;
    if ips.len() > 2 {
        errors.invalid(FIELD, shown(release, ips), "may only hold up to 2 values");
    }
    if any_is_bad {
        return;
    }
    let is_six = |ip: &Json| {
        let ip = addresses::parse_ip_sloppy(ip.as_str().unwrap_or_default());
        ip.is_some_and(|ip| ip.is_ipv6())
    };
    if ips.len() > 1 {
        let both = ips.iter().any(is_six) && !ips.iter().all(is_six);
        if !both {
            let detail = "may specify no more than one IP for each IP family";
            errors.invalid(FIELD, shown(release, ips), detail);
        }
    }
    if is_headless(service) {
        return;
    }
    for (at, (ip, family)) in ips.iter().zip(families).enumerate() {
        let wrong = match family.as_str() {
            Some("IPv4") if is_six(ip) => "IPv4",
            Some("IPv6") if !is_six(ip) => "IPv6",
            _ => continue,
        };
        let detail = format!("expected an {wrong} value as indicated by `ipFamilies[{at}]`");
        errors.invalid(format!("{FIELD}[{at}]"), ip, detail);
    }
}

fn node_ports(ports: &[Json], kind: &str, errors: &mut ErrorList) {
    let number = |port: &Json, field| json::number(port, &[field]).unwrap_or(0);
    let protocol = |port| json::text(port, &["protocol"]);
    if kind == "ClusterIP" {
        for (at, port) in ports.iter().enumerate() {
            if number(port, "nodePort") != 0 {
                let field = format!("spec.ports[{at}].nodePort");
                errors.forbidden(field, "may not be used when `type` is 'ClusterIP'");
            }
        }
    }
    let mut seen = BTreeSet::new();
    for (at, port) in ports.iter().enumerate() {
        let node_port = number(port, "nodePort");
        if node_port != 0 && !seen.insert((protocol(port).to_owned(), node_port)) {
            errors.duplicate(format!("spec.ports[{at}].nodePort"), node_port);
        }
    }
    let mut seen = BTreeSet::new();
    for (at, port) in ports.iter().enumerate() {
        if !seen.insert((protocol(port).to_owned(), number(port, "port"))) {
            let key = serde_json::json!({
                "protocol": protocol(port), "port": number(port, "port"),
            });
            let bad = Bad::shown(internal::service_port(&key));
            errors.duplicate(format!("spec.ports[{at}]"), bad);
        }
    }
}

fn traffic(release: Version, service: &Json, errors: &mut ErrorList) {
    if !release.has(gates::TRAFFIC_IS_VALIDATED) {
        return validate_service_external_traffic_fields_value(service, errors);
    }
    let accessible = service.get("spec").is_some_and(externally_accessible);
    let policies = ["Cluster", "Local"];
    match (accessible, text(service, "externalTrafficPolicy")) {
        (false, "") => {}
        (false, policy) => {
            let detail = "may only be set for externally-accessible services";
            errors.invalid("spec.externalTrafficPolicy", policy, detail);
        }
        (true, "") => errors.required("spec.externalTrafficPolicy", ""),
        (true, policy) if policies.contains(&policy) => {}
        (true, policy) => errors.not_supported("spec.externalTrafficPolicy", policy, &policies),
    }
    let check = json::number(service, &["spec", "healthCheckNodePort"]).unwrap_or(0);
    if check != 0 && !needs_health_check(service) {
        let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is \
                      'Local'";
        errors.invalid("spec.healthCheckNodePort", check, detail);
    } else if check != 0 {
        errors.invalid_each(
            "spec.healthCheckNodePort",
            check,
            names::is_valid_port_num(check),
        );
    }
    let kind = text(service, "type");
    let internal = json::at(service, &["spec", "internalTrafficPolicy"]).and_then(Json::as_str);
    match internal {
        Some(policy) if !policies.contains(&policy) => {
            errors.not_supported("spec.internalTrafficPolicy", policy, &policies);
        }
        None if matches!(kind, "ClusterIP" | "NodePort" | "LoadBalancer") => {
            errors.required("spec.internalTrafficPolicy", "");
        }
        _ => {}
    }
}

/// `validateServiceExternalTrafficFieldsValue`, until v1.20.
fn validate_service_external_traffic_fields_value(service: &Json, errors: &mut ErrorList) {
    let policy = text(service, "externalTrafficPolicy");
    if !matches!(policy, "" | "Cluster" | "Local") {
        let detail = "ExternalTrafficPolicy must be empty, Cluster or Local";
        errors.invalid("spec.externalTrafficPolicy", policy, detail);
    }
    let check = json::number(service, &["spec", "healthCheckNodePort"]).unwrap_or(0);
    if check < 0 {
        let detail = "HealthCheckNodePort must be not less than 0";
        errors.invalid("spec.healthCheckNodePort", check, detail);
    }
}

/// `ValidateServiceExternalTrafficFieldsCombination`, until v1.20 asked for once addresses and ports
/// are allocated.
pub fn validate_service_external_traffic_fields_combination(service: &Json) -> ErrorList {
    let mut errors = ErrorList::default();
    let policy = text(service, "externalTrafficPolicy");
    let has_ports = matches!(text(service, "type"), "NodePort" | "LoadBalancer");
    if !has_ports && !policy.is_empty() {
        let detail = "ExternalTrafficPolicy can only be set on NodePort and LoadBalancer service";
        errors.invalid("spec.externalTrafficPolicy", policy, detail);
    }
    let check = json::number(service, &["spec", "healthCheckNodePort"]).unwrap_or(0);
    if !needs_health_check(service) && check != 0 {
        let detail = "HealthCheckNodePort can only be set on LoadBalancer service with \
                      ExternalTrafficPolicy=Local";
        errors.invalid("spec.healthCheckNodePort", check, detail);
    }
    errors
}

/// `ValidateServiceUpdate`
pub(super) fn validate_service_update(release: Version, service: &Json, old: &Json) -> ErrorList {
    let mut errors = metadata::validate_object_meta_update(service, old);
    let external = |of| text(of, "type") == "ExternalName";
    if !release.has(gates::CLUSTER_IPS) {
        service_one_ip::unchanged(service, old, &mut errors);
    } else if !external(service) && !external(old) {
        validate_upgrade_downgrade_cluster_ips(release, service, old, &mut errors);
        validate_upgrade_downgrade_ip_families(release, service, old, &mut errors);
    }
    errors.extend(changed_balancer(release, service, old));
    errors.extend(validate_service(release, service));
    errors
}

/// What a load balancer keeps, v1.36.
fn changed_balancer(release: Version, service: &Json, old: &Json) -> ErrorList {
    let mut errors = ErrorList::default();
    let balanced = |of| text(of, "type") == "LoadBalancer";
    let class = |of| json::at(of, &["spec", "loadBalancerClass"]).cloned();
    let has_class = release.has(gates::LOAD_BALANCER_CLASS);
    if has_class && balanced(service) && balanced(old) && class(service) != class(old) {
        let bad = Bad::from(class(service).as_ref());
        errors.invalid("spec.loadBalancerClass", bad, CHANGED);
    }
    let check = |of| json::number(of, &["spec", "healthCheckNodePort"]);
    let checked = needs_health_check(service) && needs_health_check(old);
    let changed = checked && check(service) != check(old);
    if changed && release.has(gates::TRAFFIC_IS_VALIDATED) {
        errors.forbidden("spec.healthCheckNodePort", metadata::IMMUTABLE);
    }
    errors
}

/// `validateUpgradeDowngradeClusterIPs`
fn validate_upgrade_downgrade_cluster_ips(
    release: Version,
    service: &Json,
    old: &Json,
    errors: &mut ErrorList,
) {
    const FIELD: &str = "spec.clusterIPs[0]";
    if is_headless(service) && is_headless(old) {
        return;
    }
    let (new, before) = (list(service, "clusterIPs"), list(old, "clusterIPs"));
    if new.len() == before.len() {
        for (at, (ip, was)) in new.iter().zip(before).enumerate() {
            if ip != was {
                errors.invalid(
                    format!("spec.clusterIPs[{at}]"),
                    shown(release, new),
                    CHANGED,
                );
            }
        }
        return;
    }
    if new.is_empty() {
        errors.invalid(
            FIELD,
            shown(release, new),
            "primary clusterIP can not be unset",
        );
    }
    if let (Some(new_first), Some(first)) = (new.first(), before.first())
        && new_first != first
    {
        errors.invalid(FIELD, shown(release, new), CHANGED);
    }
    if before.len() > new.len()
        && new.len() == 1
        && text(service, "ipFamilyPolicy") != "SingleStack"
    {
        let detail = "`ipFamilyPolicy` must be set to 'SingleStack' when releasing the secondary \
                      clusterIP";
        errors.invalid(FIELD, shown(release, new), detail);
    }
}

/// `validateUpgradeDowngradeIPFamilies`
fn validate_upgrade_downgrade_ip_families(
    release: Version,
    service: &Json,
    old: &Json,
    errors: &mut ErrorList,
) {
    const FIELD: &str = "spec.ipFamilies[0]";
    if is_headless(service) || is_headless(old) {
        return;
    }
    let (new, before) = (list(service, "ipFamilies"), list(old, "ipFamilies"));
    if new.len() == before.len() {
        for (family, was) in new.iter().zip(before) {
            if family != was {
                errors.invalid(FIELD, shown(release, new), CHANGED);
            }
        }
        return;
    }
    if before.len() > new.len() && list(service, "clusterIPs").is_empty() {
        errors.invalid(
            FIELD,
            shown(release, new),
            "primary ipFamily can not be unset",
        );
    }
    if let (Some(family), Some(was)) = (new.first(), before.first())
        && family != was
    {
        errors.invalid(FIELD, shown(release, new), CHANGED);
    }
    if before.len() > new.len()
        && new.len() == 1
        && text(service, "ipFamilyPolicy") != "SingleStack"
    {
        let detail = "`ipFamilyPolicy` must be set to 'SingleStack' when releasing the secondary \
                      ipFamily";
        errors.invalid(FIELD, shown(release, new), detail);
    }
}

/// `ValidateServiceStatusUpdate`
pub(super) fn validate_service_status_update(
    release: Version,
    service: &Json,
    old: &Json,
) -> ErrorList {
    const INGRESS: &str = "status.loadBalancer.ingress";
    let mut errors = metadata::validate_object_meta_update(service, old);
    let path = ["status", "loadBalancer", "ingress"];
    let ingress = json::list(service, &path);
    let load_balancers_only = release.has(gates::INGRESS_OF_LOAD_BALANCERS_ONLY);
    if load_balancers_only && text(service, "type") != "LoadBalancer" {
        if !ingress.is_empty() && json::list(old, &path).is_empty() {
            errors.forbidden(
                INGRESS,
                "may only be used when `spec.type` is 'LoadBalancer'",
            );
        }
        return errors;
    }
    for (at, ingress) in ingress.iter().enumerate() {
        let at = |field: &str| format!("{INGRESS}[{at}].{field}");
        let of = |field| json::text(ingress, &[field]);
        if !of("ip").is_empty() {
            addresses::is_valid_ip_for_legacy_field(of("ip"), &at("ip"), &mut errors);
        }
        let mode = of("ipMode");
        if !release.has(gates::LOAD_BALANCER_IP_MODE) {
            // There were no modes.
        } else if mode.is_empty() && !of("ip").is_empty() {
            errors.required(at("ipMode"), "must be specified when `ip` is set");
        } else if !mode.is_empty() && of("ip").is_empty() {
            errors.forbidden(at("ipMode"), "may not be specified when `ip` is not set");
        } else if !matches!(mode, "" | "VIP" | "Proxy") {
            errors.not_supported(at("ipMode"), mode, &["Proxy", "VIP"]);
        }
        let hostname = of("hostname");
        if !hostname.is_empty() {
            errors.invalid_each(
                &at("hostname"),
                hostname,
                names::is_dns1123_subdomain(hostname),
            );
            if addresses::parse_ip_sloppy(hostname).is_some() {
                errors.invalid(
                    at("hostname"),
                    hostname,
                    "must be a DNS name, not an IP address",
                );
            }
        }
    }
    errors
}
