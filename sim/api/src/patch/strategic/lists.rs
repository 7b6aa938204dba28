//! Lists that are sets: merged by a key, and put in order
//! (`apimachinery/pkg/util/strategicpatch/patch.go`, `mergeSlice` and what it calls).

use super::{
    Failure, Merged, PATCH, Place, bad_patch_type, bad_type, go_type, merge_map, no_merge_key,
    untyped,
};
use crate::json::Json;
use crate::quote;

/// `validatePatchWithSetOrderList`
pub(super) fn validate_patch_with_set_order_list(
    new: &[Json],
    order: &[Json],
    key: &str,
) -> Merged<()> {
    if new.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut kept: Vec<&Json> = Vec::new();
    for item in new {
        if !key.is_empty() && !item.is_object() {
            return bad_type("map[string]interface {}", item);
        }
        if key.is_empty() || item.get(PATCH).and_then(Json::as_str) != Some("delete") {
            kept.push(item);
        }
    }
    let (mut at, mut ordered) = (0, 0);
    while at < kept.len() && ordered < order.len() {
        let (item, in_order) = (kept[at], &order[ordered]);
        if item.get(PATCH).is_some() {
            at += 1;
            continue;
        }
        let equal = match key {
            "" => item == in_order,
            key => value_of(item, key)? == value_of(in_order, key)?,
        };
        at += usize::from(equal);
        ordered += 1;
    }
    if at < kept.len() && ordered >= order.len() {
        let shown = |items: &[Json]| quote::go_plain(&Json::Array(items.to_vec()));
        return untyped(format!(
            "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
            shown(new),
            shown(order)
        ));
    }
    Ok(())
}

/// The value of the merge key of an element.
fn value_of<'a>(item: &'a Json, key: &str) -> Merged<&'a Json> {
    if !item.is_object() {
        return bad_type("map[string]interface {}", item);
    }
    match item.get(key) {
        Some(value) => Ok(value),
        None => no_merge_key(item, key),
    }
}

/// `sliceElementType`
pub(super) fn slice_element_type(old: &[Json], new: &[Json]) -> Merged<&'static str> {
    let mut all = old.iter().chain(new).map(go_type);
    let Some(first) = all.next() else {
        return untyped("no elements in any of the given slices");
    };
    if first == "[]interface {}" {
        return Err(Failure::Unprocessable);
    }
    if all.any(|other| other != first) {
        let shown = |items: &[Json]| quote::go_plain(&Json::Array(items.to_vec()));
        let lists = format!("[{} {}]", shown(old), shown(new));
        return untyped(format!("list element types are not identical: {lists}"));
    }
    Ok(first)
}

/// `mergeSlice`
pub(super) fn merge_slice(
    old: Vec<Json>,
    new: Vec<Json>,
    place: Place<'_>,
    key: &str,
    deletes: bool,
) -> Merged<Vec<Json>> {
    if old.is_empty() && new.is_empty() {
        return Ok(old);
    }
    let maps = slice_element_type(&old, &new)? == "map[string]interface {}";
    let (old, new, merged) = if maps {
        if key.is_empty() {
            let kind = place.kind();
            return untyped(format!("cannot merge lists without merge key for {kind}"));
        }
        let (old, new) = merge_slice_with_special_elements(old, new, key)?;
        // Elements that are merged change in the list that orders them, too; their keys do not.
        let merged = merge_slice_without_special_elements(old.clone(), new.clone(), key, place)?;
        (old, new, merged)
    } else {
        if deletes {
            return Ok(old.into_iter().filter(|item| !new.contains(item)).collect());
        }
        let mut both = old.clone();
        both.extend(new.iter().cloned());
        let merged = deduplicate_scalars(both);
        (old, new, merged)
    };
    let (of_patch, of_server) = partition_maps_by_present_in_list(merged, &new, key)?;
    normalize_element_order(of_patch, of_server, &new, &old, key, maps)
}

/// `mergeSliceWithSpecialElements`: what the patch deletes, and whether it replaces all.
fn merge_slice_with_special_elements(
    mut old: Vec<Json>,
    new: Vec<Json>,
    key: &str,
) -> Merged<(Vec<Json>, Vec<Json>)> {
    let mut plain = Vec::new();
    let mut replaces = false;
    for item in new {
        match item.get(PATCH) {
            None => plain.push(item),
            Some(directive) => match directive.as_str() {
                Some("delete") => {
                    let value = value_of(&item, key)?;
                    old.retain(|item| item.get(key) != Some(value));
                }
                Some("replace") => replaces = true,
                Some("merge") => {
                    return untyped("merging lists cannot yet be specified in the patch");
                }
                _ => {
                    let directive = directive.clone();
                    let map = item.as_object().cloned().unwrap_or_default();
                    return bad_patch_type(&directive, map);
                }
            },
        }
    }
    match replaces {
        true => Ok((plain, Vec::new())),
        false => Ok((old, plain)),
    }
}

