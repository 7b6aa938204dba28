//! Reads a tree into a type of the table and writes it again, as Go's decoder and encoder would:
//! what the type does not know is dropped, zero values are left out where its tags say so
//! (`sigs.k8s.io/json`, `encoding/json`).

use std::borrow::Cow;
use std::collections::BTreeSet;

use wavetank_version::Version;

use super::base64;
use super::text::Node;
use super::values::{self, Layout};
use crate::json::{Json, Map};
use crate::quote;
use crate::schema::{self, SchemaOr, Shape, Struct, StructId, Type};

/// A value of a tree that is read: text as written, or a tree that a client inside the world sent.
pub(crate) enum View<'a, T> {
    Null,
    Bool(bool),
    /// The literal.
    Number(Cow<'a, str>),
    String(&'a str),
    Array(&'a [T]),
    Object(Box<dyn Iterator<Item = (&'a str, &'a T)> + 'a>),
}

/// A tree that can be read.
pub(crate) trait Tree: Sized {
    fn view(&self) -> View<'_, Self>;
    fn to_json(&self) -> Json;
}

impl Tree for Node {
    fn view(&self) -> View<'_, Node> {
        match self {
            Node::Null => View::Null,
            Node::Bool(bool) => View::Bool(*bool),
            Node::Number(text) => View::Number(Cow::Borrowed(text)),
            Node::String(text) => View::String(text),
            Node::Array(items) => View::Array(items),
            Node::Object(fields) => {
                View::Object(Box::new(fields.iter().map(|(n, v)| (n.as_str(), v))))
            }
        }
    }
    fn to_json(&self) -> Json {
        self.json()
    }
}

impl Tree for Json {
    fn view(&self) -> View<'_, Json> {
        match self {
            Json::Null => View::Null,
            Json::Bool(bool) => View::Bool(*bool),
            Json::Number(number) => View::Number(Cow::Owned(number.to_string())),
            Json::String(text) => View::String(text),
            Json::Array(items) => View::Array(items),
            Json::Object(map) => View::Object(Box::new(map.iter().map(|(n, v)| (n.as_str(), v)))),
        }
    }
    fn to_json(&self) -> Json {
        self.clone()
    }
}

/// What a tree was read into.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Read {
    /// The value as it would be written.
    pub(crate) json: Json,
    /// Unknown and duplicate fields, in the order of the text.
    pub(crate) strict: Vec<String>,
}

/// Reads a struct. The error is the decoder's: the first that does not fit, unless a type that reads
/// itself gives up later.
pub(crate) fn read<T: Tree>(
    tree: &T,
    id: StructId,
    release: Option<Version>,
) -> Result<Read, String> {
    let mut reader = Reader {
        release,
        ..Reader::default()
    };
    let json = reader.top(tree, id)?;
    match reader.saved {
        Some(error) => Err(error),
        None => Ok(Read {
            json,
            strict: reader.strict,
        }),
    }
}

/// Reads a struct as a strategic merge patch does, out of a tree and not out of text
/// (`apimachinery/pkg/runtime/converter.go`): the first value that does not fit is the error, and it
/// is worded otherwise.
pub(crate) fn convert(tree: &Json, id: StructId, release: Option<Version>) -> Result<Read, String> {
    let mut reader = Reader {
        converts: true,
        release,
        ..Reader::default()
    };
    let json = reader.top(tree, id)?;
    let strict = reader.strict;
    Ok(Read { json, strict })
}

/// The zero value of a struct, as written.
pub(crate) fn zero_of(id: StructId, release: Option<Version>) -> Json {
    let of = schema::of(id);
    write(of, vec![None; of.fields.len()], release)
}

#[derive(Default)]
struct Reader {
    converts: bool,
    /// Whose fields are known; `None` for those of the table.
    release: Option<Version>,
    saved: Option<String>,
    strict: Vec<String>,
    seen: BTreeSet<String>,
    /// Names of the fields on the way, and the struct that holds the last.
    fields: Vec<&'static str>,
    holder: Option<&'static str>,
    /// The way with keys and indices.
    path: String,
}

