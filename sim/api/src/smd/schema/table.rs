//! The types of the table as a merge sees them: by the markers of their fields (`schemaconv/smd.go`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::json::Json;
use crate::schema::{self, Field, ListType, MapType, Shape, Struct, StructId, Type};
use crate::smd::schema::{
    Atom, ElementRelationship, List, Map, Scalar, Schema, StructField, TypeRef,
};

/// What is known of nothing: its maps are apart, its lists are not.
pub(crate) const DEDUCED: &str = "__untyped_deduced_";
/// What is known of nothing, inside a list.
const UNTYPED: &str = "__untyped_atomic_";

/// The types of the table, by their names in it.
pub(crate) static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let mut types: BTreeMap<String, Atom> = BTreeMap::new();
    for (name, id) in schema::all() {
        types.insert(name.to_owned(), structure(schema::of(id)));
    }
    types.insert(
        UNTYPED.to_owned(),
        untyped(UNTYPED, ElementRelationship::Atomic),
    );
    types.insert(
        DEDUCED.to_owned(),
        untyped(DEDUCED, ElementRelationship::Separable),
    );
    // Nobody knows the schema of a kind that a user has made.
    if let Some(map) = types
        .get_mut("custom.Object")
        .and_then(|atom| atom.map.as_mut())
    {
        for field in ["spec", "status"] {
            let ty = TypeRef::Named(DEDUCED.to_owned());
            map.fields
                .insert(field.to_owned(), StructField { ty, default: None });
        }
        *map.element_type = TypeRef::Named(DEDUCED.to_owned());
    }
    Schema { types }
});

/// The name of the type of a kind, `("apps/v1", "Deployment")`.
pub(crate) fn type_name(api_version: &str, kind: &str) -> Option<&'static str> {
    let id = schema::kind_or_custom(api_version, kind)?;
    Some(schema::of(id).full_name)
}

fn untyped(map: &str, element_relationship: ElementRelationship) -> Atom {
    Atom {
        scalar: Some(Scalar::Untyped),
        list: Some(List {
            element_type: Box::new(TypeRef::Named(UNTYPED.to_owned())),
            element_relationship: ElementRelationship::Atomic,
            keys: Vec::new(),
        }),
        map: Some(Map {
            fields: BTreeMap::new(),
            element_type: Box::new(TypeRef::Named(map.to_owned())),
            element_relationship,
        }),
    }
}

fn relationship(map: Option<MapType>) -> ElementRelationship {
    match map {
        Some(MapType::Atomic) => ElementRelationship::Atomic,
        Some(MapType::Granular) | None => ElementRelationship::Separable,
    }
}

fn structure(of: &Struct) -> Atom {
    let own = of.fields.iter().filter(|field| field.before.is_none());
    let field = |field: &Field| {
        let of = StructField {
            ty: field_type(field),
            default: default(field),
        };
        (field.name.to_owned(), of)
    };
    Atom::of_map(Map {
        fields: own.map(field).collect(),
        element_type: Box::new(TypeRef::None),
        element_relationship: relationship(of.map),
    })
}

/// A field that is always written is never absent: it has the zero of its type.
fn default(field: &Field) -> Option<Json> {
    if field.default.is_some() {
        return field.default.clone();
    }
    match field.ty.shape {
        Shape::Struct(_) => Some(serde_json::json!({})),
        _ if field.omit_empty => None,
        Shape::String => Some("".into()),
        Shape::Bool => Some(false.into()),
        Shape::Int32 | Shape::Int64 | Shape::Float64 => Some(0.into()),
        _ => None,
    }
}

/// The type of a field: a relationship that the field names goes before that of its type.
fn field_type(field: &Field) -> TypeRef {
    if let (Some(map), Shape::Struct(id)) = (field.map, &dereferenced(&field.ty).shape) {
        let mut atom = structure(schema::of(*id));
        if let Some(of) = &mut atom.map {
            of.element_relationship = relationship(Some(map));
        }
        return atom.into();
    }
    let mut ty = type_ref(&field.ty);
    if let TypeRef::Inlined(atom) = &mut ty {
        if let Some(list) = &mut atom.list {
            (list.element_relationship, list.keys) = get_list_element_relationship(field);
        }
        if let Some(map) = &mut atom.map {
            map.element_relationship = relationship(field.map);
        }
    }
    ty
}

/// `getListElementRelationship`
fn get_list_element_relationship(field: &Field) -> (ElementRelationship, Vec<String>) {
    let owned = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
    match &field.list {
        Some(ListType::Atomic) => (ElementRelationship::Atomic, Vec::new()),
        Some(ListType::Set) => (ElementRelationship::Associative, Vec::new()),
        Some(ListType::Map(keys)) => (ElementRelationship::Associative, owned(keys)),
        None if field.merge.merge && field.merge.key.is_empty() => {
            (ElementRelationship::Associative, Vec::new())
        }
        None if field.merge.merge => (ElementRelationship::Associative, owned(&[field.merge.key])),
        None => (ElementRelationship::Atomic, Vec::new()),
    }
}

