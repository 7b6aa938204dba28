//! What a schema in a definition may say (`apis/apiextensions/validation/validation.go`,
//! `ValidateCustomResourceDefinitionOpenAPISchema`).

use super::props::{Items, Props};
use crate::render;
use crate::validation::{Bad, ErrorList};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// What a definition is held to. What is stored already may break rules that came later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Options {
    /// `requireValidPropertyType`
    pub(super) valid_types: bool,
    /// `requireAtomicSetType`
    pub(super) atomic_sets: bool,
    /// `requireMapListKeysMapSetValidation`
    pub(super) map_list_keys: bool,
}

/// `specStandardValidatorV3`
#[derive(Clone, Copy, Default)]
struct Place {
    /// Why there may be no defaults.
    no_defaults: Option<&'static str>,
    inside_meta: bool,
}

/// `ValidateCustomResourceDefinitionOpenAPISchema`
pub(super) fn validate_custom_resource_definition_open_api_schema(
    path: &str,
    schema: &Props,
    options: Options,
) -> ErrorList {
    let mut rules = Rules {
        options,
        errors: ErrorList::default(),
    };
    rules.schema(schema, path, Place::default(), true);
    rules.errors
}

/// `SchemaHasInvalidTypes`
pub(super) fn schema_has_invalid_types(schema: &Props) -> bool {
    schema.schema_has(&mut |schema| !schema.ty.is_empty() && !TYPES.contains(&schema.ty.as_str()))
}

/// Has this very schema what `schemaHasKubernetesExtensions` looks for?
pub(super) fn has_kubernetes_extensions(schema: &Props) -> bool {
    schema.embedded_resource
        || schema.preserve_unknown_fields.is_some()
        || schema.int_or_string
        || !schema.list_map_keys.is_empty()
        || schema.list_type.is_some()
        || !schema.validations.is_empty()
}

/// `hasNonAtomicSetType`
pub(super) fn has_non_atomic_set_type(schema: &Props) -> bool {
    schema.schema_has(&mut |schema| {
        let mut errors = ErrorList::default();
        let is_set = schema.list_type.as_deref() == Some("set");
        if is_set && let Some(item) = schema.item() {
            atomic_items(item, "", &mut errors);
        }
        !errors.is_empty()
    })
}

/// `hasInvalidMapListKeysMapSet`
pub(super) fn has_invalid_map_list_keys_map_set(schema: &Props) -> bool {
    schema.schema_has(&mut |schema| {
        let mut errors = ErrorList::default();
        validate_map_list_keys_map_set(schema, "", &mut errors);
        !errors.is_empty()
    })
}

struct Rules {
    options: Options,
    errors: ErrorList,
}

impl Rules {
    fn schema(&mut self, schema: &Props, path: &str, place: Place, is_root: bool) {
        self.standard(schema, path, place);
        if schema.unique_items {
            self.errors.forbidden(
                format!("{path}.uniqueItems"),
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            );
        }
        self.children(schema, path, place, is_root);
        if schema.preserve_unknown_fields == Some(false) {
            let path = format!("{path}.x-kubernetes-preserve-unknown-fields");
            self.errors
                .invalid(path, false, "must be true or undefined");
        }
        self.map_type(schema, path);
        self.list_type(schema, path);
        self.list_map(schema, path);
        if self.options.map_list_keys {
            validate_map_list_keys_map_set(schema, path, &mut self.errors);
        }
        for at in 0..schema.validations.len() {
            // Upstream compiles CEL here.
            self.errors.forbidden(
                format!("{path}.x-kubernetes-validations[{at}].rule"),
                "rules are not simulated",
            );
        }
    }

