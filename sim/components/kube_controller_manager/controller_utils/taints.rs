//! Taints (`pkg/util/taints/taints.go`, v1.36.2). Pure, but for
//! what is asked of apiservers about the taints of a node (`pkg/controller/controller_utils.go`).

use serde_json::json;
use wavetank_api::http::Query;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::NODES;
use wavetank_api::{Method, Reason, Request, Stored};
use wavetank_client::wait::Steps;
use wavetank_client::{Failure, RestClient};
use wavetank_engine::Rx;

use std::time::Duration;

const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";

/// Upstream's `UpdateTaintBackoff`, `UpdateLabelBackoff`
const BACKOFF: Steps = Steps {
    steps: 5,
    duration: Duration::from_millis(100),
    // Upstream's factor is 0, which leaves a wait as it is.
    factor: 1,
    jitter: 1000,
};

/// A taint.
pub fn taint(key: &str, effect: &str) -> Json {
    json!({"effect": effect, "key": key})
}

/// The taints of a node.
pub fn taints(node: &Json) -> &[Json] {
    json::list(node, &["spec", "taints"])
}

/// `MatchTaint`
fn match_taint(own: &Json, other: &Json) -> bool {
    own["key"] == other["key"] && own["effect"] == other["effect"]
}

/// `TaintExists`
pub fn taint_exists(taints: &[Json], wanted: &Json) -> bool {
    taints.iter().any(|own| match_taint(own, wanted))
}

/// `TaintSetDiff`: which are new, and which are not there any more.
pub fn taint_set_diff(new: &[Json], old: &[Json]) -> (Vec<Json>, Vec<Json>) {
    let lacks = |all: &[Json], those: &[Json]| {
        let left = all.iter().filter(|own| !taint_exists(those, own));
        left.cloned().collect::<Vec<_>>()
    };
    (lacks(new, old), lacks(old, new))
}

/// Upstream's `AddOrUpdateTaint`, of a list; nothing where it is there as it is.
fn add_or_update_taint(taints: &[Json], taint: &Json) -> Option<Vec<Json>> {
    let mut all = taints.to_vec();
    match all.iter_mut().find(|own| match_taint(own, taint)) {
        Some(own) if own == taint => return None,
        Some(own) => *own = taint.clone(),
        None => all.push(taint.clone()),
    }
    Some(all)
}

/// The node, at first as an apiserver's cache shows it, which is cheaper.
async fn get_node(
    rx: Rx,
    rest: &RestClient,
    name: &str,
    is_first: bool,
) -> Result<Stored, Failure> {
    let mut get = Request::new(Method::Get, NODES.path("", name));
    if is_first {
        get.query = Query(vec![("resourceVersion".into(), "0".into())]);
    }
    rest.object(rx, get).await
}

/// `AddOrUpdateTaintOnNode`
///
/// # Errors
/// Once all tries have failed.
pub async fn add_or_update_taint_on_node(
    rx: Rx,
    rest: &RestClient,
    name: &str,
    taints: &[Json],
) -> Result<(), Failure> {
    let change = |old: &[Json]| {
        let mut all = old.to_vec();
        let mut updated = false;
        for taint in taints {
            if let Some(new) = add_or_update_taint(&all, taint) {
                (all, updated) = (new, true);
            }
        }
        updated.then_some(all)
    };
    change_taints(rx, rest, name, taints, change).await
}

/// `RemoveTaintOffNode`, of the node as the cache shows it: nothing is asked where it has none of these there.
///
/// # Errors
/// Once all tries have failed.
pub async fn remove_taint_off_node(
    rx: Rx,
    rest: &RestClient,
    node: &Stored,
    those: &[Json],
) -> Result<(), Failure> {
    let shown = taints(node.object.json());
    if !those.iter().any(|own| taint_exists(shown, own)) {
        return Ok(());
    }
    let change = |old: &[Json]| {
        let mut all = old.to_vec();
        all.retain(|own| !taint_exists(those, own));
        (all.len() < old.len()).then_some(all)
    };
    change_taints(rx, rest, node.object.name(), those, change).await
}

/// What both have in common: they try again on a conflict.
async fn change_taints(
    rx: Rx,
    rest: &RestClient,
    name: &str,
    those: &[Json],
    change: impl Fn(&[Json]) -> Option<Vec<Json>>,
) -> Result<(), Failure> {
    if those.is_empty() {
        return Ok(());
    }
    let mut backoff = BACKOFF;
    let mut is_first = true;
    loop {
        let old = get_node(rx, rest, name, is_first).await?;
        is_first = false;
        let Some(new) = change(taints(old.object.json())) else {
            return Ok(());
        };
        match patch_node_taints(rx, rest, &old, &new).await {
            Err(error) if error.is(Reason::Conflict) && backoff.wait(rx).await => {}
            done => return done,
        }
    }
}

/// `PatchNodeTaints`: the list comes as a whole, and no other version of the node may have come between.
async fn patch_node_taints(
    rx: Rx,
    rest: &RestClient,
    old: &Stored,
    new: &[Json],
) -> Result<(), Failure> {
    let list = match new.is_empty() {
        true => Json::Null,
        false => new.to_vec().into(),
    };
    let patch = json!({
        "metadata": {"resourceVersion": old.resource_version.to_string()},
        "spec": {"taints": list},
    });
    patch_node(rx, rest, old.object.name(), patch).await
}

async fn patch_node(rx: Rx, rest: &RestClient, name: &str, patch: Json) -> Result<(), Failure> {
    let mut request = Request::new(Method::Patch, NODES.path("", name)).with(patch);
    request.content_type = Some(STRATEGIC_MERGE_PATCH.into());
    rest.object(rx, request).await.map(drop)
}

/// `AddOrUpdateLabelsOnNode`
///
/// # Errors
/// If the node cannot be read or written.
pub async fn add_or_update_labels_on_node(
    rx: Rx,
    rest: &RestClient,
    name: &str,
    labels: &json::Map,
) -> Result<(), Failure> {
    let node = get_node(rx, rest, name, true).await?;
    let own = json::at(node.object.json(), &["metadata", "labels"]);
    let is_new = |key: &str, value: &Json| own.and_then(|own| own.get(key)) != Some(value);
    let changed = labels.iter().filter(|(key, value)| is_new(key, value));
    let changed: json::Map = changed
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let patch = match changed.is_empty() {
        true => json!({}),
        false => json!({"metadata": {"labels": changed}}),
    };
    patch_node(rx, rest, name, patch).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taint_is_added_once_and_replaced_where_it_differs() {
        let own = taint("k", "NoExecute");
        let added = add_or_update_taint(&[], &own).expect("it is new");
        assert_eq!(add_or_update_taint(&added, &own), None);
        let mut dated = own;
        dated["timeAdded"] = "now".into();
        assert_eq!(add_or_update_taint(&added, &dated), Some(vec![dated]));
    }

    #[test]
    fn sets_of_taints_differ_by_keys_and_effects() {
        let (a, b) = (taint("a", "NoSchedule"), taint("b", "NoSchedule"));
        let diff = taint_set_diff(std::slice::from_ref(&a), std::slice::from_ref(&b));
        assert_eq!(diff, (vec![a.clone()], vec![b]));
        let other = taint("a", "NoExecute");
        assert!(!taint_exists(&[a], &other));
    }
}
