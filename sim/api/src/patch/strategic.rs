//! Strategic merge patches: merge patches that know which lists are sets
//! (`apimachinery/pkg/util/strategicpatch/patch.go`). Go's maps have no order; here they are sorted,
//! so of several errors the first by name is told.

use crate::json::{Json, Map};
use crate::quote;
use crate::schema::{self, Merge, Shape, StructId, Type};

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ELEMENT_ORDER: &str = "$setElementOrder/";

/// Why a patch does not apply, by how it is answered (`interpretStrategicMergePatchError`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Failure {
    /// 400
    BadRequest(&'static str),
    /// 422
    Unprocessable,
    /// 500
    Untyped(String),
}

type Merged<T> = Result<T, Failure>;

const BAD_ORDER: Failure = Failure::BadRequest("invalid patch format of setElementOrder list");
const BAD_PRIMITIVES: Failure = Failure::BadRequest("invalid patch format of primitive list");
const BAD_RETAIN_KEYS: Failure = Failure::BadRequest("invalid patch format of retainKeys");

fn untyped<T>(text: impl Into<String>) -> Merged<T> {
    Err(Failure::Untyped(text.into()))
}

fn no_merge_key<T>(map: &Json, key: &str) -> Merged<T> {
    let map = quote::go_plain(map);
    untyped(format!(
        "map: {map} does not contain declared merge key: {key}"
    ))
}

/// `reflect.Type.String` of what JSON was read into.
fn go_type(json: &Json) -> &'static str {
    match json {
        Json::Null => "%!s(<nil>)",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_i64() => "int64",
        Json::Number(_) => "float64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    }
}

fn bad_type<T>(expected: &str, actual: &Json) -> Merged<T> {
    untyped(format!(
        "expected a {expected}, but received a {}",
        go_type(actual)
    ))
}

fn as_list(json: &Json) -> Merged<&Vec<Json>> {
    match json {
        Json::Array(items) => Ok(items),
        other => bad_type("[]interface {}", other),
    }
}

/// What the table knows of the place that is patched.
#[derive(Clone, Copy)]
enum Place<'a> {
    Type(&'a Type),
    Root(StructId),
}

impl<'a> Place<'a> {
    /// `LookupPatchMetadataForStruct`
    fn field(self, name: &str) -> Merged<(Place<'a>, Merge)> {
        let shape = match self {
            Place::Root(id) => Some(id),
            Place::Type(ty) => match &pointee(ty).shape {
                Shape::Map(inner) => return Ok((Place::Type(inner), Merge::default())),
                Shape::Struct(id) => Some(*id),
                _ => None,
            },
        };
        let Some(id) = shape else {
            let kind = self.kind();
            return untyped(format!(
                "merging an object in json but data type is not struct, instead is: {kind}"
            ));
        };
        let of = schema::of(id);
        match of.field(name) {
            Some((_, field)) => Ok((Place::Type(pointee(&field.ty)), field.merge)),
            None => untyped(format!(
                "unable to find api field in struct {} for the json field {}",
                of.name,
                quote::go(name)
            )),
        }
    }

    /// `LookupPatchMetadataForSlice`
    fn list(self, name: &str) -> Merged<(Place<'a>, Merge)> {
        let (place, merge) = self.field(name)?;
        match place {
            Place::Type(Type {
                shape: Shape::List(inner),
                ..
            }) => Ok((Place::Type(inner), merge)),
            _ => untyped(format!(
                "expected slice or array type, but got: {}",
                self.kind()
            )),
        }
    }

    /// `reflect.Kind.String`
    fn kind(self) -> &'static str {
        match self {
            Place::Root(_) => "struct",
            Place::Type(ty) => match ty.shape {
                Shape::String => "string",
                Shape::Bool => "bool",
                Shape::Int32 => "int32",
                Shape::Int64 => "int64",
                Shape::Pointer(_) => "ptr",
                Shape::Bytes | Shape::List(_) => "slice",
                Shape::Map(_) => "map",
                _ => "struct",
            },
        }
    }
}

