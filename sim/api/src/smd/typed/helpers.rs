//! What all walks over typed values share (`typed/helpers.go`).

use std::fmt;

use crate::json::{Json, Map as JsonMap};
use crate::smd::fieldpath::PathElement;
use crate::smd::schema::{Atom, ElementRelationship, List, Map, Scalar, Schema, TypeRef};
use crate::smd::value;

/// `ValidationErrors`: what is wrong, and where.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ValidationErrors(pub(crate) Vec<(String, String)>);

impl ValidationErrors {
    /// `errorf`
    pub(crate) fn of(message: impl Into<String>) -> ValidationErrors {
        ValidationErrors(vec![(String::new(), message.into())])
    }

    /// `WithLazyPrefix`
    pub(crate) fn with_lazy_prefix(mut self, prefix: &PathElement) -> ValidationErrors {
        for (path, _) in &mut self.0 {
            path.insert_str(0, &prefix.to_string());
        }
        self
    }

    pub(crate) fn extend(&mut self, more: ValidationErrors) {
        self.0.extend(more.0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Nothing, if nothing is wrong.
    pub(crate) fn into_result(self) -> Result<(), ValidationErrors> {
        match self.is_empty() {
            true => Ok(()),
            false => Err(self),
        }
    }
}

/// `Error`
impl fmt::Display for ValidationErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |(path, message): &(String, String)| match path.as_str() {
            "" => message.clone(),
            path => format!("{path}: {message}"),
        };
        match self.0.as_slice() {
            [only] => f.write_str(&one(only)),
            all => {
                f.write_str("errors:")?;
                all.iter()
                    .try_for_each(|error| write!(f, "\n  {}", one(error)))
            }
        }
    }
}

/// What a value of a type can be, once it is seen (`deduceAtom`).
#[derive(Clone, Copy)]
pub(super) struct Deduced<'a> {
    scalar: Option<Scalar>,
    list: Option<&'a List>,
    map: Option<&'a Map>,
}

/// What is walked as, in the order in which upstream tries (`handleAtom`).
#[derive(Clone, Copy)]
pub(super) enum Handled<'a> {
    Map(&'a Map),
    Scalar(Scalar),
    List(&'a List),
}

impl<'a> Deduced<'a> {
    /// `handleAtom`
    pub(super) fn handle_atom(self, ty: &TypeRef) -> Result<Handled<'a>, ValidationErrors> {
        if let Some(map) = self.map {
            return Ok(Handled::Map(map));
        }
        if let Some(scalar) = self.scalar {
            return Ok(Handled::Scalar(scalar));
        }
        if let Some(list) = self.list {
            return Ok(Handled::List(list));
        }
        let name = match ty {
            TypeRef::Named(name) => format!("named type: {name}"),
            _ => "inlined".to_owned(),
        };
        Err(ValidationErrors::of(format!(
            "schema error: invalid atom: {name}"
        )))
    }

    /// Both were deduced of one type.
    pub(super) fn is_as(self, other: Deduced<'a>) -> bool {
        let kinds = |of: Deduced<'_>| (of.scalar.is_some(), of.list.is_some(), of.map.is_some());
        kinds(self) == kinds(other)
    }
}

/// `deduceAtom`: what is absent or null, or fits nothing, may be anything.
pub(super) fn deduce_atom<'a>(atom: &'a Atom, value: Option<&Json>) -> Deduced<'a> {
    let all = Deduced {
        scalar: atom.scalar,
        list: atom.list.as_ref(),
        map: atom.map.as_ref(),
    };
    let none = Deduced {
        scalar: None,
        list: None,
        map: None,
    };
    match value {
        Some(Json::Number(_) | Json::String(_) | Json::Bool(_)) if all.scalar.is_some() => {
            let scalar = all.scalar;
            Deduced { scalar, ..none }
        }
        Some(Json::Array(_)) if all.list.is_some() => {
            let list = all.list;
            Deduced { list, ..none }
        }
        Some(Json::Object(_)) if all.map.is_some() => {
            let map = all.map;
            Deduced { map, ..none }
        }
        _ => all,
    }
}

/// `Resolve`, or upstream's error. No type at all is one that fits nothing.
pub(super) fn resolve<'a>(
    schema: &'a Schema,
    ty: &'a TypeRef,
) -> Result<&'a Atom, ValidationErrors> {
    static NOTHING: Atom = Atom {
        scalar: None,
        list: None,
        map: None,
    };
    match (schema.resolve(ty), ty) {
        (Some(atom), _) => Ok(atom),
        (None, TypeRef::Named(name)) => {
            let message = format!("schema error: no type found matching: {name}");
            Err(ValidationErrors::of(message))
        }
        (None, _) => Ok(&NOTHING),
    }
}

