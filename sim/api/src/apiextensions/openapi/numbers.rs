//! Numbers (`validate/values.go`, `numberValidator`): whole ones are compared as such, as far as the schema lets them.

use super::{Code, Failure, Outcome, failure};
use crate::apiextensions::props::Props;
use crate::json::{Json, go_number};
use crate::quote;

/// Upstream's `swag.IsFloat64AJSONInteger`
pub(super) fn is_integer(float: f64) -> bool {
    const LARGEST: f64 = ((1_i64 << 53) - 1) as f64;
    float.is_finite() && float.abs() <= LARGEST && float.fract() == 0.0
}

/// `IsValueValidAgainstRange`
fn is_value_valid_against_range(
    value: &Json,
    ty: &str,
    format: &str,
    what: &str,
    path: &str,
) -> Option<String> {
    let float = value.as_f64().unwrap_or_default();
    let fits = match (ty, format) {
        ("integer", "int32") => float.fract() == 0.0 && i32::try_from(float as i64).is_ok(),
        // What Go writes of a float without a fraction it reads as a whole number.
        ("integer", _) => value.is_i64() || (float.fract() == 0.0 && float.abs() < 9.2e18),
        (_, "float") => float.abs() <= f64::from(f32::MAX),
        _ => true,
    };
    if fits {
        return None;
    }
    Some(match format {
        "" => format!("{what} value must be of type {ty} (default format) in {path}"),
        format => format!("{what} value must be of type {ty} with format {format} in {path}"),
    })
}

fn shown(number: &Json) -> String {
    quote::go_plain(number)
}

/// Upstream's `numberValidator.Validate`
pub(super) fn check(schema: &Props, value: &Json, path: &str) -> Outcome {
    let formats: &[&str] = match schema.ty.as_str() {
        "integer" => &["int32", "int64"],
        "number" => &["float", "double"],
        _ => &[],
    };
    let ty = match schema.int_or_string || formats.is_empty() {
        true => "",
        false => &schema.ty,
    };
    let is_own = formats.contains(&schema.format.as_str());
    let format = if is_own { schema.format.as_str() } else { "" };
    let mut result = Outcome::default();
    if let Some(message) = is_value_valid_against_range(value, ty, format, "Checked", path) {
        result.composite(message);
    }
    let float = value.as_f64().unwrap_or_default();
    let whole = value.as_i64();
    // A whole number is compared with a whole bound.
    let limit_of = |limit: f64| match whole {
        Some(_) => limit.trunc(),
        None => limit,
    };
    // The factor of a whole number is cut to a whole one, which is 0 where it was below 1 (`MultipleOfInt`).
    let factor = schema.multiple_of.map(limit_of);
    let positive = schema
        .multiple_of
        .filter(|_| factor.is_some_and(|factor| factor > 0.0));
    if let Some(factor) = factor.filter(|factor| *factor <= 0.0) {
        let factor = go_number(factor);
        let shown = shown(&factor);
        result.add(Failure {
            code: Code::Other,
            name: path.to_owned(),
            value: factor,
            message: format!("factor MultipleOf declared for {path} must be positive: {shown}"),
        });
    }
    let mut bound = |limit: Option<f64>, what: &str, check: &dyn Fn(f64) -> Option<String>| {
        let Some(limit) = limit else { return };
        if let Some(message) =
            is_value_valid_against_range(&go_number(limit), ty, format, what, path)
        {
            result.composite(message);
        }
        if let Some(what) = check(limit) {
            result.add(of(path, value, &what));
        }
    };
    bound(positive, "MultipleOf", &|factor| {
        let is_multiple = match whole {
            Some(whole) => whole % factor as i64 == 0,
            None if factor < 1.0 => is_integer(1.0 / factor * float),
            None => is_integer(float / factor),
        };
        let shown = shown(&go_number(limit_of(factor)));
        (!is_multiple).then(|| format!("should be a multiple of {shown}"))
    });
    bound(schema.minimum, "Minimum boundary", &|limit| {
        let limit = limit_of(limit);
        let shown = shown(&go_number(limit));
        match schema.exclusive_minimum {
            true => (float <= limit).then(|| format!("should be greater than {shown}")),
            false => (float < limit).then(|| format!("should be greater than or equal to {shown}")),
        }
    });
    bound(schema.maximum, "Maximum boundary", &|limit| {
        let limit = limit_of(limit);
        let shown = shown(&go_number(limit));
        match schema.exclusive_maximum {
            true => (float >= limit).then(|| format!("should be less than {shown}")),
            false => (float > limit).then(|| format!("should be less than or equal to {shown}")),
        }
    });
    result.inc();
    result
}

fn of(path: &str, value: &Json, what: &str) -> Failure {
    failure(Code::Other, path, value.clone(), what)
}
