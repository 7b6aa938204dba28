//! Values as a merge compares them (`value/value.go`, `value/scalar.go`): whole numbers and others are one order.

use std::cmp::Ordering;

use crate::json::Json;
use crate::quote;

/// Which kind of value comes first.
fn rank(value: &Json) -> u8 {
    match value {
        Json::Number(_) => 0,
        Json::String(_) => 1,
        Json::Bool(_) => 2,
        Json::Array(_) => 3,
        Json::Object(_) => 4,
        Json::Null => 5,
    }
}

fn float(number: &serde_json::Number) -> f64 {
    number.as_f64().unwrap_or_default()
}

/// `Compare`: a total order of values of any kinds.
pub(crate) fn compare(lhs: &Json, rhs: &Json) -> Ordering {
    match (lhs, rhs) {
        (Json::Number(l), Json::Number(r)) => match (l.as_i64(), r.as_i64()) {
            (Some(l), Some(r)) => l.cmp(&r),
            _ => float(l).partial_cmp(&float(r)).unwrap_or(Ordering::Equal),
        },
        (Json::String(l), Json::String(r)) => l.cmp(r),
        (Json::Bool(l), Json::Bool(r)) => l.cmp(r),
        (Json::Array(l), Json::Array(r)) => {
            let pairs = l.iter().zip(r).map(|(l, r)| compare(l, r));
            first_difference(pairs).then(l.len().cmp(&r.len()))
        }
        (Json::Object(l), Json::Object(r)) => {
            let pairs = l.iter().zip(r);
            let pairs = pairs.map(|((lk, lv), (rk, rv))| lk.cmp(rk).then_with(|| compare(lv, rv)));
            first_difference(pairs).then(l.len().cmp(&r.len()))
        }
        (lhs, rhs) => rank(lhs).cmp(&rank(rhs)),
    }
}

fn first_difference(mut pairs: impl Iterator<Item = Ordering>) -> Ordering {
    pairs.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// `Equals`
pub(crate) fn equals(lhs: &Json, rhs: &Json) -> bool {
    compare(lhs, rhs).is_eq()
}

/// `ToString`: as conflicts show the keys of a list.
pub(crate) fn to_string(value: &Json) -> String {
    match value {
        Json::String(text) => quote::quote(text),
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(to_string).collect();
            format!("[{}]", items.join(","))
        }
        Json::Object(fields) => {
            let fields = fields.iter().map(|(k, v)| format!("{k}={}", to_string(v)));
            fields.collect()
        }
        scalar => scalar.to_string(),
    }
}

/// `%v` of Go.
pub(crate) fn shown(value: &Json) -> String {
    match value {
        Json::Null => "<nil>".to_owned(),
        Json::String(text) => text.clone(),
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(shown).collect();
            format!("[{}]", items.join(" "))
        }
        Json::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(k, v)| format!("{k}:{}", shown(v)))
                .collect();
            format!("map[{}]", fields.join(" "))
        }
        scalar => scalar.to_string(),
    }
}

/// `%#v` of Go.
pub(crate) fn literal(value: &Json) -> String {
    match value {
        Json::Null => "interface {}(nil)".to_owned(),
        Json::String(text) => quote::quote(text),
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(literal).collect();
            format!("{}{{{}}}", type_of(value), items.join(", "))
        }
        Json::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(k, v)| format!("{}:{}", quote::quote(k), literal(v)));
            format!(
                "{}{{{}}}",
                type_of(value),
                fields.collect::<Vec<_>>().join(", ")
            )
        }
        scalar => scalar.to_string(),
    }
}

/// `%T` of Go.
pub(crate) fn type_of(value: &Json) -> &'static str {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_have_one_order() {
        let sorted = [
            json!(-1),
            json!(1),
            json!(1.5),
            json!(2),
            json!("a"),
            json!("b"),
            json!(false),
            json!(true),
            json!([]),
            json!([1]),
            json!([1, 2]),
            json!([2]),
            json!({}),
            json!({"a": 1}),
            json!({"a": 2}),
            json!({"b": 1}),
            json!(null),
        ];
        for (l, lhs) in sorted.iter().enumerate() {
            for (r, rhs) in sorted.iter().enumerate() {
                assert_eq!(compare(lhs, rhs), l.cmp(&r), "{lhs} {rhs}");
            }
        }
        assert!(equals(&json!(1.0), &json!(1)));
        assert!(equals(&json!({"a": [1]}), &json!({"a": [1.0]})));
    }

    #[test]
    fn values_are_shown_as_go_shows_them() {
        let value = json!({"a": [1, "x", true, null]});
        assert_eq!(to_string(&value), "a=[1,\"x\",true,null]");
        assert_eq!(shown(&value), "map[a:[1 x true <nil>]]");
        assert_eq!(
            literal(&json!({"a": [1, "x"]})),
            "map[string]interface {}{\"a\":[]interface {}{1, \"x\"}}"
        );
        assert_eq!(type_of(&json!(1.5)), "float64");
    }
}
