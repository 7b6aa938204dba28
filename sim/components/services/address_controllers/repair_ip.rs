//! The repair of IPAddresses (`pkg/registry/core/service/ipallocator/controller/repairip.go`): every
//! address of a Service has an IPAddress that names it, and every IPAddress of the allocators has a
//! Service. What it reads are caches, what it decides may be late.

use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::SERVICES;
use wavetank_api::kinds::service_families::family_of;
use wavetank_api::{Method, Reason, Request, Stamp, Stored};
use wavetank_client::Failure;
use wavetank_engine::{Rx, Time};
use wavetank_version::{Defect, Version};

use super::{
    ADDRESS_QUEUE, AddressControllers, IP_ADDRESS_LISTER, SERVICE_CIDR_LISTER, SERVICE_LISTER,
    SERVICE_QUEUE, say,
};
use crate::services::allocators::ItemRange;
use crate::services::allocators::addresses::{MANAGER, ip_address, parse};
use crate::services::repair::DefaultBackoff;
use crate::services::{RepairDefect, gates};

/// An IPAddress without a Service may belong to one that is being created, or that was an `ExternalName` so far.
const GRACE: Duration = Duration::from_secs(60);
/// One that is younger than the Service of its name may be given back soon.
const YOUNG: Duration = Duration::from_secs(5);
const LATE: Duration = Duration::from_millis(1);

fn text<'a>(json: &'a Json, path: &[&str]) -> &'a str {
    json::text(json, path)
}

fn label<'a>(address: &'a Json, name: &str) -> &'a str {
    let name = format!("ipaddress.kubernetes.io/{name}");
    text(address, &["metadata", "labels", &name])
}

fn is_ours(address: &Json) -> bool {
    label(address, "managed-by") == MANAGER
}

/// When an object was created, in whole seconds.
fn created(object: &Json) -> Time {
    let created = Stamp::parse(text(object, &["metadata", "creationTimestamp"]));
    created.and_then(Stamp::clock).unwrap_or_default()
}

/// How old an IPAddress is, by the clock of this server.
fn life(rx: Rx, address: &Stored) -> Duration {
    let created = created(address.object.json());
    let now = rx.clock();
    if now > created {
        now.since(created)
    } else {
        Duration::ZERO
    }
}

/// What an IPAddress names: the group and resource, and the key.
fn parent(address: &Json) -> (&str, &str, String) {
    let of = |field| text(address, &["spec", "parentRef", field]);
    let key = format!("{}/{}", of("namespace"), of("name"));
    (of("group"), of("resource"), key)
}

fn cluster_ips(service: &Json) -> impl Iterator<Item = &str> {
    let all = json::list(service, &["spec", "clusterIPs"]).iter();
    all.filter_map(Json::as_str)
}

/// `isIPOutOfRange`: it is in no ServiceCIDR, ready or not.
fn is_ip_out_of_range(rx: Rx, ip: &str) -> bool {
    let ranges = SERVICE_CIDR_LISTER.list(rx);
    let mut items = ranges.iter().flat_map(|range| {
        let specs = json::list(range.object.json(), &["spec", "cidrs"]).iter();
        specs.filter_map(|spec| ItemRange::of_addresses(spec.as_str()?, Version::LATEST))
    });
    !items.any(|range| range.offset(ip).is_some())
}

pub(crate) const TYPE_CHANGE_LOSES_ADDRESS: Defect = Defect::known(
    "type-change-loses-address",
    "k/k#131548, PR #135503 (1.36)",
    "the repair deletes the IPAddress of a Service whose new type its cache does not show yet",
)
.until(gates::REPAIR_WAITS_FOR_TYPE)
.fits_only(gates::IP_ADDRESSES);

pub(crate) const YOUNG_ADDRESS_IS_TAKEN: Defect = Defect::known(
    "young-address-is-taken",
    "k/k#132321, PR #132906 (by 1.36)",
    "the repair deletes the IPAddress of a Service that is being made while its cache shows an older one of that name",
)
.until(gates::REPAIR_WAITS_FOR_YOUNG)
.fits_only(gates::IP_ADDRESSES);

pub(crate) const FORBIDDEN_ENDS_START: Defect = Defect::known(
    "forbidden-ends-start",
    "k/k#136288, PR #137147 (1.36)",
    "a server ends when its first round of repair is refused by admission that waits for an informer",
)
.until(gates::REPAIR_RETRIES_FORBIDDEN)
.fits_only(gates::IP_ADDRESSES);

pub(crate) const FIX_START_WITH_EXISTING: Defect = Defect::fix(
    "fix-start-with-existing",
    "FINDINGS.md, 22",
    "a server starts although an IPAddress that its first round was to make is there by then",
)
.fits_only(gates::IP_ADDRESSES);

