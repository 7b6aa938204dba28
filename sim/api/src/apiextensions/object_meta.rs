//! `metadata` of an object whose type is a schema, at its root and of objects inside (`schema/objectmeta`).

use super::props::Props;
use crate::decode::typed;
use crate::json::{self, Json, Map};
use crate::metadata;
use crate::names;
use crate::quote;
use crate::schema;
use crate::validation::{ErrorList, FieldError};

/// How `metadata` is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoerceOptions {
    /// What does not fit is dropped: what is stored must be readable.
    pub drop_invalid_fields: bool,
}

/// `GetObjectMetaWithOptions`: `metadata` as its type writes it, with its unknown fields; `None` if there is none.
///
/// # Errors
/// The decoder's.
pub fn get_object_meta_with_options(
    object: &Json,
    drop_invalid_fields: bool,
) -> Result<Option<(Json, Vec<String>)>, String> {
    let Some(found) = object.get("metadata") else {
        return Ok(None);
    };
    let id = schema::named("meta.ObjectMeta").expect("the table has it");
    let error = match typed::read(found, id, None) {
        Ok(read) => return Ok(Some((read.json, read.strict))),
        Err(error) => error,
    };
    if !drop_invalid_fields {
        return Err(error);
    }
    let Json::Object(fields) = found else {
        return Ok(None);
    };
    let mut kept = Map::new();
    for (name, value) in fields {
        let one = Json::Object(Map::from_iter([(name.clone(), value.clone())]));
        if typed::read(&one, id, None).is_ok() {
            kept.insert(name.clone(), value.clone());
        }
    }
    let read = typed::read(&Json::Object(kept), id, None)?;
    Ok(Some((read.json, read.strict)))
}

/// `unknown field "bogus"`, with the way to it.
fn prefixed(strict: &[String], path: &str) -> impl Iterator<Item = String> {
    let path = match path {
        "" => "metadata.".to_owned(),
        path => format!("{path}.metadata."),
    };
    let strip = |text: &String| {
        let (_, name) = text.split_once('"')?;
        Some(name.strip_suffix('"')?.to_owned())
    };
    let all: Vec<String> = strict.iter().filter_map(strip).collect();
    all.into_iter().map(move |name| format!("{path}{name}"))
}

/// The unknown fields of `metadata` at the root.
pub(super) fn unknown_at_root(strict: &[String]) -> Vec<String> {
    prefixed(strict, "").collect()
}

/// Upstream's `CoerceWithOptions`: reads `metadata` of embedded objects as its type; returns the unknown fields in them, sorted.
///
/// # Errors
/// The first field that is not what it must be.
pub fn coerce(
    path: &str,
    value: &mut Json,
    schema: &Props,
    options: CoerceOptions,
) -> Result<Vec<String>, Box<FieldError>> {
    let mut unknown = Vec::new();
    coerce_value(path, value, schema, options, &mut unknown)?;
    unknown.sort();
    Ok(unknown)
}

fn invalid(path: String, value: &Json, why: &str) -> Box<FieldError> {
    let mut errors = ErrorList::default();
    errors.invalid(path, value, why);
    Box::new(errors.iter().next().expect("it was added").clone())
}

