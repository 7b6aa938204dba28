//! What Services use (`evaluator/core/services.go`).

use super::resources::ResourceList;
use crate::json::{self, Json};

/// `serviceResources`, but for the number of objects.
pub(super) const RESOURCES: [&str; 3] =
    ["services", "services.nodeports", "services.loadbalancers"];

/// Upstream's `Usage`
pub(super) fn usage(service: &Json) -> ResourceList {
    let ports = json::list(service, &["spec", "ports"]);
    let allocates = json::at(service, &["spec", "allocateLoadBalancerNodePorts"]);
    let (node_ports, load_balancers) = match get_quota_service_type(service) {
        "NodePort" => (ports.len(), 0),
        "LoadBalancer" if allocates == Some(&Json::Bool(false)) => {
            (ports_with_node_ports(ports), 1)
        }
        "LoadBalancer" => (ports.len(), 1),
        _ => (0, 0),
    };
    ResourceList::count(&["services"], 1)
        .add(&ResourceList::count(
            &["services.nodeports"],
            node_ports as i64,
        ))
        .add(&ResourceList::count(
            &["services.loadbalancers"],
            load_balancers,
        ))
}

/// `portsWithNodePorts`
fn ports_with_node_ports(ports: &[Json]) -> usize {
    let given = |port: &&Json| json::number(port, &["nodePort"]).unwrap_or(0) != 0;
    ports.iter().filter(given).count()
}

/// `GetQuotaServiceType`
pub(super) fn get_quota_service_type(service: &Json) -> &str {
    match json::text(service, &["spec", "type"]) {
        counted @ ("NodePort" | "LoadBalancer") => counted,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ports_count_as_they_will_be_allocated() {
        let of = |kind: &str, allocates: bool| {
            let ports = json!([{"port": 80, "nodePort": 30_000}, {"port": 81}]);
            let used = usage(&json!({"spec": {
                "type": kind, "ports": ports, "allocateLoadBalancerNodePorts": allocates,
            }}));
            let used = used.to_json();
            RESOURCES.map(|name| used[name].as_str().expect("a number").to_owned())
        };
        assert_eq!(of("ClusterIP", true), ["1", "0", "0"]);
        assert_eq!(of("NodePort", true), ["1", "2", "0"]);
        assert_eq!(of("LoadBalancer", true), ["1", "2", "1"]);
        assert_eq!(of("LoadBalancer", false), ["1", "1", "1"]);
    }
}
