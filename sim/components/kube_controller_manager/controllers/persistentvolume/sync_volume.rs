//! One sync of a volume (`syncVolume` of `pv_controller.go`, v1.36.2). It writes no Events. Nothing is migrated to CSI here, so that
//! annotations and finalizers stay as they are (`updateVolumeMigrationAnnotationsAndFinalizers`).

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::PERSISTENT_VOLUME_CLAIMS;
use wavetank_api::{Method, Reason, Request, Stored};
use wavetank_engine::Rx;

use super::cache::CLAIMS;
use super::controller::{CLAIM_QUEUE, Failed, PersistentVolumeController};
use super::defects::BinderDefect;
use super::fields::{
    AVAILABLE, BOUND, DYNAMICALLY_PROVISIONED, FAILED, RELEASED, check_volume_mode_mismatches,
    claim_key, claim_ref, claim_uid, has_annotation, phase, reclaim_policy, volume_name,
};
use super::notes::LooksUp;

/// Was it said already that the volume is nobody's any more?
fn is_released(volume: &Json) -> bool {
    matches!(phase(volume), RELEASED | FAILED)
}

impl PersistentVolumeController {
    /// `syncVolume`
    pub(super) async fn sync_volume(&self, rx: Rx, volume: Stored) -> Result<(), Failed> {
        let own = volume.object.json();
        let Some(claimed) = claim_ref(own).filter(|_| !claim_uid(own).is_empty()) else {
            // It is unused, or kept for a claim that is not bound to it yet.
            self.update_volume_phase(rx, volume, (AVAILABLE, ""), "")
                .await?;
            return Ok(());
        };
        let claimed = claimed.clone();
        let claim = match self.claim_of(rx, &volume, &claimed).await? {
            Ok(claim) => claim,
            Err(why) => return self.release(rx, volume, why).await,
        };
        let asked = claim.object.json();
        match volume_name(asked) {
            "" => {
                if !check_volume_mode_mismatches(asked, volume.object.json()) {
                    CLAIM_QUEUE.add(rx, claim_key(&claimed));
                }
                Ok(())
            }
            name if name == volume.object.name() => {
                self.update_volume_phase(rx, volume, (BOUND, ""), "")
                    .await?;
                Ok(())
            }
            _ => self.claim_is_bound_elsewhere(rx, volume).await,
        }
    }

    /// The claim that a volume is bound to, or why it is not there. What the cache does not show may be newer than the cache.
    async fn claim_of(
        &self,
        rx: Rx,
        volume: &Stored,
        claimed: &Json,
    ) -> Result<Result<Stored, &'static str>, Failed> {
        let key = claim_key(claimed);
        let uid = json::text(claimed, &["uid"]);
        let mut found = CLAIMS.get_by_key(rx, &key);
        let is_released = is_released(volume.object.json());
        let looks = !is_released && !self.has(BinderDefect::MissingClaimsAreGone);
        if found.is_none() && looks {
            found = self.claims.get(rx, &key);
            if found.is_none() {
                found = self.look_up(rx, volume, claimed).await?;
            }
        }
        let is_another = found.as_ref().is_some_and(|own| own.object.uid() != uid);
        let asks = !is_released || self.has(BinderDefect::ReleasedVolumesAsk);
        if is_another && asks && !self.has(BinderDefect::CachedUidsAreTrusted) {
            found = self.look_up(rx, volume, claimed).await?;
        }
        Ok(match found {
            None => Err("there is no claim of its name"),
            Some(own) if own.object.uid() != uid => Err("there is another claim of its name"),
            Some(own) => Ok(own),
        })
    }

    /// Asks an apiserver for the claim.
    async fn look_up(
        &self,
        rx: Rx,
        volume: &Stored,
        claimed: &Json,
    ) -> Result<Option<Stored>, Failed> {
        rx.note(LooksUp {
            claim: claim_key(claimed),
            volume: volume.object.name().into(),
        });
        let field = |field| json::text(claimed, &[field]);
        let path = PERSISTENT_VOLUME_CLAIMS.path(field("namespace"), field("name"));
        match self.rest.object(rx, Request::new(Method::Get, path)).await {
            Ok(claim) => Ok(Some(claim)),
            Err(error) if error.is(Reason::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The claim must have been deleted. That reclaiming failed once is not overwritten.
    async fn release(&self, rx: Rx, mut volume: Stored, why: &'static str) -> Result<(), Failed> {
        if !is_released(volume.object.json()) {
            volume = self
                .update_volume_phase(rx, volume, (RELEASED, why), "")
                .await?;
        }
        self.reclaim_volume(rx, volume).await
    }

    /// The claim has another volume.
    async fn claim_is_bound_elsewhere(&self, rx: Rx, volume: Stored) -> Result<(), Failed> {
        let own = volume.object.json();
        if has_annotation(own, DYNAMICALLY_PROVISIONED) && reclaim_policy(own) == "Delete" {
            return self
                .release(rx, volume, "its claim has another volume")
                .await;
        }
        self.unbind_volume(rx, volume).await
    }
}
