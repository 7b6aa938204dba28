//! Strategic merge patches: merge patches that know which lists are sets
//! (`apimachinery/pkg/util/strategicpatch/patch.go`). Go's maps have no order; here they are sorted,
//! so of several errors the first by name is told.

mod lists;

use crate::json::{Json, Map};
use crate::quote;
use crate::schema::{self, Merge, Shape, StructId, Type};
use wavetank_engine::mutant;

use lists::{
    merge_slice, normalize_element_order, partition_maps_by_present_in_list, slice_element_type,
    validate_patch_with_set_order_list,
};

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
    fn lookup_patch_metadata_for_struct(self, name: &str) -> Merged<(Place<'a>, Merge)> {
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
                quote::quote(name)
            )),
        }
    }

    /// `LookupPatchMetadataForSlice`
    fn lookup_patch_metadata_for_slice(self, name: &str) -> Merged<(Place<'a>, Merge)> {
        let (place, merge) = self.lookup_patch_metadata_for_struct(name)?;
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
    apply_retain_keys_directive(&mut original, &mut patch)?;
    merge_patch_into_original(&mut original, &mut patch, place)?;
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
                    let (inner, _) = place.lookup_patch_metadata_for_struct(&name)?;
                    // No strategy of a struct is "replace".
                    Some(Json::Object(merge_map(old, value, inner)?))
                }
                (Json::Array(old), Json::Array(value)) => {
                    let (inner, merge) = place.lookup_patch_metadata_for_slice(&name)?;
                    let list = match merge.merge || deletes {
                        true => merge_slice(old, value, inner, merge.key, deletes)?,
                        false => value,
                    };
                    Some(Json::Array(list))
                }
                (_, value) => remove_directives(value),
            },
            old if deletes => old,
            _ => {
                let mut value = value;
                discard_null_values_from_patch(&mut value);
                remove_directives(value)
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
fn apply_retain_keys_directive(original: &mut Map, patch: &mut Map) -> Merged<()> {
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
fn merge_patch_into_original(original: &mut Map, patch: &mut Map, place: Place<'_>) -> Merged<()> {
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
        let (inner, merge) = place.lookup_patch_metadata_for_slice(name)?;
        if let Some(new) = &new {
            validate_patch_with_set_order_list(new, order, merge.key)?;
        }
        let merged = match (&old, &new) {
            (None, None) => continue,
            (Some(old), None) => old.clone(),
            (None, Some(new)) => match remove_directives(Json::Array(new.clone())) {
                Some(Json::Array(items)) => items,
                _ => continue,
            },
            (Some(old), Some(new))
                if merge.merge
                    && !mutant!(
                        "strategic-lists-replace",
                        "an ordered list of a strategic patch replaces the old one"
                    ) =>
            {
                merge_slice(old.clone(), new.clone(), inner, merge.key, false)?
            }
            (Some(_), Some(new)) => new.clone(),
        };
        let (of_patch, of_server) = partition_maps_by_present_in_list(merged, order, merge.key)?;
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        let maps = slice_element_type(&old, &new)? == "map[string]interface {}";
        let both = normalize_element_order(of_patch, of_server, order, &old, merge.key, maps)?;
        original.insert(name.to_owned(), Json::Array(both));
        patch.remove(name);
    }
    Ok(())
}

/// `discardNullValuesFromPatch`
fn discard_null_values_from_patch(value: &mut Json) {
    match value {
        Json::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(discard_null_values_from_patch);
        }
        Json::Array(items) => items.iter_mut().for_each(discard_null_values_from_patch),
        _ => {}
    }
}

/// `removeDirectives`
fn remove_directives(value: Json) -> Option<Json> {
    match value {
        Json::Object(map) if map.contains_key(PATCH) => None,
        Json::Object(map) => {
            let kept = map
                .into_iter()
                .filter_map(|(n, v)| Some((n, remove_directives(v)?)));
            Some(Json::Object(kept.collect()))
        }
        Json::Array(items) => Some(items.into_iter().filter_map(remove_directives).collect()),
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