impl Reader {
    fn top<T: Tree>(&mut self, tree: &T, id: StructId) -> Result<Json, String> {
        match tree.view() {
            View::Object(fields) => self.structure(fields, schema::of(id), None),
            View::Null => Ok(zero_of(id, self.release)),
            view => {
                let go = format!("v1.{}", schema::of(id).name);
                let ty = Type::plain(go, Shape::Struct(id));
                self.misfit(&view, &ty)?;
                Ok(Json::Null)
            }
        }
    }

    /// `UnmarshalTypeError`, with what the decoder adds to it.
    fn unmarshal_type_error(&self, value: &str, go: &str) -> String {
        match self.holder {
            None => format!("json: cannot unmarshal {value} into Go value of type {go}"),
            Some(holder) => format!(
                "json: cannot unmarshal {value} into Go struct field {holder}.{} of type {go}",
                self.fields.join(".")
            ),
        }
    }

    fn save(&mut self, error: String) {
        self.saved.get_or_insert(error);
    }

    /// A value that does not fit its type.
    fn misfit<T>(&mut self, view: &View<'_, T>, ty: &Type) -> Result<(), String> {
        if self.converts {
            return Err(unconvertible(view, ty));
        }
        let whole = matches!(ty.shape, Shape::Int32 | Shape::Int64);
        let error = match view {
            View::Number(text) if whole => {
                self.unmarshal_type_error(&format!("number {text}"), &ty.go)
            }
            view => self.unmarshal_type_error(value_name(view), &ty.go),
        };
        self.save(error);
        Ok(())
    }

    fn save_strict(&mut self, what: &str, field: &str) {
        let path = match self.path.as_str() {
            "" => quote::quote(field),
            path => quote::quote(&format!("{path}.{field}")),
        };
        let error = format!("{what} field {path}");
        if self.strict.len() < 100 && self.seen.insert(error.clone()) {
            self.strict.push(error);
        }
    }

    fn enter(&mut self, key: &str) -> usize {
        let before = self.path.len();
        if before > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        before
    }

    fn structure<'a, T: Tree + 'a>(
        &mut self,
        tree: impl Iterator<Item = (&'a str, &'a T)>,
        of: &'static Struct,
        before: Option<Json>,
    ) -> Result<Json, String> {
        let mut values: Vec<Option<Json>> = vec![None; of.fields.len()];
        if let Some(Json::Object(mut map)) = before {
            for (field, value) in of.fields.iter().zip(&mut values) {
                *value = map.remove(field.name);
            }
        }
        let mut given = vec![false; of.fields.len()];
        let outer = self.holder;
        for (name, value) in tree {
            let known = of
                .field(name)
                .filter(|(_, field)| field.is_in(self.release));
            let Some((at, field)) = known else {
                self.save_strict("unknown", name);
                continue;
            };
            if given[at] {
                self.save_strict("duplicate", name);
            }
            given[at] = true;
            self.fields.push(field.name);
            self.holder = Some(of.name);
            let path = self.enter(name);
            values[at] = self.value(value, &field.ty, values[at].take())?;
            self.path.truncate(path);
            self.holder = outer;
            self.fields.pop();
        }
        Ok(write(of, values, self.release))
    }