/// `mergeSliceWithoutSpecialElements`
fn merge_slice_without_special_elements(
    mut old: Vec<Json>,
    new: Vec<Json>,
    key: &str,
    place: Place<'_>,
) -> Merged<Vec<Json>> {
    for item in new {
        let value = value_of(&item, key)?;
        let found = old.iter().position(|item| item.get(key) == Some(value));
        match (found, item) {
            (Some(at), Json::Object(item)) => {
                let of_old = old[at].as_object().cloned().unwrap_or_default();
                old[at] = Json::Object(merge_map(of_old, item, place)?);
            }
            (_, item) => old.push(item),
        }
    }
    Ok(old)
}

/// `deduplicateScalars`: a duplicate's place is taken by the last element.
fn deduplicate_scalars(mut items: Vec<Json>) -> Vec<Json> {
    let mut at = 0;
    while at + 1 < items.len() {
        let mut other = at + 1;
        while other < items.len() {
            if items[at] == items[other] {
                items.swap_remove(other);
            } else {
                other += 1;
            }
        }
        at += 1;
    }
    items
}

/// `partitionMapsByPresentInList`, `partitionPrimitivesByPresentInList`
pub(super) fn partition_maps_by_present_in_list(
    items: Vec<Json>,
    by: &[Json],
    key: &str,
) -> Merged<(Vec<Json>, Vec<Json>)> {
    let (mut present, mut absent) = (Vec::new(), Vec::new());
    for item in items {
        let found = match key {
            "" => by.contains(&item),
            key => {
                let value = value_of(&item, key)?;
                if let Some(at) = by.iter().position(|item| !item.is_object()) {
                    return untyped(format!("value for key {at} is not a map"));
                }
                by.iter().any(|item| item.get(key) == Some(value))
            }
        };
        match found {
            true => present.push(item),
            false => absent.push(item),
        }
    }
    Ok((present, absent))
}

/// `index`
fn place_in(list: &[Json], item: &Json, key: &str, maps: bool) -> Option<usize> {
    list.iter().position(|other| match maps {
        true => other.get(key) == item.get(key),
        false => other == item,
    })
}

/// `normalizeElementOrder`: both parts in their own order, the server's put where they stood.
pub(super) fn normalize_element_order(
    of_patch: Vec<Json>,
    of_server: Vec<Json>,
    patch_order: &[Json],
    server_order: &[Json],
    key: &str,
    maps: bool,
) -> Merged<Vec<Json>> {
    let of_patch = normalize_slice_order(of_patch, patch_order, key, maps)?;
    let of_server = normalize_slice_order(of_server, server_order, key, maps)?;
    let place = |item: &Json| place_in(server_order, item, key, maps);
    let mut left = of_server.into_iter().peekable();
    let mut right = of_patch.into_iter().peekable();
    let mut all = Vec::new();
    loop {
        let takes_left = match (left.peek(), right.peek()) {
            (None, None) => return Ok(all),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(left), Some(right)) => {
                matches!((place(left), place(right)), (Some(l), Some(r)) if l < r)
            }
        };
        all.extend(if takes_left {
            left.next()
        } else {
            right.next()
        });
    }
}

/// `normalizeSliceOrder`, with Go's insertion sort: its comparison is no order where an element is
/// missing.
fn normalize_slice_order(
    items: Vec<Json>,
    order: &[Json],
    key: &str,
    maps: bool,
) -> Merged<Vec<Json>> {
    let mut last = Vec::new();
    let mut sorted = items;
    if maps {
        for item in sorted.iter().chain(order) {
            value_of(item, key)?;
        }
        let deletes = |item: &Json| item.get(PATCH).and_then(Json::as_str) == Some("delete");
        (last, sorted) = sorted.into_iter().partition(deletes);
    }
    let place = |item: &Json| place_in(order, item, key, maps);
    let less = |a: &Json, b: &Json| match (place(a), place(b)) {
        (Some(a), Some(b)) => a < b,
        _ => true,
    };
    for at in 1..sorted.len() {
        let mut here = at;
        while here > 0 && less(&sorted[here], &sorted[here - 1]) {
            sorted.swap(here, here - 1);
            here -= 1;
        }
    }
    sorted.extend(last);
    Ok(sorted)
}