pub(crate) const FIX_WAIT_FOR_SERVICE: Defect = Defect::fix(
    "fix-wait-for-service",
    "FINDINGS.md, 9",
    "the repair gives the Service of an IPAddress time to show up, also if there is an older one of its name",
)
.fits_only(gates::IP_ADDRESSES);

pub(crate) const FIX_LOOK_BEFORE_RECREATE: Defect = Defect::fix(
    "fix-look-before-recreate",
    "FINDINGS.md, 10",
    "the repair asks whether a Service still has its address before it takes the IPAddress from another",
)
.fits_only(gates::IP_ADDRESSES);

impl AddressControllers {
    /// `runOnce`: again after a conflict, and while admission is not ready (k/k#136288).
    pub(super) async fn run_once(&self, rx: Rx) -> Result<(), Failure> {
        let mut backoff = DefaultBackoff::default();
        loop {
            match self.do_run_once(rx).await {
                Err(failed)
                    if !backoff.is_over()
                        && (failed.is(Reason::Conflict)
                            || failed.is(Reason::Forbidden)
                                && !self.defects.has(RepairDefect::ForbiddenEndsStart)) =>
                {
                    backoff.step(rx).await;
                }
                done => return done,
            }
        }
    }

    /// `doRunOnce`
    async fn do_run_once(&self, rx: Rx) -> Result<(), Failure> {
        for service in SERVICE_LISTER.list(rx) {
            let key = format!("{}/{}", service.object.namespace(), service.object.name());
            match self.sync_service(rx, &key).await {
                Err(failed)
                    if failed.is(Reason::AlreadyExists)
                        && self.defects.has(RepairDefect::FixStartWithExisting) =>
                {
                    SERVICE_QUEUE.add_rate_limited(rx, key.into());
                }
                done => done?,
            }
        }
        for address in IP_ADDRESS_LISTER.list(rx) {
            if is_ours(address.object.json()) {
                self.sync_ip_address(rx, address.object.name()).await?;
            }
        }
        Ok(())
    }

    /// `syncService`
    pub(super) async fn sync_service(&self, rx: Rx, key: &str) -> Result<(), Failure> {
        let Some(service) = SERVICE_LISTER.get(rx, key) else {
            return Ok(());
        };
        let service = service.object.json();
        let one = text(service, &["spec", "clusterIP"]);
        if text(service, &["spec", "type"]) == "ExternalName" || matches!(one, "" | "None") {
            return Ok(());
        }
        for ip in cluster_ips(service) {
            self.sync_cluster_ip(rx, key, service, ip).await?;
        }
        Ok(())
    }

    async fn sync_cluster_ip(
        &self,
        rx: Rx,
        key: &str,
        service: &Json,
        ip: &str,
    ) -> Result<(), Failure> {
        let family = family_of(ip);
        let Some(parsed) = parse(ip) else {
            let note = format!("Cluster IP {ip} is not a valid IP; please recreate Service");
            self.report(rx, service, "ClusterIPNotValid", note);
            say(
                rx,
                format!(
                    "the ClusterIP {ip} for Service {key} is not a valid IP; please recreate Service"
                ),
            );
            return Ok(());
        };
        let name = parsed.to_string();
        if is_ip_out_of_range(rx, ip) {
            let note = format!(
                "Cluster IP [{family}]: {ip} is not within any configured Service CIDR; please recreate \
                 service"
            );
            self.report(rx, service, "ClusterIPOutOfRange", note);
            say(
                rx,
                format!(
                    "the ClusterIP [{family}]: {ip} for Service {key} is not within any service CIDR; \
                 please recreate"
                ),
            );
            return Ok(());
        }
        let Some(address) = IP_ADDRESS_LISTER.get(rx, &name) else {
            let note = format!("Cluster IP [{family}]: {ip} is not allocated; repairing");
            self.report(rx, service, "ClusterIPNotAllocated", note);
            say(
                rx,
                format!(
                    "the ClusterIP [{family}]: {ip} for Service {key} is not allocated; repairing"
                ),
            );
            let address = ip_address(&name, family, service);
            return self.create_address(rx, address).await;
        };
        let seen = address;
        let address = seen.object.json();
        let (group, resource, named) = parent(address);
        let wrong = || {
            format!(
                "the ClusterIP [{family}]: {ip} for Service {key} has a wrong reference; repairing"
            )
        };
        if !group.is_empty() || resource != "services" {
            self.report(rx, service, "ClusterIPNotAllocated", wrong());
            return self.recreate_ip_address(rx, &seen, service).await;
        }
        if named != key {
            let Some(other) = SERVICE_LISTER.get(rx, &named) else {
                // The cache may lack a Service, and have one that is gone.
                let looks = self.defects.has(RepairDefect::FixLookBeforeRecreate);
                if looks && !self.still_has(rx, key, &name).await? {
                    return Ok(());
                }
                self.report(rx, service, "ClusterIPNotAllocated", wrong());
                return self.recreate_ip_address(rx, &seen, service).await;
            };
            if cluster_ips(other.object.json()).any(|ip| ip == name) {
                let note = format!(
                    "Cluster IP [{family}]:{ip} was assigned to multiple services; please recreate \
                     service"
                );
                self.report(rx, service, "ClusterIPAlreadyAllocated", note);
                say(
                    rx,
                    format!(
                        "the cluster IP [{family}]:{ip} for service {key} was assigned to other \
                     services {named}; please recreate"
                    ),
                );
            }
        }
        if label(address, "ip-family") != family || !is_ours(address) {
            return self.recreate_ip_address(rx, &seen, service).await;
        }
        Ok(())
    }

