//! What Services are allocated: cluster addresses and node ports. Each is written in one key and the
//! Service that owns it in another, and anything may happen in between.
//!
//! | | v1.16, v1.20 | v1.36 |
//! |---|---|---|
//! | addresses | a bitmap in etcd (`range_allocation`) | IPAddress objects (`addresses`), of ranges that are objects (`meta_allocator`) |
//! | node ports | a bitmap in etcd | a bitmap in etcd |
//! | around the registry | a layer before it (`rest`) | hooks inside it (`hooks`) |
//!
//! `storage` is the storage of Services with all that they add to the generic registry. `item_range` says which item of a
//! range is which, `detached` keeps allocations apart from their requests, `ports` and `node_ports` say what a request
//! does to ports. What is wrong with a Service is in `wavetank_api::kinds`; what repairs leaks is in
//! `services/repair.rs` and `services/address_controllers.rs`.

pub(super) mod addresses;
mod bitmap;
mod detached;
pub(super) mod hooks;
mod item_range;
pub(super) mod meta_allocator;
pub(super) mod node_ports;
pub(super) mod ports;
pub(super) mod range_allocation;
pub(super) mod rest;
pub(super) mod storage;

use std::sync::Arc;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::ENDPOINTS;
use wavetank_api::kinds::service_families::family_of;
use wavetank_api::strategy::Part;
use wavetank_api::validation::ErrorList;
use wavetank_api::{Reason, Status};
use wavetank_engine::Rx;
use wavetank_etcd::EtcdError;
use wavetank_version::{Defect, Set, Version};

use super::{ServiceDefect, gates};
use addresses::{Addresses, Holder};
use range_allocation::{RangeAllocation, Refusal};
use wavetank_apiserver::Config;
use wavetank_apiserver::cacher::Cacher;
use wavetank_apiserver::registry::{Generic, Registry, RestStorage};

pub use bitmap::Bitmap;
pub(crate) use detached::routine;
pub use item_range::{ItemRange, ServiceRanges};
use rest::Layer;

/// Something could not be given up, and waits for the repair: upstream's log has it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AllocationNote {
    /// What.
    pub item: Arc<str>,
    /// Why.
    pub why: Arc<str>,
}

#[track_caller]
fn could_not_release(rx: Rx, item: &str, why: &str) {
    rx.note(AllocationNote {
        item: item.into(),
        why: why.into(),
    });
}

/// The allocators of a server, for the time of one request.
#[derive(Clone, Debug)]
pub struct Allocators {
    /// Families that are configured, the default one first.
    families: Vec<&'static str>,
    ips: Ips,
    ports: RangeAllocation,
    release: Version,
    defects: Set<ServiceDefect>,
    endpoints: Option<Cacher>,
}

/// The storage of Services, on a server that has something to give to them.
pub(crate) fn rest_storage(
    rx: Rx,
    config: &Config,
    ranges: &ServiceRanges,
    defects: Set<ServiceDefect>,
) -> Option<Arc<dyn RestStorage>> {
    Some(Arc::new(Allocators::of(rx, config, ranges, defects)?))
}

/// Where cluster addresses come from.
#[derive(Clone, Debug)]
enum Ips {
    /// That of the default family first.
    Bitmaps(Vec<RangeAllocation>),
    Objects(Vec<Addresses>),
}

pub(crate) const TROUBLE_IS_INVALID: Defect = Defect::open(
    "trouble-is-invalid",
    "k/k#118921 (not fixed)",
    "what etcd fails to allocate by name is refused as invalid, 422. Off: 500",
);

pub(crate) const FIX_KEEP_AFTER_UNKNOWN: Defect = Defect::fix(
    "fix-keep-after-unknown",
    "FINDINGS.md, 4",
    "what a Service was allocated is given back only if it is certain that it was not stored",
);

