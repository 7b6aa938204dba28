//! The layer of Services before the generic registry, until v1.20
//! (`pkg/registry/core/service/storage/rest.go`): it allocates, has the registry write, and gives back
//! or gives up. Between its own read of the Service and the registry's anything may happen.

use std::pin::Pin;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::services::{is_headless, needs_health_check};
use wavetank_api::kinds::{service_gate, service_rules};
use wavetank_api::options::DeleteOptions;
use wavetank_api::{Reason, Status, Stored, kinds};
use wavetank_engine::Rx;
use wavetank_version::{Defect, Version};

use super::ports::PortOperation;
use super::{Allocators, invalid, ips_of, list, node_ports};
use crate::services::ServiceDefect;
use crate::services::gates;
use wavetank_apiserver::options::Preconditions;
use wavetank_apiserver::registry::{Change, Deletion, Made, Registry, Update, Warnings};

/// The layer, for the time of one request.
#[derive(Debug)]
pub struct Layer<'a> {
    /// What writes.
    pub registry: &'a Registry,
    /// What allocates.
    pub allocators: &'a Allocators,
}

/// What becomes of the addresses of a request.
#[derive(Default)]
struct Addresses {
    /// Given back unless the request is done.
    taken: Vec<String>,
    /// Given up once it is.
    to_release: Vec<String>,
}

/// The Service as the layer has made it (`DefaultUpdatedObjectInfo`).
struct Prepared(Json);

impl Change for Prepared {
    fn change<'a>(
        &'a self,
        _rx: Rx,
        _old: Option<&'a Json>,
        _warnings: &'a mut Warnings,
    ) -> Pin<Box<dyn Future<Output = Result<Json, Status>> + Send + 'a>> {
        Box::pin(async move { Ok(self.0.clone()) })
    }
}

fn is_external(service: &Json) -> bool {
    json::text(service, &["spec", "type"]) == "ExternalName"
}

fn put_ip(service: &mut Json, ip: &str, release: Version) {
    json::set(service, &["spec", "clusterIP"], ip);
    if release.has(gates::FAMILIES_BEFORE_HOOKS) {
        json::set(service, &["spec", "clusterIPs"], vec![ip]);
    }
}

pub(crate) const DELETE_GIVES_UP_EARLY: Defect = Defect::known(
    "delete-gives-up-early",
    "k/k#87603 (1.23)",
    "a Service that a finalizer keeps loses what it was allocated when it is deleted, and not when it is gone",
)
.fits_only(gates::REGISTRY_HOOKS.before());

pub(crate) const RELEASED_BEFORE_WRITTEN: Defect = Defect::known(
    "released-before-written",
    "rest.go of v1.16 (1.20)",
    "an update to ExternalName gives up the address before the Service is written",
)
.fits_only(gates::CLUSTER_IPS.before());

pub(crate) const FAILED_UPDATE_COUNTS_AS_DONE: Defect = Defect::known(
    "failed-update-counts-as-done",
    "rest.go of v1.20 (1.23)",
    "an update that fails gives up the old address all the same, and keeps the new one",
)
.fits_only(gates::FAMILIES_BEFORE_HOOKS);

pub(crate) const LAYER_READS_APART: Defect = Defect::known(
    "layer-reads-apart",
    "rest.go until v1.22 (1.23)",
    "an update allocates for the Service that it read, and writes over another one",
)
.fits_only(gates::REGISTRY_HOOKS.before());

