//! One sync of a claim (`syncClaim` of `pv_controller.go`, v1.36.2). It writes no Events, and no class of attributes.

use wavetank_api::kinds::PERSISTENT_VOLUMES;
use wavetank_api::{Method, Request};
use wavetank_api::{Reason, Stored};
use wavetank_engine::Rx;

use super::cache::VOLUMES;
use super::controller::{Failed, PersistentVolumeController};
use super::defects::BinderDefect;
use super::fields::{
    BIND_COMPLETED, BOUND_BY_CONTROLLER, LOST, PENDING, SELECTED_NODE, claim_ref, claim_uid,
    class_of, has_annotation, is_volume_bound_to_claim, volume_name,
};
use super::index::{check_volume_satisfy_claim, find_best_match_for_claim};

impl PersistentVolumeController {
    /// `syncClaim`
    pub(super) async fn sync_claim(&self, rx: Rx, claim: Stored) -> Result<(), Failed> {
        match has_annotation(claim.object.json(), BIND_COMPLETED) {
            false => self.sync_unbound_claim(rx, claim).await,
            true => self.sync_bound_claim(rx, claim).await,
        }
    }

    /// `syncUnboundClaim`
    async fn sync_unbound_claim(&self, rx: Rx, claim: Stored) -> Result<(), Failed> {
        match volume_name(claim.object.json()) {
            "" => self.sync_claim_of_any_volume(rx, claim).await,
            _ => self.sync_claim_of_a_volume(rx, claim).await,
        }
    }

    /// Who claims does not care which volume it is.
    async fn sync_claim_of_any_volume(&self, rx: Rx, claim: Stored) -> Result<(), Failed> {
        let delays = self.is_delay_binding_mode(rx, &claim);
        let volumes = VOLUMES.all(rx);
        let best = find_best_match_for_claim(&volumes, &claim, delays, self.defects);
        if let Some(volume) = best {
            return self.bind(rx, volume.clone(), claim).await;
        }
        if self.assign_default_storage_class(rx, &claim).await? {
            return Ok(());
        }
        // `IsDelayBindingProvisioning`
        let waits = delays && !has_annotation(claim.object.json(), SELECTED_NODE);
        if !waits && !class_of(claim.object.json()).is_empty() {
            self.provision_claim(rx, claim);
            return Ok(());
        }
        self.set_claim_phase(rx, claim, PENDING, "").await
    }

    /// Who claims has named a volume.
    async fn sync_claim_of_a_volume(&self, rx: Rx, claim: Stored) -> Result<(), Failed> {
        let asked = claim.object.json();
        let Some(volume) = VOLUMES.get_by_key(rx, volume_name(asked)) else {
            return self.set_claim_phase(rx, claim, PENDING, "").await;
        };
        let own = volume.object.json();
        let fits = match claim_ref(own) {
            None => check_volume_satisfy_claim(&volume, asked, self.defects),
            Some(_) => is_volume_bound_to_claim(own, &claim.object),
        };
        if fits {
            return self.bind(rx, volume, claim).await;
        }
        let is_anothers = claim_ref(own).is_some();
        if is_anothers && has_annotation(asked, BOUND_BY_CONTROLLER) {
            return Err(Failed::InvalidBinding);
        }
        self.set_claim_phase(rx, claim, PENDING, "").await
    }

    /// `syncBoundClaim`
    async fn sync_bound_claim(&self, rx: Rx, claim: Stored) -> Result<(), Failed> {
        let name = volume_name(claim.object.json());
        if name.is_empty() {
            return self
                .set_claim_phase(rx, claim, LOST, "the claim names no volume")
                .await;
        }
        let Some(volume) = VOLUMES.get_by_key(rx, name) else {
            if self.has(BinderDefect::FixLostIsLookedUp) && self.is_there(rx, name).await? {
                return Ok(());
            }
            return self
                .set_claim_phase(rx, claim, LOST, "its own cache has no such volume")
                .await;
        };
        let own = volume.object.json();
        if claim_ref(own).is_none() || claim_uid(own) == claim.object.uid() {
            return self.bind(rx, volume, claim).await;
        }
        self.set_claim_phase(rx, claim, LOST, "the volume is for another claim")
            .await
    }

    /// With the fix: does an apiserver know the volume? The cache is about to show it then.
    async fn is_there(&self, rx: Rx, volume: &str) -> Result<bool, Failed> {
        let get = Request::new(Method::Get, PERSISTENT_VOLUMES.path("", volume));
        match self.rest.object(rx, get).await {
            Ok(_) => Ok(true),
            Err(error) if error.is(Reason::NotFound) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// `IsDelayBindingMode`
    fn is_delay_binding_mode(&self, rx: Rx, claim: &Stored) -> bool {
        let class = self.classes.get(rx, class_of(claim.object.json()));
        class.is_some_and(|own| own.object.json()["volumeBindingMode"] == "WaitForFirstConsumer")
    }
}
