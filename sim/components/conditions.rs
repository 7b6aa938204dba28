//! How conditions of a status are patched (`strategicpatch.CreateTwoWayMergePatch` of their list, whose key is `type`). Pure.

use serde_json::json;
use wavetank_api::json::{Json, Map};

/// By what conditions are told apart.
const MERGE_KEY: &str = "type";

/// The fields of a patch that makes `after` of the conditions `before`; none if they are the same.
pub fn patch_of_conditions(before: &[Json], after: &[Json]) -> Map {
    let mut patch = Map::new();
    let stays = |old: &&Json| after.iter().any(|own| own[MERGE_KEY] == old[MERGE_KEY]);
    let gone = before.iter().filter(|old| !stays(old));
    let gone = gone.map(|old| json!({"$patch": "delete", MERGE_KEY: old[MERGE_KEY].clone()}));
    let changed = after
        .iter()
        .filter_map(|own| patch_of_condition(before, own));
    let changed: Vec<Json> = changed.chain(gone).collect();
    if changed.is_empty() {
        return patch;
    }
    // A list that was not there comes as a whole.
    if !before.is_empty() {
        let order = after
            .iter()
            .map(|own| json!({MERGE_KEY: own[MERGE_KEY].clone()}));
        let order: Vec<Json> = order.collect();
        patch.insert("$setElementOrder/conditions".to_owned(), order.into());
    }
    patch.insert("conditions".to_owned(), changed.into());
    patch
}

/// What is new in a condition, with its type; none if nothing is.
fn patch_of_condition(before: &[Json], own: &Json) -> Option<Json> {
    let Some(old) = before.iter().find(|old| old[MERGE_KEY] == own[MERGE_KEY]) else {
        return Some(own.clone());
    };
    let own = own.as_object()?;
    let mut new: Map = own
        .iter()
        .filter(|(field, value)| old.get(*field) != Some(*value))
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect();
    if new.is_empty() {
        return None;
    }
    new.insert(MERGE_KEY.to_owned(), own[MERGE_KEY].clone());
    Some(new.into())
}
