//! What the controller writes to bind a claim and a volume, the volume first (`bind`, `unbindVolume` and what they are made of in
//! `pv_controller.go`, v1.36.2). Each write is of the version that was read.

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES};
use wavetank_api::{Method, Object, Request, Stored};
use wavetank_client::Failure;
use wavetank_client::workqueue::Item;
use wavetank_engine::Rx;

use super::controller::{Failed, PersistentVolumeController};
use super::defects::BinderDefect;
use super::fields::{
    AVAILABLE, BIND_COMPLETED, BOUND, BOUND_BY_CONTROLLER, access_modes, capacity, claim_uid,
    get_reference, has_annotation, is_volume_bound_to_claim, phase, set_meta_data_annotation,
    volume_name,
};
use super::notes::{Act, Acts};
use crate::controller_utils::pod_key;

/// The part of an object that is written.
#[derive(Clone, Copy)]
pub(super) enum Of {
    Spec,
    Status,
}

impl Of {
    fn path(self, path: String) -> String {
        match self {
            Of::Spec => path,
            Of::Status => format!("{path}/status"),
        }
    }
}

fn claim_path(claim: &Object) -> String {
    PERSISTENT_VOLUME_CLAIMS.path(claim.namespace(), claim.name())
}

fn acts(rx: Rx, on: impl Into<Item>, act: Act) {
    rx.note(Acts { on: on.into(), act });
}

impl PersistentVolumeController {
    /// Writes a volume, and knows it as it is then.
    async fn put_volume(&self, rx: Rx, of: Of, volume: Json) -> Result<Stored, Failure> {
        let name = json::text(&volume, &["metadata", "name"]);
        let path = of.path(PERSISTENT_VOLUMES.path("", name));
        let put = Request::new(Method::Put, path).with(volume);
        let updated = self.rest.object(rx, put).await?;
        self.store_volume_update(rx, &updated);
        Ok(updated)
    }

    /// Writes a claim, and knows it as it is then.
    pub(super) async fn put_claim(
        &self,
        rx: Rx,
        of: Of,
        claim: &Stored,
        json: Json,
    ) -> Result<Stored, Failure> {
        let put = Request::new(Method::Put, of.path(claim_path(&claim.object))).with(json);
        let updated = self.rest.object(rx, put).await?;
        self.store_claim_update(rx, &updated);
        Ok(updated)
    }

    /// `bind`: the volume first, as two claims of one volume are told from each other by it alone.
    pub(super) async fn bind(&self, rx: Rx, volume: Stored, claim: Stored) -> Result<(), Failed> {
        let mut claim = claim;
        let claims_first = self.has(BinderDefect::ClaimsAreBoundFirst);
        if claims_first {
            claim = self.bind_claim_to_volume(rx, claim, &volume).await?;
            claim = self
                .update_claim_status(rx, claim, (BOUND, ""), Some(&volume))
                .await?;
        }
        let volume = self.bind_volume_to_claim(rx, volume, &claim).await?;
        let volume = self
            .update_volume_phase(rx, volume, (BOUND, ""), "")
            .await?;
        let claim = self.bind_claim_to_volume(rx, claim, &volume).await?;
        self.update_claim_status(rx, claim, (BOUND, ""), Some(&volume))
            .await?;
        Ok(())
    }

    /// `bindVolumeToClaim`, `GetBindVolumeToClaim`, `updateBindVolumeToClaim`
    async fn bind_volume_to_claim(
        &self,
        rx: Rx,
        volume: Stored,
        claim: &Stored,
    ) -> Result<Stored, Failure> {
        let own = volume.object.json();
        let is_kept = is_volume_bound_to_claim(own, &claim.object);
        let is_bound = is_kept && claim_uid(own) == claim.object.uid();
        let is_marked = is_kept || has_annotation(own, BOUND_BY_CONTROLLER);
        if is_bound && is_marked {
            return Ok(volume);
        }
        let mut bound = volume.json();
        if !is_bound {
            json::set(&mut bound, &["spec", "claimRef"], get_reference(claim));
        }
        if !is_marked {
            set_meta_data_annotation(&mut bound, BOUND_BY_CONTROLLER, "yes");
        }
        let to = Act::BindsVolume(pod_key(&claim.object));
        acts(rx, volume.object.name(), to);
        self.put_volume(rx, Of::Spec, bound).await
    }

