//! What a type is to a merge (`schema/elements.go`), and what the types of the table are: what upstream makes of its
//! OpenAPI (`kube-openapi/pkg/schemaconv`).

mod table;

use std::collections::BTreeMap;

use crate::json::Json;

pub(crate) use table::{DEDUCED, SCHEMA, type_name};

/// `Scalar`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scalar {
    Numeric,
    String,
    Boolean,
    /// Any of them.
    Untyped,
}

/// `ElementRelationship`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ElementRelationship {
    /// Elements of a list are told apart by keys, or by their values.
    Associative,
    /// All or nothing.
    Atomic,
    /// Entries of a map are apart.
    Separable,
}

/// `Atom`: what a value of a type may be.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Atom {
    pub(crate) scalar: Option<Scalar>,
    pub(crate) list: Option<List>,
    pub(crate) map: Option<Map>,
}

/// `List`
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct List {
    pub(crate) element_type: Box<TypeRef>,
    pub(crate) element_relationship: ElementRelationship,
    /// Of an associative list: none if its elements are scalars.
    pub(crate) keys: Vec<String>,
}

/// `Map`: a struct, or a map with entries of one type.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Map {
    pub(crate) fields: BTreeMap<String, StructField>,
    /// Of entries that no field names; none may be there if it is none.
    pub(crate) element_type: Box<TypeRef>,
    pub(crate) element_relationship: ElementRelationship,
}

/// `StructField`
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct StructField {
    pub(crate) ty: TypeRef,
    pub(crate) default: Option<Json>,
}

/// `TypeRef`
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum TypeRef {
    /// No type at all.
    None,
    Named(String),
    Inlined(Box<Atom>),
}

/// `Schema`
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Schema {
    pub(crate) types: BTreeMap<String, Atom>,
}

impl Atom {
    pub(crate) fn of_scalar(scalar: Scalar) -> Atom {
        Atom {
            scalar: Some(scalar),
            ..Atom::default()
        }
    }

    pub(crate) fn of_list(list: List) -> Atom {
        Atom {
            list: Some(list),
            ..Atom::default()
        }
    }

    pub(crate) fn of_map(map: Map) -> Atom {
        Atom {
            map: Some(map),
            ..Atom::default()
        }
    }
}

impl From<Atom> for TypeRef {
    fn from(atom: Atom) -> TypeRef {
        TypeRef::Inlined(Box::new(atom))
    }
}

impl Map {
    /// `FindField`
    pub(crate) fn find_field(&self, name: &str) -> Option<&StructField> {
        self.fields.get(name)
    }
}

impl Schema {
    /// `Resolve`
    pub(crate) fn resolve<'a>(&'a self, ty: &'a TypeRef) -> Option<&'a Atom> {
        match ty {
            TypeRef::None => None,
            TypeRef::Named(name) => self.types.get(name),
            TypeRef::Inlined(atom) => Some(atom),
        }
    }
}
