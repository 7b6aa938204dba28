//! Validation of a value against a schema, as kube-openapi does it (`pkg/validation/validate`): one validator after
//! another, each of which counts what it found fit, so that the best of several failures is told. `ratcheting` forgives
//! what an update did not change, `formats` says what is a date, `numbers` what is in range.

mod correlation;
mod formats;
mod numbers;

use super::props::Props;
use crate::json::Json;
use crate::quote;
use crate::validation::{Bad, ErrorList};

pub use correlation::Correlated;

/// What kind of error it is (`openapi/errors/schema.go`).
#[derive(Clone, PartialEq, Debug)]
enum Code {
    InvalidType,
    Required,
    TooLong(i64),
    /// With what is allowed.
    Enum(Vec<Json>),
    /// How many there are, and may be.
    TooMany(i64, i64),
    Other,
    /// Of the whole, and of no field.
    Composite,
}

/// `errors.Validation`
#[derive(Clone, PartialEq, Debug)]
struct Failure {
    code: Code,
    name: String,
    value: Json,
    message: String,
}

/// `Result`
#[derive(Clone, PartialEq, Debug, Default)]
struct Outcome {
    errors: Vec<Failure>,
    /// How many checks there were.
    matches: usize,
}

impl Outcome {
    fn of(failure: Failure) -> Outcome {
        Outcome {
            errors: vec![failure],
            matches: 0,
        }
    }

    /// Upstream's `AddErrors`: none twice.
    fn add(&mut self, failure: Failure) {
        if !self
            .errors
            .iter()
            .any(|other| other.message == failure.message)
        {
            self.errors.push(failure);
        }
    }

    fn composite(&mut self, message: String) {
        self.add(Failure {
            code: Code::Composite,
            name: String::new(),
            value: Json::Null,
            message,
        });
    }

    fn merge(&mut self, other: Outcome) {
        self.matches += other.matches;
        other
            .errors
            .into_iter()
            .for_each(|failure| self.add(failure));
    }

    fn inc(&mut self) {
        self.matches += 1;
    }

    fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }
}

fn failure(code: Code, path: &str, value: impl Into<Json>, what: &str) -> Failure {
    Failure {
        code,
        name: path.to_owned(),
        value: value.into(),
        message: format!("{path} in body {what}"),
    }
}

/// Upstream's `ValidateCustomResource`, or with what was there before `ValidateCustomResourceUpdate`.
pub fn validate(
    field: &str,
    value: &Json,
    schema: &Props,
    correlated: Option<Correlated<'_>>,
) -> ErrorList {
    let outcome = check(schema, value, "", correlated);
    let unchanged = correlated.is_some_and(|correlated| correlated.is_unchanged());
    let mut errors = ErrorList::default();
    if outcome.is_valid() || unchanged {
        return errors;
    }
    for failure in outcome.errors {
        kube_open_api_result_to_field_errors(field, failure, &mut errors);
    }
    errors
}

/// `kubeOpenAPIResultToFieldErrors`
fn kube_open_api_result_to_field_errors(field: &str, failure: Failure, errors: &mut ErrorList) {
    const NO_PATH: &str = "<nil>";
    let whole = || match field {
        "" => NO_PATH.to_owned(),
        field => field.to_owned(),
    };
    let name = failure.name.strip_prefix('.').unwrap_or(&failure.name);
    let path = match (field, name) {
        (_, "") => whole(),
        ("", name) => name.to_owned(),
        (field, name) => format!("{field}.{name}"),
    };
    let value = match &failure.value {
        Json::Null => Bad::from(""),
        Json::Number(number) => Bad::shown(quote::go_plain(&Json::Number(number.clone()))),
        value => Bad::from(value),
    };
    match failure.code {
        Code::Required => errors.required(path, ""),
        Code::Enum(allowed) => {
            let texts = allowed.iter().map(|allowed| match allowed {
                Json::String(text) => text.clone(),
                other => crate::render::sorted(other),
            });
            let texts: Vec<String> = texts.collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            errors.not_supported(path, &failure.value, &texts);
        }
        Code::TooLong(limit) => errors.too_long(path, limit as usize),
        Code::TooMany(count, limit) => errors.too_many(path, count as usize, limit as usize),
        Code::InvalidType => {
            let error = crate::validation::ErrorType::TypeInvalid(value);
            errors.add(error, path, failure.message);
        }
        Code::Other => errors.invalid(path, value, failure.message),
        Code::Composite => errors.invalid(whole(), "", failure.message),
    }
}