fn dereferenced(ty: &Type) -> &Type {
    match &ty.shape {
        Shape::Pointer(of) => dereferenced(of),
        _ => ty,
    }
}

fn named(id: StructId) -> TypeRef {
    TypeRef::Named(schema::of(id).full_name.to_owned())
}

fn type_ref(ty: &Type) -> TypeRef {
    let scalar = |scalar| TypeRef::from(Atom::of_scalar(scalar));
    match &ty.shape {
        Shape::Pointer(of) => type_ref(of),
        Shape::String | Shape::Bytes => scalar(Scalar::String),
        Shape::Bool => scalar(Scalar::Boolean),
        Shape::Int32 | Shape::Int64 | Shape::Float64 => scalar(Scalar::Numeric),
        // Upstream's OpenAPI says nothing of them.
        Shape::SchemaOr(_) => TypeRef::Named(UNTYPED.to_owned()),
        Shape::Time | Shape::MicroTime | Shape::IntOrString | Shape::Quantity => {
            scalar(Scalar::Untyped)
        }
        // An object of which nothing is known.
        Shape::Raw => TypeRef::from(Atom::of_map(Map {
            fields: BTreeMap::new(),
            element_type: Box::new(TypeRef::Named(DEDUCED.to_owned())),
            element_relationship: ElementRelationship::Separable,
        })),
        Shape::Struct(id) => named(*id),
        Shape::List(of) => TypeRef::from(Atom::of_list(List {
            element_type: Box::new(type_ref(of)),
            element_relationship: ElementRelationship::Atomic,
            keys: Vec::new(),
        })),
        Shape::Map(of) => TypeRef::from(Atom::of_map(Map {
            fields: BTreeMap::new(),
            element_type: Box::new(type_ref(of)),
            element_relationship: ElementRelationship::Separable,
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(name: &str) -> &'static Map {
        let atom = SCHEMA.types.get(name).expect("a type of the table");
        atom.map.as_ref().expect("a struct")
    }

    fn list(of: &'static str, field: &str) -> &'static List {
        let field = map(of).find_field(field).expect("a field");
        let atom = SCHEMA.resolve(&field.ty).expect("its type");
        atom.list.as_ref().expect("a list")
    }

    #[test]
    fn lists_are_merged_as_their_markers_say() {
        let ports = list("core.ServiceSpec", "ports");
        assert_eq!(ports.element_relationship, ElementRelationship::Associative);
        assert_eq!(ports.keys, ["port", "protocol"]);
        assert_eq!(
            list("meta.ObjectMeta", "finalizers").keys,
            Vec::<String>::new()
        );
        let finalizers = list("meta.ObjectMeta", "finalizers").element_relationship;
        assert_eq!(finalizers, ElementRelationship::Associative);
        assert_eq!(list("meta.ObjectMeta", "ownerReferences").keys, ["uid"]);
        let args = list("core.Container", "args");
        assert_eq!(args.element_relationship, ElementRelationship::Atomic);
    }

    #[test]
    fn maps_are_merged_as_their_markers_say() {
        assert_eq!(
            map("meta.OwnerReference").element_relationship,
            ElementRelationship::Atomic
        );
        assert_eq!(
            map("meta.ObjectMeta").element_relationship,
            ElementRelationship::Separable
        );
        let selector = map("core.ServiceSpec")
            .find_field("selector")
            .expect("a field");
        let selector = SCHEMA
            .resolve(&selector.ty)
            .and_then(|atom| atom.map.as_ref());
        assert_eq!(
            selector.expect("a map").element_relationship,
            ElementRelationship::Atomic
        );
    }

    #[test]
    fn defaults_are_those_of_markers_and_of_what_is_always_written() {
        let default = |of, field| {
            map(of)
                .find_field(field)
                .and_then(|field| field.default.clone())
        };
        assert_eq!(default("core.ServicePort", "protocol"), Some("TCP".into()));
        assert_eq!(default("core.ServicePort", "port"), Some(0.into()));
        assert_eq!(default("core.Container", "name"), Some("".into()));
        assert_eq!(default("core.Container", "image"), None);
        assert_eq!(
            default("core.Service", "metadata"),
            Some(serde_json::json!({}))
        );
    }

    #[test]
    fn a_field_of_older_releases_is_not_applied() {
        assert!(map("core.ServiceSpec").find_field("ipFamily").is_none());
        assert!(map("core.ServiceSpec").find_field("ipFamilies").is_some());
    }

    #[test]
    fn every_type_that_is_named_is_there() {
        fn look(ty: &TypeRef) {
            if *ty != TypeRef::None {
                look_at(
                    SCHEMA.resolve(ty).expect("it is there"),
                    matches!(ty, TypeRef::Inlined(_)),
                );
            }
        }
        fn look_at(atom: &Atom, inside: bool) {
            if inside {
                atom.list.iter().for_each(|list| look(&list.element_type));
                if let Some(map) = &atom.map {
                    look(&map.element_type);
                    map.fields.values().for_each(|field| look(&field.ty));
                }
            }
        }
        SCHEMA.types.values().for_each(|atom| look_at(atom, true));
    }
}