    /// Upstream's `specStandardValidatorV3.validate`
    fn standard(&mut self, schema: &Props, path: &str, place: Place) {
        let errors = &mut self.errors;
        let ty = schema.ty.as_str();
        if self.options.valid_types && !ty.is_empty() && !TYPES.contains(&ty) {
            errors.not_supported(format!("{path}.type"), ty, &TYPES);
        }
        if schema.default.is_some()
            && let Some(reason) = place.no_defaults
        {
            errors.forbidden(
                format!("{path}.default"),
                format!("must not be set {reason}"),
            );
        }
        let reference = schema.reference.is_some();
        for (name, is_set) in [
            ("id", !schema.id.is_empty()),
            ("additionalItems", schema.additional_items.is_some()),
            ("patternProperties", !schema.pattern_properties.is_empty()),
            ("definitions", !schema.definitions.is_empty()),
            ("dependencies", schema.dependencies.is_some()),
            ("$ref", reference),
        ] {
            if is_set {
                errors.forbidden(format!("{path}.{name}"), format!("{name} is not supported"));
            }
        }
        if ty == "null" {
            let why = "type cannot be set to null, use nullable as an alternative";
            errors.forbidden(format!("{path}.type"), why);
        }
        if matches!(&schema.items, Some(Items::Schemas(items)) if !items.is_empty()) {
            let why = "items must be a schema object and not an array";
            errors.forbidden(format!("{path}.items"), why);
        }
        if place.inside_meta && schema.embedded_resource {
            let path = format!("{path}.x-kubernetes-embedded-resource");
            errors.forbidden(path, "must not be used inside of resource meta");
        }
    }

    fn children(&mut self, schema: &Props, path: &str, place: Place, is_root: bool) {
        if let Some(additional) = &schema.additional_properties {
            let path = format!("{path}.additionalProperties");
            let has_both = !schema.properties.is_empty();
            if has_both && (!additional.allows || additional.schema.is_some()) {
                let why = "additionalProperties and properties are mutual exclusive";
                self.errors.forbidden(&path, why);
            }
            let mut place = place;
            if place.inside_meta {
                place.no_defaults = Some("inside additionalProperties applying to object metadata");
            }
            if let Some(schema) = &additional.schema {
                self.schema(schema, &path, place, false);
            }
        }
        for (name, property) in &schema.properties {
            let mut place = place;
            let is_meta = match name.as_str() {
                "metadata" => Some("in top-level metadata"),
                "kind" => Some("in top-level kind"),
                "apiVersion" => Some("in top-level apiVersion"),
                _ => None,
            };
            if is_meta.is_some() && (is_root || schema.embedded_resource) {
                place.inside_meta = true;
                if is_root {
                    place.no_defaults = is_meta;
                }
            }
            self.schema(
                property,
                &format!("{path}.properties[{name}]"),
                place,
                false,
            );
        }
        if let Some(not) = &schema.not {
            self.schema(not, &format!("{path}.not"), place, false);
        }
        for (name, all) in [
            ("allOf", &schema.all_of),
            ("oneOf", &schema.one_of),
            ("anyOf", &schema.any_of),
        ] {
            for (at, one) in all.iter().enumerate() {
                self.schema(one, &format!("{path}.{name}[{at}]"), place, false);
            }
        }
        for (name, one) in &schema.definitions {
            self.schema(one, &format!("{path}.definitions[{name}]"), place, false);
        }
        match &schema.items {
            None => {}
            Some(Items::Schema(item)) => self.schema(item, &format!("{path}.items"), place, false),
            Some(Items::Schemas(items)) => {
                for (at, item) in items.iter().enumerate() {
                    self.schema(item, &format!("{path}.items[{at}]"), place, false);
                }
            }
        }
    }

    /// What must be of a type says so.
    fn must_be(&mut self, schema: &Props, ty: &str, path: &str, of: &str) -> bool {
        if schema.ty == ty {
            return false;
        }
        let (path, why) = (
            format!("{path}.type"),
            format!("must be {ty} if {of} is specified"),
        );
        match schema.ty.as_str() {
            "" => self.errors.required(path, why),
            is => self.errors.invalid(path, is, why),
        }
        true
    }

    fn map_type(&mut self, schema: &Props, path: &str) {
        const NAME: &str = "x-kubernetes-map-type";
        let Some(map_type) = schema.map_type.as_deref() else {
            return;
        };
        self.must_be(schema, "object", path, NAME);
        let known = ["atomic", "granular"];
        if !known.contains(&map_type) {
            self.errors
                .not_supported(format!("{path}.{NAME}"), map_type, &known);
        }
    }