fn pointee(ty: &Type) -> &Type {
    match &ty.shape {
        Shape::Pointer(inner) => pointee(inner),
        _ => ty,
    }
}

/// Applies a patch to an object of this kind.
pub(super) fn apply(original: Map, patch: Map, id: StructId) -> Merged<Map> {
    merge_map(original, patch, Place::Root(id))
}

/// `mergeMap`
fn merge_map(mut original: Map, mut patch: Map, place: Place<'_>) -> Merged<Map> {
    if let Some(directive) = patch.remove(PATCH) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Map::new()),
            _ => {
                patch.insert(PATCH.to_owned(), directive.clone());
                bad_patch_type(&directive, patch)
            }
        };
    }
    retain_keys(&mut original, &mut patch)?;
    set_element_orders(&mut original, &mut patch, place)?;
    for (name, value) in patch {
        let (name, deletes) = match name.strip_prefix(DELETE_FROM) {
            Some(name) => (name.to_owned(), true),
            None if name.starts_with(DELETE_FROM.trim_end_matches('/')) => {
                return Err(BAD_PRIMITIVES);
            }
            None => (name, false),
        };
        if value.is_null() {
            original.remove(&name);
            continue;
        }
        let old = original.remove(&name);
        let same = |old: &Json| go_type(old) == go_type(&value);
        let merged = match old {
            Some(old) if same(&old) => match (old, value) {
                (Json::Object(old), Json::Object(value)) => {
                    let (inner, _) = place.field(&name)?;
                    // No strategy of a struct is "replace".
                    Some(Json::Object(merge_map(old, value, inner)?))
                }
                (Json::Array(old), Json::Array(value)) => {
                    let (inner, merge) = place.list(&name)?;
                    let list = match merge.merge || deletes {
                        true => merge_list(old, value, inner, merge.key, deletes)?,
                        false => value,
                    };
                    Some(Json::Array(list))
                }
                (_, value) => without_directives(value),
            },
            old if deletes => old,
            _ => {
                let mut value = value;
                discard_nulls(&mut value);
                without_directives(value)
            }
        };
        if let Some(merged) = merged {
            original.insert(name, merged);
        }
    }
    Ok(original)
}

fn bad_patch_type<T>(directive: &Json, map: Map) -> Merged<T> {
    let directive = match directive {
        Json::String(text) => text.clone(),
        other => format!("%!s({}={})", go_type(other), quote::go_plain(other)),
    };
    let map = quote::go_plain(&Json::Object(map));
    untyped(format!("unknown patch type: {directive} in map: {map}"))
}

/// `applyRetainKeysDirective`
fn retain_keys(original: &mut Map, patch: &mut Map) -> Merged<()> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let Json::Array(keys) = keys else {
        return Err(BAD_RETAIN_KEYS);
    };
    let kept = |name: &str| keys.iter().any(|key| key.as_str() == Some(name));
    for (name, value) in &*patch {
        let directive = name.starts_with(DELETE_FROM.trim_end_matches('/'))
            || name.starts_with(ELEMENT_ORDER.trim_end_matches('/'));
        if !value.is_null() && !directive && !kept(name) {
            return Err(BAD_RETAIN_KEYS);
        }
    }
    original.retain(|name, _| kept(name));
    Ok(())
}

