//! JSON text as Go writes it: fields in the order of their struct, `<`, `>` and `&` escaped.

use crate::json::Json;
use crate::schema::{self, Shape, StructId, Type};
use crate::smd::fieldpath::Set;

/// A text as `encoding/json` writes it.
pub(crate) fn string(text: &str, out: &mut String) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                out.push_str(&format!("\\u{:04x}", char as u32));
            }
            char => out.push(char),
        }
    }
    out.push('"');
}

/// A tree with its fields sorted.
pub(crate) fn sorted(json: &Json) -> String {
    let mut out = String::new();
    any(json, &mut out);
    out
}

fn any(json: &Json, out: &mut String) {
    match json {
        Json::String(text) => string(text, out),
        Json::Array(items) => list(items, out, any),
        Json::Object(map) => object(
            map.iter().map(|(n, v)| (n.as_str(), v)),
            out,
            |_, v, out| {
                any(v, out);
            },
        ),
        plain => out.push_str(&plain.to_string()),
    }
}

fn list(items: &[Json], out: &mut String, mut each: impl FnMut(&Json, &mut String)) {
    out.push('[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        each(item, out);
    }
    out.push(']');
}

fn object<'a>(
    fields: impl Iterator<Item = (&'a str, &'a Json)>,
    out: &mut String,
    mut each: impl FnMut(&str, &Json, &mut String),
) {
    out.push('{');
    for (at, (name, value)) in fields.enumerate() {
        if at > 0 {
            out.push(',');
        }
        string(name, out);
        out.push(':');
        each(name, value, out);
    }
    out.push('}');
}

/// A struct in Go's order; fields that it does not know come last.
pub(crate) fn structure(json: &Json, id: StructId) -> String {
    let mut out = String::new();
    of_struct(json, id, &mut out);
    out
}

/// A list of structs in Go's order, by the name of their type in the table.
pub(crate) fn list_of(items: &[Json], name: &str) -> String {
    let mut out = String::new();
    list(items, &mut out, |item, out| match schema::named(name) {
        Some(id) => of_struct(item, id, out),
        None => any(item, out),
    });
    out
}

fn of_struct(json: &Json, id: StructId, out: &mut String) {
    let Json::Object(map) = json else {
        any(json, out);
        return;
    };
    let of = schema::of(id);
    let known = of.fields.iter().filter_map(|field| {
        let value = map.get(field.name)?;
        Some((field.name, value))
    });
    let unknown = map.iter().filter(|(name, _)| of.field(name).is_none());
    let unknown = unknown.map(|(name, value)| (name.as_str(), value));
    object(known.chain(unknown), out, |name, value, out| {
        match of.field(name) {
            // Upstream keeps its text as it wrote it.
            Some((_, field)) if field.name == "fieldsV1" => match Set::from_json(value) {
                Ok(set) => out.push_str(&set.to_text()),
                Err(_) => any(value, out),
            },
            Some((_, field)) => typed(value, &field.ty, out),
            None => any(value, out),
        }
    });
}

/// A patched object as `evanphx/json-patch` writes it: what the patch went through is a map and
/// sorted, the rest stands as it was written. `touched` has an object where the patch went.
pub(crate) fn patched(json: &Json, id: StructId, touched: &Json) -> String {
    let mut out = String::new();
    let ty = Type::plain(String::new(), Shape::Struct(id));
    touched_value(json, Some(&ty), Some(touched), &mut out);
    out
}

fn touched_value(json: &Json, ty: Option<&Type>, touched: Option<&Json>, out: &mut String) {
    let mut shape = ty.map(|ty| &ty.shape);
    while let Some(Shape::Pointer(inner)) = shape {
        shape = Some(&inner.shape);
    }
    match (json, touched) {
        (Json::Object(map), Some(Json::Object(touched))) => {
            let fields = map.iter().map(|(name, value)| (name.as_str(), value));
            object(fields, out, |name, value, out| {
                let inner = match shape {
                    Some(Shape::Struct(id)) => {
                        schema::of(*id).field(name).map(|(_, field)| &field.ty)
                    }
                    Some(Shape::Map(inner)) => Some(&**inner),
                    _ => None,
                };
                touched_value(value, inner, touched.get(name), out);
            });
        }
        (Json::Array(items), Some(Json::Object(touched))) => {
            let inner = match shape {
                Some(Shape::List(inner)) => Some(&**inner),
                _ => None,
            };
            let mut at = 0;
            list(items, out, |item, out| {
                touched_value(item, inner, touched.get(&at.to_string()), out);
                at += 1;
            });
        }
        // What came with the patch stands as the patch wrote it.
        (json, Some(_)) => any(json, out),
        (json, None) => match ty {
            Some(ty) => typed(json, ty, out),
            None => any(json, out),
        },
    }
}

/// A value of a type in Go's order.
pub(crate) fn typed(json: &Json, ty: &Type, out: &mut String) {
    match (&ty.shape, json) {
        (Shape::Struct(id), json) => of_struct(json, *id, out),
        (Shape::Pointer(inner), json) => typed(json, inner, out),
        (Shape::List(inner), Json::Array(items)) => {
            list(items, out, |item, out| typed(item, inner, out));
        }
        (Shape::Map(inner), Json::Object(map)) => {
            let fields = map.iter().map(|(name, value)| (name.as_str(), value));
            object(fields, out, |_, value, out| typed(value, inner, out));
        }
        (_, json) => any(json, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_stand_in_the_order_of_their_struct() {
        let id = schema::kind("v1", "ConfigMap").expect("a kind");
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"b": "<", "a": "é"}, "x": 1,
            "metadata": {"labels": {}, "uid": "u", "name": "n",
                         "ownerReferences": [{"uid": "1", "apiVersion": "v1"}]},
        });
        assert_eq!(
            structure(&object, id),
            "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\
             \"labels\":{},\"ownerReferences\":[{\"apiVersion\":\"v1\",\"uid\":\"1\"}]},\
             \"data\":{\"a\":\"é\",\"b\":\"\\u003c\"},\"x\":1}"
        );
    }
}