    /// `bindClaimToVolume`
    async fn bind_claim_to_volume(
        &self,
        rx: Rx,
        claim: Stored,
        volume: &Stored,
    ) -> Result<Stored, Failure> {
        let own = claim.object.json();
        let name = volume.object.name();
        let is_bound = volume_name(own) == name;
        if is_bound && has_annotation(own, BIND_COMPLETED) {
            return Ok(claim);
        }
        let mut bound = claim.json();
        if !is_bound {
            json::set(&mut bound, &["spec", "volumeName"], name);
            if !has_annotation(own, BOUND_BY_CONTROLLER) {
                set_meta_data_annotation(&mut bound, BOUND_BY_CONTROLLER, "yes");
            }
        }
        set_meta_data_annotation(&mut bound, BIND_COMPLETED, "yes");
        let to = Act::BindsClaim(name.into());
        acts(rx, pod_key(&claim.object), to);
        self.put_claim(rx, Of::Spec, &claim, bound).await
    }

    /// Upstream's `updateClaimStatusWithEvent`, and `updateClaimStatus` of a claim that waits.
    pub(super) async fn set_claim_phase(
        &self,
        rx: Rx,
        claim: Stored,
        phase: &'static str,
        why: &'static str,
    ) -> Result<(), Failed> {
        self.update_claim_status(rx, claim, (phase, why), None)
            .await?;
        Ok(())
    }

    /// `updateClaimStatus`
    async fn update_claim_status(
        &self,
        rx: Rx,
        claim: Stored,
        (to, why): (&'static str, &'static str),
        volume: Option<&Stored>,
    ) -> Result<Stored, Failure> {
        let mut json = claim.json();
        let before = json.clone();
        let own = claim.object.json();
        json::set(&mut json, &["status", "phase"], to);
        match volume.map(|volume| volume.object.json()) {
            None => {
                json::remove(&mut json, &["status", "accessModes"]);
                json::remove(&mut json, &["status", "capacity"]);
            }
            Some(volume) => {
                let modes = access_modes(volume).to_vec();
                json::set(&mut json, &["status", "accessModes"], modes);
                let has = json::at(own, &["status", "capacity", "storage"]);
                let has = has.and_then(wavetank_api::quota::milli_value);
                // A claim that was bound keeps what its file system holds.
                if phase(own) != to && has != Some(capacity(volume)) {
                    let holds = json::at(volume, &["spec", "capacity"]).cloned();
                    json::set(
                        &mut json,
                        &["status", "capacity"],
                        holds.unwrap_or_default(),
                    );
                }
            }
        }
        if json == before {
            return Ok(claim);
        }
        acts(rx, pod_key(&claim.object), Act::SetsPhase(to, why));
        self.put_claim(rx, Of::Status, &claim, json).await
    }

    /// `updateVolumePhase`
    pub(super) async fn update_volume_phase(
        &self,
        rx: Rx,
        volume: Stored,
        (to, why): (&'static str, &'static str),
        message: &str,
    ) -> Result<Stored, Failure> {
        if phase(volume.object.json()) == to {
            return Ok(volume);
        }
        let mut json = volume.json();
        json::set(&mut json, &["status", "phase"], to);
        match message {
            "" => drop(json::remove(&mut json, &["status", "message"])),
            message => json::set(&mut json, &["status", "message"], message),
        }
        acts(rx, volume.object.name(), Act::SetsPhase(to, why));
        self.put_volume(rx, Of::Status, json).await
    }

    /// `unbindVolume`
    pub(super) async fn unbind_volume(&self, rx: Rx, volume: Stored) -> Result<(), Failed> {
        let mut json = volume.json();
        if has_annotation(&json, BOUND_BY_CONTROLLER) {
            json::remove(&mut json, &["spec", "claimRef"]);
            let annotations = ["metadata", "annotations"];
            json::remove(&mut json, &["metadata", "annotations", BOUND_BY_CONTROLLER]);
            if json::map_mut(&mut json, &annotations).is_empty() {
                json::remove(&mut json, &annotations);
            }
        } else {
            json::remove(&mut json, &["spec", "claimRef", "uid"]);
        }
        acts(rx, volume.object.name(), Act::UnbindsVolume);
        let unbound = self.put_volume(rx, Of::Spec, json).await?;
        self.update_volume_phase(rx, unbound, (AVAILABLE, ""), "")
            .await?;
        Ok(())
    }
}
