//! Cluster addresses as IPAddress objects, v1.36 (`pkg/registry/core/service/ipallocator`:
//! `cidrallocator.go`, `ipallocator.go`).
//!
//! What is free is seen in a cache and may be stale; that an IPAddress can be created only once is
//! what keeps two Services apart. The server's own watch caches stand for its informers, and the
//! ServiceCIDRs in them for the allocators that upstream keeps in step with them.

use std::net::IpAddr;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{IP_ADDRESSES, SERVICE_CIDRS};
use wavetank_api::{Content, Method, Reason, Request, Stored, addresses};
use wavetank_client::{Failure, RestClient};
use wavetank_engine::{Lock, Rx, mutant};
use wavetank_etcd::Revision;
use wavetank_version::{Defect, Listed, Set};

use super::could_not_release;
use super::detached::through_loopback;
use super::item_range::ItemRange;
use super::range_allocation::Refusal;
use crate::services::ServiceDefect;
use crate::services::gates;
use wavetank_apiserver::Storage;
use wavetank_apiserver::cacher::Cacher;
use wavetank_apiserver::options::ListOptions;

/// `ControllerName`
pub const MANAGER: &str = "ipallocator.k8s.io";

/// The allocator of one family (`MetaAllocator`).
#[derive(Clone, Debug)]
pub struct Addresses {
    /// `IPv4` or `IPv6`.
    pub family: &'static str,
    /// Is it the one that the Service `kubernetes` has its address of?
    pub is_default: bool,
    /// IPAddresses are made and deleted through the handlers.
    pub loopback: RestClient,
    /// The storage, for a server without watch caches.
    pub storage: Storage,
    /// That of the ranges, likewise.
    pub storage_of_ranges: Storage,
    /// The known bugs and fixes.
    pub defects: Set<ServiceDefect>,
    /// The cache of IPAddresses.
    pub addresses: Option<Cacher>,
    /// The cache of ServiceCIDRs.
    pub ranges: Option<Cacher>,
}

/// A range that addresses are allocated from.
struct Ranged {
    range: ItemRange,
    ready: bool,
}

pub(crate) const ALLOCATOR_SWALLOWS_ERRORS: Defect = Defect::known(
    "allocator-swallows-errors",
    "k/k#135333, PR #135499 (1.36)",
    "an allocator takes any error of an IPAddress for a collision, and the range for full",
)
.until(gates::ALLOCATOR_REPORTS_ERRORS)
.fits_only(gates::IP_ADDRESSES);

pub(crate) const FIX_RELEASE_OWN_ADDRESS: Defect = Defect::fix(
    "fix-release-own-address",
    "FINDINGS.md, 18",
    "a server gives up the IPAddress that it took or that the Service had, and not one that has its name by now",
)
.fits_only(gates::IP_ADDRESSES);

impl Addresses {
    /// Guards the allocators (`MetaAllocator.mu`).
    fn lock(&self) -> Lock {
        match self.family {
            "IPv4" => Lock::new("service-allocators-ipv4"),
            _ => Lock::new("service-allocators-ipv6"),
        }
    }

    /// The ranges of the family, in the order of their names and begins. One of which a ServiceCIDR
    /// is ready is ready.
    async fn ranged(&self, rx: Rx) -> Vec<Ranged> {
        let all = match self.ranges {
            Some(cache) => cache.all(rx),
            None => {
                let under = SERVICE_CIDRS.key("", "");
                let options = ListOptions::default();
                let storage = self.storage_of_ranges;
                let listed = storage.get_list(rx, under, &options, &SERVICE_CIDRS);
                listed.await.map(|listed| listed.items).unwrap_or_default()
            }
        };
        let mut found: Vec<Ranged> = Vec::new();
        for range in &all {
            let ready = is_ready(range.object.json()) && !range.object.is_being_deleted();
            let specs = json::list(range.object.json(), &["spec", "cidrs"]);
            for spec in specs.iter().filter_map(Json::as_str) {
                let range = ItemRange::of_addresses(spec, self.storage.release);
                let ours = |range: &ItemRange| range.is_six() == (self.family == "IPv6");
                let Some(range) = range.filter(ours) else {
                    continue;
                };
                match found.iter_mut().find(|ranged| ranged.range == range) {
                    Some(ranged) => ranged.ready |= ready,
                    None => found.push(Ranged { range, ready }),
                }
            }
        }
        found
    }