impl Layer<'_> {
    /// `Create`
    ///
    /// # Errors
    /// A Status. The outcome of an error may be unknown.
    pub async fn create(
        &self,
        rx: Rx,
        mut service: Json,
        warnings: &mut Warnings,
    ) -> Result<Made, Status> {
        self.registry.prepare(rx, &mut service, warnings).await?;
        let mut ips = Addresses::default();
        let mut ports = self.ports();
        let allocated = self.allocate(rx, &mut service, &mut ips, &mut ports).await;
        let made = match allocated {
            Ok(()) => self.registry.create(rx, service, warnings).await,
            Err(status) => Err(status),
        };
        match &made {
            Ok(_) => ports.commit(rx).await,
            Err(status) if self.allocators.gives_back(status) => self.undo(rx, &ips, &ports).await,
            Err(_) => {} // it may have been stored, and then it has what was taken for it
        }
        made
    }

    fn ports(&self) -> PortOperation<'_> {
        PortOperation::start_operation(&self.allocators.ports, self.registry.dry_run)
    }

    fn release(&self) -> Version {
        self.allocators.release
    }

    /// Deferred functions run in reverse: ports, then addresses.
    async fn undo(&self, rx: Rx, ips: &Addresses, ports: &PortOperation<'_>) {
        ports.rollback(rx).await;
        self.allocators.release_ips(rx, &ips.taken, None).await;
    }

    async fn allocate(
        &self,
        rx: Rx,
        service: &mut Json,
        ips: &mut Addresses,
        ports: &mut PortOperation<'_>,
    ) -> Result<(), Status> {
        self.try_default_validate_service_cluster_ip_fields(service)?;
        self.alloc_service_cluster_ips(rx, service, ips).await?;
        if node_ports::has_ports(service) {
            node_ports::init_node_ports(rx, service, ports, self.release()).await?;
        }
        if needs_health_check(service) {
            node_ports::allocate_health_check_node_port(rx, service, ports).await?;
        }
        check_traffic(service)
    }

    /// Does a Service have as many addresses as families?
    fn is_plural(&self) -> bool {
        self.release().has(gates::FAMILIES_BEFORE_HOOKS) && self.allocators.is_dual()
    }

    /// `tryDefaultValidateServiceClusterIPFields`
    fn try_default_validate_service_cluster_ip_fields(
        &self,
        service: &mut Json,
    ) -> Result<(), Status> {
        if !self.is_plural() {
            return Ok(());
        }
        service_gate::init(service, &self.allocators.families)
            .map_err(|errors| invalid(service, &errors))
    }

    /// `allocServiceClusterIPs`, `initClusterIP`. A dry run takes none and shows none.
    async fn alloc_service_cluster_ips(
        &self,
        rx: Rx,
        service: &mut Json,
        ips: &mut Addresses,
    ) -> Result<(), Status> {
        if self.registry.dry_run || is_external(service) || is_headless(service) {
            return Ok(());
        }
        if self.is_plural() {
            return self.alloc_cluster_ips(rx, service, 0, ips).await;
        }
        let family = match json::text(service, &["spec", "ipFamily"]) {
            "" => self.allocators.families[0].to_owned(),
            family => family.to_owned(),
        };
        let asked = json::text(service, &["spec", "clusterIP"]).to_owned();
        let taken = self.allocators.take_ip(rx, &family, &asked, service, false);
        let taken = taken.await?;
        put_ip(service, &taken, self.release());
        ips.taken = vec![taken];
        Ok(())
    }

    /// `allocClusterIPs`, of the families from this one on: in the order of a Go map, here IPv4 first. What
    /// was taken is given back if there is none for the other.
    async fn alloc_cluster_ips(
        &self,
        rx: Rx,
        service: &mut Json,
        from: usize,
        ips: &mut Addresses,
    ) -> Result<(), Status> {
        let (families, mut all) = (list(service, "ipFamilies"), list(service, "clusterIPs"));
        all.resize(all.len().max(families.len()), String::new());
        let mut order: Vec<usize> = (from..families.len()).collect();
        order.sort_by_key(|at| &families[*at]);
        for at in order {
            let (family, asked) = (&families[at], &all[at]);
            let taken = self.allocators.take_ip(rx, family, asked, service, false);
            all[at] = taken.await?;
            ips.taken.push(all[at].clone());
        }
        json::set(service, &["spec", "clusterIP"], all[0].as_str());
        json::set(service, &["spec", "clusterIPs"], all);
        Ok(())
    }

    /// `handleClusterIPsForUpdatedService`, but for what comes from ExternalName or goes to it.
    async fn handle_cluster_ips_for_updated_service(
        &self,
        rx: Rx,
        service: &mut Json,
        old: &Json,
        ips: &mut Addresses,
    ) -> Result<(), Status> {
        let stays = !is_external(old) && !is_external(service);
        if !self.is_plural() || self.registry.dry_run || !stays || is_headless(old) {
            return Ok(());
        }
        let count = |of| json::list(of, &["spec", "ipFamilies"]).len();
        match (count(old), count(service)) {
            (1, 2) => self.alloc_cluster_ips(rx, service, 1, ips).await?,
            (2, 1) => ips
                .to_release
                .extend(list(old, "clusterIPs").get(1).cloned()),
            _ => {}
        }
        Ok(())
    }

    /// `Update`. A PUT of what is not there is refused: only server-side apply may create here.
    ///
    /// # Errors
    /// A Status. The outcome of an error may be unknown.
    pub async fn update(
        &self,
        rx: Rx,
        name: &str,
        change: &dyn Change,
        warnings: &mut Warnings,
    ) -> Result<Update, Status> {
        loop {
            let old = self.registry.get(rx, name, None).await?;
            let tried = self.try_update(rx, name, &old, change, warnings).await;
            match tried {
                // Somebody else has written in between.
                Err(status)
                    if status.is(Reason::Conflict) && !self.has(ServiceDefect::LayerReadsApart) =>
                {
                    let now = self.registry.get(rx, name, None).await?;
                    if now.resource_version == old.resource_version {
                        return Err(status);
                    }
                }
                done => return done,
            }
        }
    }

    fn has(&self, defect: ServiceDefect) -> bool {
        self.allocators.defects.has(defect)
    }

    /// One update of the Service that was read.
    async fn try_update(
        &self,
        rx: Rx,
        name: &str,
        read: &Stored,
        change: &dyn Change,
        warnings: &mut Warnings,
    ) -> Result<Update, Status> {
        let old = read.json();
        let mut service = change.change(rx, Some(&old), warnings).await?;
        self.registry.revise(rx, &mut service, &old, warnings)?;
        let mut ips = Addresses::default();
        let mut ports = self.ports();
        let allocated = self.reallocate(rx, &mut service, &old, &mut ips, &mut ports);
        if let Err(status) = allocated.await {
            self.undo(rx, &ips, &ports).await;
            return Err(status);
        }
        let uid = json::text(&service, &["metadata", "uid"]);
        let apart = self.has(ServiceDefect::LayerReadsApart);
        let version = Some(read.resource_version.to_string().into());
        let preconditions = Preconditions {
            uid: Some(uid.into()).filter(|_| !uid.is_empty()),
            resource_version: version.filter(|_| !apart),
        };
        let prepared = Prepared(service);
        let updated = self
            .registry
            .update(rx, name, &preconditions, &prepared, warnings)
            .await;
        // The update took the last finalizer: nothing of it was stored, and what was is given up.
        let emptied = matches!(
            &updated,
            Ok(Update {
                made: Made::Unsaved(_),
                ..
            })
        );
        if emptied && !self.registry.dry_run && !self.has(ServiceDefect::FinalizerUpdateLeaks) {
            self.undo(rx, &ips, &ports).await;
            return updated;
        }
        match &updated {
            Ok(_) => ports.commit(rx).await,
            Err(status) if !self.allocators.gives_back(status) => {}
            Err(_) if self.has(ServiceDefect::FailedUpdateCountsAsDone) => ports.rollback(rx).await,
            Err(_) => self.undo(rx, &ips, &ports).await,
        }
        if updated.is_ok() || self.has(ServiceDefect::FailedUpdateCountsAsDone) {
            self.allocators.release_ips(rx, &ips.to_release, None).await;
        }
        updated
    }

    async fn reallocate(
        &self,
        rx: Rx,
        service: &mut Json,
        old: &Json,
        ips: &mut Addresses,
        ports: &mut PortOperation<'_>,
    ) -> Result<(), Status> {
        self.try_default_validate_service_cluster_ip_fields(service)?;
        if is_external(old) && !is_external(service) {
            self.alloc_service_cluster_ips(rx, service, ips).await?;
        }
        self.handle_cluster_ips_for_updated_service(rx, service, old, ips)
            .await?;
        if !self.registry.dry_run && !is_external(old) && is_external(service) {
            ips.to_release = ips_of(old);
            if self.has(ServiceDefect::ReleasedBeforeWritten) {
                // Before the Service is written, and whether or not it will be.
                let released = std::mem::take(&mut ips.to_release);
                self.allocators.release_ips(rx, &released, None).await;
            }
        }
        let (had, has) = (node_ports::has_ports(old), node_ports::has_ports(service));
        if had && !has {
            for port in node_ports::collect_service_node_ports(old) {
                ports.release_deferred(port);
            }
        }
        if has {
            node_ports::update_node_ports(rx, service, old, ports, self.release()).await?;
        }
        if json::text(service, &["spec", "type"]) != "LoadBalancer" {
            json::set(
                service,
                &["status", "loadBalancer"],
                Json::Object(Default::default()),
            );
        }
        node_ports::health_check_node_port_update(rx, service, old, ports, self.release()).await?;
        if had && !has {
            json::remove(service, &["spec", "externalTrafficPolicy"]);
        }
        check_traffic(service)
    }

    /// `Delete`: whatever finalizers there are, what was allocated is given up (k/k#87603).
    ///
    /// # Errors
    /// A Status. The outcome of an error may be unknown.
    pub async fn delete(
        &self,
        rx: Rx,
        name: &str,
        options: DeleteOptions,
    ) -> Result<Deletion, Status> {
        let deletion = self.registry.delete(rx, name, options).await?;
        let service = match deletion.made {
            Made::Stored(stored) => stored.json(),
            Made::Unsaved(tree) => (*tree).clone(),
            Made::Status(_) => unreachable!("a Service is answered with"),
        };
        let gone = deletion.deleted && !(deletion.late && self.has(ServiceDefect::FixReleaseOnce));
        if !self.registry.dry_run && (gone || self.has(ServiceDefect::DeleteGivesUpEarly)) {
            self.allocators
                .delete_endpoints(rx, self.registry, name)
                .await?;
            self.allocators
                .release_allocated_resources(rx, &service)
                .await;
        }
        let uid = json::text(&service, &["metadata", "uid"]);
        Ok(Deletion {
            made: Made::Status(Status::deleted(&kinds::SERVICES, name, uid)),
            deleted: true,
            late: deletion.late,
        })
    }
}

fn check_traffic(service: &Json) -> Result<(), Status> {
    let errors = service_rules::validate_service_external_traffic_fields_combination(service);
    match errors.is_empty() {
        true => Ok(()),
        false => Err(invalid(service, &errors)),
    }
}
