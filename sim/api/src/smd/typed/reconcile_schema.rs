//! What becomes of a set of fields when the schema has changed since it was written (`typed/reconcile_schema.go`): what is
//! atomic now was perhaps granular then. The other way round nothing is done.

use std::collections::BTreeSet;

use super::TypedValue;
use super::helpers::{Handled, ValidationErrors, deduce_atom, entry_type, resolve};
use crate::smd::fieldpath::{Path, PathElement, Set};
use crate::smd::schema::{ElementRelationship, Map, Scalar, Schema, TypeRef};

/// `ReconcileFieldSetWithSchema`; `None` if nothing changes.
///
/// # Errors
/// A type that is not there.
pub(crate) fn reconcile_field_set_with_schema(
    fields: &Set,
    value: &TypedValue<'_>,
) -> Result<Option<Set>, String> {
    let mut walker = Walker {
        schema: value.schema,
        path: Path::new(),
        atomic: Set::default(),
        errors: ValidationErrors::default(),
    };
    walker.reconcile(Some(fields), value.type_ref, false);
    if !walker.errors.is_empty() {
        let errors = walker.errors;
        return Err(format!(
            "errors reconciling field set with schema: {errors}"
        ));
    }
    let atomic = walker.atomic;
    if atomic.is_empty() {
        return Ok(None);
    }
    Ok(Some(fields.recursive_difference(&atomic).union(&atomic)))
}

/// `reconcileWithSchemaWalker`
struct Walker<'a> {
    schema: &'a Schema,
    path: Path,
    /// The roots of what is atomic now: what is below them is removed, and they are added.
    atomic: Set,
    errors: ValidationErrors,
}

impl<'a> Walker<'a> {
    fn reconcile(&mut self, fields: Option<&Set>, ty: &'a TypeRef, is_atomic: bool) {
        let handled =
            resolve(self.schema, ty).and_then(|atom| deduce_atom(atom, None).handle_atom(ty));
        match handled {
            Err(errors) => self.errors.extend(errors),
            Ok(Handled::Scalar(_)) => {}
            Ok(Handled::List(list)) => {
                if !is_atomic && list.element_relationship == ElementRelationship::Atomic {
                    self.atomic.insert(&self.path);
                } else if let Some(fields) = fields {
                    self.visit_list_items(fields, |_| &list.element_type);
                }
            }
            Ok(Handled::Map(map)) if is_untyped_deduced_map(map) => {}
            Ok(Handled::Map(map)) => {
                if !is_atomic && map.element_relationship == ElementRelationship::Atomic {
                    if fields.is_some_and(|fields| fields.size() > 0) {
                        self.atomic.insert(&self.path);
                    }
                } else if let Some(fields) = fields {
                    self.visit_list_items(fields, |element| type_ref_at_path(map, element));
                }
            }
        }
    }

    /// `visitListItems`, `visitMapItems`: fields that the schema does not know are passed over.
    fn visit_list_items(&mut self, fields: &Set, ty: impl Fn(&PathElement) -> &'a TypeRef) {
        let elements: BTreeSet<&PathElement> =
            fields.children.keys().chain(&fields.members).collect();
        for element in elements {
            let ty = ty(element);
            if *ty == TypeRef::None {
                continue;
            }
            let below = fields.children.get(element);
            let is_atomic = fields.members.contains(element) && below.is_none();
            self.path.push(element.clone());
            self.reconcile(below, ty, is_atomic);
            self.path.pop();
        }
    }
}

/// `typeRefAtPath`
fn type_ref_at_path<'a>(map: &'a Map, element: &PathElement) -> &'a TypeRef {
    match element {
        PathElement::FieldName(name) => entry_type(map, name),
        _ => &map.element_type,
    }
}

/// `isUntypedDeducedMap`
fn is_untyped_deduced_map(map: &Map) -> bool {
    let deduced = match &*map.element_type {
        TypeRef::None => false,
        TypeRef::Named(name) => name == crate::smd::schema::DEDUCED,
        TypeRef::Inlined(atom) => atom.scalar == Some(Scalar::Untyped),
    };
    deduced && map.fields.is_empty()
}