/// The types of a schema, as kube-openapi has them: a number or a text is of two.
fn types(schema: &Props) -> Vec<&str> {
    match (schema.int_or_string, schema.ty.as_str()) {
        (true, _) => vec!["integer", "string"],
        (false, "") => Vec::new(),
        (false, ty) => vec![ty],
    }
}

/// Upstream's `StripUnsupportedFormatsPostProcessorForVersion`: a format that nobody knows is none.
fn format_of(schema: &Props) -> &str {
    match formats::is_supported(&types(schema), &schema.format) {
        true => &schema.format,
        false => "",
    }
}

/// Upstream's `GetUnrecognizedFormats`
pub(super) fn is_recognized(schema: &Props) -> bool {
    let ty = match schema.ty.as_str() {
        "" => Vec::new(),
        ty => vec![ty],
    };
    formats::is_supported(&ty, &schema.format)
}

/// Upstream's `SchemaValidator.Validate`
fn check(schema: &Props, value: &Json, path: &str, old: Option<Correlated<'_>>) -> Outcome {
    let mut result = Outcome::default();
    if value.is_null() {
        result.merge(check_type(schema, value, path));
        if let Some(outcome) = check_enum(schema, value, path) {
            result.merge(outcome);
        }
        return result;
    }
    let (is_text, is_number) = (value.is_string(), value.is_number());
    if !types(schema).is_empty() || !format_of(schema).is_empty() {
        result.merge(check_type(schema, value, path));
        result.inc();
    }
    result.merge(check_nested(schema, value, path, old));
    result.inc();
    if let Some(text) = value.as_str() {
        result.merge(check_text(schema, text, path).unwrap_or_default());
        result.inc();
        let format = format_of(schema);
        if is_text && formats::is_known(format) {
            if !formats::validates(format, text) {
                result.merge(Outcome::of(invalid_type(path, format, value)));
            }
            result.inc();
        }
    }
    if is_number {
        result.merge(numbers::check(schema, value, path));
        result.inc();
    }
    if let Json::Array(items) = value {
        result.merge(check_items(schema, items, path, old));
        result.inc();
    }
    result.merge(check_enum(schema, value, path).unwrap_or_default());
    result.inc();
    if value.is_object() {
        result.merge(check_object(schema, value, path, old));
        result.inc();
    }
    result.inc();
    result
}

/// A field or an item: what was there before forgives what is wrong with it, if it is the same (`ratcheting.go`).
fn check_child(schema: &Props, value: &Json, path: &str, old: Option<Correlated<'_>>) -> Outcome {
    let outcome = check(schema, value, path, old);
    match old {
        Some(old) if !outcome.is_valid() && old.is_unchanged() => Outcome::default(),
        _ => outcome,
    }
}

/// `InvalidType`
fn invalid_type(path: &str, wanted: &str, value: &Json) -> Failure {
    let what = match value {
        Json::String(text) => format!("must be of type {wanted}: {}", quote::quote(text)),
        _ => format!("must be of type {wanted}"),
    };
    failure(Code::InvalidType, path, value.clone(), &what)
}

/// `schemaInfoForType`
fn schema_info_for_type(value: &Json) -> (&'static str, &'static str) {
    match value {
        Json::Null => ("null", ""),
        Json::Bool(_) => ("boolean", ""),
        Json::String(_) => ("string", ""),
        Json::Number(number) if number.is_f64() => ("number", "float64"),
        Json::Number(_) => ("integer", "int64"),
        Json::Array(_) => ("array", ""),
        Json::Object(_) => ("object", ""),
    }
}