    /// A value of this type; `None` for the zero value, `before` if the field came already.
    fn value<T: Tree>(
        &mut self,
        tree: &T,
        ty: &Type,
        before: Option<Json>,
    ) -> Result<Option<Json>, String> {
        let view = tree.view();
        let converts = self.converts;
        match &ty.shape {
            Shape::Pointer(_) if matches!(view, View::Null) => Ok(None),
            Shape::Pointer(inner) => {
                let before = before.filter(|json| !json.is_null());
                let value = self.value(tree, inner, before)?;
                Ok(Some(value.unwrap_or_else(|| zero(inner, self.release))))
            }
            Shape::Time | Shape::MicroTime => self.time(&view, &ty.shape),
            Shape::IntOrString => self.int_or_string(&view),
            Shape::Quantity => self.quantity(tree),
            Shape::Raw => Ok(Some(tree.to_json())),
            Shape::List(inner) => self.list(view, ty, inner, before),
            Shape::Map(inner) => self.map(view, ty, inner, before),
            Shape::Bytes => self.bytes(&view, ty, before),
            Shape::Struct(id) => match view {
                View::Object(fields) => self.structure(fields, schema::of(*id), before).map(Some),
                View::Null => Ok(before),
                view => {
                    self.misfit(&view, ty)?;
                    Ok(before)
                }
            },
            Shape::String => self.scalar(&view, ty, before, |view| match view {
                View::String(text) => Some((*text).into()),
                _ => None,
            }),
            Shape::Bool => self.scalar(&view, ty, before, |view| match view {
                View::Bool(bool) => Some((*bool).into()),
                _ => None,
            }),
            Shape::Int32 => self.scalar(&view, ty, before, |view| match view {
                View::Number(text) => whole(text, converts)
                    .and_then(|number| match converts {
                        true => Some(number as i32),
                        false => i32::try_from(number).ok(),
                    })
                    .map(Json::from),
                _ => None,
            }),
            Shape::Int64 => self.scalar(&view, ty, before, |view| match view {
                View::Number(text) => whole(text, converts).map(Json::from),
                _ => None,
            }),
            Shape::Float64 => self.scalar(&view, ty, before, |view| match view {
                View::Number(text) => float(text),
                _ => None,
            }),
            Shape::SchemaOr(or) => self.schema_or(tree, *or),
        }
    }