    fn list_type(&mut self, schema: &Props, path: &str) {
        const NAME: &str = "x-kubernetes-list-type";
        if let Some(list_type) = schema.list_type.as_deref() {
            let misfits = self.must_be(schema, "array", path, NAME);
            if !misfits
                && self.options.atomic_sets
                && list_type == "set"
                && let Some(item) = schema.item()
            {
                atomic_items(item, path, &mut self.errors);
            }
            let known = ["atomic", "set", "map"];
            if !known.contains(&list_type) {
                self.errors
                    .not_supported(format!("{path}.{NAME}"), list_type, &known);
            }
        }
        if !schema.list_map_keys.is_empty() {
            let why = "must be map if x-kubernetes-list-map-keys is non-empty";
            match schema.list_type.as_deref() {
                None => self.errors.required(format!("{path}.{NAME}"), why),
                Some("map") => {}
                Some(other) => self.errors.invalid(format!("{path}.{NAME}"), other, why),
            }
        }
    }

    fn list_map(&mut self, schema: &Props, path: &str) {
        if schema.list_type.as_deref() != Some("map") {
            return;
        }
        let errors = &mut self.errors;
        let keys_path = format!("{path}.x-kubernetes-list-map-keys");
        if schema.list_map_keys.is_empty() {
            let why = "must not be empty if x-kubernetes-list-type is map";
            errors.required(&keys_path, why);
        }
        if schema.items.is_none() {
            let why = "must have a schema if x-kubernetes-list-type is map";
            errors.required(format!("{path}.items"), why);
        }
        let Some(item) = schema.item() else { return };
        if item.ty != "object" {
            let why = "must be object if parent array's x-kubernetes-list-type is map";
            errors.invalid(format!("{path}.items.type"), &item.ty, why);
            return;
        }
        let shown = || {
            let keys: Vec<crate::Json> = schema
                .list_map_keys
                .iter()
                .map(|k| k.as_str().into())
                .collect();
            Bad::shown(render::sorted(&keys.into()))
        };
        for (at, key) in schema.list_map_keys.iter().enumerate() {
            match item.properties.get(key) {
                Some(property) if matches!(property.ty.as_str(), "array" | "object") => {
                    let path = format!("{path}.items.properties[{key}].type");
                    let why =
                        "must be a scalar type if parent array's x-kubernetes-list-type is map";
                    errors.invalid(path, &item.ty, why);
                }
                Some(_) => {}
                None => {
                    let why = "entries must all be names of item properties";
                    errors.invalid(&keys_path, shown(), why);
                }
            }
            if schema.list_map_keys[..at].contains(key) {
                errors.invalid(&keys_path, shown(), "must not contain duplicate entries");
            }
        }
    }
}

/// What a set holds is one thing each.
fn atomic_items(item: &Props, path: &str, errors: &mut ErrorList) {
    const WHY: &str = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let shown = || match &item.list_type {
        None => Bad::shown("null"),
        Some(list_type) => Bad::from(list_type),
    };
    match item.ty.as_str() {
        "array"
            if item
                .list_type
                .as_deref()
                .is_some_and(|list| list != "atomic") =>
        {
            errors.invalid(format!("{path}.items.x-kubernetes-list-type"), shown(), WHY);
        }
        "object" if item.map_type.as_deref() != Some("atomic") => {
            errors.invalid(format!("{path}.items.x-kubernetes-map-type"), shown(), WHY);
        }
        _ => {}
    }
}

/// `validateMapListKeysMapSet`
fn validate_map_list_keys_map_set(schema: &Props, path: &str, errors: &mut ErrorList) {
    let (Some(item), Some(list_type @ ("set" | "map"))) =
        (schema.item(), schema.list_type.as_deref())
    else {
        return;
    };
    if item.nullable {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.forbidden(format!("{path}.items.nullable"), why);
    }
    if list_type != "map" {
        return;
    }
    for key in &schema.list_map_keys {
        let Some(property) = item.properties.get(key) else {
            continue;
        };
        let path = format!("{path}.items.properties[{key}]");
        const SO: &str = "this property is in x-kubernetes-list-map-keys, so it";
        if !item.required.contains(key) && property.default.is_none() {
            let why = format!("{SO} must have a default or be a required property");
            errors.required(format!("{path}.default"), why);
        }
        if property.nullable {
            errors.forbidden(
                format!("{path}.nullable"),
                format!("{SO} cannot be nullable"),
            );
        }
    }
}