/// Upstream's `typeValidator`
fn check_type(schema: &Props, value: &Json, path: &str) -> Outcome {
    let (types, format) = (types(schema), format_of(schema));
    let wanted = types.join(",");
    let fits = Outcome {
        matches: 1,
        ..Outcome::default()
    };
    let misfit = |wanted: &str, is: &str| Outcome::of(invalid_type(path, wanted, &is.into()));
    if value.is_null() {
        let fails = !types.is_empty() && !types.contains(&"null") && !schema.nullable;
        return if fails { misfit(&wanted, "null") } else { fits };
    }
    let (is, its_format) = schema_info_for_type(value);
    let has = |ty: &str| types.contains(&ty);
    let whole = value.as_f64().is_some_and(numbers::is_integer);
    let is_float_int = is == "number" && whole && has("integer");
    let is_int_float = is == "integer" && has("number");
    let is_text_or_list = value.is_string() || value.is_array();
    let has_format = !format.is_empty();
    let is_as_format = has(is) || its_format == format || is_float_int || is_int_float;
    if has_format && !is_text_or_list && !is_as_format {
        return misfit(format, its_format);
    }
    let is_numeric = has("number") || has("integer");
    if has_format && is_text_or_list && !is_numeric {
        return fits;
    }
    match has(is) || is_float_int || is_int_float || types.is_empty() && format.is_empty() {
        true => fits,
        false => misfit(&wanted, is),
    }
}

/// Upstream's `basicCommonValidator`
fn check_enum(schema: &Props, value: &Json, path: &str) -> Option<Outcome> {
    if schema.allowed.is_empty() {
        return None;
    }
    let alike = |allowed: &Json| match (allowed, value) {
        (Json::Number(allowed), Json::Number(value)) => allowed.as_f64() == value.as_f64(),
        (allowed, value) => !allowed.is_null() && allowed == value,
    };
    if schema.allowed.iter().any(alike) {
        return None;
    }
    let code = Code::Enum(schema.allowed.clone());
    let allowed = quote::go_plain(&Json::Array(schema.allowed.clone()));
    let what = format!("should be one of {allowed}");
    Some(Outcome::of(failure(code, path, value.clone(), &what)))
}

/// Upstream's `stringValidator`
fn check_text(schema: &Props, text: &str, path: &str) -> Option<Outcome> {
    let length = text.chars().count() as i64;
    let failed = |code, what: String| Some(Outcome::of(failure(code, path, text, &what)));
    if let Some(limit) = schema.max_length
        && length > limit
    {
        let what = format!("should be at most {limit} chars long");
        return failed(Code::TooLong(limit), what);
    }
    if let Some(limit) = schema.min_length
        && length < limit
    {
        return failed(
            Code::Other,
            format!("should be at least {limit} chars long"),
        );
    }
    let pattern = &schema.pattern;
    match super::patterns::compile(pattern) {
        _ if pattern.is_empty() => None,
        Ok(regex) if regex.is_match(text) => None,
        Ok(_) => failed(Code::Other, format!("should match '{pattern}'")),
        Err(error) => failed(
            Code::Other,
            format!("should match '{pattern}, but pattern is invalid: {error}'"),
        ),
    }
}

/// Upstream's `schemaSliceValidator`
fn check_items(schema: &Props, items: &[Json], path: &str, old: Option<Correlated<'_>>) -> Outcome {
    let mut result = Outcome::default();
    if let Some(item) = schema.item() {
        for (at, value) in items.iter().enumerate() {
            let old = old.and_then(|old| old.index(at));
            result.merge(check_child(item, value, &format!("{path}[{at}]"), old));
        }
    }
    let size = items.len() as i64;
    if let Some(limit) = schema.min_items
        && size < limit
    {
        let what = format!("should have at least {limit} items");
        result.add(failure(Code::Other, path, size, &what));
    }
    if let Some(limit) = schema.max_items
        && size > limit
    {
        let what = format!("should have at most {limit} items");
        result.add(failure(Code::TooMany(size, limit), path, size, &what));
    }
    if schema.unique_items
        && items
            .iter()
            .enumerate()
            .any(|(at, item)| items[..at].contains(item))
    {
        result.add(failure(
            Code::Other,
            path,
            Json::Null,
            "shouldn't contain duplicates",
        ));
    }
    result.inc();
    result
}