impl Allocators {
    /// Those of a server with these ranges; `None` if there are none.
    pub fn of(
        rx: Rx,
        config: &Config,
        ranges: &ServiceRanges,
        defects: Set<ServiceDefect>,
    ) -> Option<Allocators> {
        let families = ranges.families();
        let ips = match config.release.has(gates::IP_ADDRESSES) {
            false => Ips::Bitmaps(RangeAllocation::of_addresses(config, ranges, defects)),
            true => {
                let of = |family: &&'static str| Addresses {
                    family,
                    is_default: *family == families[0],
                    loopback: config.loopback(),
                    defects,
                };
                Ips::Objects(families.iter().map(of).collect())
            }
        };
        if matches!(&ips, Ips::Bitmaps(all) if all.is_empty()) {
            return None;
        }
        Some(Allocators {
            families,
            ips,
            ports: RangeAllocation::of_ports(config, ranges, defects),
            release: config.release,
            defects,
            endpoints: config.cacher(rx, &ENDPOINTS),
        })
    }

    /// Are there ranges of both families? Before v1.36 that takes the gate `IPv6DualStack`.
    pub fn is_dual(&self) -> bool {
        self.families.len() == 2
    }

    /// The allocation that a Service of a family is given an address from, or an address is given back to.
    /// v1.16 looks for IPv6 only (`getAllocatorBySpec`, `getAllocatorByClusterIP`).
    fn allocation<'a>(&self, all: &'a [RangeAllocation], family: &str) -> &'a RangeAllocation {
        let second = all.get(1).filter(|second| {
            let six = second.range().is_six();
            six == (family == "IPv6") && (six || self.release.has(gates::CLUSTER_IPS))
        });
        second.unwrap_or(&all[0])
    }

    /// Takes the address that is asked for, or any of the family.
    async fn take_ip(
        &self,
        rx: Rx,
        family: &str,
        asked: &str,
        service: &Json,
        dry_run: bool,
    ) -> Result<String, Status> {
        if asked.is_empty() {
            let taken = match &self.ips {
                Ips::Bitmaps(all) => {
                    let allocation = self.allocation(all, family);
                    let taken = allocation.allocate_next(rx).await;
                    taken.map(|offset| allocation.range().item(offset))
                }
                Ips::Objects(all) => match all.iter().find(|one| one.family == family) {
                    Some(addresses) => addresses.allocate_next_service(rx, service, dry_run).await,
                    None => Err(Refusal::NotReady),
                },
            };
            return taken.map_err(|refusal| {
                let why = reason_of(refusal);
                let of = match self.release.has(gates::REGISTRY_HOOKS) {
                    false => String::new(),
                    true => {
                        let name = json::text(service, &["metadata", "name"]);
                        format!(" for Service {}", wavetank_api::quote::quote(name))
                    }
                };
                Status::new_internal_error(format!("failed to allocate a serviceIP{of}: {why}"))
            });
        }
        let Some(ip) = addresses::parse(asked) else {
            let why = format!("failed to parse service IP {asked:?}");
            return Err(Status::new_internal_error(why));
        };
        let taken = match &self.ips {
            Ips::Bitmaps(all) => {
                let allocation = self.allocation(all, family);
                match allocation.range().offset_of(ip) {
                    Some(offset) => allocation.allocate(rx, offset).await,
                    None => Err(Refusal::Outside(format!(
                        "provided IP is not in the valid range. The range of valid IPs is {}",
                        allocation.range().spec
                    ))),
                }
            }
            Ips::Objects(all) => match all.iter().find(|one| one.family == family) {
                Some(addresses) => addresses.allocate_service(rx, ip, service, dry_run).await,
                None => Err(Refusal::NotReady),
            },
        };
        taken.map_err(|refusal| {
            let trouble = matches!(refusal, Refusal::Failed(_));
            let why = reason_of(refusal);
            match trouble && !self.defects.has(ServiceDefect::TroubleIsInvalid) {
                true => Status::new_internal_error(format!("failed to allocate IP {asked}: {why}")),
                false => self.refused(service, asked, &why),
            }
        })?;
        Ok(asked.to_owned())
    }

    fn refused(&self, service: &Json, asked: &str, why: &str) -> Status {
        let mut errors = ErrorList::default();
        let ips = wavetank_api::kinds::service_rules::shown_ips(self.release, service);
        if !self.release.has(gates::CLUSTER_IPS) {
            errors.invalid("spec.clusterIP", asked, why);
        } else {
            let why = match self.release.has(gates::REGISTRY_HOOKS) {
                true => format!("failed to allocate IP {asked}: {why}"),
                false => format!("failed to allocated ip:{asked} with error:{why}"),
            };
            errors.invalid("spec.clusterIPs", ips, why);
        }
        invalid(service, &errors)
    }

    /// Is what a write was to have given back when it fails? Upstream does, whatever is known of it.
    fn gives_back(&self, failed: &Status) -> bool {
        !(is_unknown(failed) && self.defects.has(ServiceDefect::FixKeepAfterUnknown))
    }

    /// Is an address released only by whom it is of? That makes a difference where it is another's.
    fn asks_whose(&self) -> bool {
        self.defects.contains(ServiceDefect::FixReleaseOwnAddress)
    }

    /// `releaseIPs`: gives up those of the holder, or else whosever they are by now, in the order of a Go
    /// map, here IPv4 first. Errors are left to the repair; until v1.20 the first one ends it.
    async fn release_ips(&self, rx: Rx, ips: &[String], holder: Option<&Holder>) {
        let (six, four): (Vec<&String>, Vec<&String>) = ips.iter().partition(|ip| ip.contains(':'));
        for ip in four.into_iter().chain(six) {
            let Some(parsed) = addresses::parse(ip) else {
                continue;
            };
            match &self.ips {
                Ips::Bitmaps(all) => {
                    let allocation = self.allocation(all, family_of(ip));
                    if let Some(offset) = allocation.range().offset_of(parsed)
                        && let Err(refusal) = allocation.release(rx, offset).await
                    {
                        could_not_release(rx, ip, &reason_of(refusal));
                        return;
                    }
                }
                Ips::Objects(all) => {
                    let six = parsed.is_ipv6();
                    if let Some(one) = all.iter().find(|one| (one.family == "IPv6") == six) {
                        one.release(rx, parsed, holder).await;
                    }
                }
            }
        }
    }

    /// `releaseAllocatedResources`: all that a Service has.
    async fn release_allocated_resources(&self, rx: Rx, service: &Json) {
        let holder = self.asks_whose().then(|| Holder::past(service));
        self.release_ips(rx, &ips_of(service), holder.as_ref())
            .await;
        let ports = node_ports::owned(service, self.defects);
        ports::release(rx, &self.ports, &ports).await;
        if wavetank_api::kinds::services::needs_health_check(service) {
            let port = node_ports::health_check(service);
            if port > 0 {
                ports::release(rx, &self.ports, &[port]).await;
            }
        }
    }

    /// Deletes the Endpoints of a Service, so that another one of its name does not begin with them.
    async fn delete_endpoints(
        &self,
        rx: Rx,
        services: &Registry,
        name: &str,
    ) -> Result<(), Status> {
        let endpoints = Registry {
            resource: &ENDPOINTS,
            served: &ENDPOINTS,
            cacher: self.endpoints,
            part: Part::Whole,
            rest: Arc::new(Generic),
            dry_run: false,
            ..services.clone()
        };
        match Box::pin(endpoints.delete(rx, name, Default::default())).await {
            Err(status) if !status.is(Reason::NotFound) => Err(status),
            _ => Ok(()),
        }
    }
}

