//! Services, their endpoints, and ways to them.

use super::cells::{Cells, joined, name, or_none, text};
use super::duration::age;
use crate::json::{self, Json};
use crate::metadata;
use crate::times::Stamp;

/// How many of a list are shown.
const MOST: usize = 3;

/// `formatLabels`
pub(super) fn format_labels(object: &Json, path: &[&str]) -> Json {
    let labels = metadata::entries(object, path).map(|(key, value)| format!("{key}={value}"));
    or_none(&labels.collect::<Vec<_>>().join(","))
}

/// `loadBalancerStatusStringer`
fn load_balancer_status_stringer(object: &Json) -> String {
    let ingress = json::list(object, &["status", "loadBalancer", "ingress"]).iter();
    let addresses = ingress.map(|own| match text(own, &["ip"]) {
        "" => text(own, &["hostname"]),
        ip => ip,
    });
    let mut all: Vec<&str> = addresses.filter(|address| !address.is_empty()).collect();
    all.sort_unstable();
    all.dedup();
    all.join(",")
}

fn external_ip(service: &Json) -> String {
    let own = joined(service, &["spec", "externalIPs"], ",");
    match text(service, &["spec", "type"]) {
        "ClusterIP" | "NodePort" if own.is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => own,
        "LoadBalancer" => match (load_balancer_status_stringer(service), own) {
            (of_balancer, own) if of_balancer.is_empty() && own.is_empty() => {
                "<pending>".to_owned()
            }
            (of_balancer, own) if of_balancer.is_empty() => own,
            (of_balancer, own) if own.is_empty() => of_balancer,
            (of_balancer, own) => format!("{of_balancer},{own}"),
        },
        "ExternalName" => text(service, &["spec", "externalName"]).to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// `printService`
pub(super) fn print_service(service: &Json, now: Stamp) -> (Cells, Option<Json>) {
    let port = |port: &Json| {
        let number = |field| json::number(port, &[field]).unwrap_or(0);
        let protocol = text(port, &["protocol"]);
        match number("nodePort") {
            node if node > 0 => format!("{}:{node}/{protocol}", number("port")),
            _ => format!("{}/{protocol}", number("port")),
        }
    };
    let ports: Vec<String> = json::list(service, &["spec", "ports"])
        .iter()
        .map(port)
        .collect();
    let ip = json::list(service, &["spec", "clusterIPs"]).first();
    let cells = vec![
        name(service),
        text(service, &["spec", "type"]).into(),
        ip.and_then(Json::as_str).unwrap_or("<none>").into(),
        external_ip(service).into(),
        or_none(&ports.join(",")),
        age(service, now),
        format_labels(service, &["spec", "selector"]),
    ];
    (cells, None)
}

/// A list that is cut after the first few, with how many more there are.
fn with_more(shown: &[String], count: usize) -> String {
    let list = shown[..shown.len().min(MOST)].join(",");
    match () {
        () if shown.is_empty() => "<unset>".to_owned(),
        () if count > MOST => format!("{list} + {} more...", count - MOST),
        () => list,
    }
}

/// `printEndpointSlice`
pub(super) fn print_endpoint_slice(slice: &Json, now: Stamp) -> (Cells, Option<Json>) {
    let port = |port: &Json| match (json::number(port, &["port"]), port.get("name")) {
        (Some(number), _) => number.to_string(),
        (None, Some(Json::String(name))) => name.clone(),
        _ => "*".to_owned(),
    };
    let ports: Vec<String> = json::list(slice, &["ports"]).iter().map(port).collect();
    let endpoints = json::list(slice, &["endpoints"]).iter();
    let addresses = endpoints.flat_map(|endpoint| json::list(endpoint, &["addresses"]));
    let addresses: Vec<String> = addresses
        .filter_map(Json::as_str)
        .map(str::to_owned)
        .collect();
    let cells = vec![
        name(slice),
        text(slice, &["addressType"]).into(),
        with_more(&ports, ports.len()).into(),
        with_more(&addresses, addresses.len()).into(),
        age(slice, now),
    ];
    (cells, None)
}

/// `printEndpoints`, `formatEndpoints`
pub(super) fn print_endpoints(endpoints: &Json, now: Stamp) -> (Cells, Option<Json>) {
    let subsets = json::list(endpoints, &["subsets"]);
    let mut all = Vec::new();
    for subset in subsets {
        let ips = || {
            json::list(subset, &["addresses"])
                .iter()
                .map(|own| text(own, &["ip"]))
        };
        let ports = json::list(subset, &["ports"]);
        if ports.is_empty() {
            all.extend(ips().map(str::to_owned));
        }
        for port in ports {
            let port = json::number(port, &["port"]).unwrap_or(0);
            all.extend(ips().map(|ip| match ip.contains(':') {
                true => format!("[{ip}]:{port}"),
                false => format!("{ip}:{port}"),
            }));
        }
    }
    let shown = match (subsets, all.len()) {
        ([], _) => "<none>".to_owned(),
        (_, 0) => String::new(),
        (_, count) => with_more(&all, count),
    };
    (
        vec![name(endpoints), shown.into(), age(endpoints, now)],
        None,
    )
}

/// `printIngress`
pub(super) fn print_ingress(ingress: &Json, now: Stamp) -> (Cells, Option<Json>) {
    let rules = json::list(ingress, &["spec", "rules"]);
    let hosts = rules.iter().map(|rule| text(rule, &["host"]));
    let mut shown = Vec::new();
    let mut more = false;
    for host in hosts {
        more |= shown.len() == MOST;
        if !more && !host.is_empty() {
            shown.push(host);
        }
    }
    let hosts = match (shown.as_slice(), more) {
        ([], _) => "*".to_owned(),
        (shown, true) => format!("{} + {} more...", shown.join(","), rules.len() - MOST),
        (shown, false) => shown.join(","),
    };
    let ports = match json::list(ingress, &["spec", "tls"]) {
        [] => "80",
        _ => "80, 443",
    };
    let cells = vec![
        name(ingress),
        or_none(text(ingress, &["spec", "ingressClassName"])),
        hosts.into(),
        load_balancer_status_stringer(ingress).into(),
        ports.into(),
        age(ingress, now),
    ];
    (cells, None)
}
