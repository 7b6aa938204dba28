//! Paths into objects: the simple ones of subresources and columns, and those of selectable fields (`cel.ValidFieldPath`
//! without its array notation).

use super::props::Props;
use crate::json::Json;
use crate::quote;
use crate::validation::ErrorList;

/// `validateSimpleJSONPath`
pub(super) fn validate_simple_json_path(path: &str, field: &str, errors: &mut ErrorList) -> bool {
    let why = match path {
        "" => "must not be empty",
        path if !path.starts_with('.') => "must be a simple json path starting with .",
        _ => return true,
    };
    errors.invalid(field, path, why);
    false
}

/// The names on a simple path, `.spec.replicas` (`splitReplicasPath`).
pub(super) fn split(path: &str) -> Vec<&str> {
    path.strip_prefix('.').unwrap_or(path).split('.').collect()
}

/// `ValidFieldPath`: the schema of what a path names.
///
/// # Errors
/// Why it names nothing.
pub(super) fn valid_field_path<'a>(path: &str, schema: &'a Props) -> Result<&'a Props, String> {
    let rest = path.strip_prefix('.');
    let rest = rest.ok_or_else(|| format!("expected [ or . but got: {path}"))?;
    let mut here = schema;
    for name in rest.split('.') {
        let inside = here.properties.get(name).or_else(|| here.additional());
        here = inside.ok_or("does not refer to a valid field")?;
    }
    Ok(here)
}

/// What `%T` calls a value.
pub(super) fn go_type(value: &Json) -> &'static str {
    match value {
        Json::Null => "<nil>",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_f64() => "float64",
        Json::Number(_) => "int64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    }
}

/// `NestedFieldNoCopy`: what lies at this path.
///
/// # Errors
/// Something on the way is no object.
pub(super) fn nested_field_no_copy<'a>(
    object: &'a Json,
    path: &str,
) -> Result<Option<&'a Json>, String> {
    let names = split(path);
    let mut here = object;
    for (at, name) in names.iter().enumerate() {
        match here {
            Json::Null => return Ok(None),
            Json::Object(map) => match map.get(*name) {
                Some(value) => here = value,
                None => return Ok(None),
            },
            other => {
                let way = names[..=at].join(".");
                return Err(format!(
                    ".{way} accessor error: {} is of the type {}, expected map[string]interface{{}}",
                    quote::go_plain(other),
                    go_type(other)
                ));
            }
        }
    }
    Ok(Some(here))
}

fn of_type<'a, T>(
    object: &'a Json,
    path: &str,
    wanted: &str,
    take: impl Fn(&'a Json) -> Option<T>,
) -> Result<Option<T>, String> {
    let Some(value) = nested_field_no_copy(object, path)? else {
        return Ok(None);
    };
    match take(value) {
        Some(taken) => Ok(Some(taken)),
        None => Err(format!(
            ".{} accessor error: {} is of the type {}, expected {wanted}",
            split(path).join("."),
            quote::go_plain(value),
            go_type(value)
        )),
    }
}

/// `NestedInt64`
///
/// # Errors
/// It is something else.
pub(super) fn nested_int64(object: &Json, path: &str) -> Result<Option<i64>, String> {
    of_type(object, path, "int64", Json::as_i64)
}

/// `NestedString`
///
/// # Errors
/// It is something else.
pub(super) fn nested_string<'a>(object: &'a Json, path: &str) -> Result<Option<&'a str>, String> {
    of_type(object, path, "string", Json::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_in_the_way_is_told() {
        let of = |spec: Json| nested_int64(&json!({"spec": spec}), ".spec.replicas");
        assert_eq!(of(json!({"replicas": 3})), Ok(Some(3)));
        assert_eq!(of(json!({})), Ok(None));
        let error = of(json!([])).expect_err("a list");
        assert_eq!(
            error,
            ".spec.replicas accessor error: [] is of the type []interface {}, expected \
             map[string]interface{}"
        );
        let error = of(json!({"replicas": "x"})).expect_err("a text");
        assert_eq!(
            error,
            ".spec.replicas accessor error: x is of the type string, expected int64"
        );
    }
}
