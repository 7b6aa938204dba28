//! The hooks of Services inside the generic registry, v1.36
//! (`pkg/registry/core/service/storage/storage.go`, `alloc.go`).
//!
//! An update's hooks run in each try of `GuaranteedUpdate`, and finish before the try is written: what
//! a try gives up is free although the write may yet fail.

use wavetank_api::Status;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::services::{
    is_headless, needs_health_check, normalize_cluster_ips, patch_allocated_values,
};
use wavetank_api::kinds::{service_families as families, service_gate};
use wavetank_engine::{Rx, mutant};
use wavetank_version::Defect;

use super::addresses::Holder;
use super::ports::PortOperation;
use super::{Allocators, invalid, list, node_ports};
use crate::services::ServiceDefect;
use crate::services::gates;
use wavetank_apiserver::registry::{Made, Registry};

/// What a hook has begun (`transaction`): to be committed or reverted.
#[derive(Debug)]
pub struct Begun<'a> {
    allocators: &'a Allocators,
    taken: Vec<String>,
    /// Of what is taken.
    new: Option<Box<Holder>>,
    to_release: Vec<String>,
    /// Of what is to be released.
    old: Option<Box<Holder>>,
    ports: PortOperation<'a>,
    dry_run: bool,
}

impl Begun<'_> {
    /// Does it end after the write?
    pub fn waits_for_write(&self) -> bool {
        let defects = &self.allocators.defects;
        defects.has(ServiceDefect::FixFinishAfterWrite)
    }

    /// Ends it as the write of the Service has ended.
    pub async fn conclude(self, rx: Rx, failed: Option<&Status>) {
        match failed {
            None => self.finish_func(rx, true).await,
            Some(status) if self.allocators.gives_back(status) => self.finish_func(rx, false).await,
            Some(_) => {} // it may have been stored, and then it has what was taken for it
        }
    }

    /// `FinishFunc`
    pub async fn finish_func(self, rx: Rx, success: bool) {
        let (ips, holder) = match success {
            true => (&self.to_release, &self.old),
            false
                if mutant!(
                    "addresses-are-not-rolled-back",
                    "a Service that is refused keeps its addresses"
                ) =>
            {
                (&self.to_release, &self.old)
            }
            false => (&self.taken, &self.new),
        };
        if !self.dry_run {
            self.allocators
                .release_ips(rx, ips, holder.as_deref())
                .await;
        }
        match success {
            true => self.ports.commit(rx).await,
            false => self.ports.rollback(rx).await,
        }
    }
}

fn is_external(service: &Json) -> bool {
    json::text(service, &["spec", "type"]) == "ExternalName"
}

pub(crate) const FIX_GIVE_BACK_FIRST_FAMILY: Defect = Defect::fix(
    "fix-give-back-first-family",
    "FINDINGS.md, 19",
    "a Service that gets no address of its second family gives back that of its first",
)
.fits_only(gates::REGISTRY_HOOKS);

