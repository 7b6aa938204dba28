//! What the controller does beside its workers, an operation of a name at a time (`scheduleOperation` of `pv_controller.go`,
//! `pkg/util/goroutinemap`, v1.36.2): it asks for a provisioner, and reclaims volumes. Volumes are those of CSI, which their drivers
//! delete; there is no plugin here for others, so that these fail.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::kinds::{PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES};
use wavetank_api::{Method, Request, Stored, json};
use wavetank_client::Failure;
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_components::elected::process_next_work_item_with;
use wavetank_engine::{Cell, Name, Rx};

use super::bind::Of;
use super::cache::CLAIMS;
use super::controller::{CONTROLLER, Failed, PersistentVolumeController};
use super::fields::{
    BETA_STORAGE_PROVISIONER, DYNAMICALLY_PROVISIONED, FAILED, STORAGE_PROVISIONER, annotation,
    claim_key, claim_ref, claim_uid, class_of, is_default_annotation,
    persistent_volume_claim_has_class, reclaim_policy, set_meta_data_annotation, volume_name,
};
use super::notes::{Act, Acts};
use crate::controller::{Controller, Work};
use crate::controller_utils::pod_key;

/// `initialDurationBeforeRetry`
const INITIAL_DURATION_BEFORE_RETRY: Duration = Duration::from_millis(500);
/// `maxDurationBeforeRetry`
pub(super) const MAX_DURATION_BEFORE_RETRY: Duration = Duration::from_secs(2 * 60 + 2);
/// So many run at once; upstream any number.
const AT_ONCE: u32 = 4;

/// Operations that run, and those that may be asked for again.
pub(super) const OPERATIONS_QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "operations");
/// `runningOperations`
static RUNNING: Cell<BTreeMap<Item, Operation>> = Cell::new("binder-operations");
/// What an item begins with that ends the back-off of an operation.
const AGAIN: &str = "again:";

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Provision,
    Recycle,
    Delete,
}

impl What {
    fn name(self) -> &'static str {
        match self {
            What::Provision => "provision",
            What::Recycle => "recycle",
            What::Delete => "delete",
        }
    }
}

/// An operation that was asked for, of a claim or a volume as it was then.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Operation {
    what: What,
    of: Stored,
    /// It is under way, or has failed and may not be asked for yet.
    is_taken: bool,
    /// How long it may not be asked for after it has failed.
    delay: Duration,
}

/// Their goroutines.
#[derive(Debug)]
pub(super) struct Operations(pub Arc<PersistentVolumeController>);

/// `scheduleOperation`
fn schedule_operation(rx: Rx, what: What, of: Stored, key: &str) {
    let name: Item = format!("{}-{key}[{}]", what.name(), of.object.uid()).into();
    let begins = rx.update(&RUNNING, |all| {
        let known = all.get(&name);
        if known.is_some_and(|own| own.is_taken) {
            return false;
        }
        let delay = known.map_or(Duration::ZERO, |own| own.delay);
        let operation = Operation {
            what,
            of,
            is_taken: true,
            delay,
        };
        all.insert(name.clone(), operation);
        true
    });
    if begins {
        OPERATIONS_QUEUE.add(rx, name);
    }
}

/// An operation has ended. One that failed may be asked for again after a while (`exponentialbackoff`).
fn operation_complete(rx: Rx, name: &Item, result: Result<(), Failed>) {
    let again = rx.update(&RUNNING, |all| {
        if result.is_ok() {
            all.remove(name);
            return None;
        }
        let operation = all.get_mut(name)?;
        operation.delay = match operation.delay {
            Duration::ZERO => INITIAL_DURATION_BEFORE_RETRY,
            delay => MAX_DURATION_BEFORE_RETRY.min(2 * delay),
        };
        Some(operation.delay)
    });
    if let Some(delay) = again {
        OPERATIONS_QUEUE.add_after(rx, format!("{AGAIN}{name}").into(), delay);
    }
}

impl PersistentVolumeController {
    /// `assignDefaultStorageClass`
    pub(super) async fn assign_default_storage_class(
        &self,
        rx: Rx,
        claim: &Stored,
    ) -> Result<bool, Failure> {
        if persistent_volume_claim_has_class(claim.object.json()) {
            return Ok(false);
        }
        // `GetDefaultClass`: the newest, of those the first by name.
        let mut defaults = self.classes.list(rx);
        defaults.retain(|class| is_default_annotation(class.object.json()));
        let newest = defaults.iter().max_by_key(|class| {
            let made = json::text(class.object.json(), &["metadata", "creationTimestamp"]);
            (made, Reverse(class.object.name()))
        });
        let Some(class) = newest else {
            return Ok(false);
        };
        let name = class.object.name();
        let mut json = claim.json();
        json::set(&mut json, &["spec", "storageClassName"], name);
        let key = pod_key(&claim.object);
        let act = Act::AssignsClass(name.into());
        rx.note(Acts { on: key, act });
        let path = PERSISTENT_VOLUME_CLAIMS.path(claim.object.namespace(), claim.object.name());
        let put = Request::new(Method::Put, path).with(json);
        self.rest.object(rx, put).await?;
        Ok(true)
    }