    /// Is there an address of this name, as far as the cache knows?
    async fn is_listed(&self, rx: Rx, name: &str) -> bool {
        let key = IP_ADDRESSES.key("", name);
        match self.addresses {
            Some(cache) => cache.cached(rx, &key).is_some(),
            None => self.storage.get(rx, key, 0).await.is_ok(),
        }
    }

    /// `AllocateService`
    ///
    /// # Errors
    /// [`Refusal`]
    pub async fn allocate_service(
        &self,
        rx: Rx,
        ip: IpAddr,
        service: &Json,
        dry_run: bool,
    ) -> Result<(), Refusal> {
        let ranged = self.locked(rx).await;
        if dry_run {
            // Any allocator will do, whether or not the address is one of its own.
            let Some(any) = ranged.first() else {
                return Err(Refusal::NotReady);
            };
            return check(any, ip);
        }
        let of = ranged
            .iter()
            .find(|r| r.ready && r.range.offset_of(ip).is_some());
        let of = of.ok_or_else(|| {
            let why = "the provided network does not match the current range";
            Refusal::Failed(why.to_owned())
        })?;
        check(of, ip)?;
        self.create_ip_address(rx, &ip.to_string(), service).await
    }

    async fn locked(&self, rx: Rx) -> Vec<Ranged> {
        let _lock = rx.lock(self.lock()).await;
        self.ranged(rx).await
    }

    /// `AllocateNextService`: from any range that has a free address, under the lock. A dry run makes
    /// up an address.
    ///
    /// # Errors
    /// [`Refusal`]
    pub async fn allocate_next_service(
        &self,
        rx: Rx,
        service: &Json,
        dry_run: bool,
    ) -> Result<String, Refusal> {
        if dry_run {
            let ranged = self.locked(rx).await;
            let any = ranged.first().filter(|ranged| ranged.ready);
            let any = any.ok_or(Refusal::NotReady)?;
            let (network, _) = any.range.spec.split_once('/').unwrap_or_default();
            return Ok(network.to_owned());
        }
        let _lock = rx.lock(self.lock()).await;
        let mut ranged = self.ranged(rx).await;
        // In the order of a Go map.
        while !ranged.is_empty() {
            let next = match ranged.len() {
                1 => 0,
                n => rx.choose(n as u64).await as usize,
            };
            let next = ranged.remove(next);
            if !next.ready {
                continue;
            }
            match self.take_from(rx, &next.range, service).await {
                Err(Refusal::Full) => {}
                other => return other,
            }
        }
        Err(Refusal::Full)
    }

    /// `allocateNextService`: from a random address on, in the upper part first.
    async fn take_from(
        &self,
        rx: Rx,
        range: &ItemRange,
        service: &Json,
    ) -> Result<String, Refusal> {
        let has = |defect| self.defects.has(defect);
        let keeps_first = self.is_default && !has(ServiceDefect::FirstAddressIsGivenAway);
        for part in range.parts(keeps_first) {
            let length = part.end - part.start;
            let start = rx.choose(length.into()).await as u32;
            for step in 0..length {
                let name = range.item(part.start + (start + step) % length);
                if self.is_listed(rx, &name).await {
                    continue;
                }
                match self.create_ip_address(rx, &name, service).await {
                    Ok(()) => return Ok(name),
                    // The cache was stale.
                    Err(Refusal::Taken) => {}
                    Err(_) if has(ServiceDefect::AllocatorSwallowsErrors) => {}
                    Err(refusal) => return Err(refusal),
                }
            }
        }
        Err(Refusal::Full)
    }

    /// `createIPAddress`
    async fn create_ip_address(&self, rx: Rx, name: &str, service: &Json) -> Result<(), Refusal> {
        let post = Request::new(Method::Post, IP_ADDRESSES.path("", ""));
        let post = post.with(ip_address(name, self.family, service));
        match through_loopback(rx, self.loopback.clone(), post).await {
            Ok(_) => Ok(()),
            Err(error)
                if error.is(Reason::AlreadyExists)
                    && mutant!(
                        "existing-address-is-ours",
                        "an allocator takes an IPAddress that is there already"
                    ) =>
            {
                Ok(())
            }
            Err(error) if error.is(Reason::AlreadyExists) => Err(Refusal::Taken),
            Err(Failure::Status(status)) => Err(Refusal::Failed(status.message)),
            Err(error) => Err(Refusal::Failed(error.to_string())),
        }
    }

