//! Definitions in groups of the community say whether they were approved (`controller/apiapproval`).

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_api::apiextensions::conditions::{
    ApiApprovalState, Condition, find_crd_condition, get_api_approval_state,
    is_crd_condition_equivalent, is_protected_community_group, set_crd_condition,
};
use wavetank_api::json::{self, Json};
use wavetank_client::informer::Notice;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Cell, Rx};

use super::{Controller, Failed};
use crate::apiextensions::SCOPE;

pub(super) const QUEUE: WorkQueue = WorkQueue::new(SCOPE, "crd-api-approval");
const TYPE: &str = "KubernetesAPIApprovalPolicyConformant";
const ANNOTATION: [&str; 3] = ["metadata", "annotations", "api-approved.kubernetes.io"];

/// `lastSeenProtectedAnnotation`: so that servers do not fight over a condition.
static LAST_SEEN: Cell<BTreeMap<Arc<str>, Arc<str>>> = Cell::new("crd-last-seen-annotation");

/// Every change of a definition; one that is gone is forgotten.
pub(in crate::apiextensions) fn on_definition(rx: Rx, _: u32, notice: &Notice) {
    match notice {
        Notice::Deleted(gone) => {
            rx.update(&LAST_SEEN, |all| all.remove(&gone.key));
        }
        notice => QUEUE.add(rx, notice.key()),
    }
}

/// `calculateCondition`
fn calculate_condition(crd: &Json) -> Option<Condition> {
    if !is_protected_community_group(json::text(crd, &["spec", "group"])) {
        return None;
    }
    let (state, message) = get_api_approval_state(crd);
    let (status, reason) = match state {
        ApiApprovalState::Invalid => ("False", "InvalidAnnotation"),
        ApiApprovalState::Missing => ("False", "MissingAnnotation"),
        ApiApprovalState::Approved => ("True", "ApprovedAnnotation"),
        ApiApprovalState::Bypassed => ("False", "UnapprovedAnnotation"),
    };
    Some(Condition {
        ty: TYPE,
        status,
        reason,
        message,
    })
}

/// `sync`
pub(super) async fn sync(controller: &Controller, rx: Rx, key: &Item) -> Result<(), Failed> {
    let Some(stored) = controller.get(rx, key) else {
        return Ok(());
    };
    let mut crd = stored.json();
    let annotation: Arc<str> = json::text(&crd, &ANNOTATION).into();
    if rx.look(&LAST_SEEN, |all| all.get(key).cloned()).as_ref() == Some(&annotation) {
        return Ok(());
    }
    let Some(condition) = calculate_condition(&crd) else {
        return Ok(());
    };
    if is_crd_condition_equivalent(&condition, find_crd_condition(&crd, TYPE)) {
        return Ok(());
    }
    set_crd_condition(&mut crd, &condition, Controller::now(rx));
    if controller.update_status(rx, crd).await?.is_some() {
        rx.update(&LAST_SEEN, |all| {
            all.insert(key.clone(), annotation);
        });
    }
    Ok(())
}
