//! The node ports of a Service and its port for health checks: what a create and an update take and
//! give up (`initNodePorts`, `updateNodePorts` and the like, in `storage/rest.go` until v1.20, in
//! `storage/alloc.go` today).

use std::collections::{BTreeMap, BTreeSet};

use wavetank_api::Status;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::services::needs_health_check;
use wavetank_api::validation::ErrorList;
use wavetank_engine::{Rx, mutant};
use wavetank_version::{Defect, Set, Version};

use super::invalid;
use super::ports::{PortOperation, reason_of};
use super::range_allocation::Refusal;
use crate::services::ServiceDefect;
use crate::services::gates;

const PORTS: [&str; 2] = ["spec", "ports"];
const CHECK: [&str; 2] = ["spec", "healthCheckNodePort"];

fn kind(service: &Json) -> &str {
    json::text(service, &["spec", "type"])
}

/// Does its type come with node ports?
pub fn has_ports(service: &Json) -> bool {
    matches!(kind(service), "NodePort" | "LoadBalancer")
}

/// `collectServiceNodePorts`
pub fn collect_service_node_ports(service: &Json) -> Vec<i64> {
    let ports = json::list(service, &PORTS).iter().map(node_port);
    ports.filter(|port| *port != 0).collect()
}

pub(crate) const FIX_OWN_NODE_PORTS: Defect = Defect::fix(
    "fix-own-node-ports",
    "FINDINGS.md, 20",
    "a Service whose type has no node ports does not count as having those that it names",
);

/// Those that it gives up when it goes, or keeps when it changes. Upstream does not ask for its type: an
/// ExternalName Service may name ports, and is not given them.
pub fn owned(service: &Json, defects: Set<ServiceDefect>) -> Vec<i64> {
    let all = collect_service_node_ports(service);
    let named_only = !has_ports(service) && !all.is_empty();
    match named_only && defects.has(ServiceDefect::FixOwnNodePorts) {
        true => Vec::new(),
        false => all,
    }
}

/// The port for health checks, 0 if it has none.
pub fn health_check(service: &Json) -> i64 {
    json::number(service, &CHECK).unwrap_or(0)
}

fn node_port(port: &Json) -> i64 {
    json::number(port, &["nodePort"]).unwrap_or(0)
}

fn number(port: &Json) -> i64 {
    json::number(port, &["port"]).unwrap_or(0)
}

/// `shouldAllocateNodePorts`: until v1.20 a load balancer could not do without.
fn should_allocate_node_ports(service: &Json, release: Version) -> bool {
    let path = ["spec", "allocateLoadBalancerNodePorts"];
    match kind(service) {
        "LoadBalancer" if release.has(gates::LOAD_BALANCER_NODE_PORTS) => {
            json::at(service, &path).and_then(Json::as_bool) == Some(true)
        }
        _ => has_ports(service),
    }
}

fn put(service: &mut Json, at: usize, port: i64) {
    let ports = json::map_mut(service, &["spec"]).get_mut("ports");
    if let Some(entry) = ports.and_then(|ports| ports.get_mut(at)) {
        json::set(entry, &["nodePort"], port);
    }
}

fn refused(
    service: &Json,
    at: usize,
    port: i64,
    why: Refusal,
    operation: &PortOperation<'_>,
) -> Status {
    let trouble = matches!(why, Refusal::Failed(_));
    let why = reason_of(why);
    if trouble && !operation.has(ServiceDefect::TroubleIsInvalid) {
        return Status::new_internal_error(format!("failed to allocate nodePort {port}: {why}"));
    }
    let mut errors = ErrorList::default();
    errors.invalid(format!("spec.ports[{at}].nodePort"), port, why);
    invalid(service, &errors)
}

fn none_left(why: String) -> Status {
    Status::new_internal_error(format!("failed to allocate a nodePort: {why}"))
}

/// `initNodePorts`: ports with one number (TCP and UDP, say) share a node port.
///
/// # Errors
/// A Status.
pub async fn init_node_ports(
    rx: Rx,
    service: &mut Json,
    operation: &mut PortOperation<'_>,
    release: Version,
) -> Result<(), Status> {
    let mut allocated: BTreeMap<i64, i64> = BTreeMap::new();
    for at in 0..json::list(service, &PORTS).len() {
        let ports = json::list(service, &PORTS);
        let (port, now) = (number(&ports[at]), node_port(&ports[at]));
        if now == 0 && !should_allocate_node_ports(service, release) {
            continue;
        }
        match allocated.get(&port) {
            None => {
                let asked = ports
                    .iter()
                    .find(|p| number(p) == port && node_port(p) != 0);
                let taken = match asked.map(node_port) {
                    Some(asked) => {
                        let taken = operation.allocate(rx, asked).await;
                        taken.map_err(|why| refused(service, at, asked, why, operation))?;
                        asked
                    }
                    None => operation.allocate_next(rx).await.map_err(none_left)?,
                };
                put(service, at, taken);
                allocated.insert(port, taken);
            }
            Some(shared) if now == 0 => put(service, at, *shared),
            Some(shared) if now != *shared => {
                let taken = operation.allocate(rx, now).await;
                taken.map_err(|why| refused(service, at, now, why, operation))?;
            }
            Some(_) => {}
        }
    }
    Ok(())
}