pub(super) fn child(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

fn coerce_value(
    path: &str,
    value: &mut Json,
    schema: &Props,
    options: CoerceOptions,
    unknown: &mut Vec<String>,
) -> Result<(), Box<FieldError>> {
    if let Json::Array(items) = value {
        let Some(item) = schema.item() else {
            return Ok(());
        };
        for (at, value) in items.iter_mut().enumerate() {
            coerce_value(&format!("{path}[{at}]"), value, item, options, unknown)?;
        }
        return Ok(());
    }
    if schema.embedded_resource && value.is_object() {
        coerce_embedded(path, value, options, unknown)?;
    }
    let Json::Object(map) = value else {
        return Ok(());
    };
    for (name, value) in map.iter_mut() {
        if let Some(property) = schema.properties.get(name) {
            coerce_value(&child(path, name), value, property, options, unknown)?;
        } else if let Some(additional) = schema.additional() {
            coerce_value(
                &format!("{path}[{name}]"),
                value,
                additional,
                options,
                unknown,
            )?;
        }
    }
    Ok(())
}

fn coerce_embedded(
    path: &str,
    object: &mut Json,
    options: CoerceOptions,
    unknown: &mut Vec<String>,
) -> Result<(), Box<FieldError>> {
    for name in ["apiVersion", "kind"] {
        match object.get(name) {
            None | Some(Json::String(_)) => {}
            Some(_) if options.drop_invalid_fields => {
                json::remove(object, &[name]);
            }
            Some(value) => return Err(invalid(child(path, name), value, "must be a string")),
        }
    }
    match get_object_meta_with_options(object, options.drop_invalid_fields) {
        Ok(Some((metadata, strict))) => {
            unknown.extend(prefixed(&strict, path));
            json::set(object, &["metadata"], metadata);
        }
        Ok(None) => {}
        Err(_) if options.drop_invalid_fields => {}
        Err(error) => {
            let value = object.get("metadata").unwrap_or(&Json::Null);
            return Err(invalid(child(path, "metadata"), value, &error));
        }
    }
    Ok(())
}

/// `Validate`: embedded objects have a kind, an apiVersion and valid metadata.
pub fn validate(path: &str, value: &Json, schema: &Props, errors: &mut ErrorList) {
    match value {
        Json::Object(map) => {
            if schema.embedded_resource {
                validate_embedded_resource(path, value, errors);
            }
            for (name, value) in map {
                if let Some(property) = schema.properties.get(name) {
                    validate(&child(path, name), value, property, errors);
                } else if let Some(additional) = schema.additional() {
                    validate(&format!("{path}[{name}]"), value, additional, errors);
                }
            }
        }
        Json::Array(items) => {
            let Some(item) = schema.item() else { return };
            for (at, value) in items.iter().enumerate() {
                validate(&format!("{path}[{at}]"), value, item, errors);
            }
        }
        _ => {}
    }
}

/// `validateEmbeddedResource`
fn validate_embedded_resource(path: &str, object: &Json, errors: &mut ErrorList) {
    let at = |name: &str| child(path, name);
    for name in ["apiVersion", "kind"] {
        if object.get(name).is_none() {
            errors.required(at(name), "");
        }
    }
    if let Some(version) = object.get("apiVersion") {
        match version.as_str() {
            None => errors.invalid(at("apiVersion"), version, "must be a string"),
            Some("") => errors.invalid(at("apiVersion"), "", "must not be empty"),
            Some(text) if text.matches('/').count() > 1 => {
                let why = format!("unexpected GroupVersion string: {text}");
                errors.invalid(at("apiVersion"), text, why);
            }
            Some(_) => {}
        }
    }
    if let Some(kind) = object.get("kind") {
        match kind.as_str() {
            None => errors.invalid(at("kind"), kind, "must be a string"),
            Some("") => errors.invalid(at("kind"), "", "must not be empty"),
            Some(text) => {
                let wrong = names::is_dns1035_label(&text.to_lowercase());
                if !wrong.is_empty() {
                    let why = "may have mixed case, but should otherwise match: ";
                    errors.invalid(at("kind"), text, format!("{why}{}", wrong.join(",")));
                }
            }
        }
    }
    let Some(value) = object.get("metadata") else {
        return;
    };
    match get_object_meta_with_options(object, false) {
        Err(error) => errors.invalid(at("metadata"), value, error),
        Ok(None) => {}
        Ok(Some((metadata, _))) => {
            let mut object = serde_json::json!({"metadata": metadata});
            if json::text(&object, &["metadata", "name"]).is_empty() {
                json::set(&mut object, &["metadata", "name"], "fakename");
            }
            let namespaced = !json::text(&object, &["metadata", "namespace"]).is_empty();
            let name = &names::is_valid_path_segment_name;
            let found = metadata::validate_object_meta_accessor(&object, namespaced, name);
            for error in found.iter() {
                let field = child(path, &error.field);
                errors.add(error.error.clone(), field, error.detail.clone());
            }
        }
    }
}

/// Upstream's `validateKubeFinalizerName` of custom objects: warnings, for finalizers that were not there.
pub(super) fn finalizer_warnings(object: &Json, old: Option<&Json>) -> Vec<String> {
    const STANDARD: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];
    const FIELD: &str = "metadata.finalizers";
    let all = |object| {
        let list = json::list(object, &["metadata", "finalizers"]).iter();
        list.filter_map(Json::as_str)
    };
    let before: Vec<&str> = old.map(|old| all(old).collect()).unwrap_or_default();
    let mut new: Vec<&str> = all(object).filter(|name| !before.contains(name)).collect();
    new.sort_unstable();
    new.dedup();
    let mut warnings = Vec::new();
    for name in new {
        let shown = quote::quote(name);
        for wrong in names::is_qualified_name(name) {
            warnings.push(format!("{FIELD}: {shown}: {wrong}"));
        }
        if name.contains('/') || STANDARD.contains(&name) {
            continue;
        }
        let path = match name.contains('.') {
            true => " including a path (/)",
            false => "",
        };
        warnings.push(format!(
            "{FIELD}: {shown}: prefer a domain-qualified finalizer name{path} to avoid accidental \
             conflicts with other finalizer writers"
        ));
    }
    warnings
}