    /// `Release`: whatever the cache says. Errors are left to the repair controller, and addresses
    /// outside all ranges to nobody.
    pub async fn release(&self, rx: Rx, ip: IpAddr, holder: Option<&Holder>) {
        let ranged = self.locked(rx).await;
        if ranged.iter().any(|r| r.range.offset_of(ip).is_some()) {
            match self.delete(rx, &ip.to_string(), holder).await {
                Err(error) if !error.is(Reason::NotFound) && !error.is(Reason::Conflict) => {
                    could_not_release(rx, &ip.to_string(), &error.to_string());
                }
                _ => {}
            }
        }
    }

    /// Deletes the IPAddress of this name: that of the holder, or (upstream) whosever it is by now.
    async fn delete(&self, rx: Rx, name: &str, holder: Option<&Holder>) -> Result<(), Failure> {
        let path = IP_ADDRESSES.path("", name);
        let mut delete = Request::new(Method::Delete, path.clone());
        if let Some(holder) = holder {
            let get = Request::new(Method::Get, path);
            let found = through_loopback(rx, self.loopback.clone(), get).await?;
            let Content::One(found) = &found.content else {
                return Ok(());
            };
            if !holder.held(found) {
                ServiceDefect::FixReleaseOwnAddress.passed(true);
                return Ok(());
            }
            delete = delete.with(json!({
                "kind": "DeleteOptions",
                "apiVersion": "v1",
                "preconditions": {"uid": found.object.uid()},
            }));
        }
        through_loopback(rx, self.loopback.clone(), delete)
            .await
            .map(|_| ())
    }
}

/// The Service that an address was taken for.
#[derive(Clone, Debug)]
pub struct Holder {
    namespace: String,
    name: String,
    /// The last version of it that had the address; `None` if it was never stored with it.
    until: Option<Revision>,
}

impl Holder {
    /// A Service that was to have it.
    pub fn to_be(service: &Json) -> Holder {
        let of = |field| json::text(service, &["metadata", field]).to_owned();
        Holder {
            namespace: of("namespace"),
            name: of("name"),
            until: None,
        }
    }

    /// A Service as it was stored with it.
    pub fn past(service: &Json) -> Holder {
        let version = json::text(service, &["metadata", "resourceVersion"]);
        Holder {
            until: version.parse().ok(),
            ..Holder::to_be(service)
        }
    }

    /// Was this IPAddress made for it? One that is younger was made for a successor of its name.
    fn held(&self, address: &Stored) -> bool {
        let parent = |field| json::text(address.object.json(), &["spec", "parentRef", field]);
        let is_older = |until| address.resource_version < until;
        parent("namespace") == self.namespace
            && parent("name") == self.name
            && self.until.is_none_or(is_older)
    }
}

/// The IPAddress of a Service.
pub fn ip_address(name: &str, family: &str, service: &Json) -> Json {
    let of = |field| json::text(service, &["metadata", field]);
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {
            "name": name,
            "labels": {
                "ipaddress.kubernetes.io/ip-family": family,
                "ipaddress.kubernetes.io/managed-by": MANAGER,
            },
        },
        "spec": {
            "parentRef": {
                "resource": "services",
                "namespace": of("namespace"),
                "name": of("name"),
            },
        },
    })
}

fn check(ranged: &Ranged, ip: IpAddr) -> Result<(), Refusal> {
    if !ranged.ready {
        return Err(Refusal::NotReady);
    }
    match ranged.range.offset_of(ip) {
        Some(_) => Ok(()),
        None => Err(Refusal::Outside(format!(
            "the provided IP ({ip}) is not in the valid range. The range of valid IPs is {}",
            ranged.range.spec
        ))),
    }
}

/// `isReady`: without a condition it is.
fn is_ready(range: &Json) -> bool {
    let conditions = json::list(range, &["status", "conditions"]);
    let ready = conditions
        .iter()
        .find(|c| json::text(c, &["type"]) == "Ready");
    ready.is_none_or(|ready| json::text(ready, &["status"]) == "True")
}

/// An address of a Service.
pub fn parse(ip: &str) -> Option<IpAddr> {
    addresses::parse_ip_sloppy(ip)
}