/// `validateScalar`
pub(super) fn validate_scalar(
    scalar: Scalar,
    value: Option<&Json>,
    prefix: &str,
) -> Result<(), ValidationErrors> {
    let wrong = match (scalar, value) {
        (_, None | Some(Json::Null))
        | (Scalar::Numeric, Some(Json::Number(_)))
        | (Scalar::String, Some(Json::String(_)))
        | (Scalar::Boolean, Some(Json::Bool(_)))
        | (Scalar::Untyped, Some(Json::Number(_) | Json::String(_) | Json::Bool(_))) => {
            return Ok(());
        }
        (Scalar::Numeric, Some(value)) => {
            format!(
                "expected numeric (int or float), got {}",
                value::type_of(value)
            )
        }
        (Scalar::String, Some(value)) => {
            let shown = value::literal(value);
            format!("expected string, got &value.valueUnstructured{{Value:{shown}}}")
        }
        (Scalar::Boolean, Some(value)) => {
            format!("expected boolean, got &{{{}}}", value::shown(value))
        }
        (Scalar::Untyped, Some(value)) => {
            format!("expected any scalar, got &{{{}}}", value::shown(value))
        }
    };
    Err(ValidationErrors::of(format!("{prefix}{wrong}")))
}

/// `listValue`: null is a list.
pub(super) fn list_value(value: &Json) -> Result<Option<&[Json]>, ValidationErrors> {
    match value {
        Json::Null => Ok(None),
        Json::Array(items) => Ok(Some(items)),
        other => {
            let shown = value::shown(other);
            Err(ValidationErrors::of(format!(
                "expected list, got &{{{shown}}}"
            )))
        }
    }
}

/// `mapValue`: null is a map.
pub(super) fn map_value(value: &Json) -> Result<Option<&JsonMap>, ValidationErrors> {
    match value {
        Json::Null => Ok(None),
        Json::Object(fields) => Ok(Some(fields)),
        other => {
            let shown = value::shown(other);
            Err(ValidationErrors::of(format!(
                "expected map, got &{{{shown}}}"
            )))
        }
    }
}

/// `derefList`: what is no list is none.
pub(super) fn deref_list(value: Option<&Json>) -> Option<&[Json]> {
    list_value(value?).ok().flatten()
}

/// `derefMap`: what is no map is none.
pub(super) fn deref_map(value: Option<&Json>) -> Option<&JsonMap> {
    map_value(value?).ok().flatten()
}

/// The type of an entry of a map: of the field of this name, or of all others.
pub(super) fn entry_type<'a>(map: &'a Map, name: &str) -> &'a TypeRef {
    map.find_field(name)
        .map_or(&*map.element_type, |field| &field.ty)
}

/// `getAssociativeKeyDefault`
fn get_associative_key_default<'a>(
    schema: &'a Schema,
    list: &'a List,
    name: &str,
) -> Result<Option<&'a Json>, String> {
    let atom = schema
        .resolve(&list.element_type)
        .ok_or("invalid elementType for list")?;
    let map = atom
        .map
        .as_ref()
        .ok_or("associative list may not have non-map types")?;
    Ok(map
        .find_field(name)
        .and_then(|field| field.default.as_ref()))
}

/// `keyedAssociativeListItemToPathElement`
fn keyed_associative_list_item_to_path_element(
    schema: &Schema,
    list: &List,
    child: &Json,
) -> Result<PathElement, String> {
    let fields = match child {
        Json::Null => {
            return Err("associative list with keys may not have a null element".to_owned());
        }
        Json::Object(fields) => fields,
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let mut keys = Vec::new();
    for name in &list.keys {
        let value = match fields.get(name) {
            Some(value) => Some(value),
            None => get_associative_key_default(schema, list, name)
                .map_err(|why| format!("couldn't find default value for {name}: {why}"))?,
        };
        // An element without the key is another one than those that have it.
        if let Some(value) = value {
            keys.push((name.clone(), value.clone()));
        }
    }
    if keys.is_empty() {
        let all: Vec<String> = list
            .keys
            .iter()
            .map(|key| crate::quote::quote(key))
            .collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values \
             for any key fields)",
            all.join(" ")
        ));
    }
    Ok(PathElement::key_element(keys))
}

/// `setItemToPathElement`
fn set_item_to_path_element(child: &Json) -> Result<PathElement, String> {
    match child {
        Json::Object(_) => {
            Err("associative list without keys has an element that's a map type".to_owned())
        }
        Json::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
        Json::Null => {
            Err("associative list without keys has an element that's an explicit null".to_owned())
        }
        scalar => Ok(PathElement::Value(scalar.clone())),
    }
}

/// `listItemToPathElement`
pub(super) fn list_item_to_path_element(
    schema: &Schema,
    list: &List,
    child: &Json,
) -> Result<PathElement, String> {
    if list.element_relationship != ElementRelationship::Associative {
        return Err("invalid indexing of non-associative list".to_owned());
    }
    match list.keys.is_empty() {
        false => keyed_associative_list_item_to_path_element(schema, list, child),
        true => set_item_to_path_element(child),
    }
}