/// `mergePatchIntoOriginal`: lists whose order the patch gives.
fn set_element_orders(original: &mut Map, patch: &mut Map, place: Place<'_>) -> Merged<()> {
    let prefix = ELEMENT_ORDER.trim_end_matches('/');
    let orders: Vec<String> = patch
        .keys()
        .filter(|k| k.starts_with(prefix))
        .cloned()
        .collect();
    for key in orders {
        let order = patch.remove(&key).unwrap_or(Json::Null);
        let order = as_list(&order)?;
        let Some(name) = key.strip_prefix(ELEMENT_ORDER) else {
            return Err(BAD_ORDER);
        };
        let old = original.get(name).map(as_list).transpose()?.cloned();
        let new = patch.get(name).map(as_list).transpose()?.cloned();
        let (inner, merge) = place.list(name)?;
        if let Some(new) = &new {
            check_order(new, order, merge.key)?;
        }
        let merged = match (&old, &new) {
            (None, None) => continue,
            (Some(old), None) => old.clone(),
            (None, Some(new)) => match without_directives(Json::Array(new.clone())) {
                Some(Json::Array(items)) => items,
                _ => continue,
            },
            (Some(old), Some(new)) if merge.merge => {
                merge_list(old.clone(), new.clone(), inner, merge.key, false)?
            }
            (Some(_), Some(new)) => new.clone(),
        };
        let (of_patch, of_server) = partition(merged, order, merge.key)?;
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        let maps = element_type(&old, &new)? == "map[string]interface {}";
        let both = normalize(of_patch, of_server, order, &old, merge.key, maps)?;
        original.insert(name.to_owned(), Json::Array(both));
        patch.remove(name);
    }
    Ok(())
}