/// Does nobody know whether a write was done that failed like this? Only etcd's own words tell.
fn is_unknown(status: &Status) -> bool {
    let unknown = [
        EtcdError::Unavailable,
        EtcdError::Timeout,
        EtcdError::TimeoutLeaderFailed,
        EtcdError::TimeoutConnectionLost,
        EtcdError::Stopped,
    ];
    let mut unknown = unknown.iter();
    status.is(Reason::Timeout) || unknown.any(|error| status.message == error.to_string())
}

/// The addresses that a Service has, if it is of a type that has any.
fn ips_of(service: &Json) -> Vec<String> {
    let external = json::text(service, &["spec", "type"]) == "ExternalName";
    if external || wavetank_api::kinds::services::is_headless(service) {
        return Vec::new();
    }
    match json::list(service, &["spec", "clusterIPs"]) {
        [] => {
            let one = json::text(service, &["spec", "clusterIP"]);
            Some(one.to_owned())
                .filter(|ip| !ip.is_empty())
                .into_iter()
                .collect()
        }
        all => all
            .iter()
            .filter_map(Json::as_str)
            .map(str::to_owned)
            .collect(),
    }
}

/// The texts in a list of its spec.
fn list(service: &Json, field: &str) -> Vec<String> {
    let list = json::list(service, &["spec", field]).iter();
    list.filter_map(Json::as_str).map(str::to_owned).collect()
}

fn invalid(service: &Json, errors: &ErrorList) -> Status {
    let name = json::text(service, &["metadata", "name"]);
    Status::new_invalid("Service", "", name, errors)
}

fn reason_of(refusal: Refusal) -> String {
    match refusal {
        Refusal::Full => "range is full".to_owned(),
        Refusal::Taken => "provided IP is already allocated".to_owned(),
        Refusal::NotReady => "allocator not ready".to_owned(),
        Refusal::Outside(why) | Refusal::Failed(why) => why,
    }
}