/// Upstream's `objectValidator`
fn check_object(schema: &Props, value: &Json, path: &str, old: Option<Correlated<'_>>) -> Outcome {
    let mut result = Outcome::default();
    let map = value.as_object().expect("it is an object");
    let size = map.len() as i64;
    if let Some(limit) = schema.min_properties
        && size < limit
    {
        let what = format!("should have at least {limit} properties");
        result.add(failure(Code::Other, path, size, &what));
    }
    if let Some(limit) = schema.max_properties
        && size > limit
    {
        let what = format!("should have at most {limit} properties");
        result.add(failure(Code::TooMany(size, limit), path, size, &what));
    }
    for (name, value) in map
        .iter()
        .filter(|(name, _)| !schema.properties.contains_key(*name))
    {
        match &schema.additional_properties {
            Some(or) if !or.allows => {
                let mut failed = failure(Code::Other, path, name.as_str(), "");
                failed.message = format!("{path}.{name} in body is a forbidden property");
                result.add(failed);
            }
            Some(or) => {
                let Some(schema) = &or.schema else { continue };
                let old = old.and_then(|old| old.key(path, name));
                result.merge(check_child(schema, value, &format!("{path}.{name}"), old));
            }
            None => {}
        }
    }
    for (name, property) in &schema.properties {
        let Some(value) = map.get(name) else { continue };
        let path_of = super::object_meta::child(path, name);
        let old = old.and_then(|old| old.key(path, name));
        result.merge(check_child(property, value, &path_of, old));
    }
    for name in schema
        .required
        .iter()
        .filter(|name| !map.contains_key(*name))
    {
        let path = format!("{path}.{name}");
        result.add(failure(Code::Required, &path, Json::Null, "is required"));
    }
    result
}

/// Upstream's `schemaPropsValidator`: anyOf, oneOf, allOf, not.
fn check_nested(schema: &Props, value: &Json, path: &str, old: Option<Correlated<'_>>) -> Outcome {
    let mut main = Outcome::default();
    let named = quote::quote(path);
    let of = |all: &[Props]| -> Vec<Outcome> {
        all.iter().map(|one| check(one, value, path, old)).collect()
    };
    /// The failure that got furthest: the first of those.
    fn best(all: Vec<Outcome>) -> Option<Outcome> {
        let mut all = all.into_iter();
        let first = all.next()?;
        Some(
            all.fold(first, |best, other| match other.matches > best.matches {
                true => other,
                false => best,
            }),
        )
    }
    let any_of = of(&schema.any_of);
    if !any_of.is_empty() {
        let succeeded = any_of.iter().find(|outcome| outcome.is_valid()).cloned();
        if succeeded.is_none() {
            main.composite(format!("{named} must validate at least one schema (anyOf)"));
        }
        main.merge(succeeded.or_else(|| best(any_of)).unwrap_or_default());
    }
    let one_of = of(&schema.one_of);
    if !one_of.is_empty() {
        let validated: Vec<&Outcome> = one_of.iter().filter(|outcome| outcome.is_valid()).collect();
        match validated.as_slice() {
            [one] => main.merge((*one).clone()),
            found => {
                let more = match found.len() {
                    0 => "Found none valid".to_owned(),
                    count => format!("Found {count} valid alternatives"),
                };
                main.composite(format!(
                    "{named} must validate one and only one schema (oneOf). {more}"
                ));
                if found.is_empty() {
                    main.merge(best(one_of).unwrap_or_default());
                }
            }
        }
    }
    let all_of = of(&schema.all_of);
    let validated = all_of.iter().filter(|outcome| outcome.is_valid()).count();
    let all = all_of.len();
    all_of.into_iter().for_each(|outcome| main.merge(outcome));
    if validated != all {
        let more = if validated == 0 {
            ". None validated"
        } else {
            ""
        };
        main.composite(format!(
            "{named} must validate all the schemas (allOf){more}"
        ));
    }
    if let Some(not) = &schema.not
        && check(not, value, path, old).is_valid()
    {
        main.composite(format!("{named} must not validate the schema (not)"));
    }
    main.inc();
    main
}

#[cfg(test)]
mod tests;
