//! The controller (`pkg/controller/volume/pvprotection/pv_protection_controller.go`).

use std::sync::Arc;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::PERSISTENT_VOLUMES;
use wavetank_api::{Object, Stored};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{Failure, RestClient};
use wavetank_engine::{Name, NotState, Rx};
use wavetank_version::{Defect, Gate, Set, defects};

use crate::controller::{Controller, ControllerContext, Work};
use crate::controller_utils::protectionutil::{
    is_deletion_candidate, need_to_add_finalizer, update_finalizers,
};
use crate::gates;
use wavetank_components::elected::process_next_work_item;

/// Its name in `--controllers`.
pub(super) const CONTROLLER: &str = "persistentvolume-protection-controller";
const QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "pvprotection");
/// `PVProtectionFinalizer`
pub(super) const FINALIZER: &str = "kubernetes.io/pv-protection";

const BOUND_VOLUMES_GO: Defect = Defect::known(
    "bound-volumes-go",
    "k/k#33355, mended by PR #58743 (1.10)",
    "a volume that is deleted goes although a claim is bound to it",
)
.ships(Gate::NEVER)
.fits_only(gates::VOLUME_PROTECTION_CONTROLLER);

defects! {
    /// A mistake in the controller that protects volumes.
    pub enum VolumeProtectionDefect in "controllers that protect volumes" {
        BoundVolumesGo = BOUND_VOLUMES_GO,
    }
}

/// It lets a volume go.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct LetsVolumeGo {
    pub volume: Item,
}

/// `isBeingUsed`: who binds volumes says so.
pub(super) fn is_being_used(volume: &Object) -> bool {
    json::text(volume.json(), &["status", "phase"]) == "Bound"
}

/// Upstream's `Controller`
#[derive(Debug)]
struct VolumeProtectionController {
    rest: RestClient,
    volumes: Lister,
    defects: Set<VolumeProtectionDefect>,
}

/// Upstream's `NewPVProtectionController`
pub(super) fn new(cx: &mut ControllerContext) -> Arc<dyn Controller> {
    let mut volumes = cx.informers.informer_for(&PERSISTENT_VOLUMES);
    volumes.add_event_handler(HandlerSpec {
        on: NotState(Arc::new(|rx, _, notice| {
            if let Notice::Added { new, .. } | Notice::Updated { new, .. } = notice {
                pv_added_updated(rx, &new.object);
            }
        })),
        ..HandlerSpec::new(CONTROLLER)
    });
    Arc::new(VolumeProtectionController {
        volumes: volumes.lister(),
        rest: cx.rest.clone(),
        defects: cx.defects.of(),
    })
}

/// `pvAddedUpdated`
fn pv_added_updated(rx: Rx, volume: &Object) {
    if need_to_add_finalizer(volume, FINALIZER) || is_deletion_candidate(volume, FINALIZER) {
        QUEUE.add(rx, volume.name().into());
    }
}

impl VolumeProtectionController {
    /// `processPV`
    async fn process_pv(&self, rx: Rx, key: Item) -> Result<(), Failure> {
        let Some(volume) = self.volumes.get(rx, &key) else {
            return Ok(());
        };
        let is_used = is_being_used(&volume.object)
            && !self.defects.has(VolumeProtectionDefect::BoundVolumesGo);
        if is_deletion_candidate(&volume.object, FINALIZER) && !is_used {
            rx.note(LetsVolumeGo { volume: key });
            let remove = |own: &mut Vec<Json>| own.retain(|own| *own != FINALIZER);
            return self.update(rx, &volume, remove).await;
        }
        if need_to_add_finalizer(&volume.object, FINALIZER) {
            let add = |own: &mut Vec<Json>| own.push(FINALIZER.into());
            return self.update(rx, &volume, add).await;
        }
        Ok(())
    }

    async fn update(
        &self,
        rx: Rx,
        volume: &Stored,
        change: impl FnOnce(&mut Vec<Json>),
    ) -> Result<(), Failure> {
        update_finalizers(rx, &self.rest, &PERSISTENT_VOLUMES, volume, change).await
    }
}

impl Controller for VolumeProtectionController {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![QUEUE]
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.volumes.wait_for_cache_sync(rx).await;
            process_next_work_item(rx, leading, QUEUE, |key| self.process_pv(rx, key)).await
        })
    }
}
