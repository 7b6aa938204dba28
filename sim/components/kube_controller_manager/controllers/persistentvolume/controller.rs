//! What the controller is made of, its queues and its workers (`pv_controller_base.go`, v1.36.2). Each queue has one worker, as
//! `syncClaim` is not reentrant, and all is looked at again every 15 s.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Stored;
use wavetank_api::kinds::{PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_client::leader_election::Leading;
use wavetank_client::wait::{Every, Turn};
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{Failure, RestClient};
use wavetank_components::elected::{DRAIN, process_next_work_item};
use wavetank_engine::{Cell, Name, NotState, Rx};
use wavetank_version::Set;

use super::cache::{CLAIMS, VOLUMES};
use super::defects::BinderDefect;
use super::fields::{claim_key, claim_ref, volume_name};
use super::operations::{OPERATIONS_QUEUE, Operations};
use crate::controller::{Controller, ControllerContext, Work};
use crate::controller_utils::pod_key;

/// Its name in `--controllers`.
pub(super) const CONTROLLER: &str = "persistentvolume-binder-controller";
/// That of its service account.
pub(super) const ACCOUNT: &str = "persistent-volume-binder";
/// `--pvclaimbinder-sync-period`
pub(super) const RESYNC_PERIOD: Duration = Duration::from_secs(15);

pub(super) const CLAIM_QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "claims");
const VOLUME_QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "volumes");
/// Are the caches filled (`initializeCaches`)?
static FILLED: Cell<bool> = Cell::new("binder-caches-are-filled");

/// A sync that failed: a request did, or there is a binding that cannot be.
#[derive(Debug)]
pub(super) enum Failed {
    Request,
    InvalidBinding,
}

impl From<Failure> for Failed {
    fn from(_: Failure) -> Failed {
        Failed::Request
    }
}

/// `PersistentVolumeController`
#[derive(Debug)]
pub(super) struct PersistentVolumeController {
    pub(super) rest: RestClient,
    volumes: Lister,
    /// `claimLister`
    pub(super) claims: Lister,
    /// `classLister`
    pub(super) classes: Lister,
    pub(super) defects: Set<BinderDefect>,
}

/// Its `volumeWorker`.
#[derive(Debug)]
struct VolumeWorker(Arc<PersistentVolumeController>);

/// Its `claimWorker`.
#[derive(Debug)]
struct ClaimWorker(Arc<PersistentVolumeController>);

/// Its `resync`.
#[derive(Debug)]
struct Resync(Arc<PersistentVolumeController>);

/// Upstream's `NewController`
pub(super) fn new(cx: &mut ControllerContext) -> Arc<dyn Controller> {
    let mut volumes = cx.informers.informer_for(&PERSISTENT_VOLUMES);
    volumes.add_event_handler(enqueues_work(VOLUME_QUEUE));
    let volumes = volumes.lister();
    let mut claims = cx.informers.informer_for(&PERSISTENT_VOLUME_CLAIMS);
    claims.add_event_handler(enqueues_work(CLAIM_QUEUE));
    let claims = claims.lister();
    Arc::new(VolumeWorker(Arc::new(PersistentVolumeController {
        rest: cx.rest.clone(),
        volumes,
        claims,
        classes: cx.informers.informer_for(&STORAGE_CLASSES).lister(),
        defects: cx.defects.of(),
    })))
}

/// Upstream's `enqueueWork`, whatever has happened.
fn enqueues_work(queue: WorkQueue) -> HandlerSpec {
    HandlerSpec {
        on: NotState(Arc::new(move |rx, _, notice: &Notice| {
            queue.add(rx, notice.key())
        })),
        ..HandlerSpec::new(CONTROLLER)
    }
}

impl PersistentVolumeController {
    pub(super) fn has(&self, defect: BinderDefect) -> bool {
        self.defects.has(defect)
    }

    /// `storeVolumeUpdate`: false if a newer version is known.
    pub(super) fn store_volume_update(&self, rx: Rx, volume: &Stored) -> bool {
        VOLUMES.store_object_update(rx, volume.object.name().into(), volume)
    }

    /// `storeClaimUpdate`
    pub(super) fn store_claim_update(&self, rx: Rx, claim: &Stored) -> bool {
        CLAIMS.store_object_update(rx, pod_key(&claim.object), claim)
    }

    /// Upstream's `Run`, until its goroutines begin.
    async fn wait_for_caches(&self, rx: Rx) {
        for cache in [self.volumes, self.claims, self.classes] {
            cache.wait_for_cache_sync(rx).await;
        }
        if !rx.update(&FILLED, |filled| std::mem::replace(filled, true)) {
            self.initialize_caches(rx);
        }
    }