impl Allocators {
    /// `beginCreate`
    ///
    /// # Errors
    /// A Status.
    pub async fn begin_create(
        &self,
        rx: Rx,
        service: &mut Json,
        dry_run: bool,
    ) -> Result<Begun<'_>, Status> {
        normalize_cluster_ips(service, None);
        self.families(service, None)?;
        let mut begun = self.begun(service, service, dry_run);
        let done = self.create(rx, service, &mut begun).await;
        self.or_revert(rx, begun, done).await
    }

    async fn create(
        &self,
        rx: Rx,
        service: &mut Json,
        begun: &mut Begun<'_>,
    ) -> Result<(), Status> {
        self.alloc_cluster_ips(rx, service, begun).await?;
        let ports = &mut begun.ports;
        if node_ports::has_ports(service) {
            node_ports::init_node_ports(rx, service, ports, self.release).await?;
        }
        if needs_health_check(service) {
            node_ports::allocate_health_check_node_port(rx, service, ports).await?;
        }
        Ok(())
    }

    /// `beginUpdate`
    ///
    /// # Errors
    /// A Status.
    pub async fn begin_update(
        &self,
        rx: Rx,
        service: &mut Json,
        old: &mut Json,
        dry_run: bool,
    ) -> Result<Begun<'_>, Status> {
        self.default_on_read(old);
        patch_allocated_values(service, old);
        normalize_cluster_ips(service, Some(old));
        self.families(service, Some(old))?;
        let mut begun = self.begun(service, old, dry_run);
        let done = self.update(rx, service, old, &mut begun).await;
        self.or_revert(rx, begun, done).await
    }

    async fn update(
        &self,
        rx: Rx,
        service: &mut Json,
        old: &Json,
        begun: &mut Begun<'_>,
    ) -> Result<(), Status> {
        self.update_cluster_ips(rx, service, old, begun).await?;
        let (had, has) = (node_ports::has_ports(old), node_ports::has_ports(service));
        let ports = &mut begun.ports;
        if had && !has {
            for port in node_ports::collect_service_node_ports(old) {
                ports.release_deferred(port);
            }
        }
        if has {
            node_ports::update_node_ports(rx, service, old, ports, self.release).await?;
        }
        node_ports::health_check_node_port_update(rx, service, old, ports, self.release).await
    }

    fn families(&self, service: &mut Json, old: Option<&Json>) -> Result<(), Status> {
        let initialised = families::init(service, old, &self.families);
        initialised.map_err(|errors| invalid(service, &errors))
    }

    fn begun(&self, new: &Json, old: &Json, dry_run: bool) -> Begun<'_> {
        let asked = self.asks_whose();
        Begun {
            allocators: self,
            taken: Vec::new(),
            new: asked.then(|| Box::new(Holder::to_be(new))),
            to_release: Vec::new(),
            old: asked.then(|| Box::new(Holder::past(old))),
            ports: PortOperation::start_operation(&self.ports, dry_run),
            dry_run,
        }
    }

    /// What was taken before something went wrong is given back; the ports first, as a transaction
    /// reverts its own part before those before it.
    async fn or_revert<'a>(
        &self,
        rx: Rx,
        begun: Begun<'a>,
        done: Result<(), Status>,
    ) -> Result<Begun<'a>, Status> {
        match done {
            Ok(()) => Ok(begun),
            Err(status) => {
                begun.ports.rollback(rx).await;
                if !begun.dry_run {
                    self.release_ips(rx, &begun.taken, begun.new.as_deref())
                        .await;
                }
                Err(status)
            }
        }
    }

    /// `allocClusterIPs`: one address of each family that has none yet.
    async fn alloc_cluster_ips(
        &self,
        rx: Rx,
        service: &mut Json,
        begun: &mut Begun<'_>,
    ) -> Result<(), Status> {
        if is_external(service) || is_headless(service) {
            return Ok(());
        }
        let mut ips = list(service, "clusterIPs");
        let families = list(service, "ipFamilies");
        ips.resize(ips.len().max(families.len()), String::new());
        let taken = self
            .alloc_ips(rx, service, &families, &ips, begun.dry_run)
            .await?;
        for (ip, taken) in ips.iter_mut().zip(&taken) {
            ip.clone_from(taken);
        }
        if let Some(first) = ips.first() {
            json::set(service, &["spec", "clusterIP"], first.as_str());
            json::set(service, &["spec", "clusterIPs"], ips);
        }
        begun.taken = taken;
        Ok(())
    }

    /// `allocIPs`: in the order of a Go map, here IPv4 first. If the second family gets none, upstream
    /// forgets what the first one was given (FINDINGS.md, 19).
    async fn alloc_ips(
        &self,
        rx: Rx,
        service: &Json,
        families: &[String],
        asked: &[String],
        dry_run: bool,
    ) -> Result<Vec<String>, Status> {
        let mut order: Vec<usize> = (0..families.len()).collect();
        order.sort_by_key(|at| &families[*at]);
        let mut taken = vec![String::new(); families.len()];
        for at in order {
            let (family, asked) = (&families[at], &asked[at]);
            match self.take_ip(rx, family, asked, service, dry_run).await {
                Ok(ip) => taken[at] = ip,
                Err(refused) => {
                    taken.retain(|ip| !ip.is_empty());
                    let keeps = dry_run || taken.is_empty();
                    if !keeps && self.defects.has(ServiceDefect::FixGiveBackFirstFamily) {
                        let own = self.asks_whose().then(|| Holder::to_be(service));
                        self.release_ips(rx, &taken, own.as_ref()).await;
                    }
                    return Err(refused);
                }
            }
        }
        Ok(taken)
    }

    /// `updateClusterIPs`
    async fn update_cluster_ips(
        &self,
        rx: Rx,
        service: &mut Json,
        old: &Json,
        begun: &mut Begun<'_>,
    ) -> Result<(), Status> {
        if families::is_matching_prefer_dual_stack_cluster_ip_fields(service, old) {
            return Ok(());
        }
        if is_external(old) && !is_external(service) {
            return self.alloc_cluster_ips(rx, service, begun).await;
        }
        if is_headless(old) {
            return Ok(());
        }
        let before = list(old, "clusterIPs");
        if !is_external(old) && is_external(service) {
            if !mutant!(
                "external-name-keeps-address",
                "a Service that becomes an ExternalName keeps its addresses"
            ) {
                begun.to_release = before;
            }
            return Ok(());
        }
        let now = list(service, "ipFamilies");
        match (list(old, "ipFamilies").len(), now.len()) {
            (1, 2) => {
                let mut ips = list(service, "clusterIPs");
                ips.resize(ips.len().max(2), String::new());
                let marked = ips.clone();
                json::set(service, &["spec", "clusterIPs"], marked);
                let taken = self
                    .alloc_ips(rx, service, &now[1..], &ips[1..2], begun.dry_run)
                    .await?;
                ips[1].clone_from(&taken[0]);
                json::set(service, &["spec", "clusterIPs"], ips);
                begun.taken = taken;
            }
            (2, 1)
                if mutant!(
                    "second-address-is-kept",
                    "a Service that goes back to one family keeps both addresses"
                ) => {}
            (2, 1) => begun.to_release.extend(before.get(1).cloned()),
            _ => {}
        }
        Ok(())
    }

    /// `defaultOnRead`
    pub fn default_on_read(&self, service: &mut Json) {
        match self.release.has(gates::REGISTRY_HOOKS) {
            true => families::default_on_read_service(service, &self.families),
            false => service_gate::default_on_read_service(service, &self.families),
        }
    }

    /// `afterDelete`: errors are only logged.
    pub async fn after_delete(&self, rx: Rx, registry: &Registry, deleted: &Made) {
        let mut service = match deleted {
            Made::Stored(stored) => stored.json(),
            Made::Unsaved(tree) => (**tree).clone(),
            Made::Status(_) => return,
        };
        if registry.dry_run {
            return;
        }
        self.default_on_read(&mut service);
        let name = json::text(&service, &["metadata", "name"]).to_owned();
        let _ = self.delete_endpoints(rx, registry, &name).await;
        if !mutant!(
            "deletion-releases-nothing",
            "the deletion of a Service gives up nothing"
        ) {
            self.release_allocated_resources(rx, &service).await;
        }
    }
}
