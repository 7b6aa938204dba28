//! Services, but for what is allocated (`kubernetes/pkg/registry/core/service/strategy.go`,
//! `pkg/apis/core/v1/defaults.go`, `pkg/api/service/warnings.go`).
//!
//! Addresses and node ports come from allocators, which act before these rules; they find here what
//! they need to know of a Service's fields. What is wrong with a Service is in `service_rules`.

use serde_json::json;
use wavetank_version::Version;

use super::pod_spec::{default, objects_mut};
use super::pods::keep;
use super::{service_gate, service_rules};
use crate::addresses;
use crate::gates;
use crate::json::{self, Json, Map};
use crate::names;
use crate::strategy::{Context, Part, Strategy};
use crate::validation::ErrorList;

/// The rules of Services.
pub struct Services;

impl Strategy for Services {
    fn shown(&self) -> crate::discovery::Shown {
        crate::discovery::Shown {
            short_names: &["svc"],
            categories: crate::discovery::ALL,
            subresources: crate::discovery::OF_SERVICE,
        }
    }

    fn get_reset_fields(&self, part: Part) -> &'static [&'static [&'static str]] {
        match part {
            Part::Status => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn deletes_collections(&self, release: Version) -> bool {
        release.has(gates::SERVICES_HAVE_DELETE_COLLECTION)
    }

    fn default(&self, service: &mut Json) {
        let Some(spec) = service.get_mut("spec").filter(|spec| spec.is_object()) else {
            return;
        };
        for port in objects_mut(spec, &["ports"]) {
            default(port, "protocol", "TCP");
            let number = port.get("port").cloned().unwrap_or_else(|| 0.into());
            let target = port.entry("targetPort").or_insert(Json::Null);
            if target.is_null() || *target == json!(0) || *target == json!("") {
                *target = number;
            }
        }
        let accessible = externally_accessible(spec);
        if let Some(spec) = spec.as_object_mut() {
            default_affinity(spec);
            default(spec, "type", "ClusterIP");
            if accessible {
                default(spec, "externalTrafficPolicy", "Cluster");
            }
            let kind = spec
                .get("type")
                .and_then(Json::as_str)
                .unwrap_or_default()
                .to_owned();
            if matches!(kind.as_str(), "ClusterIP" | "NodePort" | "LoadBalancer") {
                default(spec, "internalTrafficPolicy", "Cluster");
            }
            if kind == "LoadBalancer" {
                default(spec, "allocateLoadBalancerNodePorts", true);
            }
        }
        if json::text(service, &["spec", "type"]) == "LoadBalancer" {
            for ingress in objects_mut(service, &["status", "loadBalancer", "ingress"]) {
                if ingress.contains_key("ip") {
                    default(ingress, "ipMode", "VIP");
                }
            }
        }
    }

    fn prepare_for_create(&self, cx: &Context, service: &mut Json) {
        json::set(service, &["status"], json!({"loadBalancer": {}}));
        service_gate::default(cx, service);
        if cx.release.has(gates::FAMILIES_BEFORE_HOOKS) {
            normalize_cluster_ips(service, None);
        }
        forget_later_fields(cx, service);
    }

    fn validate(&self, cx: &Context, service: &Json) -> ErrorList {
        service_rules::validate_service(cx.release, service)
    }

    fn prepare_for_update(&self, cx: &Context, part: Part, service: &mut Json, old: &Json) {
        match part {
            Part::Status => {
                keep(service, old, &["spec"]);
                if !cx.release.has(gates::LOAD_BALANCER_IP_MODE) {
                    for ingress in objects_mut(service, &["status", "loadBalancer", "ingress"]) {
                        ingress.remove("ipMode");
                    }
                }
            }
            _ => {
                keep(service, old, &["status"]);
                service_gate::default(cx, service);
                if cx.release.has(gates::FAMILIES_BEFORE_HOOKS) {
                    normalize_cluster_ips(service, Some(old));
                }
                forget_later_fields(cx, service);
                if !cx.release.has(gates::TYPE_DEPENDENT_FIELDS_ARE_DROPPED) {
                    return;
                }
                drop_type_dependent_fields(service, old);
                service_gate::trim_fields_for_dual_stack_downgrade(cx, service, old);
                let balanced = |of| json::text(of, &["spec", "type"]) == "LoadBalancer";
                if balanced(old) && !balanced(service) {
                    json::set(service, &["status", "loadBalancer"], json!({}));
                }
            }
        }
    }

    fn validate_update(&self, cx: &Context, part: Part, service: &Json, old: &Json) -> ErrorList {
        match part {
            Part::Status => service_rules::validate_service_status_update(cx.release, service, old),
            _ => service_rules::validate_service_update(cx.release, service, old),
        }
    }

    fn warnings(&self, cx: &Context, service: &Json, _old: Option<&Json>) -> Vec<String> {
        let mut warnings = Vec::new();
        if !cx.release.has(gates::SERVICE_WARNINGS) {
            return warnings;
        }
        let list = |field| {
            json::list(service, &["spec", field])
                .iter()
                .filter_map(Json::as_str)
        };
        if !is_headless(service) {
            for (at, ip) in list("clusterIPs").enumerate() {
                warnings.extend(addresses::get_warnings_for_ip(
                    ip,
                    &format!("spec.clusterIPs[{at}]"),
                ));
            }
        }
        for (at, ip) in list("externalIPs").enumerate() {
            warnings.extend(addresses::get_warnings_for_ip(
                ip,
                &format!("spec.externalIPs[{at}]"),
            ));
        }
        if list("externalIPs").next().is_some() {
            let warning = "spec.externalIPs is deprecated and may no longer be implemented in some \
                           clusters";
            warnings.push(warning.to_owned());
        }
        let text = |field| json::text(service, &["spec", field]);
        if text("type") != "ExternalName" && !text("externalName").is_empty() {
            let warning = "spec.externalName is ignored when spec.type is not \"ExternalName\"";
            warnings.push(warning.to_owned());
        }
        if is_headless(service) && text("sessionAffinity") == "ClientIP" {
            let warning = "spec.SessionAffinity is ignored for headless services";
            warnings.push(warning.to_owned());
        }
        warnings
    }

    fn name_errors(&self, name: &str, prefix: bool) -> Vec<String> {
        name_errors(Version::LATEST, name, prefix)
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn returns_deleted_object(&self) -> bool {
        true
    }

    fn has(&self, part: Part) -> bool {
        matches!(part, Part::Whole | Part::Status)
    }

    fn convert_field_label<'a>(&self, label: &'a str) -> Result<&'a str, String> {
        match label {
            "metadata.namespace" | "metadata.name" | "spec.clusterIP" | "spec.type" => Ok(label),
            label => Err(format!("field label not supported: {label}")),
        }
    }
}

/// Fields that came after v1.20, or were off by default then, and one that is gone since; the table is that
/// of v1.36.
fn forget_later_fields(cx: &Context, service: &mut Json) {
    let has = |gate| cx.release.has(gate);
    if has(gates::CLUSTER_IPS) || !cx.dual_stack {
        json::remove(service, &["spec", "ipFamily"]);
    }
    let fields = [
        (
            gates::LOAD_BALANCER_NODE_PORTS,
            "allocateLoadBalancerNodePorts",
        ),
        (gates::INTERNAL_TRAFFIC_POLICY, "internalTrafficPolicy"),
        (gates::LOAD_BALANCER_CLASS, "loadBalancerClass"),
        (gates::TRAFFIC_DISTRIBUTION, "trafficDistribution"),
    ];
    for (_, field) in fields.into_iter().filter(|(gate, _)| !has(*gate)) {
        json::remove(service, &["spec", field]);
    }
    let plural = has(gates::DUAL_STACK) || has(gates::CLUSTER_IPS) && cx.dual_stack;
    if !plural {
        json::remove(service, &["spec", "ipFamilies"]);
        json::remove(service, &["spec", "ipFamilyPolicy"]);
        keep_one_address(cx, service);
    }
    // Services of type ClusterIP had no policy by default, not even with external addresses.
    let text = |field| json::text(service, &["spec", field]);
    let by_default = text("type") == "ClusterIP" && text("externalTrafficPolicy") == "Cluster";
    if by_default && !has(gates::EXTERNAL_ADDRESSES_HAVE_A_POLICY) {
        json::remove(service, &["spec", "externalTrafficPolicy"]);
    }
}

/// There was one address.
fn keep_one_address(cx: &Context, service: &mut Json) {
    if !cx.release.has(gates::CLUSTER_IPS) {
        json::remove(service, &["spec", "clusterIPs"]);
        return;
    }
    let ips = json::list(service, &["spec", "clusterIPs"]);
    if ips.len() > 1 {
        let first = ips[..1].to_vec();
        json::set(service, &["spec", "clusterIPs"], first);
    }
}

/// Names of Services are names of hosts; today they may begin with a digit.
pub(super) fn name_errors(release: Version, name: &str, prefix: bool) -> Vec<String> {
    match release.has(gates::SERVICE_NAMES_ARE_LABELS) {
        true => names::name_is_dns_label(name, prefix),
        false => names::name_is_dns1035_label(name, prefix),
    }
}

fn default_affinity(spec: &mut Map) {
    default(spec, "sessionAffinity", "None");
    match spec.get("sessionAffinity").and_then(Json::as_str) {
        Some("None") => {
            spec.remove("sessionAffinityConfig");
        }
        Some("ClientIP") => {
            let config = spec.entry("sessionAffinityConfig").or_insert(Json::Null);
            let seconds = json::number(config, &["clientIP", "timeoutSeconds"]);
            if seconds.is_none() {
                *config = json!({"clientIP": {"timeoutSeconds": 10800}});
            }
        }
        _ => {}
    }
}

/// `ExternallyAccessible`, of a spec.
pub(super) fn externally_accessible(spec: &Json) -> bool {
    match json::text(spec, &["type"]) {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" | "" => !json::list(spec, &["externalIPs"]).is_empty(),
        _ => false,
    }
}

/// Has it `None` for an address?
pub fn is_headless(service: &Json) -> bool {
    match json::list(service, &["spec", "clusterIPs"]) {
        [] => json::text(service, &["spec", "clusterIP"]) == "None",
        ips => matches!(ips, [ip] if ip == "None"),
    }
}

/// `NeedsHealthCheck`: does it need a port for health checks?
pub fn needs_health_check(service: &Json) -> bool {
    let text = |field| json::text(service, &["spec", field]);
    text("type") == "LoadBalancer" && text("externalTrafficPolicy") == "Local"
}

/// `normalizeClusterIPs`: puts in step what a client that knows only one of `clusterIP` and
/// `clusterIPs` has sent. Before anything is allocated.
pub fn normalize_cluster_ips(service: &mut Json, old: Option<&Json>) {
    let one = |of: &Json| json::text(of, &["spec", "clusterIP"]).to_owned();
    let all = |of: &Json| json::list(of, &["spec", "clusterIPs"]).to_vec();
    let set = |service: &mut Json, ips: Vec<Json>| match ips.is_empty() {
        true => {
            json::remove(service, &["spec", "clusterIPs"]);
        }
        false => json::set(service, &["spec", "clusterIPs"], ips),
    };
    let new = one(service);
    let Some(old) = old else {
        if !new.is_empty() && all(service).is_empty() {
            set(service, vec![new.into()]);
        }
        return;
    };
    let before = one(old);
    if !all(old).is_empty() && all(service).is_empty() && before == new {
        set(service, all(old));
    }
    if before == new {
        return;
    }
    if !before.is_empty() && new.is_empty() {
        if all(old) == all(service) {
            set(service, Vec::new());
        }
    } else if all(service).is_empty() || all(old) == all(service) {
        set(service, vec![new.into()]);
    }
}

/// `patchAllocatedValues`: what was allocated before stays, unless the client says otherwise. Before
/// anything else is done with an update.
pub fn patch_allocated_values(service: &mut Json, old: &Json) {
    let kind = |of: &Json| json::text(of, &["spec", "type"]).to_owned();
    let (new_kind, old_kind) = (kind(service), kind(old));
    let has_ip = |kind: &str| kind != "ExternalName";
    if has_ip(&old_kind) && has_ip(&new_kind) {
        let one = |of: &Json| json::text(of, &["spec", "clusterIP"]).to_owned();
        if one(service).is_empty() {
            keep(service, old, &["spec", "clusterIP"]);
        }
        let none = json::list(service, &["spec", "clusterIPs"]).is_empty();
        if none && one(service) == one(old) {
            keep(service, old, &["spec", "clusterIPs"]);
        }
    }
    if needs_node_port(old) && needs_node_port(service) {
        patch_node_ports(service, old);
    }
    let number = |of: &Json| json::number(of, &["spec", "healthCheckNodePort"]).unwrap_or(0);
    if needs_health_check(old) && needs_health_check(service) && number(service) == 0 {
        keep(service, old, &["spec", "healthCheckNodePort"]);
    }
}

/// `needsNodePort` (`storage.go`): a load balancer may do without.
fn needs_node_port(service: &Json) -> bool {
    let allocates = json::at(service, &["spec", "allocateLoadBalancerNodePorts"]);
    match json::text(service, &["spec", "type"]) {
        "NodePort" => true,
        "LoadBalancer" => allocates.and_then(Json::as_bool) != Some(false),
        _ => false,
    }
}

/// A port keeps the node port that one of its name had, unless another port has that now.
fn patch_node_ports(service: &mut Json, old: &Json) {
    let number = |port: &Json| json::number(port, &["nodePort"]).unwrap_or(0);
    let named = json::list(service, &["spec", "ports"]).iter().map(number);
    let taken: Vec<i64> = named.collect();
    let before = json::list(old, &["spec", "ports"]);
    for port in objects_mut(service, &["spec", "ports"]) {
        let this = Json::Object(port.clone());
        if number(&this) != 0 {
            continue;
        }
        let name = json::text(&this, &["name"]);
        let mut same = before.iter().rev();
        let kept = same
            .find(|old| json::text(old, &["name"]) == name)
            .map_or(0, number);
        if kept != 0 && !taken.contains(&kept) {
            port.insert("nodePort".to_owned(), kept.into());
        }
    }
}

/// `dropTypeDependentFields`: what the old type needed and the new one does not, unless the client
/// has changed it.
fn drop_type_dependent_fields(service: &mut Json, old: &Json) {
    let kind = |of: &Json| json::text(of, &["spec", "type"]).to_owned();
    let (new_kind, old_kind) = (kind(service), kind(old));
    let same = |service: &Json, field| {
        json::at(service, &["spec", field]) == json::at(old, &["spec", field])
    };
    let mut drops = Vec::new();
    let has_ip = |kind: &str| matches!(kind, "ClusterIP" | "NodePort" | "LoadBalancer");
    if has_ip(&old_kind) && !has_ip(&new_kind) {
        if same(service, "clusterIP") && same(service, "clusterIPs") {
            drops.extend(["clusterIP", "clusterIPs"]);
        }
        drops.extend(
            ["ipFamilies", "ipFamilyPolicy"]
                .into_iter()
                .filter(|field| same(service, field)),
        );
    }
    let has_ports = |kind: &str| matches!(kind, "NodePort" | "LoadBalancer");
    if has_ports(&old_kind) && !has_ports(&new_kind) {
        let ports = |of| -> Vec<Option<i64>> {
            let ports = json::list(of, &["spec", "ports"]).iter();
            ports
                .map(|port| json::number(port, &["nodePort"]))
                .collect()
        };
        let before = ports(old);
        if ports(service)
            .iter()
            .all(|port| port.is_none() || before.contains(port))
        {
            for port in objects_mut(service, &["spec", "ports"]) {
                port.remove("nodePort");
            }
        }
    }
    let unneeded = needs_health_check(old) && !needs_health_check(service);
    if unneeded && same(service, "healthCheckNodePort") {
        drops.push("healthCheckNodePort");
    }
    if old_kind == "LoadBalancer" && new_kind != "LoadBalancer" {
        drops.extend(
            ["allocateLoadBalancerNodePorts", "loadBalancerClass"]
                .into_iter()
                .filter(|field| same(service, field)),
        );
    }
    let accessible = |of: &Json| of.get("spec").is_some_and(externally_accessible);
    let hidden = accessible(old) && !accessible(service);
    if hidden && same(service, "externalTrafficPolicy") {
        drops.push("externalTrafficPolicy");
    }
    for field in drops {
        json::remove(service, &["spec", field]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(spec: Json) -> Json {
        let mut service = json!({"metadata": {"name": "s", "namespace": "n"}, "spec": spec});
        Services.default(&mut service);
        service
    }

    #[test]
    fn a_service_gets_its_defaults() {
        let service = service(json!({"ports": [{"port": 80}]}));
        assert_eq!(
            service["spec"],
            json!({"ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
                   "sessionAffinity": "None", "type": "ClusterIP", "internalTrafficPolicy": "Cluster"})
        );
    }

    #[test]
    fn what_was_allocated_stays() {
        let old = service(
            json!({"type": "NodePort", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"],
                                 "ports": [{"port": 80, "nodePort": 30000}]}),
        );
        let mut new = service(json!({"type": "NodePort", "ports": [{"port": 80}]}));
        patch_allocated_values(&mut new, &old);
        normalize_cluster_ips(&mut new, Some(&old));
        assert_eq!(new["spec"], old["spec"]);
        let balancer = |allocates: bool| {
            service(
                json!({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": allocates,
                           "clusterIP": "10.0.0.1", "ports": [{"port": 80}]}),
            )
        };
        for allocates in [true, false] {
            let mut new = balancer(allocates);
            patch_allocated_values(&mut new, &old);
            let port = new["spec"]["ports"][0].get("nodePort").is_some();
            assert_eq!(port, allocates);
        }
        let mut outside = old.clone();
        json::set(&mut outside, &["spec", "type"], "ExternalName");
        drop_type_dependent_fields(&mut outside, &old);
        let dropped = json!([
            outside["spec"].get("clusterIP"),
            outside["spec"]["ports"][0].get("nodePort")
        ]);
        assert_eq!(dropped, json!([null, null]));
    }
}
