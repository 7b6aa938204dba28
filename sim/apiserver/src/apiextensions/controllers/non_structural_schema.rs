//! Definitions whose schemas are not structural say so (`controller/nonstructuralschema`).

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_api::apiextensions::conditions::{
    Condition, find_crd_condition, is_crd_condition_equivalent, remove_crd_condition,
    set_crd_condition,
};
use wavetank_api::apiextensions::props::Props;
use wavetank_api::apiextensions::structural::{new_structural, validate_structural};
use wavetank_api::json::{self, Json};
use wavetank_api::validation::ErrorList;
use wavetank_client::informer::Notice;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Cell, Rx};

use super::{Controller, Failed};
use crate::apiextensions::SCOPE;

pub(super) const QUEUE: WorkQueue = WorkQueue::new(SCOPE, "crd-non-structural-schema");
const TYPE: &str = "NonStructuralSchema";

/// `lastSeenGeneration`: so that servers do not fight over a condition.
static LAST_SEEN: Cell<BTreeMap<Arc<str>, i64>> = Cell::new("crd-last-seen-generation");

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
    let condition = |status, reason, message| {
        Some(Condition {
            ty: TYPE,
            status,
            reason,
            message,
        })
    };
    let mut errors = ErrorList::default();
    if crd["spec"]["preserveUnknownFields"] == true {
        errors.invalid("spec.preserveUnknownFields", true, "must be false");
    }
    for (at, version) in json::list(crd, &["spec", "versions"]).iter().enumerate() {
        let Some(schema) = json::at(version, &["schema", "openAPIV3Schema"]) else {
            continue;
        };
        match new_structural(&Props::of(schema)) {
            Ok(schema) => {
                let path = format!("spec.versions[{at}].schema.openAPIV3Schema");
                errors.extend(validate_structural(&path, &schema));
            }
            Err(error) => {
                let name = json::text(version, &["name"]);
                let why = format!("failed to check validation schema for version {name}: {error}");
                return condition("Unknown", "StructuralError", why);
            }
        }
    }
    match errors.is_empty() {
        true => None,
        false => condition("True", "Violations", errors.to_string()),
    }
}

/// `sync`
pub(super) async fn sync(controller: &Controller, rx: Rx, key: &Item) -> Result<(), Failed> {
    let Some(stored) = controller.get(rx, key) else {
        return Ok(());
    };
    let mut crd = stored.json();
    let generation = json::number(&crd, &["metadata", "generation"]).unwrap_or(0);
    let seen = rx.look(&LAST_SEEN, |all| all.get(key).copied());
    if seen.is_some_and(|seen| generation <= seen) {
        return Ok(());
    }
    let condition = calculate_condition(&crd);
    let old = find_crd_condition(&crd, TYPE);
    match &condition {
        None if old.is_none() => return Ok(()),
        Some(new) if is_crd_condition_equivalent(new, old) => return Ok(()),
        None => remove_crd_condition(&mut crd, TYPE),
        Some(new) => set_crd_condition(&mut crd, new, Controller::now(rx)),
    }
    if controller.update_status(rx, crd).await?.is_some() {
        rx.update(&LAST_SEEN, |all| {
            all.insert(key.clone(), generation);
        });
    }
    Ok(())
}
