//! Structural schemas (`apiserver/schema/convert.go`, `validation.go`): what a schema says about the shape of a value
//! stands apart from what it says about valid values, so that a server can prune and default by it.

use super::props::{Items, Props};
use crate::validation::{ErrorList, FieldError};

/// `NewStructural`: a schema that has none of the fields which no structural schema has.
///
/// # Errors
/// The first of them.
pub fn new_structural(schema: &Props) -> Result<Props, String> {
    validate_unsupported_fields(schema)?;
    if schema.preserve_unknown_fields == Some(false) {
        return Err(
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
                .to_owned(),
        );
    }
    let of = |inner: &Props| new_structural(inner).map(|_| ());
    schema.not.as_deref().map_or(Ok(()), of)?;
    let nested = [&schema.all_of, &schema.any_of, &schema.one_of];
    nested.into_iter().flatten().try_for_each(of)?;
    match &schema.items {
        Some(Items::Schemas(all)) if !all.is_empty() => {
            return Err("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
        }
        Some(Items::Schema(item)) => of(item)?,
        _ => {}
    }
    schema.properties.values().try_for_each(of)?;
    schema.additional().map_or(Ok(()), of)?;
    Ok(schema.clone())
}

/// `validateUnsupportedFields`
fn validate_unsupported_fields(schema: &Props) -> Result<(), String> {
    let dependencies = schema.dependencies.as_ref();
    let unsupported = [
        ("id", !schema.id.is_empty()),
        ("schema", !schema.schema.is_empty()),
        (
            "$ref",
            schema.reference.as_ref().is_some_and(|r| !r.is_empty()),
        ),
        ("patternProperties", !schema.pattern_properties.is_empty()),
        (
            "dependencies",
            dependencies
                .and_then(|d| d.as_object())
                .is_some_and(|d| !d.is_empty()),
        ),
        ("additionalItems", schema.additional_items.is_some()),
        ("definitions", !schema.definitions.is_empty()),
    ];
    match unsupported.into_iter().find(|(_, is_set)| *is_set) {
        Some((name, _)) => Err(format!("OpenAPIV3Schema '{name}' is not supported")),
        None => Ok(()),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// `ValidateStructural`; its errors are sorted.
pub fn validate_structural(path: &str, schema: &Props) -> ErrorList {
    let mut errors = ErrorList::default();
    validate_structural_invariants(schema, Level::Root, path, &mut errors);
    validate_value_validation_completeness(schema, Some(schema), path, path, &mut errors);
    let mut all: Vec<FieldError> = errors.iter().cloned().collect();
    all.sort_by_key(ToString::to_string);
    let mut sorted = ErrorList::default();
    for error in all {
        sorted.add(error.error, error.field, error.detail);
    }
    sorted
}

fn validate_structural_invariants(s: &Props, level: Level, path: &str, errors: &mut ErrorList) {
    if s.ty == "array" && s.item().is_none() {
        errors.required(format!("{path}.items"), "must be specified");
    }
    if let Some(item) = s.item() {
        validate_structural_invariants(item, Level::Item, &format!("{path}.items"), errors);
    }
    for (name, property) in &s.properties {
        let path = format!("{path}.properties[{name}]");
        validate_structural_invariants(property, Level::Field, &path, errors);
    }
    if let Some(additional) = &s.additional_properties {
        let path = format!("{path}.additionalProperties");
        if level == Level::Root {
            errors.forbidden(&path, "must not be used at the root");
        }
        if let Some(schema) = &additional.schema {
            validate_structural_invariants(schema, Level::Field, &path, errors);
        }
    }
    validate_extensions(s, path, errors);
    let skip_any_of = is_int_or_string_any_of_pattern(s);
    let skip_first = is_int_or_string_all_of_pattern(s);
    validate_value_validation(s, skip_any_of, skip_first, path, errors);
    validate_type(s, level, path, errors);
    validate_meta_properties(s, level, path, errors);
    if s.embedded_resource && !s.preserves() && s.properties.is_empty() {
        errors.required(
            format!("{path}.properties"),
            "must not be empty if x-kubernetes-embedded-resource is true without \
             x-kubernetes-preserve-unknown-fields",
        );
    }
}

fn validate_type(s: &Props, level: Level, path: &str, errors: &mut ErrorList) {
    let of_type = format!("{path}.type");
    if s.embedded_resource && s.ty != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        match s.ty.as_str() {
            "" => errors.required(of_type.as_str(), why),
            ty => errors.invalid(of_type.as_str(), ty, why),
        }
    } else if s.ty.is_empty() && !s.int_or_string && !s.preserves() {
        let place = match level {
            Level::Root => "at the root",
            Level::Item => "for specified array items",
            Level::Field => "for specified object fields",
        };
        errors.required(of_type.as_str(), format!("must not be empty {place}"));
    }
    if s.embedded_resource && s.additional_properties.is_some() {
        errors.forbidden(
            format!("{path}.additionalProperties"),
            "must not be used if x-kubernetes-embedded-resource is set",
        );
    }
    if level == Level::Root && !s.ty.is_empty() && s.ty != "object" {
        errors.invalid(of_type, &s.ty, "must be object at the root");
    }
}

/// What `kind`, `apiVersion` and `metadata` may be, where they are those of an object.
fn validate_meta_properties(s: &Props, level: Level, path: &str, errors: &mut ErrorList) {
    let is_object = level == Level::Root || s.embedded_resource;
    for name in ["kind", "apiVersion"] {
        if let Some(property) = s.properties.get(name)
            && is_object
            && property.ty != "string"
        {
            let path = format!("{path}.properties[{name}].type");
            errors.invalid(path, &property.ty, "must be string");
        }
    }
    if let Some(metadata) = s.properties.get("metadata") {
        let path = format!("{path}.properties[metadata]");
        validate_structural_metadata_invariants(metadata, is_object, level, &path, errors);
    }
}

/// `validateStructuralMetadataInvariants`
fn validate_structural_metadata_invariants(
    s: &Props,
    is_object: bool,
    level: Level,
    path: &str,
    errors: &mut ErrorList,
) {
    if is_object && s.ty != "object" {
        errors.invalid(format!("{path}.type"), &s.ty, "must be object");
    }
    if level != Level::Root {
        return;
    }
    let mut rest = s.clone();
    let names = ["name", "generateName"];
    let only = !rest.properties.is_empty();
    if only
        && rest
            .properties
            .keys()
            .all(|name| names.contains(&name.as_str()))
    {
        rest.properties.clear();
    }
    rest.ty.clear();
    rest.default = None;
    if rest != Props::default() {
        errors.forbidden(
            path,
            "must not specify anything other than name and generateName, but metadata is \
             implicitly specified",
        );
    }
}

fn is_int_or_string_any_of(any_of: &[Props]) -> bool {
    let of_type = |ty: &str| Props {
        ty: ty.to_owned(),
        ..Props::default()
    };
    any_of == [of_type("integer"), of_type("string")]
}

/// `isIntOrStringAnyOfPattern`
fn is_int_or_string_any_of_pattern(s: &Props) -> bool {
    is_int_or_string_any_of(&s.any_of)
}

/// `isIntOrStringAllOfPattern`
fn is_int_or_string_all_of_pattern(s: &Props) -> bool {
    let first = s.all_of.first();
    first.is_some_and(|first| is_int_or_string_any_of(&first.any_of))
}

/// `validateExtensions`
fn validate_extensions(s: &Props, path: &str, errors: &mut ErrorList) {
    let why = "must be false if x-kubernetes-int-or-string is true";
    if s.int_or_string && s.preserves() {
        errors.invalid(
            format!("{path}.x-kubernetes-preserve-unknown-fields"),
            true,
            why,
        );
    }
    if s.int_or_string && s.embedded_resource {
        errors.invalid(format!("{path}.x-kubernetes-embedded-resource"), true, why);
    }
}

/// `validateValueValidation`
fn validate_value_validation(
    v: &Props,
    skip_any_of: bool,
    skip_first_all_of: bool,
    path: &str,
    errors: &mut ErrorList,
) {
    if !skip_any_of {
        for (at, nested) in v.any_of.iter().enumerate() {
            validate_nested_value_validation(nested, false, &format!("{path}.anyOf[{at}]"), errors);
        }
    }
    for (at, nested) in v.all_of.iter().enumerate() {
        let skip = skip_first_all_of && at == 0;
        validate_nested_value_validation(nested, skip, &format!("{path}.allOf[{at}]"), errors);
    }
    for (at, nested) in v.one_of.iter().enumerate() {
        validate_nested_value_validation(nested, false, &format!("{path}.oneOf[{at}]"), errors);
    }
    if let Some(not) = &v.not {
        validate_nested_value_validation(not, false, &format!("{path}.not"), errors);
    }
    if !v.pattern.is_empty()
        && let Err(error) = super::patterns::compile(&v.pattern)
    {
        let why = format!("must be a valid regular expression, but isn't: {error}");
        errors.invalid(format!("{path}.pattern"), &v.pattern, why);
    }
}

/// `validateNestedValueValidation`
fn validate_nested_value_validation(
    v: &Props,
    skip_any_of: bool,
    path: &str,
    errors: &mut ErrorList,
) {
    validate_value_validation(v, skip_any_of, false, path, errors);
    if let Some(item) = v.item() {
        validate_nested_value_validation(item, false, &format!("{path}.items"), errors);
    }
    for (name, property) in &v.properties {
        validate_nested_value_validation(
            property,
            false,
            &format!("{path}.properties[{name}]"),
            errors,
        );
    }
    let is_additional = v.additional_properties.as_ref();
    let is_additional = is_additional.is_some_and(|or| or.schema.is_some() || or.allows);
    let (empty, undefined, unset) = ("empty", "undefined", "false");
    let forbidden = [
        ("type", !v.ty.is_empty(), empty),
        ("additionalProperties", is_additional, undefined),
        ("default", v.default.is_some(), undefined),
        ("title", !v.title.is_empty(), empty),
        ("description", !v.description.is_empty(), empty),
        ("nullable", v.nullable, unset),
        ("x-kubernetes-preserve-unknown-fields", v.preserves(), unset),
        ("x-kubernetes-embedded-resource", v.embedded_resource, unset),
        ("x-kubernetes-int-or-string", v.int_or_string, unset),
        (
            "x-kubernetes-list-map-keys",
            !v.list_map_keys.is_empty(),
            empty,
        ),
        ("x-kubernetes-list-type", v.list_type.is_some(), undefined),
        ("x-kubernetes-map-type", v.map_type.is_some(), undefined),
        ("x-kubernetes-validations", !v.validations.is_empty(), empty),
    ];
    for (name, _, how) in forbidden.into_iter().filter(|(_, is_set, _)| *is_set) {
        errors.forbidden(
            format!("{path}.{name}"),
            format!("must be {how} to be structural"),
        );
    }
    if v.properties.contains_key("metadata") {
        let path = format!("{path}.properties[metadata]");
        errors.forbidden(path, "must not be specified in a nested context");
    }
}

/// `validateValueValidationCompleteness`: what is validated is specified.
fn validate_value_validation_completeness(
    v: &Props,
    s: Option<&Props>,
    s_path: &str,
    v_path: &str,
    errors: &mut ErrorList,
) {
    if s.is_none() {
        errors.required(s_path, format!("because it is defined in {v_path}"));
        return;
    }
    let mut nested = |of: &Props, path: String| {
        validate_nested_value_validation_completeness(of, s, s_path, &path, errors);
    };
    if let Some(not) = &v.not {
        nested(not, format!("{v_path}.not"));
    }
    for (name, all) in [
        ("allOf", &v.all_of),
        ("anyOf", &v.any_of),
        ("oneOf", &v.one_of),
    ] {
        for (at, one) in all.iter().enumerate() {
            nested(one, format!("{v_path}.{name}[{at}]"));
        }
    }
}

/// `validateNestedValueValidationCompleteness`
fn validate_nested_value_validation_completeness(
    v: &Props,
    s: Option<&Props>,
    s_path: &str,
    v_path: &str,
    errors: &mut ErrorList,
) {
    let Some(specified) = s else {
        errors.required(s_path, format!("because it is defined in {v_path}"));
        return;
    };
    validate_value_validation_completeness(v, s, s_path, v_path, errors);
    if let Some(item) = v.item() {
        let (s_path, v_path) = (format!("{s_path}.items"), format!("{v_path}.items"));
        validate_nested_value_validation_completeness(
            item,
            specified.item(),
            &s_path,
            &v_path,
            errors,
        );
    }
    for (name, property) in &v.properties {
        let s_path = format!("{s_path}.properties[{name}]");
        let v_path = format!("{v_path}.properties[{name}]");
        let known = specified.properties.get(name);
        validate_nested_value_validation_completeness(property, known, &s_path, &v_path, errors);
    }
}
