//! Does a value fit its type (`typed/validate.go`)?

use std::collections::BTreeSet;

use super::helpers::{
    Handled, ValidationErrors, deduce_atom, list_item_to_path_element, list_value, map_value,
    resolve, validate_scalar,
};
use super::{Duplicates, TypedValue};
use crate::json::{Json, Map as JsonMap};
use crate::smd::fieldpath::PathElement;
use crate::smd::schema::{ElementRelationship, List, Map, Schema, TypeRef};

impl TypedValue<'_> {
    /// `Validate`
    pub(super) fn validate(&self, duplicates: Duplicates) -> Result<(), ValidationErrors> {
        let walker = Walker {
            schema: self.schema,
            duplicates,
        };
        walker.validate(&self.value, self.type_ref).into_result()
    }
}

/// `validatingObjectWalker`
struct Walker<'a> {
    schema: &'a Schema,
    duplicates: Duplicates,
}

impl Walker<'_> {
    fn validate(&self, value: &Json, ty: &TypeRef) -> ValidationErrors {
        let atom = match resolve(self.schema, ty) {
            Ok(atom) => atom,
            Err(errors) => return errors,
        };
        let done = match deduce_atom(atom, Some(value)).handle_atom(ty) {
            Err(errors) => Err(errors),
            Ok(Handled::Scalar(scalar)) => validate_scalar(scalar, Some(value), ""),
            Ok(Handled::List(list)) => list_value(value).and_then(|items| {
                let items = items.unwrap_or_default();
                self.visit_list_items(list, items).into_result()
            }),
            Ok(Handled::Map(map)) => map_value(value).and_then(|fields| {
                let errors = fields.map(|fields| self.visit_map_items(map, fields));
                errors.unwrap_or_default().into_result()
            }),
        };
        done.err().unwrap_or_default()
    }

    fn visit_list_items(&self, list: &List, items: &[Json]) -> ValidationErrors {
        let mut errors = ValidationErrors::default();
        let mut observed: BTreeSet<PathElement> = BTreeSet::new();
        for (at, child) in items.iter().enumerate() {
            let mut element = PathElement::Index(at);
            if list.element_relationship == ElementRelationship::Associative {
                element = match list_item_to_path_element(self.schema, list, child) {
                    Ok(element) => element,
                    Err(why) => {
                        errors.extend(ValidationErrors::of(format!("element {at}: {why}")));
                        return errors;
                    }
                };
                let twice = !observed.insert(element.clone());
                if twice && self.duplicates == Duplicates::Refused {
                    let why = format!("duplicate entries for key {element}");
                    errors.extend(ValidationErrors::of(why));
                }
            }
            let inside = self.validate(child, &list.element_type);
            errors.extend(inside.with_lazy_prefix(&element));
        }
        errors
    }

    fn visit_map_items(&self, map: &Map, fields: &JsonMap) -> ValidationErrors {
        let mut errors = ValidationErrors::default();
        for (name, value) in fields {
            let element = PathElement::field_name_element(name);
            let ty = match map.find_field(name) {
                Some(field) => &field.ty,
                None if *map.element_type == TypeRef::None => {
                    let unknown = ValidationErrors::of("field not declared in schema");
                    errors.extend(unknown.with_lazy_prefix(&element));
                    return errors;
                }
                None => &map.element_type,
            };
            errors.extend(self.validate(value, ty).with_lazy_prefix(&element));
        }
        errors
    }
}
