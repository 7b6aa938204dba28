//! The repair of IPAddresses (`pkg/registry/core/service/ipallocator/controller/repairip.go`): every
//! address of a Service has an IPAddress that names it, and every IPAddress of the allocators has a
//! Service. What it reads are caches, what it decides may be late.

use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::SERVICES;
use wavetank_api::kinds::service_families::family_of;
use wavetank_api::{Method, Reason, Request, Stamp, Stored};
use wavetank_engine::Rx;
use wavetank_version::{Defect, Version};

use super::{ADDRESS_QUEUE, AddressControllers, Failed, Of, all, get, say};
use crate::services::allocators::ItemRange;
use crate::services::allocators::addresses::{MANAGER, ip_address, parse};
use crate::services::{RepairDefect, gates};

/// An IPAddress without a Service may belong to one that is being created.
const GRACE: Duration = Duration::from_secs(60);
/// A cache may be behind a Service that has just changed its type.
const CATCH_UP: Duration = Duration::from_secs(1);
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

/// How old an IPAddress is, by the clock of this server.
fn life(rx: Rx, address: &Stored) -> Duration {
    let created = text(address.object.json(), &["metadata", "creationTimestamp"]);
    let created = Stamp::parse(created)
        .and_then(Stamp::clock)
        .unwrap_or_default();
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
    let ranges = all(rx, Of::Ranges);
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
    /// `doRunOnce`
    pub(super) async fn do_run_once(&self, rx: Rx) -> Result<(), Failed> {
        for service in all(rx, Of::Services) {
            let key = format!("{}/{}", service.object.namespace(), service.object.name());
            self.sync_service(rx, &key).await?;
        }
        for address in all(rx, Of::Addresses) {
            if is_ours(address.object.json()) {
                self.sync_ip_address(rx, address.object.name()).await?;
            }
        }
        Ok(())
    }

    /// `syncService`
    pub(super) async fn sync_service(&self, rx: Rx, key: &str) -> Result<(), Failed> {
        let Some(service) = get(rx, Of::Services, key) else {
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
    ) -> Result<(), Failed> {
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
        let Some(address) = get(rx, Of::Addresses, &name) else {
            let note = format!("Cluster IP [{family}]: {ip} is not allocated; repairing");
            self.report(rx, service, "ClusterIPNotAllocated", note);
            say(
                rx,
                format!(
                    "the ClusterIP [{family}]: {ip} for Service {key} is not allocated; repairing"
                ),
            );
            let address = ip_address(&name, family, service);
            return Ok(self.create_address(rx, address).await?);
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
            let Some(other) = get(rx, Of::Services, &named) else {
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
    async fn still_has(&self, rx: Rx, key: &str, ip: &str) -> Result<bool, Failed> {
        let (namespace, name) = key.split_once('/').unwrap_or_default();
        let get = Request::new(Method::Get, SERVICES.path(namespace, name));
        match self.server.loopback().object(rx, get).await {
            Ok(service) => Ok(cluster_ips(&service.json()).any(|own| own == ip)),
            Err(error) if error.is(Reason::NotFound) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// `recreateIPAddress`: in between it is free.
    async fn recreate_ip_address(
        &self,
        rx: Rx,
        seen: &Stored,
        service: &Json,
    ) -> Result<(), Failed> {
        self.delete_address(rx, seen).await?;
        let name = seen.object.name();
        let address = ip_address(name, family_of(name), service);
        Ok(self.create_address(rx, address).await?)
    }

    /// `syncIPAddress`
    pub(super) async fn sync_ip_address(&self, rx: Rx, key: &str) -> Result<(), Failed> {
        let Some(address) = get(rx, Of::Addresses, key) else {
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
            return Ok(self.delete_address(rx, &address).await?);
        }
        let Some(service) = get(rx, Of::Services, &named) else {
            return self.clean_up(rx, key, &named, &address).await;
        };
        if cluster_ips(service.object.json()).any(|ip| ip == key) {
            return Ok(());
        }
        let has = |defect| self.defects.has(defect);
        let life = life(rx, &address);
        let external = text(service.object.json(), &["spec", "type"]) == "ExternalName";
        if external && life <= GRACE && !has(RepairDefect::TypeChangeLosesAddress) {
            // It may have become another type, which the cache does not show yet (k/k#131548).
            ADDRESS_QUEUE.add_after(rx, key.into(), CATCH_UP);
            return Ok(());
        }
        if !external && life <= GRACE && has(RepairDefect::FixWaitForService) {
            // It may have been made anew, which the cache does not show yet either.
            ADDRESS_QUEUE.add_after(rx, key.into(), GRACE - life + LATE);
            return Ok(());
        }
        say(
            rx,
            format!("the IPAddress: {key} for Service {named} has a wrong reference; cleaning up"),
        );
        let note =
            format!("IPAddress: {key} for Service {named} has a wrong reference; cleaning up");
        self.report(rx, tree, "IPAddressWrongReference", note);
        Ok(self.delete_address(rx, &address).await?)
    }

    /// An IPAddress without a Service goes once it is old enough.
    async fn clean_up(
        &self,
        rx: Rx,
        key: &str,
        named: &str,
        address: &Stored,
    ) -> Result<(), Failed> {
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
