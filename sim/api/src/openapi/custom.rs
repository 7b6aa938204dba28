//! The schemas of custom resources (`apiextensions-apiserver/pkg/controller/openapi/builder`): that of a definition, if it
//! is structural, with the fields that every object has.

use serde_json::json;

use super::definitions::META;
use super::{definitions, gvk, reference};
use crate::apiextensions::props::Props;
use crate::apiextensions::structural::{new_structural, validate_structural};
use crate::json::{self, Json};

/// `gvkToModelName`: the group turned round.
pub(super) fn gvk_to_model_name(group: &str, version: &str, kind: &str) -> String {
    let parts: Vec<&str> = group.rsplit('.').collect();
    format!("{}.{version}.{kind}", parts.join("."))
}

/// Is a resource made by this definition?
pub(super) fn defines(crd: &Json, group: &str, plural: &str) -> bool {
    let spec = |path: &[&str]| json::text(&crd["spec"], path) == plural;
    json::text(crd, &["spec", "group"]) == group && spec(&["names", "plural"])
}

/// What lists of the kind are called.
pub(super) fn list_kind(crd: Option<&Json>, kind: &str) -> String {
    let said = crd.map(|crd| json::text(crd, &["spec", "names", "listKind"]));
    match said {
        Some(said) if !said.is_empty() => said.to_owned(),
        _ => format!("{kind}List"),
    }
}

/// `buildListSchema`
pub(super) fn build_list_schema(
    crd: Option<&Json>,
    of: &str,
    group: &str,
    version: &str,
    kind: &str,
) -> Json {
    let mut list = definitions::list(of, group, version, kind);
    list["properties"]["metadata"] = metadata("ListMeta");
    add_selectable_fields(&mut list, crd, version);
    list
}

fn version_of<'a>(crd: Option<&'a Json>, version: &str) -> Option<&'a Json> {
    let mut versions = json::list(crd?, &["spec", "versions"]).iter();
    versions.find(|own| own["name"] == version)
}

/// The fields by which objects can be asked for (`buildSelectableFields`).
fn add_selectable_fields(schema: &mut Json, crd: Option<&Json>, version: &str) {
    let own = version_of(crd, version);
    let fields = own.map_or(&[][..], |own| json::list(own, &["selectableFields"]));
    let path = |field: &Json| {
        let path = json::text(field, &["jsonPath"]);
        json!({"fieldPath": path.strip_prefix('.').unwrap_or(path)})
    };
    if !fields.is_empty() {
        let fields = fields.iter().map(path).collect::<Vec<_>>();
        schema["x-kubernetes-selectable-fields"] = fields.into();
    }
}

/// `buildKubeNative`: a definition without a structural schema says nothing of its objects, nor does a kind that no
/// definition has made.
pub(super) fn build_kube_native(
    crd: Option<&Json>,
    group: &str,
    version: &str,
    kind: &str,
) -> Json {
    let own = version_of(crd, version);
    let own = own.and_then(|own| own.pointer("/schema/openAPIV3Schema"));
    let mut out = match own.filter(|own| is_structural(own)) {
        None => json!({"type": "object"}),
        Some(own) => {
            let mut out = own.clone();
            keep_structure(&mut out);
            unfold(&mut out);
            add_embedded_properties(&mut out);
            let properties = json::map_mut(&mut out, &["properties"]);
            properties.insert("apiVersion".into(), json!({"type": "string"}));
            properties.insert("kind".into(), json!({"type": "string"}));
            properties.insert("metadata".into(), metadata("ObjectMeta"));
            out
        }
    };
    out["x-kubernetes-group-version-kind"] = json!([gvk(group, version, kind)]);
    add_selectable_fields(&mut out, crd, version);
    out
}

/// Leaves out examples and links, of which `NewStructural` does not know.
fn keep_structure(schema: &mut Json) {
    for name in ["example", "externalDocs"] {
        json::remove(schema, &[name]);
    }
    inner(schema).for_each(keep_structure);
}

fn metadata(name: &str) -> Json {
    json!({"allOf": [reference(&format!("{META}.{name}"))]})
}

fn is_structural(schema: &Json) -> bool {
    let structural = new_structural(&Props::of(schema));
    structural.is_ok_and(|schema| validate_structural("", &schema).iter().next().is_none())
}

/// The schemas inside of one that say what shape values have.
fn inner(schema: &mut Json) -> impl Iterator<Item = &mut Json> {
    let map = schema.as_object_mut().into_iter();
    map.flat_map(|map| {
        map.iter_mut().flat_map(|(name, value)| {
            let inside: Vec<&mut Json> = match (name.as_str(), value) {
                ("properties", Json::Object(all)) => all.iter_mut().map(|(_, own)| own).collect(),
                ("items" | "additionalProperties", value) if value.is_object() => vec![value],
                _ => Vec::new(),
            };
            inside
        })
    })
}

/// `Unfold`: what is an integer or a string says so in words that all understand.
fn unfold(schema: &mut Json) {
    if schema["x-kubernetes-int-or-string"] == true {
        let either = json!([{"type": "integer"}, {"type": "string"}]);
        let all = json::list(schema, &["allOf"]);
        let any = schema.get("anyOf");
        let begins = all.first().and_then(|first| first.get("anyOf"));
        if any != Some(&either) && begins != Some(&either) {
            match any {
                None => schema["anyOf"] = either,
                Some(_) => {
                    let first = std::iter::once(json!({"anyOf": either}));
                    let all: Vec<Json> = first.chain(all.iter().cloned()).collect();
                    schema["allOf"] = all.into();
                }
            }
        }
    }
    inner(schema).for_each(unfold);
}

/// `addEmbeddedProperties`: an object inside that is one of its own.
fn add_embedded_properties(schema: &mut Json) {
    inner(schema).for_each(add_embedded_properties);
    if schema["x-kubernetes-embedded-resource"] != true {
        return;
    }
    let properties = json::map_mut(schema, &["properties"]);
    properties.insert("apiVersion".into(), json!({"type": "string"}));
    properties.insert("kind".into(), json!({"type": "string"}));
    properties.insert("metadata".into(), metadata("ObjectMeta"));
    let said = json::list(schema, &["required"]).to_vec();
    let missing = ["kind", "apiVersion"].map(Json::from);
    let missing = missing.into_iter().filter(|name| !said.contains(name));
    let required: Vec<Json> = said.iter().cloned().chain(missing).collect();
    schema["required"] = required.into();
}