    /// Has a Service an address, as the server knows it?
    async fn still_has(&self, rx: Rx, key: &str, ip: &str) -> Result<bool, Failure> {
        let (namespace, name) = key.split_once('/').unwrap_or_default();
        let get = Request::new(Method::Get, SERVICES.path(namespace, name));
        match self.server.loopback().object(rx, get).await {
            Ok(service) => Ok(cluster_ips(&service.json()).any(|own| own == ip)),
            Err(error) if error.is(Reason::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// `recreateIPAddress`: in between it is free.
    async fn recreate_ip_address(
        &self,
        rx: Rx,
        seen: &Stored,
        service: &Json,
    ) -> Result<(), Failure> {
        self.delete_address(rx, seen).await?;
        let name = seen.object.name();
        let address = ip_address(name, family_of(name), service);
        self.create_address(rx, address).await
    }

    /// `syncIPAddress`
    pub(super) async fn sync_ip_address(&self, rx: Rx, key: &str) -> Result<(), Failure> {
        let Some(address) = IP_ADDRESS_LISTER.get(rx, key) else {
            return Ok(());
        };
        let tree = address.object.json();
        if !is_ours(tree) {
            return Ok(());
        }
        let (group, resource, named) = parent(tree);
        if !group.is_empty() || resource != "services" {
            say(
                rx,
                format!(
                    "IPAddress {key} appears to have been modified, not referencing a Service: cleaning \
                 up"
                ),
            );
            let note = format!(
                "IPAddress {key} appears to have been modified, not referencing a Service {}: cleaning up",
                tree["spec"]["parentRef"]
            );
            self.report(rx, tree, "IPAddressNotAllocated", note);
            return self.delete_address(rx, &address).await;
        }
        let Some(service) = SERVICE_LISTER.get(rx, &named) else {
            return self.clean_up(rx, key, &named, &address).await;
        };
        if cluster_ips(service.object.json()).any(|ip| ip == key) {
            return Ok(());
        }
        let has = |defect| self.defects.has(defect);
        let life = life(rx, &address);
        let service = service.object.json();
        let external = text(service, &["spec", "type"]) == "ExternalName";
        if external && life < GRACE && !has(RepairDefect::TypeChangeLosesAddress) {
            // It may have become another type, which is not stored or not seen yet (k/k#131548).
            ADDRESS_QUEUE.add_after(rx, key.into(), GRACE - life);
            return Ok(());
        }
        // A Service of this name may be about to be made, whose POST will be refused (k/k#132321).
        let is_younger = created(tree) > created(service);
        let wait = if is_younger && life < YOUNG {
            Some(YOUNG)
        } else if !external && life < GRACE && has(RepairDefect::FixWaitForService) {
            // Or the older one is gone, which the cache does not show yet.
            Some(GRACE - life)
        } else {
            None
        };
        if let Some(wait) = wait
            && !has(RepairDefect::YoungAddressIsTaken)
        {
            ADDRESS_QUEUE.add_after(rx, key.into(), wait);
            return Ok(());
        }
        say(
            rx,
            format!("the IPAddress: {key} for Service {named} has a wrong reference; cleaning up"),
        );
        let note =
            format!("IPAddress: {key} for Service {named} has a wrong reference; cleaning up");
        self.report(rx, tree, "IPAddressWrongReference", note);
        self.delete_address(rx, &address).await
    }

    /// An IPAddress without a Service goes once it is old enough.
    async fn clean_up(
        &self,
        rx: Rx,
        key: &str,
        named: &str,
        address: &Stored,
    ) -> Result<(), Failure> {
        let life = life(rx, address);
        if life > GRACE {
            say(
                rx,
                format!("IPAddress {key} appears to have leaked: cleaning up"),
            );
            let note =
                format!("IPAddress: {key} for Service {named} appears to have leaked: cleaning up");
            self.report(rx, address.object.json(), "IPAddressNotAllocated", note);
            self.delete_address(rx, address).await?;
        }
        // Timers of a real clock are a little late: to be there on time is to be there too early.
        let left = GRACE.saturating_sub(life) + LATE;
        ADDRESS_QUEUE.add_after(rx, key.into(), left);
        Ok(())
    }
}