pub(crate) const SHARED_PORT_IS_RELEASED: Defect = Defect::known(
    "shared-port-is-released",
    "k/k#64466 (1.10)",
    "a node port is given up although the Service still uses it for another protocol",
)
.until(gates::SHARED_PORTS_ARE_KEPT);

/// `updateNodePorts`
///
/// # Errors
/// A Status.
pub async fn update_node_ports(
    rx: Rx,
    service: &mut Json,
    old: &Json,
    operation: &mut PortOperation<'_>,
    release: Version,
) -> Result<(), Status> {
    let before = owned(old, operation.defects());
    let mut all = BTreeSet::new();
    let mut taken = BTreeSet::new();
    for at in 0..json::list(service, &PORTS).len() {
        let port = &json::list(service, &PORTS)[at];
        let protocol = json::text(port, &["protocol"]).to_owned();
        let mut now = node_port(port);
        if now == 0 && !should_allocate_node_ports(service, release) {
            continue;
        }
        if now == 0 {
            now = operation.allocate_next(rx).await.map_err(none_left)?;
            put(service, at, now);
        } else if !before.contains(&now) && taken.insert(now) {
            let taken = operation.allocate(rx, now).await;
            taken.map_err(|why| refused(service, at, now, why, operation))?;
        }
        if !all.insert((protocol.clone(), now)) {
            let why = format!("duplicate nodePort: {{{protocol} {now}}}");
            return Err(Status::untyped(why));
        }
    }
    let after = collect_service_node_ports(service);
    for (at, port) in before.iter().enumerate() {
        let times = |ports: &[i64]| ports.iter().filter(|other| *other == port).count();
        let (earlier, kept) = (times(&before[..at]), times(&after));
        // Two protocols may share a port.
        let gone = kept == 0
            && !mutant!(
                "changed-port-is-kept",
                "a port that a Service no longer names is not given up"
            )
            || earlier >= kept && operation.has(ServiceDefect::SharedPortIsReleased);
        if gone {
            operation.release_deferred(*port);
        }
    }
    Ok(())
}

pub(crate) const HEALTH_CHECK_PORT_LEAKS: Defect = Defect::known(
    "health-check-port-leaks",
    "k/k#49999 (1.8)",
    "a Service that is refused keeps its port for health checks",
)
.until(gates::HEALTH_CHECK_PORT_IS_ROLLED_BACK);

/// `allocateHealthCheckNodePort`
///
/// # Errors
/// A Status.
pub async fn allocate_health_check_node_port(
    rx: Rx,
    service: &mut Json,
    operation: &mut PortOperation<'_>,
) -> Result<(), Status> {
    match health_check(service) {
        0 => {
            let taken = operation.allocate_next(rx).await.map_err(|why| {
                Status::new_internal_error(format!(
                    "failed to allocate a HealthCheck NodePort 0: {why}"
                ))
            })?;
            json::set(service, &CHECK, taken);
        }
        asked => operation.allocate(rx, asked).await.map_err(|why| {
            let why = reason_of(why);
            Status::new_internal_error(format!(
                "failed to allocate requested HealthCheck NodePort {asked}: {why}"
            ))
        })?,
    }
    if operation.has(ServiceDefect::HealthCheckPortLeaks) {
        operation.forget(health_check(service));
    }
    Ok(())
}

/// `healthCheckNodePortUpdate`; what may not be changed is up to validation today.
///
/// # Errors
/// A Status.
pub async fn health_check_node_port_update(
    rx: Rx,
    service: &mut Json,
    old: &Json,
    operation: &mut PortOperation<'_>,
    release: Version,
) -> Result<(), Status> {
    let (before, after) = (needs_health_check(old), needs_health_check(service));
    if !before && after {
        return allocate_health_check_node_port(rx, service, operation).await;
    }
    if before && !after {
        if !mutant!(
            "health-check-port-is-kept",
            "a port for health checks is not given up when it is not needed any more"
        ) {
            operation.release_deferred(health_check(old));
        }
        if !release.has(gates::REGISTRY_HOOKS) {
            json::remove(service, &CHECK);
        }
    }
    let now = health_check(service);
    let changed = before && after && now != health_check(old);
    if changed && !release.has(gates::REGISTRY_HOOKS) {
        let mut errors = ErrorList::default();
        let why = "cannot change healthCheckNodePort on loadBalancer service with \
                   externalTraffic=Local during update";
        errors.invalid("spec.healthCheckNodePort", now, why);
        return Err(invalid(service, &errors));
    }
    Ok(())
}