/// `validatePatchWithSetOrderList`
fn check_order(new: &[Json], order: &[Json], key: &str) -> Merged<()> {
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
fn element_type(old: &[Json], new: &[Json]) -> Merged<&'static str> {
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
fn merge_list(
    old: Vec<Json>,
    new: Vec<Json>,
    place: Place<'_>,
    key: &str,
    deletes: bool,
) -> Merged<Vec<Json>> {
    if old.is_empty() && new.is_empty() {
        return Ok(old);
    }
    let maps = element_type(&old, &new)? == "map[string]interface {}";
    let (old, new, merged) = if maps {
        if key.is_empty() {
            let kind = place.kind();
            return untyped(format!("cannot merge lists without merge key for {kind}"));
        }
        let (old, new) = special_elements(old, new, key)?;
        // Elements that are merged change in the list that orders them, too; their keys do not.
        let merged = merge_elements(old.clone(), new.clone(), key, place)?;
        (old, new, merged)
    } else {
        if deletes {
            return Ok(old.into_iter().filter(|item| !new.contains(item)).collect());
        }
        let mut both = old.clone();
        both.extend(new.iter().cloned());
        let merged = deduplicate(both);
        (old, new, merged)
    };
    let (of_patch, of_server) = partition(merged, &new, key)?;
    normalize(of_patch, of_server, &new, &old, key, maps)
}

/// `mergeSliceWithSpecialElements`: what the patch deletes, and whether it replaces all.
fn special_elements(
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
fn merge_elements(
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
fn deduplicate(mut items: Vec<Json>) -> Vec<Json> {
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
fn partition(items: Vec<Json>, by: &[Json], key: &str) -> Merged<(Vec<Json>, Vec<Json>)> {
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
fn normalize(
    of_patch: Vec<Json>,
    of_server: Vec<Json>,
    patch_order: &[Json],
    server_order: &[Json],
    key: &str,
    maps: bool,
) -> Merged<Vec<Json>> {
    let of_patch = sort(of_patch, patch_order, key, maps)?;
    let of_server = sort(of_server, server_order, key, maps)?;
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
fn sort(items: Vec<Json>, order: &[Json], key: &str, maps: bool) -> Merged<Vec<Json>> {
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

/// `discardNullValuesFromPatch`
fn discard_nulls(value: &mut Json) {
    match value {
        Json::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(discard_nulls);
        }
        Json::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// `removeDirectives`
fn without_directives(value: Json) -> Option<Json> {
    match value {
        Json::Object(map) if map.contains_key(PATCH) => None,
        Json::Object(map) => {
            let kept = map
                .into_iter()
                .filter_map(|(n, v)| Some((n, without_directives(v)?)));
            Some(Json::Object(kept.collect()))
        }
        Json::Array(items) => Some(items.into_iter().filter_map(without_directives).collect()),
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn service(spec: Json, patch: Json) -> Merged<Json> {
        let id = schema::kind("v1", "Service").expect("a kind");
        let map = |spec| match json!({"spec": spec}) {
            Json::Object(map) => map,
            _ => Map::new(),
        };
        apply(map(spec), map(patch), id).map(|mut map| map.remove("spec").unwrap_or_default())
    }

    fn ports(patch: Json) -> Merged<Json> {
        let old = json!({"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]});
        service(old, patch).map(|spec| {
            let ports = spec["ports"].as_array().cloned().unwrap_or_default();
            ports.into_iter().map(|port| port["port"].clone()).collect()
        })
    }

    #[test]
    fn lists_are_merged_by_their_key() {
        let merged = service(
            json!({"ports": [{"port": 80, "name": "a"}]}),
            json!({"ports": [{"port": 80, "targetPort": 8080}]}),
        );
        let expected = json!({"ports": [{"port": 80, "name": "a", "targetPort": 8080}]});
        assert_eq!(merged, Ok(expected));
        // New elements come first, as the patch has them before what only the server knows.
        assert_eq!(
            ports(json!({"ports": [{"port": 82}]})),
            Ok(json!([82, 80, 81]))
        );
        let delete = json!({"ports": [{"port": 80, "$patch": "delete"}]});
        assert_eq!(ports(delete), Ok(json!([81])));
        let replace = json!({"ports": [{"$patch": "replace"}, {"port": 9}]});
        assert_eq!(ports(replace), Ok(json!([9])));
        let order = json!({"$setElementOrder/ports": [{"port": 81}, {"port": 80}]});
        assert_eq!(ports(order), Ok(json!([81, 80])));
    }

    #[test]
    fn directives_are_followed() {
        let old = || json!({"selector": {"a": "1"}, "type": "ClusterIP", "clusterIP": "x"});
        let patch = |patch: Json| service(old(), patch);
        let replaced = patch(json!({"selector": {"$patch": "replace", "b": "2"}}));
        assert_eq!(replaced.expect("merged")["selector"], json!({"b": "2"}));
        let kept = patch(json!({"$retainKeys": ["type"], "type": "NodePort"}));
        assert_eq!(kept, Ok(json!({"type": "NodePort"})));
        assert_eq!(
            patch(json!({"$retainKeys": ["x"], "type": "y"})),
            Err(BAD_RETAIN_KEYS)
        );
        let id = schema::kind("v1", "ConfigMap").expect("a kind");
        let map = |json: Json| json.as_object().cloned().unwrap_or_default();
        let old = map(json!({"metadata": {"finalizers": ["a", "b"]}}));
        let add = map(json!({"metadata": {"finalizers": ["c"]}}));
        let added = apply(old.clone(), add, id).expect("merged");
        assert_eq!(added["metadata"]["finalizers"], json!(["c", "a", "b"]));
        let take = map(json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}));
        let taken = apply(old, take, id).expect("merged");
        assert_eq!(taken["metadata"]["finalizers"], json!(["b"]));
    }

    #[test]
    fn errors_are_worded_as_upstream_words_them() {
        for (patch, expected) in [
            (
                json!({"ports": [{"targetPort": 1}]}),
                "map: map[targetPort:1] does not contain declared merge key: port",
            ),
            (
                json!({"$patch": "bogus"}),
                "unknown patch type: bogus in map: map[$patch:bogus]",
            ),
            (
                json!({"ports": ["x"]}),
                "list element types are not identical: [[map[name:a port:80] map[name:b port:81]] \
                 [x]]",
            ),
        ] {
            assert_eq!(ports(patch), Err(Failure::Untyped(expected.to_owned())));
        }
        assert_eq!(ports(json!({"$setElementOrder": []})), Err(BAD_ORDER));
    }
}
