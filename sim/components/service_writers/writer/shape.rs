//! What the Services of a client look like, and what it changes of them. Every choice is the driver's.

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_engine::Rx;

use super::{Families, ServiceWriter};

/// How many ways there are to change a Service.
pub(super) const CHANGES: u64 = 9;
/// Whoever looks after load balancers holds a Service back until he is done with it.
const FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";

/// The types of Services, each with its share of twelve.
const TYPES: [(&str, u64); 4] = [
    ("ClusterIP", 5),
    ("NodePort", 3),
    ("LoadBalancer", 2),
    ("ExternalName", 2),
];

async fn kind(rx: Rx) -> &'static str {
    let mut drawn = rx.choose(TYPES.iter().map(|(_, share)| share).sum()).await;
    for (kind, share) in TYPES {
        match drawn.checked_sub(share) {
            None => return kind,
            Some(rest) => drawn = rest,
        }
    }
    unreachable!("the shares add up")
}

fn kind_of(service: &Json) -> &str {
    json::text(service, &["spec", "type"])
}

fn ports(service: &mut Json) -> &mut Vec<Json> {
    let spec = json::map_mut(service, &["spec"]);
    let ports = spec.entry("ports").or_insert_with(|| json!([]));
    ports.as_array_mut().expect("ports are a list")
}

/// A Service that wants one address, any of them.
pub(super) fn plain(name: &str) -> Json {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"ports": [port("TCP")]},
    })
}

/// One with this on top of its spec, and with these finalizers, if any.
pub(super) fn directed(name: &str, args: &Json) -> Json {
    let mut service = plain(name);
    amend(&mut service, &args["spec"]);
    if args["finalizers"].is_array() {
        json::set(
            &mut service,
            &["metadata", "finalizers"],
            args["finalizers"].clone(),
        );
    }
    service
}

/// Puts this on top of its spec.
pub(super) fn amend(service: &mut Json, spec: &Json) {
    for (key, value) in spec.as_object().into_iter().flatten() {
        json::set(service, &["spec", key], value.clone());
    }
}

/// One port; a number that two protocols use shares its node port.
fn port(protocol: &str) -> Json {
    json!({"name": protocol.to_lowercase(), "port": 53, "protocol": protocol})
}

/// What a type must not have is taken away, what it needs is put there.
fn retype(service: &mut Json, kind: &str) {
    json::set(service, &["spec", "type"], kind);
    let mut alien = vec!["allocateLoadBalancerNodePorts"];
    match kind {
        "ExternalName" => alien.extend(["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"]),
        _ => alien.push("externalName"),
    }
    if kind != "LoadBalancer" {
        alien.extend(["externalTrafficPolicy", "healthCheckNodePort"]);
    }
    for field in alien {
        json::remove(service, &["spec", field]);
    }
    match kind {
        "ExternalName" => json::set(service, &["spec", "externalName"], "elsewhere.example"),
        "LoadBalancer" => json::set(service, &["spec", "externalTrafficPolicy"], "Local"),
        _ => {}
    }
    if matches!(kind, "ExternalName" | "ClusterIP") {
        for port in ports(service) {
            json::remove(port, &["nodePort"]);
        }
    }
}

fn has_node_ports(service: &Json) -> bool {
    matches!(kind_of(service), "NodePort" | "LoadBalancer")
}

impl ServiceWriter {
    async fn address(&self, rx: Rx) -> String {
        let drawn = rx.choose(self.addresses.len() as u64).await;
        self.addresses[drawn as usize].clone()
    }

    async fn node_port(&self, rx: Rx) -> u64 {
        let (first, count) = self.ports;
        u64::from(first) + rx.choose(count.into()).await
    }

    /// A Service to be made.
    pub(super) async fn service(&self, rx: Rx, name: &str) -> Json {
        let mut service = plain(name);
        if rx.choose(3).await == 0 {
            ports(&mut service).push(port("UDP"));
        }
        if rx.choose(4).await == 0 {
            json::set(&mut service, &["metadata", "finalizers"], vec![FINALIZER]);
        }
        self.become_some(rx, &mut service, kind(rx).await).await;
        match self.families {
            Families::One if rx.choose(2).await == 0 => {
                let family = ["IPv4", "IPv6"][rx.choose(2).await as usize];
                json::set(&mut service, &["spec", "ipFamily"], family);
            }
            _ => self.regroup(rx, &mut service).await,
        }
        service
    }

    /// Gives it a type, with addresses and ports of its own choice here and there.
    async fn become_some(&self, rx: Rx, service: &mut Json, kind: &str) {
        let had = json::text(service, &["spec", "clusterIP"]).to_owned();
        retype(service, kind);
        if kind != "ExternalName" && had.is_empty() && rx.choose(5).await < 2 {
            let asked = self.address(rx).await;
            json::set(service, &["spec", "clusterIP"], asked);
        }
        if has_node_ports(service) && rx.choose(5).await < 2 {
            self.renumber(rx, service).await;
        }
        if kind == "LoadBalancer" && rx.choose(5).await < 2 {
            let asked = self.node_port(rx).await;
            let check = ["spec", "healthCheckNodePort"];
            if json::number(service, &check).unwrap_or(0) == 0 {
                json::set(service, &check, asked);
            }
        }
    }

    /// Says how many families it wants, where there are two, now and then.
    async fn regroup(&self, rx: Rx, service: &mut Json) {
        let policies = ["SingleStack", "PreferDualStack", "RequireDualStack"];
        if self.families == Families::Policy
            && kind_of(service) != "ExternalName"
            && let Some(policy) = policies.get(rx.choose(4).await as usize)
        {
            json::set(service, &["spec", "ipFamilyPolicy"], *policy);
        }
    }

    /// Asks for one node port, for all protocols.
    async fn renumber(&self, rx: Rx, service: &mut Json) {
        let asked = self.node_port(rx).await;
        for port in ports(service) {
            json::set(port, &["nodePort"], asked);
        }
    }

    /// Changes a Service in one of the ways that there are.
    pub(super) async fn reshape(&self, rx: Rx, service: &mut Json, what: u64) {
        match what {
            0 => {
                let number = rx.choose(1 << 20).await.to_string();
                json::set(service, &["metadata", "annotations", "number"], number);
            }
            1 if has_node_ports(service) => self.renumber(rx, service).await,
            2 => match ports(service) {
                // One protocol goes, or comes.
                all if all.len() > 1 => {
                    all.pop();
                }
                all => {
                    let mut other = port("UDP");
                    if let Some(node_port) = all.first().and_then(|port| port.get("nodePort")) {
                        json::set(&mut other, &["nodePort"], node_port.clone());
                    }
                    all.push(other);
                }
            },
            3 => {
                if json::remove(service, &["metadata", "finalizers"]).is_none() {
                    json::set(service, &["metadata", "finalizers"], vec![FINALIZER]);
                }
            }
            4 if self.families == Families::Policy => self.regroup(rx, service).await,
            _ => self.become_some(rx, service, kind(rx).await).await,
        }
    }
}