    fn scalar<T>(
        &mut self,
        view: &View<'_, T>,
        ty: &Type,
        before: Option<Json>,
        take: impl Fn(&View<'_, T>) -> Option<Json>,
    ) -> Result<Option<Json>, String> {
        if matches!(view, View::Null) {
            return Ok(before);
        }
        let taken = take(view);
        if taken.is_none() {
            self.misfit(view, ty)?;
        }
        Ok(taken.or(before))
    }

    fn time<T>(&mut self, view: &View<'_, T>, shape: &Shape) -> Result<Option<Json>, String> {
        let layout = match shape {
            Shape::MicroTime => Layout::Micros,
            _ => Layout::Seconds,
        };
        match view {
            View::Null => Ok(None),
            View::String(text) => {
                let text = values::time(text, layout)?;
                // The zero of Go's instants is written as null.
                Ok((!text.starts_with("0001-01-01T00:00:00")).then(|| text.into()))
            }
            view => Err(self.unmarshal_type_error(value_name(view), "string")),
        }
    }

    fn int_or_string<T>(&mut self, view: &View<'_, T>) -> Result<Option<Json>, String> {
        match view {
            View::Null => Ok(None),
            View::String(text) => Ok(Some((*text).into())),
            View::Number(text) => match text.parse::<i32>() {
                Ok(number) => Ok(Some(number.into())),
                Err(_) => Err(self.unmarshal_type_error(&format!("number {text}"), "int32")),
            },
            view => Err(self.unmarshal_type_error(value_name(view), "int32")),
        }
    }

    fn quantity<T: Tree>(&mut self, tree: &T) -> Result<Option<Json>, String> {
        let text = match tree.view() {
            View::Null => return Ok(None),
            View::String(text) => Cow::Borrowed(text),
            View::Number(text) => text,
            _ => Cow::Owned(tree.to_json().to_string()),
        };
        values::quantity(text.trim()).map(|text| Some(text.into()))
    }

    /// Upstream's `JSONSchemaPropsOrBool.UnmarshalJSON` and its like: a decoder of its own, which reports no unknown fields.
    fn schema_or<T: Tree>(&mut self, tree: &T, or: SchemaOr) -> Result<Option<Json>, String> {
        let id = schema::named("apiextensions.JSONSchemaProps").expect("the table has it");
        let one = |tree: &T| read(tree, id, None).map(|read| read.json);
        match (tree.view(), or) {
            (_, SchemaOr::Anything) => Ok(Some(tree.to_json())),
            (View::Object(_), _) => one(tree).map(Some),
            (View::Bool(bool), SchemaOr::Bool) => Ok(Some(bool.into())),
            (_, SchemaOr::Bool) => Err("boolean or JSON schema expected".to_owned()),
            (View::Array(items), SchemaOr::Array) => {
                let items: Result<Vec<Json>, String> = items.iter().map(one).collect();
                items.map(|items| Some(items.into()))
            }
            (View::Array(items), SchemaOr::Strings) => {
                Ok(Some(items.iter().map(Tree::to_json).collect()))
            }
            (_, SchemaOr::Array | SchemaOr::Strings) => Ok(None),
        }
    }

    fn bytes<T: Tree>(
        &mut self,
        view: &View<'_, T>,
        ty: &Type,
        before: Option<Json>,
    ) -> Result<Option<Json>, String> {
        match view {
            View::Null => Ok(None),
            View::String(text) => match base64::decode(text) {
                Ok(bytes) => Ok(Some(base64::encode(&bytes).into())),
                Err(at) => {
                    let error = format!("illegal base64 data at input byte {at}");
                    if self.converts {
                        return Err(format!("error decoding from json: {error}"));
                    }
                    self.save(error);
                    Ok(before)
                }
            },
            View::Array(items) => {
                let mut bytes = Vec::new();
                for item in *items {
                    let byte = match item.view() {
                        View::Number(text) => {
                            text.parse::<u8>().map_err(|_| format!("number {text}"))
                        }
                        View::Null => Ok(0),
                        view => Err(value_name(&view).to_owned()),
                    };
                    bytes.push(byte.unwrap_or_else(|value| {
                        let error = self.unmarshal_type_error(&value, "uint8");
                        self.save(error);
                        0
                    }));
                }
                Ok(Some(base64::encode(&bytes).into()))
            }
            view => {
                self.misfit(view, ty)?;
                Ok(before)
            }
        }
    }

    fn list<T: Tree>(
        &mut self,
        view: View<'_, T>,
        ty: &Type,
        inner: &Type,
        before: Option<Json>,
    ) -> Result<Option<Json>, String> {
        let items = match view {
            View::Null => return Ok(None),
            View::Array(items) => items,
            view => {
                self.misfit(&view, ty)?;
                return Ok(before);
            }
        };
        let mut list = Vec::with_capacity(items.len());
        let path = self.path.len();
        for (at, item) in items.iter().enumerate() {
            self.path.push_str(&format!("[{at}]"));
            let value = self.value(item, inner, None)?;
            list.push(value.unwrap_or_else(|| zero(inner, self.release)));
            self.path.truncate(path);
        }
        Ok(Some(Json::Array(list)))
    }

    fn map<T: Tree>(
        &mut self,
        view: View<'_, T>,
        ty: &Type,
        inner: &Type,
        before: Option<Json>,
    ) -> Result<Option<Json>, String> {
        let fields = match view {
            View::Null => return Ok(None),
            View::Object(fields) => fields,
            view => {
                self.misfit(&view, ty)?;
                return Ok(before);
            }
        };
        let mut map = match before {
            Some(Json::Object(map)) => map,
            _ => Map::new(),
        };
        let mut given = BTreeSet::new();
        for (name, item) in fields {
            if !given.insert(name) {
                self.save_strict("duplicate", name);
            }
            let path = self.enter(name);
            let value = self.value(item, inner, None)?;
            map.insert(
                name.to_owned(),
                value.unwrap_or_else(|| zero(inner, self.release)),
            );
            self.path.truncate(path);
        }
        Ok(Some(Json::Object(map)))
    }
}

/// A whole number; where a tree is converted, also one that is written as a float.
fn whole(text: &str, converts: bool) -> Option<i64> {
    let float = || {
        text.parse::<f64>()
            .ok()
            .filter(|f| converts && f.fract() == 0.0)
    };
    text.parse()
        .ok()
        .or_else(|| float().map(|float| float as i64))
}

/// A float64, as Go writes it: one without a fraction looks like a whole number.
fn float(text: &str) -> Option<Json> {
    let float: f64 = text.parse().ok().filter(|float: &f64| float.is_finite())?;
    Some(crate::json::go_number(float))
}

/// What the converter says of a value that does not fit.
fn unconvertible<T>(view: &View<'_, T>, ty: &Type) -> String {
    let kind = match view {
        View::Null => "invalid",
        View::Bool(_) => "bool",
        View::Number(text) if text.parse::<i64>().is_ok() => "int64",
        View::Number(_) => "float64",
        View::String(_) => "string",
        View::Array(_) => "slice",
        View::Object(_) => "map",
    };
    match (&ty.shape, kind) {
        (Shape::Struct(_), _) => format!("cannot restore struct from: {kind}"),
        (Shape::Map(_), _) => format!("cannot restore map from {kind}"),
        (Shape::List(_) | Shape::Bytes, _) => format!("cannot restore slice from {kind}"),
        (Shape::String, "int64") | (Shape::Int32 | Shape::Int64, "float64") => {
            format!("cannot convert {kind} to {}", ty.go)
        }
        (Shape::Bool, _) => "unrecognized type: bool".to_owned(),
        (Shape::Int32, _) => "unrecognized type: int32".to_owned(),
        (Shape::Int64, _) => "unrecognized type: int64".to_owned(),
        _ => "unrecognized type: string".to_owned(),
    }
}

/// What `UnmarshalTypeError` calls a value.
pub(crate) fn value_name<T>(view: &View<'_, T>) -> &'static str {
    match view {
        View::Null => "null",
        View::Bool(_) => "bool",
        View::Number(_) => "number",
        View::String(_) => "string",
        View::Array(_) => "array",
        View::Object(_) => "object",
    }
}

/// The zero value of a type, as written.
pub(crate) fn zero(ty: &Type, release: Option<Version>) -> Json {
    match &ty.shape {
        Shape::String => "".into(),
        Shape::Bool => false.into(),
        Shape::Int32 | Shape::Int64 | Shape::Float64 | Shape::IntOrString => 0.into(),
        Shape::Quantity => "0".into(),
        Shape::Struct(id) => zero_of(*id, release),
        _ => Json::Null,
    }
}

/// Go's `omitempty`: structs are never empty.
fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(false) => true,
        Json::Number(number) => number.as_i64() == Some(0),
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(map) => map.is_empty(),
        Json::Bool(true) => false,
    }
}

/// Can a value of this type be left out where it is empty?
fn can_be_empty(ty: &Type, value: &Json) -> bool {
    match &ty.shape {
        // A pointer to something is not empty, and neither is a struct.
        Shape::Pointer(_) => value.is_null(),
        Shape::Struct(_) | Shape::Time | Shape::MicroTime => false,
        Shape::IntOrString | Shape::Quantity | Shape::Raw | Shape::SchemaOr(_) => false,
        _ => is_empty(value),
    }
}

fn write(of: &Struct, values: Vec<Option<Json>>, release: Option<Version>) -> Json {
    let mut map = Map::new();
    let fields = of.fields.iter().zip(values);
    for (field, value) in fields.filter(|(field, _)| field.is_in(release)) {
        let value = value.unwrap_or_else(|| zero(&field.ty, release));
        let left_out = (field.omit_empty && can_be_empty(&field.ty, &value))
            || (field.omit_zero && value.is_null());
        if !left_out {
            map.insert(field.name.to_owned(), value);
        }
    }
    Json::Object(map)
}
