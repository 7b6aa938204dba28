//! Which names a definition gets (`controller/status/naming_controller.go`): those that no other of its group has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wavetank_api::Stored;
use wavetank_api::apiextensions::conditions::{
    Condition, find_crd_condition, is_crd_condition_equivalent, set_crd_condition,
};
use wavetank_api::json::{self, Json};
use wavetank_client::informer::Notice;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Cell, Rx, mutant};

use super::{Controller, Failed};
use crate::apiextensions::SCOPE;

pub(super) const QUEUE: WorkQueue = WorkQueue::new(SCOPE, "crd-naming-condition-controller");

/// `crdMutationCache`: what was written and the informer does not show yet.
static MUTATIONS: Cell<BTreeMap<Arc<str>, Stored>> = Cell::new("crd-mutations");

/// Every change of a definition.
pub(in crate::apiextensions) fn on_definition(rx: Rx, _: u32, notice: &Notice) {
    QUEUE.add(rx, notice.key());
}

/// Names that are taken.
#[derive(Default)]
struct Taken {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

fn texts<'a>(names: &'a Json, field: &str) -> impl Iterator<Item = &'a str> {
    json::list(names, &[field]).iter().filter_map(Json::as_str)
}

/// `getAcceptedNamesForGroup`
fn get_accepted_names_for_group(controller: &Controller, rx: Rx, group: &str) -> Taken {
    let mut taken = Taken::default();
    let mutations = rx.read(&MUTATIONS);
    for crd in controller.lister.list(rx) {
        if json::text(crd.object.json(), &["spec", "group"]) != group {
            continue;
        }
        let newer = mutations.get(crd.object.name());
        let newer = newer.filter(|newer| newer.resource_version > crd.resource_version);
        let crd = newer.unwrap_or(&crd).object.json();
        let names = &crd["status"]["acceptedNames"];
        let text = |field: &str| json::text(names, &[field]).to_owned();
        taken.resources.extend([text("plural"), text("singular")]);
        taken
            .resources
            .extend(texts(names, "shortNames").map(str::to_owned));
        taken.kinds.extend([text("kind"), text("listKind")]);
    }
    taken
}

/// `equalToAcceptedOrFresh`
fn equal_to_accepted_or_fresh(
    requested: &str,
    accepted: &str,
    used: &BTreeSet<String>,
) -> Result<(), String> {
    let is_free = requested == accepted
        || !used.contains(requested)
        || mutant!(
            "taken-names-are-accepted",
            "a definition is given names that another one has"
        );
    match is_free {
        true => Ok(()),
        false => Err(format!("{requested:?} is already in use")),
    }
}

fn set_name(names: &mut Json, field: &str, value: Option<&Json>) {
    let is_required = matches!(field, "plural" | "kind");
    match value {
        Some(value) => names[field] = value.clone(),
        None if is_required => names[field] = "".into(),
        None => {
            json::remove(names, &[field]);
        }
    }
}

