//! Cluster addresses as IPAddress objects, v1.36 (`pkg/registry/core/service/ipallocator`:
//! `cidrallocator.go`, `ipallocator.go`). Which allocators there are is in `meta_allocator`.
//!
//! What is free is seen in an informer of the server and may be stale; that an IPAddress can be created only once is
//! what keeps two Services apart.

use std::net::IpAddr;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::IP_ADDRESSES;
use wavetank_api::{Content, Method, Reason, Request, Stored, addresses};
use wavetank_client::{Failure, RestClient};
use wavetank_engine::{Rx, mutant};
use wavetank_etcd::Revision;
use wavetank_version::{Defect, Listed, Set};

use super::could_not_release;
use super::detached::through_loopback;
use super::item_range::ItemRange;
use super::meta_allocator::{Allocator, MetaAllocator};
use super::range_allocation::Refusal;
use crate::services::ServiceDefect;
use crate::services::address_controllers::IP_ADDRESS_LISTER;
use crate::services::gates;

/// `ControllerName`
pub const MANAGER: &str = "ipallocator.k8s.io";

/// What is allocated of one family.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// `IPv4` or `IPv6`.
    pub family: &'static str,
    /// Is it the one that the Service `kubernetes` has its address of?
    pub is_default: bool,
    /// IPAddresses are made and deleted through the handlers.
    pub loopback: RestClient,
    /// The known bugs and fixes.
    pub defects: Set<ServiceDefect>,
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

/// `ErrMismatchedNetwork`
const MISMATCHED_NETWORK: &str = "the provided network does not match the current range";

pub(crate) const FIX_SAY_NOT_READY: Defect = Defect::fix(
    "fix-say-not-ready",
    "FINDINGS.md, 27",
    "a server that has no allocator yet says so, and not that the range is full",
)
.fits_only(gates::IP_ADDRESSES);

impl Addresses {
    fn meta(&self) -> MetaAllocator {
        MetaAllocator::of(self.family)
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
        let all = self.locked(rx).await;
        if dry_run {
            // Any allocator will do, whether or not the address is one of its own.
            let Some(any) = all.first() else {
                return Err(Refusal::NotReady);
            };
            return check(rx, any, ip);
        }
        let of = all
            .iter()
            .find(|one| one.ready && one.range.offset_of(ip).is_some());
        let of = of.ok_or_else(|| Refusal::Failed(MISMATCHED_NETWORK.to_owned()))?;
        check(rx, of, ip)?;
        self.create_ip_address(rx, &ip.to_string(), service).await
    }

    /// The allocators, as they are when the lock is free.
    async fn locked(&self, rx: Rx) -> Vec<Allocator> {
        let _lock = self.meta().lock(rx).await;
        self.meta().look(rx)
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
            let all = self.locked(rx).await;
            let any = all.first().filter(|any| is_ready(rx, any));
            let any = any.ok_or(Refusal::NotReady)?;
            let (network, _) = any.range.spec.split_once('/').unwrap_or_default();
            return Ok(network.to_owned());
        }
        let _lock = self.meta().lock(rx).await;
        let mut all = self.meta().look(rx);
        let is_any_ready = all.iter().any(|one| is_ready(rx, one));
        // In the order of a Go map.
        while !all.is_empty() {
            let next = match all.len() {
                1 => 0,
                n => rx.choose(n as u64).await as usize,
            };
            let next = all.remove(next);
            if !is_ready(rx, &next) {
                continue;
            }
            match self.take_from(rx, &next.range, service).await {
                Err(Refusal::Full) => {}
                other => return other,
            }
        }
        // Upstream's allocators that are not ready count as full, and so do those that are not there.
        match !is_any_ready && self.defects.has(ServiceDefect::FixSayNotReady) {
            true => Err(Refusal::NotReady),
            false => Err(Refusal::Full),
        }
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
                if IP_ADDRESS_LISTER.get(rx, &name).is_some() {
                    continue;
                }
                match self.create_ip_address(rx, &name, service).await {
                    Ok(()) => return Ok(name),
                    // The informer was behind.
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
        let all = self.locked(rx).await;
        // A server that starts may have no allocator yet: `getAllocator` fails, and nobody looks at the error.
        if !all.iter().any(|one| one.range.offset_of(ip).is_some()) {
            could_not_release(rx, &ip.to_string(), MISMATCHED_NETWORK);
        } else {
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

/// `ready`, and `ipAddressSynced`.
fn is_ready(rx: Rx, allocator: &Allocator) -> bool {
    allocator.ready && IP_ADDRESS_LISTER.has_synced(rx)
}

fn check(rx: Rx, allocator: &Allocator, ip: IpAddr) -> Result<(), Refusal> {
    if !is_ready(rx, allocator) {
        return Err(Refusal::NotReady);
    }
    match allocator.range.offset_of(ip) {
        Some(_) => Ok(()),
        None => Err(Refusal::Outside(format!(
            "the provided IP ({ip}) is not in the valid range. The range of valid IPs is {}",
            allocator.range.spec
        ))),
    }
}

/// An address of a Service.
pub fn parse(ip: &str) -> Option<IpAddr> {
    addresses::parse_ip_sloppy(ip)
}