    /// `provisionClaim`
    pub(super) fn provision_claim(&self, rx: Rx, claim: Stored) {
        if self
            .classes
            .get(rx, class_of(claim.object.json()))
            .is_some()
        {
            let key = pod_key(&claim.object);
            schedule_operation(rx, What::Provision, claim, &key);
        }
    }

    /// `reclaimVolume`
    pub(super) async fn reclaim_volume(&self, rx: Rx, volume: Stored) -> Result<(), Failed> {
        let what = match reclaim_policy(volume.object.json()) {
            "Retain" => return Ok(()),
            "Recycle" => What::Recycle,
            "Delete" => What::Delete,
            _ => {
                let why = "Volume has unrecognized PersistentVolumeReclaimPolicy";
                self.update_volume_phase(rx, volume, (FAILED, ""), why)
                    .await?;
                return Ok(());
            }
        };
        let name = volume.object.name().to_owned();
        schedule_operation(rx, what, volume, &name);
        Ok(())
    }

    /// `provisionClaimOperationExternal`, `setClaimProvisioner`
    async fn provision_claim_operation_external(
        &self,
        rx: Rx,
        claim: Stored,
    ) -> Result<(), Failed> {
        let class = self.classes.get(rx, class_of(claim.object.json()));
        let Some(class) = class else {
            return Ok(());
        };
        let provisioner = json::text(class.object.json(), &["provisioner"]);
        if annotation(claim.object.json(), STORAGE_PROVISIONER) == Some(provisioner) {
            return Ok(());
        }
        let mut json = claim.json();
        set_meta_data_annotation(&mut json, BETA_STORAGE_PROVISIONER, provisioner);
        set_meta_data_annotation(&mut json, STORAGE_PROVISIONER, provisioner);
        let key = pod_key(&claim.object);
        let act = Act::AsksProvisioner(provisioner.into());
        rx.note(Acts { on: key, act });
        self.put_claim(rx, Of::Spec, &claim, json).await?;
        Ok(())
    }

    /// `deleteVolumeOperation`
    async fn delete_volume_operation(&self, rx: Rx, volume: Stored) -> Result<(), Failed> {
        // `findDeletablePlugin`
        let own = volume.object.json();
        let by = annotation(own, DYNAMICALLY_PROVISIONED).unwrap_or_default();
        let is_external = match by {
            "" => json::at(own, &["spec", "csi"]).is_some(),
            plugin => !plugin.starts_with("kubernetes.io/"),
        };
        if !is_external {
            let why = match by {
                "" => {
                    let name = volume.object.name();
                    format!(
                        "error getting deleter volume plugin for volume \"{name}\": no deletable volume plugin matched"
                    )
                }
                plugin => format!("no volume plugin matched name: {plugin}"),
            };
            self.update_volume_phase(rx, volume, (FAILED, ""), &why)
                .await?;
        }
        Ok(())
    }

    /// `recycleVolumeOperation`
    async fn recycle_volume_operation(&self, rx: Rx, volume: Stored) -> Result<(), Failed> {
        let get = Request::new(
            Method::Get,
            PERSISTENT_VOLUMES.path("", volume.object.name()),
        );
        let Ok(newest) = self.rest.object(rx, get).await else {
            return Ok(());
        };
        if self.is_volume_released(rx, &newest) {
            // That the phase could not be written is not tried again here.
            let why = "No recycler plugin found for the volume!";
            let _ = self
                .update_volume_phase(rx, newest, (FAILED, ""), why)
                .await;
        }
        Ok(())
    }

    /// `isVolumeReleased`
    fn is_volume_released(&self, rx: Rx, volume: &Stored) -> bool {
        let own = volume.object.json();
        let Some(claimed) = claim_ref(own).filter(|_| !claim_uid(own).is_empty()) else {
            return false;
        };
        let claim = CLAIMS.get_by_key(rx, &claim_key(claimed));
        let claim = claim.filter(|claim| claim.object.uid() == claim_uid(own));
        claim.is_none_or(|claim| {
            let name = volume_name(claim.object.json());
            !name.is_empty() && name != volume.object.name()
        })
    }
}

impl Operations {
    async fn run(&self, rx: Rx, name: &Item) -> Result<(), Failed> {
        let operation = rx.update(&RUNNING, |all| all.get(name).cloned());
        let Some(Operation { what, of, .. }) = operation else {
            return Ok(());
        };
        match what {
            What::Provision => self.0.provision_claim_operation_external(rx, of).await,
            What::Recycle => self.0.recycle_volume_operation(rx, of).await,
            What::Delete => self.0.delete_volume_operation(rx, of).await,
        }
    }
}

impl Controller for Operations {
    fn name(&self) -> &'static str {
        "persistentvolume-binder-controller-operations"
    }

    fn workers(&self) -> u32 {
        AT_ONCE
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            let run = |item: Item| async move {
                match item.strip_prefix(AGAIN) {
                    Some(_) => Ok(()),
                    None => self.run(rx, &item).await,
                }
            };
            let done = |item: &Item, result| match item.strip_prefix(AGAIN) {
                Some(name) => rx.update(&RUNNING, |all| {
                    if let Some(operation) = all.get_mut(name) {
                        operation.is_taken = false;
                    }
                }),
                None => operation_complete(rx, item, result),
            };
            process_next_work_item_with(rx, leading, OPERATIONS_QUEUE, run, done).await
        })
    }
}
