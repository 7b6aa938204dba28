//! A definition with accepted names is established (`controller/establish/establishing_controller.go`).

use std::time::Duration;

use wavetank_api::apiextensions::conditions::{
    Condition, is_crd_condition_true, set_crd_condition,
};
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::Rx;

use super::{Controller, Failed};
use crate::apiextensions::SCOPE;

pub(super) const QUEUE: WorkQueue = WorkQueue::new(SCOPE, "crd-establishing");

/// `QueueCRD`
pub(in crate::apiextensions) fn queue_crd(rx: Rx, key: Item, delay: Duration) {
    QUEUE.add_after(rx, key, delay);
}

/// `sync`
pub(super) async fn sync(controller: &Controller, rx: Rx, key: &Item) -> Result<(), Failed> {
    let Some(stored) = controller.get(rx, key) else {
        return Ok(());
    };
    let mut crd = stored.json();
    if !is_crd_condition_true(&crd, "NamesAccepted") || is_crd_condition_true(&crd, "Established") {
        return Ok(());
    }
    let established = Condition {
        ty: "Established",
        status: "True",
        reason: "InitialNamesAccepted",
        message: "the initial names have been accepted".to_owned(),
    };
    set_crd_condition(&mut crd, &established, Controller::now(rx));
    controller.update_status(rx, crd).await.map(drop)
}
