//! The types by which server-side apply merges custom objects: what upstream makes of their structural schemas by way of
//! OpenAPI (`kube-openapi/pkg/schemaconv`, `controller/openapi/builder`).

use std::collections::BTreeMap;

use super::props::Props;
use crate::smd::schema::{
    Atom, DEDUCED, ElementRelationship, List, Map, SCHEMA, Scalar, Schema, StructField, TypeRef,
};

/// Types of the versions of a kind.
#[derive(Debug)]
pub(super) struct Types {
    /// They, beside those of the table.
    pub(super) schema: Schema,
    /// The type of each version.
    pub(super) versions: BTreeMap<String, TypeRef>,
}

/// The types of all versions.
pub(super) fn types(structural: &BTreeMap<String, Props>) -> Types {
    let mut schema = SCHEMA.clone();
    let mut versions = BTreeMap::new();
    for (version, props) in structural {
        let name = format!("version {version}");
        schema.types.insert(name.clone(), atom(&props.as_root()));
        versions.insert(version.clone(), TypeRef::Named(name));
    }
    Types { schema, versions }
}

fn deduced() -> TypeRef {
    TypeRef::Named(DEDUCED.to_owned())
}

fn type_ref(schema: &Props) -> TypeRef {
    if schema.ty.is_empty() && !schema.int_or_string {
        return deduced();
    }
    atom(schema).into()
}

fn atom(schema: &Props) -> Atom {
    if schema.int_or_string {
        return Atom::of_scalar(Scalar::Untyped);
    }
    match schema.ty.as_str() {
        "string" => Atom::of_scalar(Scalar::String),
        "boolean" => Atom::of_scalar(Scalar::Boolean),
        "integer" | "number" => Atom::of_scalar(Scalar::Numeric),
        "array" => Atom::of_list(list(schema)),
        _ => Atom::of_map(map(schema)),
    }
}

fn list(schema: &Props) -> List {
    let (element_relationship, keys) = match schema.list_type.as_deref() {
        Some("map") => (
            ElementRelationship::Associative,
            schema.list_map_keys.clone(),
        ),
        Some("set") => (ElementRelationship::Associative, Vec::new()),
        _ => (ElementRelationship::Atomic, Vec::new()),
    };
    List {
        element_type: Box::new(schema.item().map_or_else(deduced, type_ref)),
        element_relationship,
        keys,
    }
}

fn map(schema: &Props) -> Map {
    let field = |(name, property): (&String, &Props)| {
        let field = StructField {
            ty: type_ref(property),
            default: property.default.clone(),
        };
        (name.clone(), field)
    };
    let mut fields: BTreeMap<String, StructField> = schema.properties.iter().map(field).collect();
    if schema.embedded_resource {
        let mut own = |name: &str, ty: TypeRef| {
            fields.insert(name.to_owned(), StructField { ty, default: None });
        };
        own("apiVersion", Atom::of_scalar(Scalar::String).into());
        own("kind", Atom::of_scalar(Scalar::String).into());
        own("metadata", TypeRef::Named("meta.ObjectMeta".to_owned()));
    }
    let element_type = match schema.additional() {
        Some(additional) => type_ref(additional),
        None if schema.preserves() || fields.is_empty() => deduced(),
        None => TypeRef::None,
    };
    Map {
        fields,
        element_type: Box::new(element_type),
        element_relationship: match schema.map_type.as_deref() {
            Some("atomic") => ElementRelationship::Atomic,
            _ => ElementRelationship::Separable,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_are_merged_as_their_schema_says() {
        let root = Props::of(
            &json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
                "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                        "items": {"type": "object", "properties": {"k": {"type": "string", "default": "d"}}}},
                "plain": {"type": "array", "items": {"type": "string"}},
            }}}}),
        );
        let Types { schema, versions } = types(&BTreeMap::from([("v1".to_owned(), root)]));
        let root = schema
            .resolve(&versions["v1"])
            .and_then(|atom| atom.map.clone());
        let root = root.expect("a map");
        assert!(root.find_field("metadata").is_some());
        let spec = &root.find_field("spec").expect("a field").ty;
        let spec = schema
            .resolve(spec)
            .and_then(|atom| atom.map.as_ref())
            .expect("a map");
        let list = |name: &str| {
            let ty = &spec.find_field(name).expect("a field").ty;
            schema
                .resolve(ty)
                .and_then(|atom| atom.list.clone())
                .expect("a list")
        };
        assert_eq!(list("map").keys, ["k"]);
        assert_eq!(
            list("set").element_relationship,
            ElementRelationship::Associative
        );
        assert_eq!(
            list("plain").element_relationship,
            ElementRelationship::Atomic
        );
    }
}