    /// `initializeCaches`
    fn initialize_caches(&self, rx: Rx) {
        for volume in self.volumes.list(rx) {
            self.store_volume_update(rx, &volume);
        }
        for claim in self.claims.list(rx) {
            self.store_claim_update(rx, &claim);
        }
    }

    /// `resync`. Upstream goes through claims in the order of a Go map, and the first of two that a volume fits is bound: the order of
    /// names begins anywhere here.
    async fn resync(&self, rx: Rx) {
        if self.has(BinderDefect::NothingIsLookedAtAgain) {
            return;
        }
        let mut claims = self.claims.list(rx);
        if claims.len() > 1 {
            let first = rx.choose(claims.len() as u64).await;
            claims.rotate_left(first as usize);
        }
        for claim in claims {
            CLAIM_QUEUE.add(rx, pod_key(&claim.object));
        }
        for volume in self.volumes.list(rx) {
            VOLUME_QUEUE.add(rx, volume.object.name().into());
        }
    }

    /// `syncVolumeByKey`
    async fn sync_volume_by_key(&self, rx: Rx, key: Item) -> Result<(), Failed> {
        if let Some(volume) = self.volumes.get(rx, &key) {
            return self.update_volume(rx, volume).await;
        }
        if let Some(gone) = VOLUMES.get_by_key(rx, &key) {
            self.delete_volume(rx, &gone);
        }
        Ok(())
    }

    /// `updateVolume`
    async fn update_volume(&self, rx: Rx, volume: Stored) -> Result<(), Failed> {
        match self.store_volume_update(rx, &volume) {
            true => self.sync_volume(rx, volume).await,
            false => Ok(()),
        }
    }

    /// `deleteVolume`
    fn delete_volume(&self, rx: Rx, volume: &Stored) {
        VOLUMES.delete(rx, volume.object.name());
        if let Some(claimed) = claim_ref(volume.object.json()) {
            CLAIM_QUEUE.add(rx, claim_key(claimed));
        }
    }

    /// `syncClaimByKey`
    async fn sync_claim_by_key(&self, rx: Rx, key: Item) -> Result<(), Failed> {
        if let Some(claim) = self.claims.get(rx, &key) {
            return self.update_claim(rx, claim).await;
        }
        if let Some(gone) = CLAIMS.get_by_key(rx, &key) {
            self.delete_claim(rx, &gone);
        }
        Ok(())
    }

    /// `updateClaim`
    async fn update_claim(&self, rx: Rx, claim: Stored) -> Result<(), Failed> {
        match self.store_claim_update(rx, &claim) {
            true => self.sync_claim(rx, claim).await,
            false => Ok(()),
        }
    }

    /// `deleteClaim`
    fn delete_claim(&self, rx: Rx, claim: &Stored) {
        CLAIMS.delete(rx, &pod_key(&claim.object));
        let volume = volume_name(claim.object.json());
        if !volume.is_empty() {
            VOLUME_QUEUE.add(rx, volume.into());
        }
    }
}

impl Controller for VolumeWorker {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![VOLUME_QUEUE, CLAIM_QUEUE, OPERATIONS_QUEUE]
    }

    fn beside(&self) -> Vec<Arc<dyn Controller>> {
        vec![
            Arc::new(ClaimWorker(self.0.clone())),
            Arc::new(Resync(self.0.clone())),
            Arc::new(Operations(self.0.clone())),
        ]
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.0.wait_for_caches(rx).await;
            let sync = |key| self.0.sync_volume_by_key(rx, key);
            process_next_work_item(rx, leading, VOLUME_QUEUE, sync).await
        })
    }
}

impl Controller for ClaimWorker {
    fn name(&self) -> &'static str {
        "persistentvolume-binder-controller-claims"
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.0.wait_for_caches(rx).await;
            let sync = |key| self.0.sync_claim_by_key(rx, key);
            process_next_work_item(rx, leading, CLAIM_QUEUE, sync).await
        })
    }
}

impl Controller for Resync {
    fn name(&self) -> &'static str {
        "persistentvolume-binder-controller-resync"
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.0.wait_for_caches(rx).await;
            let leadership = leading.leadership();
            let turn = Every::period(RESYNC_PERIOD).sliding(rx, &DRAIN, async {
                self.0.resync(rx).await;
                match leadership.is_closed(rx) {
                    true => Turn::Over,
                    false => Turn::Again,
                }
            });
            turn.await
        })
    }
}