/// `calculateNamesAndConditions`. Of several conflicts the last is told.
fn calculate_names_and_conditions(crd: &Json, taken: &Taken) -> (Json, Condition, Condition) {
    let requested = &crd["spec"]["names"];
    let accepted = &crd["status"]["acceptedNames"];
    let mut names = accepted.clone();
    let mut conflict: Option<(&'static str, String)> = None;
    let one = |names: &mut Json, field: &str, reason, used| {
        let (wanted, has) = (
            json::text(requested, &[field]),
            json::text(accepted, &[field]),
        );
        match equal_to_accepted_or_fresh(wanted, has, used) {
            Ok(()) => {
                set_name(names, field, requested.get(field));
                None
            }
            Err(why) => Some((reason, why)),
        }
    };
    for (field, reason) in [
        ("plural", "PluralConflict"),
        ("singular", "SingularConflict"),
    ] {
        conflict = one(&mut names, field, reason, &taken.resources).or(conflict);
    }
    match short_names_conflict(requested, accepted, taken) {
        None => set_name(&mut names, "shortNames", requested.get("shortNames")),
        Some(why) => conflict = Some(("ShortNamesConflict", why)),
    }
    for (field, reason) in [("kind", "KindConflict"), ("listKind", "ListKindConflict")] {
        conflict = one(&mut names, field, reason, &taken.kinds).or(conflict);
    }
    set_name(&mut names, "categories", requested.get("categories"));
    let (status, reason, message) = match conflict {
        None => ("True", "NoConflicts", "no conflicts found".to_owned()),
        Some((reason, message)) => ("False", reason, message),
    };
    let naming = Condition {
        ty: "NamesAccepted",
        status,
        reason,
        message,
    };
    (names, naming, established(crd, status == "True"))
}

/// What is wrong with the short names that are new.
fn short_names_conflict(requested: &Json, accepted: &Json, taken: &Taken) -> Option<String> {
    let own: Vec<&str> = texts(accepted, "shortNames").collect();
    let new = texts(requested, "shortNames").filter(|name| !own.contains(name));
    let wrong: Vec<String> = new
        .filter_map(|name| equal_to_accepted_or_fresh(name, "", &taken.resources).err())
        .collect();
    match wrong.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        all => Some(format!("[{}]", all.join(", "))),
    }
}

/// The condition `Established`, which another controller makes true.
fn established(crd: &Json, accepted: bool) -> Condition {
    let condition = |status, reason, message: &str| Condition {
        ty: "Established",
        status,
        reason,
        message: message.to_owned(),
    };
    let old = find_crd_condition(crd, "Established");
    let is_true = old.is_some_and(|old| old["status"] == "True");
    match (is_true, accepted) {
        (true, _) => condition(
            "True",
            "InitialNamesAccepted",
            "the initial names have been accepted",
        ),
        (false, true) => condition(
            "False",
            "Installing",
            "the initial names have been accepted",
        ),
        (false, false) => match old.and_then(|old| old["reason"].as_str()) {
            Some("Installing") => condition(
                "False",
                "Installing",
                "the initial names have been accepted",
            ),
            _ => condition("False", "NotAccepted", "not all names are accepted"),
        },
    }
}

/// `sync`
pub(super) async fn sync(controller: &Controller, rx: Rx, key: &Item) -> Result<(), Failed> {
    let Some(stored) = controller.get(rx, key) else {
        if !mutant!(
            "free-names-are-not-told",
            "definitions do not hear that names have become free"
        ) {
            requeue_all_other_group_crds(controller, rx, key);
        }
        return Ok(());
    };
    let mut crd = stored.json();
    if crd["spec"]["names"] == crd["status"]["acceptedNames"] {
        return Ok(());
    }
    let group = json::text(&crd, &["spec", "group"]).to_owned();
    let taken = get_accepted_names_for_group(controller, rx, &group);
    let (names, naming, established) = calculate_names_and_conditions(&crd, &taken);
    let old = find_crd_condition(&crd, "NamesAccepted");
    if crd["status"]["acceptedNames"] == names && is_crd_condition_equivalent(&naming, old) {
        return Ok(());
    }
    let now = Controller::now(rx);
    json::set(&mut crd, &["status", "acceptedNames"], names);
    set_crd_condition(&mut crd, &naming, now);
    set_crd_condition(&mut crd, &established, now);
    if let Some(updated) = controller.update_status(rx, crd).await? {
        rx.update(&MUTATIONS, |all| {
            all.insert(key.clone(), updated);
        });
        requeue_all_other_group_crds(controller, rx, key);
    }
    Ok(())
}

/// Upstream's `requeueAllOtherGroupCRDs`
fn requeue_all_other_group_crds(controller: &Controller, rx: Rx, name: &str) {
    let group = name.split_once('.').map_or("", |(_, group)| group);
    for crd in controller.lister.list(rx) {
        let own = crd.object.name();
        if json::text(crd.object.json(), &["spec", "group"]) == group && own != name {
            QUEUE.add(rx, own.into());
        }
    }
}
